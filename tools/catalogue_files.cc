// Calls for files and programs that a row of the catalogue cannot express.
#include <nlohmann/json.hpp>
#include <utility>

#include "staging/fs/directory.h"
#include "tools/call_arguments.h"
#include "tools/catalogue.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Plan = Result<std::vector<Operation>>;

/// With `args`, `command` is a program, as in the tool contract. Without `args`, as in Claude Code,
/// `command` is a line for the shell.
Plan plan_bash(const CatalogueCall& call) {
  RunCommand run;
  std::string command = text_member(call.args, "command");
  if (call.args.contains("args")) {
    run.argv = texts_of(call.args, "args");
    run.argv.insert(run.argv.begin(), std::move(command));
  } else {
    run.argv = {"sh", "-c", std::move(command)};
    run.is_shell = true;
  }
  if (const auto timeout = count_of(call.args, "timeout")) {
    run.timeout = std::chrono::milliseconds(*timeout);
  }
  return std::vector<Operation>{std::move(run)};
}

/// MCP's `head` and `tail` are numbers of lines.
Plan plan_head_or_tail(const CatalogueCall& call) {
  ReadFile read;
  GALLEY_ASSIGN(read.path, file_argument(text_member(call.args, "path"), call.origin));
  read.line_count = count_of(call.args, "head");
  read.last_lines = count_of(call.args, "tail");
  if (read.last_lines && read.line_count) {
    return fail(ErrorKind::kInvalid, "args.mixed", "give either 'head' or 'tail', not both");
  }
  return std::vector<Operation>{std::move(read)};
}

// --- aiOS -------------------------------------------------------------------------------------

/// In aiOS this folder is below `/`; here it is below the workspace.
constexpr const char* kBackups = "var/lib/aios/backups";

Plan plan_write(const CatalogueCall& call) {
  GALLEY_ASSIGN(RelPath path, file_argument(text_member(call.args, "path"), call.origin));
  std::vector<Operation> operations;
  if (flag_of(call.args, "backup")) {
    GALLEY_ASSIGN(RelPath backups, RelPath::parse(kBackups));
    operations.emplace_back(BackUpFile{path, std::move(backups)});
  }
  operations.emplace_back(WriteFile{std::move(path), text_member(call.args, "content"),
                                    parse_octal_mode(text_member(call.args, "mode"))});
  return operations;
}

Result<ordered_json> answer_write(const CatalogueCall& call, const ordered_json& first) {
  ordered_json data = {{"success", true},
                       {"bytes_written", text_member(call.args, "content").size()}};
  if (first.contains("backupPath")) data["backup_path"] = first["backupPath"];
  return data;
}

// --- Nachos: one tool, four actions -------------------------------------------------------------

std::string allowed_paths(const ToolSetting& setting) {
  return setting_or(setting, "filesystem", "allowedPaths", "./workspace");
}

/// Compares whole components, not text: the folder `work` does not allow `workshop`.
Result<void> check_allowed(const RelPath& path, const CatalogueCall& call) {
  for (const std::string& text : split_text(allowed_paths(call.setting), ',')) {
    GALLEY_ASSIGN(const RelPath folder, directory_argument(text, {call.origin.root}));
    if (folder.is_root() || path == folder || path.is_below(folder)) return {};
  }
  return fail(ErrorKind::kInvalid, "args.path_not_allowed",
              "Path " + path.str() +
                  " is not in allowed directories; [tools.filesystem] "
                  "config.allowedPaths in galley.toml lists them",
              path.str());
}

Plan plan_filesystem(const CatalogueCall& call) {
  const std::string action = text_member(call.args, "action");
  const std::string text = text_member(call.args, "path");
  const bool lists = action == "list";
  GALLEY_ASSIGN(RelPath path,
                lists ? directory_argument(text, call.origin) : file_argument(text, call.origin));
  GALLEY_TRY(check_allowed(path, call));
  if (lists) return std::vector<Operation>{ListDirectory{std::move(path)}};
  if (action == "read") return std::vector<Operation>{ReadFile{std::move(path)}};
  if (action == "delete") return std::vector<Operation>{RemovePath{std::move(path)}};
  if (!call.args.contains("content")) {
    return fail(ErrorKind::kInvalid, "args.content", "content is required for write action");
  }
  return std::vector<Operation>{WriteFile{std::move(path), text_member(call.args, "content"), {}}};
}

/// One of the allowed folders is enough: each call names the one that it needs.
Result<void> check_folders(const Directory& files, const std::string& root,
                           const ToolSetting& setting) {
  const std::string allowed = allowed_paths(setting);
  for (const std::string& text : split_text(allowed, ',')) {
    GALLEY_ASSIGN(const RelPath folder, directory_argument(text, {root}));
    const auto stat = files.stat(folder);
    if (stat && stat->kind == FileKind::kDirectory) return {};
  }
  return fail(ErrorKind::kNotFound, "path.not_found",
              "Workspace not accessible: there is no directory " + allowed +
                  "; create it, or change [tools.filesystem] config.allowedPaths in galley.toml",
              allowed);
}

/// The `result` of each action, as in Nachos.
Result<ordered_json> answer_filesystem(const CatalogueCall& call, const ordered_json& data) {
  const std::string action = text_member(call.args, "action");
  if (action == "write") return ordered_json{{"result", {{"written", true}}}};
  if (action == "delete") return ordered_json{{"result", {{"deleted", true}}}};
  if (action == "read") {
    ordered_json answer = object_with_room(2);
    answer["result"] = data["content"];
    if (data.contains("encoding")) answer["encoding"] = data["encoding"];
    return answer;
  }
  ordered_json names = ordered_json::array();
  for (const ordered_json& entry : data["entries"]) names.push_back(entry["name"]);
  ordered_json answer = {{"result", std::move(names)}};
  if (data.contains("truncated")) answer["truncated"] = true;
  return answer;
}

}  // namespace

std::vector<NamedCall> file_calls() {
  return {{"bash", plan_bash},
          {"read_head_or_tail", plan_head_or_tail},
          {"write_with_backup", plan_write, answer_write},
          {"filesystem", plan_filesystem, answer_filesystem, nullptr, check_folders}};
}

}  // namespace galley
