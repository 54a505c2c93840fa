#include "engine/agent_tools/graph_tables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/audit/audit_chain.h"
#include "staging/fs/directory.h"
#include "staging/git/git_program.h"
#include "staging/git/git_tree.h"
#include "staging/overlay/overlay.h"
#include "tools/json_input.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::json;
using Row = std::vector<QueryValue>;

Error too_many(std::string_view table) {
  return {ErrorKind::kQuota,
          "limit.graph_rows",
          "the table '" + std::string(table) + "' would have more than " +
              std::to_string(kMaxGraphRows) + " rows",
          {},
          0};
}

QueryValue text_value(const json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_string()) return std::monostate();
  return found->get<std::string>();
}

QueryValue number_member(const json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_number_integer()) return std::monostate();
  return found->get<int64_t>();
}

constexpr std::array<const char*, 13> kAuditTexts = {
    "timestamp", "kind",    "execution_id", "call_id",    "tool", "agent",   "owner",
    "task_id",   "goal_id", "reason",       "risk_level", "tx",   "proposal"};

Row audit_row(const json& record) {
  Row row;
  row.emplace_back(number_member(record, "seq"));
  for (const char* key : kAuditTexts) row.push_back(text_value(record, key));
  row.push_back(number_member(record, "duration_ms"));
  const auto error = record.find("error");
  const bool has_failed = error != record.end() && error->is_object();
  row.push_back(has_failed ? text_value(*error, "code") : QueryValue());
  row.push_back(has_failed ? text_value(*error, "reason") : QueryValue());
  return row;
}

QueryTable empty_tree() { return {"tree", {"path", "kind", "mode", "size", "hash"}, {}}; }

Row tree_row(const std::string& path, FileKind kind, uint32_t mode, int64_t size,
             std::string hash) {
  Row row;
  row.emplace_back(path);
  row.emplace_back(std::string(kind_name(kind)));
  row.emplace_back(octal_mode(mode));
  row.emplace_back(std::monostate());
  if (kind != FileKind::kDirectory) row.back() = size;
  row.emplace_back(std::monostate());
  if (!hash.empty()) row.back() = std::move(hash);
  return row;
}

/// Returns the commit that a revision names. A text that git would read as an option is not a
/// revision.
Result<std::string> commit_of(const GitProgram& git, const std::string& revision) {
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"rev-parse", "--verify", "--quiet",
                                                     "--end-of-options", revision + "^{commit}"}));
  std::string hash = said.output;
  while (!hash.empty() && hash.back() == '\n') hash.pop_back();
  if (said.status == 0 && !hash.empty()) return hash;
  GALLEY_TRY(git.layout());  // without a repository this returns another error
  return fail(ErrorKind::kUsage, "git.bad_revision",
              "git knows no commit '" + revision +
                  "'; name a transaction by its number, or a "
                  "commit, branch or tag of git");
}

/// Parses `MODE TYPE HASH SIZE\tPATH` of git-ls-tree(1); nullopt for a submodule.
std::optional<Row> git_tree_row(const std::string& record, const ToolContext& context) {
  const size_t tab = record.find('\t');
  if (tab == std::string::npos) return {};
  std::vector<std::string> fields;
  for (size_t at = 0; at < tab;) {
    const size_t end = std::min(record.find(' ', at), tab);
    if (end > at) fields.push_back(record.substr(at, end - at));
    at = end + 1;
  }
  constexpr size_t kFields = 4;
  if (fields.size() != kFields || fields[1] != "blob") return {};
  const std::string path = record.substr(tab + 1);
  const auto named = RelPath::parse(path);
  if (!named || (context.may_read && !context.may_read(*named))) return {};
  constexpr int kOctal = 8;
  const auto mode = static_cast<uint32_t>(std::strtoul(fields[0].c_str(), nullptr, kOctal));
  int64_t size = 0;
  std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), size);
  return tree_row(path, kind_of_git_mode(mode), permissions_of_git_mode(mode), size, fields[2]);
}

}  // namespace

