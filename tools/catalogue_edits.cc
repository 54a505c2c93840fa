#include <nlohmann/json.hpp>
#include <utility>

#include "staging/formats/answer.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/read_edits.h"
#include "staging/printing/git_diff.h"
#include "tools/call_arguments.h"
#include "tools/catalogue.h"
#include "tools/edit_formats.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// One old/new pair, under any of the known names.
struct Pair {
  std::string old_text;
  std::string new_text;
  bool replace_all = false;
};

Result<TextEdit> text_edit(EditSet& set, Pair pair) {
  if (pair.old_text == pair.new_text) {
    return fail(ErrorKind::kInvalid, "args.no_change",
                "the old and the new text are the same; say what is to change");
  }
  TextEdit edit;
  edit.kind = TextEdit::Kind::kReplace;
  edit.old_text = set.keep(std::move(pair.old_text));
  edit.new_text = set.keep(std::move(pair.new_text));
  edit.replace_all = pair.replace_all;
  return edit;
}

/// Edits of one file. A single edit with an empty old text has the whole text of a new file.
Result<Operation> edits_of_file(const RelPath& path, std::vector<Pair> pairs, bool check_only,
                                EditForm form) {
  EditFiles operation;
  operation.form = std::move(form);
  operation.check_only = check_only;
  operation.edits.format = EditFormat::kEdits;
  FileEdit file;
  file.path = path.str();
  if (pairs.size() == 1 && pairs[0].old_text.empty()) {
    file.op = FileOp::kCreate;
    file.whole = operation.edits.keep(std::move(pairs[0].new_text));
  } else {
    for (size_t i = 0; i < pairs.size(); ++i) {
      if (pairs[i].old_text.empty()) {
        return fail(ErrorKind::kInvalid, "args.empty_old_text",
                    "edit " + std::to_string(i + 1) +
                        " has an empty old text, which names no place; use Write for a new file");
      }
      GALLEY_ASSIGN(TextEdit edit, text_edit(operation.edits, std::move(pairs[i])));
      file.text_edits.push_back(edit);
    }
  }
  operation.edits.files.push_back(std::move(file));
  return Operation(std::move(operation));
}

/// A path in a patch may be absolute inside the workspace. Otherwise it is relative to the
/// directory in which the call starts.
Result<void> bring_inside(std::string& path, const PathOrigin& origin) {
  if (path.empty() || path == "/dev/null") return {};
  const bool stays = path.front() == '/' ? origin.root.empty() : origin.cwd.is_root();
  if (stays) return {};
  GALLEY_ASSIGN(const RelPath inside, file_argument(path, origin));
  path = inside.str();
  return {};
}

/// `args` say whether the patch is only checked, and whether it is complete.
Result<Operation> patch_operation(std::string text, EditFormat format, const json& args,
                                  const PathOrigin& origin) {
  EditFiles operation;
  // A correction names files from the root.
  const char* key = args.contains("input") ? "input" : "patch";
  if (origin.cwd.is_root()) operation.form.document = key;
  operation.check_only = text_member(args, "strategy") == "check";
  ReadOptions options;
  options.is_delimited = true;
  if (args.contains("complete")) {
    options.end = flag_of(args, "complete") ? DocumentEnd::kComplete : DocumentEnd::kCutOff;
  }
  GALLEY_ASSIGN(operation.edits, read_edits(std::move(text), format, options, parse_edits_json));
  for (FileEdit& file : operation.edits.files) {
    if (file.path == "/" + file.other_path) file.other_path.clear();  // only without the slash
    for (std::string* path : {&file.path, &file.new_path, &file.other_path, &file.other_new_path}) {
      GALLEY_TRY(bring_inside(*path, origin));
    }
  }
  return Operation(std::move(operation));
}

/// Whether a name in a patch means the file, perhaps with a prefix, or without its folders.
bool is_same_file(std::string_view name, const RelPath& path) {
  const std::string& whole = path.str();
  return name == whole || name.ends_with("/" + whole) || whole.ends_with("/" + std::string(name));
}

