#include <map>
#include <utility>

#include "tools/catalogue.h"

namespace galley {
namespace {

constexpr ToolAnnotations kChanges{.destructive = true};
constexpr ToolAnnotations kAdds{.idempotent = true};
constexpr ToolAnnotations kRuns{.destructive = true, .open_world = true};

ToolInfo tool(std::string name, std::string title, std::string description, ToolAnnotations hints,
              std::string input, std::string output) {
  ToolInfo info;
  info.name = std::move(name);
  info.title = std::move(title);
  info.description = std::move(description);
  info.input_schema = std::move(input);
  info.output_schema = std::move(output);
  info.annotations = hints;
  info.capabilities =
      hints.read_only ? std::vector<std::string>{"fs:read"} : std::vector<std::string>{"fs:write"};
  if (hints.open_world) info.capabilities = {"exec"};
  return info;
}

ToolInfo read_tool() {
  return tool(
      "Read", "Read a file",
      "Reads a file of the proposed tree, or the lines from `offset` (1-based) on, `limit` many. "
      "Bytes that are not UTF-8 come in base64, and `encoding` says so.",
      kReads,
      R"({"type":"object","additionalProperties":false,"properties":{
        "file":{"type":"string","description":"path relative to the workspace root"},
        "file_path":{"type":"string","description":"the same, by its other name"},
        "offset":{"type":"integer","minimum":0,"description":"first line, 1-based"},
        "limit":{"type":"integer","minimum":1,"description":"number of lines"}},
        "anyOf":[{"required":["file"]},{"required":["file_path"]}]})",
      object_output(R"("content":{"type":"string"},"encoding":{"enum":["base64"]},
        "filePath":{"type":"string"},"startLine":{"type":"integer"},
        "numLines":{"type":"integer"},"totalLines":{"type":"integer"})",
                    R"("content")"));
}

ToolInfo write_tool() {
  return tool(
      "Write", "Write a file",
      "Stages the whole content of a file, new or existing; missing directories are made, an "
      "existing file keeps its mode. The result has the diff.",
      kReplaces,
      R"({"type":"object","additionalProperties":false,"properties":{
        "file":{"type":"string"},"file_path":{"type":"string"},
        "content":{"type":"string","description":"may be empty"}},"required":["content"],
        "anyOf":[{"required":["file"]},{"required":["file_path"]}]})",
      change_output(R"("written":{"type":"boolean"},"filePath":{"type":"string"},
        "type":{"enum":["create","update"]})",
                    R"("written")"));
}

ToolInfo edit_tool() {
  return tool(
      "Edit", "Edit a file",
      "Edits one file: by a unified diff in `patch` (counts and line numbers may be wrong), or by "
      "replacing `old_string` by `new_string`. The place must be the only one, unless "
      "`replace_all`. "
      "With strategy `check` nothing is staged. A failure shows the nearest place and the edit "
      "rebased on it.",
      kChanges,
      R"({"type":"object","additionalProperties":false,"properties":{
        "file":{"type":"string"},"file_path":{"type":"string"},
        "patch":{"type":"string","description":"a unified diff of this file"},
        "strategy":{"enum":["apply","check"],"default":"apply"},
        "old_string":{"type":"string"},"new_string":{"type":"string"},
        "replace_all":{"type":"boolean","default":false},
        "choices":{"type":"array","items":{"type":"string"},"maxItems":1000,
          "description":"ids of candidates that an ambiguous edit was answered with: those places are taken"}},
        "anyOf":[{"required":["file","patch"]},{"required":["file_path","patch"]},
          {"required":["file_path","old_string","new_string"]},
          {"required":["file","old_string","new_string"]}]})",
      change_output(R"("applied":{"type":"boolean"},"filePath":{"type":"string"},
        "oldString":{"type":"string"},"newString":{"type":"string"},
        "replaceAll":{"type":"boolean"})",
                    R"("applied")"));
}

ToolInfo multi_edit_tool() {
  return tool(
      "MultiEdit", "Edit a file in several places",
      "Replaces several texts of one file one after the other, each on the result of the one "
      "before; all of them or none.",
      kChanges,
      R"({"type":"object","additionalProperties":false,"properties":{
        "file_path":{"type":"string"},
        "edits":{"type":"array","minItems":1,"items":{"type":"object",
          "additionalProperties":false,"properties":{"old_string":{"type":"string"},
          "new_string":{"type":"string"},"replace_all":{"type":"boolean","default":false}},
          "required":["old_string","new_string"]}},
        "choices":{"type":"array","items":{"type":"string"},"maxItems":1000}},"required":["file_path","edits"]})",
      change_output(R"("applied":{"type":"boolean"},"filePath":{"type":"string"})",
                    R"("applied")"));
}

