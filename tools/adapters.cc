#include "tools/adapters.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "tools/call_arguments.h"
#include "tools/edit_adapters.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using CallAdapter = Result<Operation> (*)(const json& args, const PathOrigin& origin);

/// Takes `./` and, below the root, `../` off the front of a relative path; what they lead to is in
/// `from`, which is empty when it lies outside the workspace. A `..` anywhere else is no path.
std::string_view climb(std::string_view text, std::optional<RelPath>& from) {
  if (!from || from->is_root()) return text;
  for (;;) {
    const bool is_here = text == "." || text.starts_with("./");
    const bool is_up = text == ".." || text.starts_with("../");
    if (!is_here && !is_up) return text;
    if (is_up && from->is_root()) {
      from.reset();
      return text;
    }
    if (is_up) from = from->parent();
    text.remove_prefix(std::min(text.size(), is_up ? size_t{3} : size_t{2}));
  }
}

Result<RelPath> below_cwd(std::string_view text, const RelPath& cwd) {
  if (cwd.is_root()) return RelPath::parse(text);
  std::optional<RelPath> from = cwd;
  const std::string_view rest = climb(text, from);
  if (!from) {
    return fail(ErrorKind::kRefused, "path.outside",
                "the path '" + std::string(text) + "' leads out of the workspace from '" +
                    cwd.str() + "', where the call starts",
                std::string(text));
  }
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(rest));
  return from->join(path);
}

Result<RelPath> file_of(const json& args, const PathOrigin& origin) {
  return file_argument(first_of(args, {"file", "file_path", "path"}), origin);
}

Result<Operation> adapt_read(const json& args, const PathOrigin& origin) {
  ReadFile read;
  GALLEY_ASSIGN(read.path, file_of(args, origin));
  // Claude Code counts `offset` from 1; MCP's `head` and `tail` are counts.
  read.first_line = std::max<uint64_t>(1, count_of(args, "offset").value_or(1));
  read.line_count = count_of(args, args.contains("head") ? "head" : "limit");
  read.last_lines = count_of(args, "tail");
  if (read.last_lines && args.contains("head")) {
    return fail(ErrorKind::kInvalid, "args.mixed", "give either 'head' or 'tail', not both");
  }
  return Operation(read);
}

Result<Operation> adapt_write(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, file_of(args, origin));
  return Operation(WriteFile{std::move(path), text_member(args, "content"), {}});
}

Result<Operation> adapt_list(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, directory_argument(text_member(args, "path"), origin));
  return Operation(ListDirectory{std::move(path)});
}

Result<Operation> adapt_tree(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, directory_argument(text_member(args, "path"), origin));
  return Operation(ListDirectory{std::move(path), true});
}

Result<Operation> adapt_info(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, directory_argument(text_member(args, "path"), origin));
  return Operation(FileInfo{std::move(path)});
}

Result<Operation> adapt_find(const json& args, const PathOrigin& origin) {
  FindFiles find;
  GALLEY_ASSIGN(find.under, directory_argument(text_member(args, "path"), origin));
  find.pattern = text_member(args, "pattern");
  find.include_ignored = flag_of(args, "include_ignored");
  if (args.contains("excludePatterns")) {
    for (const json& pattern : args["excludePatterns"]) {
      find.excluded.push_back(pattern.get<std::string>());
    }
  }
  return Operation(std::move(find));
}

Result<Operation> adapt_search(const json& args, const PathOrigin& origin) {
  SearchText search;
  GALLEY_ASSIGN(search.under, directory_argument(text_member(args, "path"), origin));
  search.pattern = text_member(args, "pattern");
  search.glob = text_member(args, "glob");
  search.type = text_member(args, "type");
  const std::string mode = text_member(args, "output_mode");
  search.output = mode == "content" ? SearchText::Output::kContent
                  : mode == "count" ? SearchText::Output::kCount
                                    : SearchText::Output::kFiles;
  const auto lines = [&](const char* key) {
    constexpr uint64_t kMaxContext = 1000;
    const uint64_t around = count_of(args, "-C").value_or(0);
    return static_cast<uint32_t>(std::min(kMaxContext, count_of(args, key).value_or(around)));
  };
  search.lines_before = lines("-B");
  search.lines_after = lines("-A");
  search.show_numbers = flag_of(args, "-n", true);
  search.ignore_case = flag_of(args, "-i");
  search.only_matching = flag_of(args, "-o");
  search.multiline = flag_of(args, "multiline");
  search.include_ignored = flag_of(args, "include_ignored");
  search.head_limit = count_of(args, "head_limit").value_or(0);
  return Operation(std::move(search));
}