Result<Operation> adapt_edit(const json& args, const PathOrigin& origin) {
  const bool has_patch = args.contains("patch");
  if (has_patch && (args.contains("old_string") || args.contains("new_string"))) {
    return fail(ErrorKind::kInvalid, "args.mixed",
                "give either 'patch' or 'old_string' and 'new_string', not both");
  }
  const char* path_key = args.contains("file") ? "file" : "file_path";
  GALLEY_ASSIGN(const RelPath path, file_argument(text_member(args, path_key), origin));
  if (!has_patch && args.contains("complete")) {
    return fail(ErrorKind::kInvalid, "args.mixed", "'complete' is for 'patch'; leave it out");
  }
  if (!has_patch) {
    return edits_of_file(path,
                         {{text_member(args, "old_string"), text_member(args, "new_string"),
                           flag_of(args, "replace_all")}},
                         text_member(args, "strategy") == "check",
                         {path_key, "", "", "old_string", "new_string"});
  }
  const std::string patch = text_member(args, "patch");
  auto read = patch_operation(patch, EditFormat::kAuto, args, origin);
  if (!read && read.error().reason == "edit.no_file_name") {
    // Hunks or blocks alone are enough here: the file is a separate argument.
    const bool has_blocks = divide_answer(patch).format() == EditFormat::kSearchReplace;
    const std::string header =
        "--- " + quote_path("a/" + path.str()) + "\n+++ " + quote_path("b/" + path.str()) + "\n";
    read = has_blocks ? patch_operation(block_name_line(path.str()) + "\n" + patch,
                                        EditFormat::kSearchReplace, args, {origin.root})
                      : patch_operation(header + patch, EditFormat::kUnified, args, {origin.root});
  }
  GALLEY_ASSIGN(Operation operation, std::move(read));
  // A correction names files from the root, and the argument begins at the folder of the call.
  if (origin.cwd.is_root()) std::get<EditFiles>(operation).form.path = path_key;
  auto& edits = std::get<EditFiles>(operation).edits;
  if (edits.files.size() != 1) {
    return fail(ErrorKind::kInvalid, "args.one_file",
                "the patch names " + std::to_string(edits.files.size()) +
                    " files; Edit takes one, apply_patch takes many");
  }
  FileEdit& file = edits.files.front();
  // `file` decides: models often get prefixes or whole headers of a one-file patch wrong.
  const bool is_move = file.op == FileOp::kRename || file.op == FileOp::kCopy;
  const bool is_certain = file.op == FileOp::kModify || is_same_file(file.path, path) ||
                          (is_move && is_same_file(file.new_path, path));
  if (!is_certain) {
    return fail(ErrorKind::kInvalid, "args.one_file",
                "the patch is for '" + file.path + "', and the call for '" + path.str() +
                    "': name the same file in both");
  }
  if (!is_move) {
    file.path = path.str();
    file.other_path.clear();
  }
  return operation;
}

Result<Operation> adapt_multi_edit(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(const RelPath path, file_argument(text_member(args, "file_path"), origin));
  std::vector<Pair> pairs;
  for (const json& edit : args.at("edits")) {
    pairs.push_back({text_member(edit, "old_string"), text_member(edit, "new_string"),
                     flag_of(edit, "replace_all")});
  }
  return edits_of_file(path, std::move(pairs), false,
                       {"file_path", "", "edits", "old_string", "new_string"});
}

Result<Operation> adapt_apply_patch(const json& args, const PathOrigin& origin) {
  const char* key = args.contains("input") ? "input" : "patch";
  return patch_operation(text_member(args, key), EditFormat::kAuto, args, origin);
}

Result<Operation> adapt_replace(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(const RelPath path, file_argument(text_member(args, "file_path"), origin));
  return edits_of_file(path,
                       {{text_member(args, "old_string"), text_member(args, "new_string"),
                         flag_of(args, "allow_multiple")}},
                       false, {"file_path", "", "", "old_string", "new_string"});
}

Result<Operation> adapt_edit_file(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(const RelPath path, file_argument(text_member(args, "path"), origin));
  std::vector<Pair> pairs;
  for (const json& edit : args.at("edits")) {
    pairs.push_back({text_member(edit, "oldText"), text_member(edit, "newText"), false});
  }
  return edits_of_file(path, std::move(pairs), flag_of(args, "dryRun"),
                       {"path", "", "edits", "oldText", "newText"});
}

Result<Operation> adapt_view(const json& args, const RelPath& path) {
  ReadFile read;
  read.path = path;
  read.numbered = true;
  read.takes_directory = true;
  if (!args.contains("view_range")) return Operation(read);
  const json& range = args["view_range"];
  const auto first = range.at(0).get<int64_t>();
  const auto last = range.at(1).get<int64_t>();
  if (first < 1 || (last != -1 && last < first)) {
    return fail(ErrorKind::kInvalid, "args.view_range",
                "view_range is [first, last] with 1 <= first <= last; last -1 means to the end");
  }
  read.first_line = static_cast<uint64_t>(first);
  if (last != -1) read.line_count = static_cast<uint64_t>(last - first + 1);
  return Operation(read);
}