Result<QueryTable> audit_table(const Directory* state_root) {
  QueryTable table{"audit", {"seq"}, {}};
  table.columns.insert(table.columns.end(), kAuditTexts.begin(), kAuditTexts.end());
  table.columns.insert(table.columns.end(), {"duration_ms", "error_code", "error_reason"});
  if (state_root == nullptr) return table;
  GALLEY_ASSIGN(const RelPath log, RelPath::parse("audit.jsonl"));
  std::optional<Error> failure;
  const auto take = [&](std::string_view line, bool is_whole) {
    if (!is_whole || failure) return;
    const auto record = parse_json(line);
    if (!record || !record->is_object()) {
      failure = Error{ErrorKind::kInvalid, "audit.malformed",
                      "a line of the audit log is not a record; run galley audit verify", "", 0};
    } else if (table.rows.size() == kMaxGraphRows) {
      failure = too_many(table.name);
    } else {
      table.rows.push_back(audit_row(*record));
    }
  };
  GALLEY_TRY(for_each_audit_line(*state_root, log, take));
  if (failure) return *failure;
  return table;
}

Result<QueryTable> tree_table(ToolContext& context) {
  QueryTable table = empty_tree();
  const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
    if (table.rows.size() == kMaxGraphRows) return too_many(table.name);
    GALLEY_ASSIGN(const Node node, context.overlay.node_without_content(path));
    table.rows.push_back(tree_row(path.str(), kind, node.mode, static_cast<int64_t>(node.size),
                                  node.content.is_none() ? "" : node.content.hex()));
    return WalkStep::kGoOn;
  };
  GALLEY_TRY(walk(context, RelPath::root(), false, visit));
  return table;
}

Result<QueryTable> git_tree_table(const ToolContext& context, const std::string& root_path,
                                  const std::string& revision) {
  const GitProgram git = GitProgram::in_other_repository(root_path);
  GALLEY_ASSIGN(const std::string commit, commit_of(git, revision));
  GALLEY_ASSIGN(const std::string listed, git.run({"ls-tree", "-r", "-l", "-z", commit}));
  QueryTable table = empty_tree();
  for (const std::string& record : split_at_nul(listed)) {
    auto row = git_tree_row(record, context);
    if (!row) continue;
    if (table.rows.size() == kMaxGraphRows) return too_many(table.name);
    table.rows.push_back(*std::move(row));
  }
  return table;
}

Result<QueryTable> git_commits_table(const std::string& root_path, const std::string& revision) {
  constexpr size_t kFields = 6;
  const GitProgram git = GitProgram::in_other_repository(root_path);
  GALLEY_ASSIGN(const std::string commit, commit_of(git, revision));
  GALLEY_ASSIGN(
      const std::string listed,
      git.run({"log", "-z", "--no-show-signature", "--format=%H%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%s",
               "--max-count=" + std::to_string(kMaxGraphRows), commit}));
  QueryTable table{"git_commits", {"hash", "parents", "author", "email", "time", "subject"}, {}};
  for (std::string_view rest = listed; !rest.empty();) {
    const size_t end = std::min(rest.find('\0'), rest.size());
    std::string_view record = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    Row row;
    while (row.size() + 1 < kFields) {
      const size_t mark = std::min(record.find('\x1f'), record.size());
      row.emplace_back(std::string(record.substr(0, mark)));
      record.remove_prefix(std::min(mark + 1, record.size()));
    }
    row.emplace_back(std::string(record));
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool names_table(std::string_view sql, std::string_view table) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (auto at = sql.begin();; ++at) {
    at = std::search(at, sql.end(), table.begin(), table.end(), same);
    if (at == sql.end()) return false;
    const bool opens = at == sql.begin() || !is_word(*(at - 1));
    const auto end = at + static_cast<std::ptrdiff_t>(table.size());
    if (opens && (end == sql.end() || !is_word(*end))) return true;
  }
}

}  // namespace galley
