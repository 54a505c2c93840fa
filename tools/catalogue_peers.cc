#include <utility>

#include "tools/catalogue.h"

namespace galley {
namespace {

/// A native tool under another name and with other argument names.
ToolInfo as(const char* name, const char* native, std::string description, std::string input) {
  ToolInfo info = native_tool(native);
  info.name = name;
  info.description = std::move(description);
  info.input_schema = std::move(input);
  return info;
}

ToolInfo apply_patch_tool() {
  ToolInfo info =
      as("apply_patch", "MultiEdit",
         "Applies a patch to any number of files, all of it or nothing: V4A "
         "(*** Begin Patch), a unified diff, SEARCH/REPLACE blocks, or several of these.",
         R"({"type":"object","additionalProperties":false,"properties":{
        "input":{"type":"string"},"patch":{"type":"string"},
        "choices":{"type":"array","items":{"type":"string"},"maxItems":1000}},
        "anyOf":[{"required":["input"]},{"required":["patch"]}]})");
  info.title = "Apply a patch";
  return info;
}

ToolInfo text_editor(const char* name) {
  ToolInfo info = as(name, "Edit",
                     "Views, creates and edits files: view (a file with line numbers, or a "
                     "directory), create, str_replace (the place must be the only one), insert "
                     "(after a line, 0 = before the first).",
                     R"({"type":"object","additionalProperties":false,"properties":{
        "command":{"enum":["view","create","str_replace","insert","undo_edit"]},
        "path":{"type":"string"},
        "view_range":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},
        "file_text":{"type":"string"},"old_str":{"type":"string"},"new_str":{"type":"string"},
        "insert_line":{"type":"integer","minimum":0,"maximum":4294967295},
        "insert_text":{"type":"string"},
        "choices":{"type":"array","items":{"type":"string"},"maxItems":1000}},"required":["command","path"]})");
  info.title = "View and edit files";
  info.output_schema = R"({"type":"object"})";  // of Read, List, Write or Edit, by command
  return info;
}

ToolInfo replace_tool() {
  return as("replace", "Edit",
            "Replaces a text that stands once in a file, or everywhere with "
            "`allow_multiple`.",
            R"({"type":"object","additionalProperties":false,"properties":{
        "file_path":{"type":"string"},
        "instruction":{"type":"string","description":"what the change is for"},
        "old_string":{"type":"string"},"new_string":{"type":"string"},
        "allow_multiple":{"type":"boolean","default":false},
        "choices":{"type":"array","items":{"type":"string"},"maxItems":1000}},
        "required":["file_path","instruction","old_string","new_string"]})");
}

ToolInfo edit_file_tool() {
  return as("edit_file", "MultiEdit",
            "Replaces texts of one file one after the other, all of them or none; each must stand "
            "once. With `dryRun` only the diff is returned.",
            R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},
        "edits":{"type":"array","minItems":1,"items":{"type":"object",
          "additionalProperties":false,"properties":{"oldText":{"type":"string"},
          "newText":{"type":"string"}},"required":["oldText","newText"]}},
        "dryRun":{"type":"boolean","default":false},
        "choices":{"type":"array","items":{"type":"string"},"maxItems":1000}},"required":["path","edits"]})");
}

ToolInfo write_file_tool() {
  return as("write_file", "Write", "Stages the whole content of a file, new or existing.",
            R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},"file_path":{"type":"string"},
        "content":{"type":"string"}},"required":["content"],
        "anyOf":[{"required":["path"]},{"required":["file_path"]}]})");
}

ToolInfo read_text_file_tool() {
  return as("read_text_file", "Read", "Reads a file, or its first `head` or last `tail` lines.",
            R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},"head":{"type":"integer","minimum":1},
        "tail":{"type":"integer","minimum":1}},"required":["path"]})");
}

constexpr const char* kOnePath = R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"}},"required":["path"]})";

ToolInfo directory_tree_tool() {
  ToolInfo info =
      as("directory_tree", "List", "Lists a directory and all below it, nested.", kOnePath);
  info.title = "List a tree";
  info.output_schema = object_output(R"("tree":{"type":"array"})", R"("tree")");
  return info;
}

ToolInfo search_files_tool() {
  return as("search_files", "Glob",
            "Finds files whose path below `path` fits a glob and none of `excludePatterns`.",
            R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},"pattern":{"type":"string","minLength":1},
        "excludePatterns":{"type":"array","items":{"type":"string"}}},
        "required":["path","pattern"]})");
}

ToolInfo get_file_info_tool() {
  ToolInfo info =
      as("get_file_info", "Read", "Tells type, size, mode and SHA-256 of a path.", kOnePath);
  info.title = "Tell about a file";
  info.output_schema = object_output(R"("path":{"type":"string"},"type":{"type":"string"},
        "size":{"type":"integer"},"mode":{"type":"string"},"sha256":{"type":"string"},
        "target":{"type":"string"})",
                                     R"("path","type","size","mode")");
  return info;
}

}  // namespace

std::vector<ToolInfo> peer_tools() {
  std::vector<ToolInfo> tools = {
      apply_patch_tool(),
      text_editor("str_replace_based_edit_tool"),
      text_editor("str_replace_editor"),
      replace_tool(),
      edit_file_tool(),
      write_file_tool(),
      as("move_file", "Move", "Moves a file or directory to a path where nothing is.",
         native_tool("Move").input_schema),
      as("create_directory", "MakeDirectory", "Makes a directory and the missing ones above it.",
         kOnePath),
      read_text_file_tool(),
      as("list_directory", "List", "Lists the entries of a directory.", kOnePath),
      directory_tree_tool(),
      search_files_tool(),
      get_file_info_tool()};
  for (ToolInfo& info : tools) state_traits(info);
  return tools;
}

}  // namespace galley