Result<Operation> adapt_delete(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, file_of(args, origin));
  return Operation(RemovePath{std::move(path), flag_of(args, "recursive")});
}

Result<Operation> adapt_move(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath from, file_argument(text_member(args, "source"), origin));
  GALLEY_ASSIGN(RelPath to, file_argument(text_member(args, "destination"), origin));
  return Operation(MovePath{std::move(from), std::move(to)});
}

Result<Operation> adapt_copy(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath from, file_argument(text_member(args, "source"), origin));
  GALLEY_ASSIGN(RelPath to, file_argument(text_member(args, "destination"), origin));
  return Operation(CopyPath{std::move(from), std::move(to)});
}

Result<Operation> adapt_chmod(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, file_of(args, origin));
  constexpr int kOctal = 8;
  const auto mode = static_cast<uint32_t>(std::stoul(text_member(args, "mode"), nullptr, kOctal));
  return Operation(ChangeMode{std::move(path), mode});
}

Result<Operation> adapt_symlink(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, file_of(args, origin));
  return Operation(MakeSymlink{std::move(path), text_member(args, "target"), false});
}

Result<Operation> adapt_mkdir(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(RelPath path, file_of(args, origin));
  return Operation(MakeDirectory{std::move(path)});
}

/// The contract's form {command, args} runs one program; without `args`, or with what Claude Code
/// gives beside it, `command` is a line for the shell.
Result<Operation> adapt_bash(const json& args, const PathOrigin&) {
  RunCommand run;
  const std::string command = text_member(args, "command");
  if (args.contains("args")) {
    run.argv.push_back(command);
    for (const json& argument : args["args"]) run.argv.push_back(argument.get<std::string>());
  } else {
    run.argv = {"sh", "-c", command};
    run.is_shell = true;
  }
  if (const auto timeout = count_of(args, "timeout"))
    run.timeout = std::chrono::milliseconds(*timeout);
  return Operation(std::move(run));
}

const std::map<std::string, CallAdapter, std::less<>>& adapters() {
  static const std::map<std::string, CallAdapter, std::less<>> table = {
      {"Read", adapt_read},
      {"Write", adapt_write},
      {"Edit", adapt_edit},
      {"MultiEdit", adapt_multi_edit},
      {"Bash", adapt_bash},
      {"Glob", adapt_find},
      {"Grep", adapt_search},
      {"List", adapt_list},
      {"Delete", adapt_delete},
      {"Move", adapt_move},
      {"Copy", adapt_copy},
      {"Chmod", adapt_chmod},
      {"Symlink", adapt_symlink},
      {"MakeDirectory", adapt_mkdir},
      {"apply_patch", adapt_apply_patch},
      {"str_replace_based_edit_tool", adapt_text_editor},
      {"str_replace_editor", adapt_text_editor},
      {"replace", adapt_replace},
      {"edit_file", adapt_edit_file},
      {"write_file", adapt_write},
      {"move_file", adapt_move},
      {"create_directory", adapt_mkdir},
      {"read_text_file", adapt_read},
      {"list_directory", adapt_list},
      {"directory_tree", adapt_tree},
      {"search_files", adapt_find},
      {"get_file_info", adapt_info},
  };
  return table;
}

/// Adds every path that an edit of one file may name.
Result<void> add_paths(const FileEdit& file, Intent& intent) {
  const bool keeps_source = file.op == FileOp::kCopy;
  for (const std::string* text :
       {&file.path, &file.new_path, &file.other_path, &file.other_new_path}) {
    if (text->empty() || *text == "/dev/null") continue;
    GALLEY_ASSIGN(RelPath path, RelPath::parse(*text));
    const bool is_source = text == &file.path || text == &file.other_path;
    const bool is_left =
        file.op == FileOp::kRename && is_source;  // its content can be read elsewhere
    if (is_left || (keeps_source && is_source)) intent.reads.push_back(path);
    if (!keeps_source || !is_source) intent.writes.push_back(std::move(path));
  }
  return {};
}

struct IntentOf {
  Intent intent;