ToolInfo bash_tool() {
  return tool(
      "Bash", "Run a command",
      "Runs a program in the sandbox on the proposed tree; what it changes is staged when it exits "
      "with 0. With `args` the program `command` is run as it is; without, `command` is a line for "
      "the shell. `$ENV.NAME` in a shell line stands for a secret. `timeout` is in milliseconds.",
      kRuns,
      R"({"type":"object","additionalProperties":false,"properties":{
        "command":{"type":"string","minLength":1},
        "args":{"type":"array","items":{"type":"string"}},
        "timeout":{"type":"integer","minimum":1,"maximum":600000},
        "description":{"type":"string","description":"what the command is for"}},
        "required":["command"]})",
      change_output(R"("stdout":{"type":"string"},"stderr":{"type":"string"},
        "exitCode":{"type":"integer"},"signal":{"type":"integer"},
        "stagedPaths":{"type":"integer"},"ignoredPaths":{"type":"integer"},
        "uncheckedRules":{"type":"array","items":{"type":"string"}},
        "protectedPaths":{"type":"integer"},"refused":{"type":"array"},
        "sandbox":{"type":"string"})",
                    R"("stdout","stderr","exitCode")"));
}

ToolInfo glob_tool() {
  return tool(
      "Glob", "Find files by name",
      "Lists files whose path below `path` fits the glob (`**`, `*`, `?`, `[a-z]`, `{a,b}`), "
      "sorted; what .gitignore ignores is left out unless `include_ignored`.",
      kReads,
      R"({"type":"object","additionalProperties":false,"properties":{
        "pattern":{"type":"string","minLength":1},"path":{"type":"string"},
        "include_ignored":{"type":"boolean","default":false}},"required":["pattern"]})",
      object_output(R"("filenames":{"type":"array","items":{"type":"string"}},
        "numFiles":{"type":"integer"},"truncated":{"type":"boolean"})",
                    R"("filenames","numFiles")"));
}

ToolInfo grep_tool() {
  return tool(
      "Grep", "Search in files",
      "Searches the files of the proposed tree for a regular expression (RE2). `output_mode`: "
      "files_with_matches, content or count. Binary files and what .gitignore ignores are left "
      "out.",
      kReads,
      R"({"type":"object","additionalProperties":false,"properties":{
        "pattern":{"type":"string"},"path":{"type":"string"},
        "glob":{"type":"string"},"type":{"type":"string","description":"py, ts, cpp …"},
        "output_mode":{"enum":["files_with_matches","content","count"]},
        "-A":{"type":"integer","minimum":0},"-B":{"type":"integer","minimum":0},
        "-C":{"type":"integer","minimum":0},"-n":{"type":"boolean"},"-i":{"type":"boolean"},
        "-o":{"type":"boolean"},"multiline":{"type":"boolean","default":false},
        "head_limit":{"type":"integer","minimum":0},
        "include_ignored":{"type":"boolean","default":false}},"required":["pattern"]})",
      object_output(R"("mode":{"type":"string"},"numFiles":{"type":"integer"},
        "numMatches":{"type":"integer"},"numLines":{"type":"integer"},
        "filenames":{"type":"array","items":{"type":"string"}},"content":{"type":"string"},
        "filesTooLarge":{"type":"integer"},"truncated":{"type":"boolean"})",
                    R"("mode","numFiles","filenames")"));
}

ToolInfo list_tool() {
  return tool("List", "List a directory",
              "Lists the entries of a directory of the proposed tree, sorted by name.", kReads,
              R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string","description":"the workspace root when left out"}}})",
              object_output(R"("path":{"type":"string"},"entries":{"type":"array"},
        "numEntries":{"type":"integer"},"truncated":{"type":"boolean"})",
                            R"("entries")"));
}