Result<Operation> adapt_insert(const json& args, const RelPath& path) {
  const char* key = args.contains("insert_text") ? "insert_text" : "new_str";
  if (!args.contains("insert_line") || !args.contains(key)) {
    return fail(ErrorKind::kInvalid, "args.schema",
                "'insert' needs insert_line and insert_text (or new_str)");
  }
  EditFiles operation;
  operation.edits.format = EditFormat::kEdits;
  TextEdit edit;
  edit.kind = TextEdit::Kind::kInsert;
  std::string text = text_member(args, key);
  // Lines are inserted, never joined: an empty text is a blank line, as in Anthropic's editor.
  if (!text.ends_with('\n')) text += '\n';
  edit.new_text = operation.edits.keep(std::move(text));
  edit.whole_lines = true;
  edit.first_line = args["insert_line"].get<uint32_t>();
  FileEdit file;
  file.path = path.str();
  file.text_edits.push_back(edit);
  operation.edits.files.push_back(std::move(file));
  return Operation(std::move(operation));
}

tl::unexpected<Error> missing(const char* command, const char* key) {
  return fail(ErrorKind::kInvalid, "args.schema", "'" + std::string(command) + "' needs " + key);
}

Result<Operation> adapt_text_editor(const json& args, const PathOrigin& origin) {
  const std::string command = text_member(args, "command");
  if (command == "view") {
    GALLEY_ASSIGN(const RelPath path, directory_argument(text_member(args, "path"), origin));
    return adapt_view(args, path);
  }
  GALLEY_ASSIGN(const RelPath path, file_argument(text_member(args, "path"), origin));
  if (command == "create") {
    if (!args.contains("file_text")) return missing("create", "file_text");
    return Operation(WriteFile{path, text_member(args, "file_text")});
  }
  if (command == "str_replace") {
    if (!args.contains("old_str")) return missing("str_replace", "old_str");
    const std::string old_text = text_member(args, "old_str");
    if (old_text.empty()) {
      return fail(ErrorKind::kInvalid, "args.empty_old_text",
                  "old_str is empty, which names no place; use insert or create");
    }
    return edits_of_file(path, {{old_text, text_member(args, "new_str"), false}}, false,
                         {"path", "", "", "old_str", "new_str"});
  }
  if (command == "insert") return adapt_insert(args, path);
  return fail(ErrorKind::kInvalid, "args.undo_edit",
              "undo_edit is not kept here: edit the text back, or roll the transaction back to a "
              "savepoint");
}

/// The answer to a call in the old/new dialect repeats its texts, under the names of that dialect.
Result<ordered_json> echoed(const CatalogueCall& call, const ordered_json& first) {
  if (!call.args.contains("old_string") || !call.args.contains("new_string")) return first;
  constexpr size_t kAdded = 3;
  const auto& members = first.get_ref<const ordered_json::object_t&>();
  ordered_json::object_t data;
  data.reserve(members.size() + kAdded);
  data.insert(members.begin(), members.end());
  data["oldString"] = call.args["old_string"];
  data["newString"] = call.args["new_string"];
  data["replaceAll"] = flag_of(call.args, "replace_all", flag_of(call.args, "allow_multiple"));
  return ordered_json(std::move(data));
}

template <Result<Operation> (*kAdapt)(const json& args, const PathOrigin& origin)>
Result<std::vector<Operation>> only(const CatalogueCall& call) {
  GALLEY_ASSIGN(Operation operation, kAdapt(call.args, call.origin));
  // The call sends back candidate ids from an earlier ambiguity error.
  if (auto* edit = std::get_if<EditFiles>(&operation))
    edit->choices = texts_of(call.args, "choices");
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  return operations;
}

}  // namespace

std::vector<NamedCall> edit_calls() {
  return {{"edit", only<adapt_edit>, echoed},       {"multi_edit", only<adapt_multi_edit>},
          {"apply_patch", only<adapt_apply_patch>}, {"text_editor", only<adapt_text_editor>},
          {"replace", only<adapt_replace>, echoed}, {"edit_file", only<adapt_edit_file>}};
}

}  // namespace galley