  Result<void> operator()(const ReadFile& op) { return read(op.path); }
  Result<void> operator()(const ListDirectory& op) { return read(op.path); }
  Result<void> operator()(const FileInfo& op) { return read(op.path); }
  Result<void> operator()(const MeasureUsage& op) { return read(op.path); }
  Result<void> operator()(const FindFiles& op) { return read(op.under); }
  Result<void> operator()(const SearchText& op) { return read(op.under); }
  Result<void> operator()(const WriteFile& op) { return write(op.path); }
  Result<void> operator()(const RemovePath& op) { return write(op.path); }
  Result<void> operator()(const ChangeMode& op) { return write(op.path); }
  Result<void> operator()(const ChangeOwner& op) { return write(op.path); }
  Result<void> operator()(const MakeSymlink& op) { return write(op.path); }
  Result<void> operator()(const MakeDirectory& op) { return write(op.path); }
  Result<void> operator()(const AppendText& op) { return write(op.path); }
  Result<void> operator()(const ListImports& op) { return read(op.under); }
  Result<void> operator()(const FindAgents& op) { return read(op.folder); }
  /// It may run a program: Universal Ctags, where it is installed and the caller may.
  Result<void> operator()(const FindReferences& op) {
    intent.is_open_ended = true;
    return read(op.under);
  }
  Result<void> operator()(const MovePath& op) {
    GALLEY_TRY(read(op.from));
    GALLEY_TRY(write(op.from));
    return write(op.to);
  }
  Result<void> operator()(const CopyPath& op) {
    GALLEY_TRY(read(op.from));
    return write(op.to);
  }
  /// Its name shows only when it is made, and is judged then.
  Result<void> operator()(const BackUpFile& op) { return read(op.path); }
  Result<void> operator()(const EditFiles& op) {
    for (const FileEdit& file : op.edits.files) GALLEY_TRY(add_paths(file, intent));
    return {};
  }
  Result<void> operator()(const RunCommand& op) {
    intent.programs.push_back(op.argv.front());
    intent.is_open_ended = true;
    intent.timeout = op.timeout;
    return {};
  }

 private:
  Result<void> read(const RelPath& path) {
    if (!path.is_root()) intent.reads.push_back(path);
    return {};
  }
  Result<void> write(const RelPath& path) {
    intent.writes.push_back(path);
    return {};
  }
};

/// Candidate ids that an ambiguity named, sent back.
std::vector<std::string> choices_of(const json& args) {
  std::vector<std::string> out;
  const auto field = args.find("choices");
  if (field == args.end() || !field->is_array()) return out;
  for (const json& id : *field) {
    if (id.is_string()) out.push_back(id.get<std::string>());
  }
  return out;
}

}  // namespace

Result<Operation> adapt(std::string_view tool, const json& args, const PathOrigin& origin) {
  const auto adapter = adapters().find(tool);
  if (adapter == adapters().end()) {
    return fail(ErrorKind::kUsage, "tool.unknown",
                "there is no standard tool named '" + std::string(tool) + "'");
  }
  GALLEY_ASSIGN(Operation operation, adapter->second(args, origin));
  if (auto* edit = std::get_if<EditFiles>(&operation)) edit->choices = choices_of(args);
  return operation;
}

Result<Intent> intent_of(const Operation& operation) {
  IntentOf visitor;
  GALLEY_TRY(std::visit(visitor, operation));
  return std::move(visitor.intent);
}

Result<RelPath> file_argument(const std::string& text, const PathOrigin& origin) {
  if (text.empty() || text.front() != '/') return below_cwd(text, origin.cwd);
  if (!origin.root.empty()) return RelPath::parse_within(text, origin.root);
  return fail(ErrorKind::kRefused, "path.outside",
              "the path '" + text + "' is absolute; name files relative to the workspace root",
              text);
}

Result<RelPath> directory_argument(const std::string& text, const PathOrigin& origin) {
  std::string_view rest = text;
  while (rest.size() > 1 && rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest == "." || rest == "./") return origin.cwd;
  const bool is_root = origin.root.empty() ? rest == "/" : rest == origin.root;
  if (is_root) return RelPath::root();
  std::optional<RelPath> above = origin.cwd;
  const std::string_view below = climb(rest, above);
  if (above && below.empty()) return *above;
  return file_argument(std::string(rest), origin);
}

}  // namespace galley