ToolInfo delete_tool() {
  return tool("Delete", "Delete a file or directory",
              "Stages the removal of a file or link, or with `recursive` of a directory and all "
              "below it.",
              kReplaces,
              R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},"recursive":{"type":"boolean","default":false}},
        "required":["path"]})",
              change_output(R"("removed":{"type":"boolean"},"filePath":{"type":"string"})",
                            R"("removed")"));
}

constexpr const char* kTwoPaths = R"({"type":"object","additionalProperties":false,"properties":{
        "source":{"type":"string"},"destination":{"type":"string"}},
        "required":["source","destination"]})";

ToolInfo move_tool() {
  return tool("Move", "Move a file or directory",
              "Stages the move of a file, link or directory to a path where nothing is.", kChanges,
              kTwoPaths,
              change_output(R"("moved":{"type":"boolean"},"source":{"type":"string"},
        "destination":{"type":"string"})",
                            R"("moved")"));
}

ToolInfo copy_tool() {
  return tool("Copy", "Copy a file", "Stages a copy of a file at a path where nothing is.",
              ToolAnnotations{}, kTwoPaths,
              change_output(R"("copied":{"type":"boolean"},"source":{"type":"string"},
        "destination":{"type":"string"})",
                            R"("copied")"));
}

ToolInfo chmod_tool() {
  return tool(
      "Chmod", "Change permissions",
      "Stages new permission bits, in octal (0644, 755); setuid and the like are not taken.",
      kReplaces,
      R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},"mode":{"type":"string","pattern":"^0?[0-7]{3}$"}},
        "required":["path","mode"]})",
      change_output(R"("changed":{"type":"boolean"},"filePath":{"type":"string"})",
                    R"("changed")"));
}

ToolInfo symlink_tool() {
  return tool("Symlink", "Make a symbolic link",
              "Stages a symbolic link with the given target; one that would lead outside the "
              "workspace is refused at the gate.",
              ToolAnnotations{},
              R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"},"target":{"type":"string","minLength":1}},
        "required":["path","target"]})",
              change_output(R"("created":{"type":"boolean"},"filePath":{"type":"string"})",
                            R"("created")"));
}

ToolInfo make_directory_tool() {
  return tool("MakeDirectory", "Make a directory",
              "Stages a directory and the missing ones above it.", kAdds,
              R"({"type":"object","additionalProperties":false,"properties":{
        "path":{"type":"string"}},"required":["path"]})",
              change_output(R"("created":{"type":"boolean"},"filePath":{"type":"string"})",
                            R"("created")"));
}

}  // namespace

std::string object_output(const std::string& members, const std::string& required_list) {
  return R"({"type":"object","additionalProperties":false,"properties":{)" + members +
         R"(},"required":[)" + required_list + "]}";
}

std::string change_output(const std::string& own_members, const std::string& required_list) {
  return object_output(own_members + R"(,"staged":{"type":"boolean"},"diff":{"type":"string"},
    "diffTruncated":{"type":"boolean"},"diffIsLossy":{"type":"boolean"},
    "diffLeftOut":{"type":"array","items":{"type":"string"}},"changesTruncated":{"type":"boolean"},
    "changes":{"type":"array","items":{"type":"object","required":["path","change"],
      "properties":{"path":{"type":"string"},
      "change":{"enum":["create","modify","delete","mode","type"]}}}},
    "report":{"type":"object"},
    "structuredPatch":{"type":"array","items":{"type":"object",
      "required":["oldStart","oldLines","newStart","newLines","lines"],"properties":{
      "oldStart":{"type":"integer"},"oldLines":{"type":"integer"},"newStart":{"type":"integer"},
      "newLines":{"type":"integer"},"lines":{"type":"array","items":{"type":"string"}}}}})",
                       required_list);
}

std::vector<ToolInfo> native_tools() {
  std::vector<ToolInfo> tools = {
      read_tool(), write_tool(), edit_tool(),    multi_edit_tool(),    bash_tool(),
      glob_tool(), grep_tool(),  list_tool(),    delete_tool(),        move_tool(),
      copy_tool(), chmod_tool(), symlink_tool(), make_directory_tool()};
  for (ToolInfo& info : tools) state_traits(info);
  return tools;
}

const ToolInfo& native_tool(const std::string& name) {
  static const std::map<std::string, ToolInfo> table = [] {
    std::map<std::string, ToolInfo> out;
    for (ToolInfo& info : native_tools()) out.emplace(info.name, std::move(info));
    return out;
  }();
  return table.at(name);
}

}  // namespace galley
