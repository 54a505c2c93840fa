#include "engine/agent_tools/graph_query.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/audit/audit_chain.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/history/rebase.h"
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
using nlohmann::ordered_json;

constexpr std::chrono::milliseconds kGraphTime{5'000};

QueryParameters parameters_of(const json& args) {
  QueryParameters out;
  const auto params = args.find("params");
  if (params == args.end()) return out;
  for (const auto& [name, value] : params->items()) {
    QueryValue& bound = out[name];
    if (value.is_null()) continue;
    if (value.is_boolean()) {
      bound = int64_t{value.get<bool>()};
    } else if (value.is_number_integer() && value <= INT64_MAX) {
      bound = value.get<int64_t>();
    } else if (value.is_number()) {
      bound = value.get<double>();
    } else if (value.is_string()) {
      bound = value.get<std::string>();
    } else {
      bound = json_text(value);  // for json_each(:name)
    }
  }
  return out;
}

ordered_json json_of(const QueryValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return nullptr;
}

/// Makes the names of columns unique: the second `path` becomes `path_2`.
std::vector<std::string> distinct(std::vector<std::string> columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const std::string name = columns[i];
    const auto is_taken = [&](const std::string& one) {
      return std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), one) !=
             columns.begin() + static_cast<std::ptrdiff_t>(i);
    };
    for (size_t number = 2; is_taken(columns[i]); ++number) {
      columns[i] = name + "_" + std::to_string(number);
    }
  }
  return columns;
}

ordered_json answer_of(const QueryResult& found) {
  const std::vector<std::string> columns = distinct(found.columns);
  ordered_json data;
  ordered_json& results = data["results"] = ordered_json::array();
  for (const auto& row : found.rows) {
    ordered_json one = ordered_json::object();
    for (size_t i = 0; i < columns.size(); ++i) one[columns[i]] = json_of(row[i]);
    results.push_back(std::move(one));
  }
  if (found.is_cut) data["truncated"] = true;
  return data;
}

ToolInfo graph_info() {
  ToolInfo info;
  info.name = "GraphQuery";
  info.title = "Query the history, the record and git";
  info.description =
      "Runs one SELECT (SQLite) and returns a row an object. Tables: transactions, changes, log, "
      "files, agents (what was committed), audit (every call), tree (path, kind, mode, size, hash "
      "of the tree that `commit` names: a transaction's number or a revision of git; without it "
      "the proposed one), git_commits (hash, parents, author, email, time, subject). `params` are "
      "bound to :name, lists and objects as JSON text: IN (SELECT value FROM json_each(:name)).";
  info.input_schema = R"({"type":"object","additionalProperties":false,"properties":{
        "query":{"type":"string","minLength":1,"description":"one SELECT"},
        "params":{"type":"object","description":"values of :name in the query"},
        "commit":{"type":"string","maxLength":200,
          "description":"a transaction's number, or a commit, branch or tag of git"}},
        "required":["query"]})";
  info.output_schema = R"({"type":"object","additionalProperties":false,"properties":{
        "results":{"type":"array","items":{"type":"object"}},"truncated":{"type":"boolean"}},
        "required":["results"]})";
  info.annotations = {.read_only = true, .idempotent = true};
  info.capabilities = {"fs:read"};
  info.risk_level = ToolInfo::Risk::kLow;
  info.security_tier = ToolInfo::Tier::kStandard;
  info.examples = {R"({"query":"SELECT id, message FROM log WHERE agent = :who LIMIT 5",)"
                   R"("params":{"who":"coder"}})"};
  return info;
}

class GraphQueryTool final : public Tool {
 public:
  explicit GraphQueryTool(GraphSources sources)
      : info_(graph_info()), sources_(std::move(sources)) {}

  [[nodiscard]] const ToolInfo& info() const override { return info_; }

  Result<Intent> intent(const json& /*args*/, const PathOrigin& /*origin*/) const override {
    return Intent();
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    // SQLite has one memory limit for the whole process.
    const std::lock_guard guard(mutex_);
    const auto data = query(args, context);
    if (!data) return ToolResult::failure(tool_error_from(data.error()));
    return ToolResult::success(*data);
  }

 private:
  Result<ordered_json> query(const json& args, ToolContext& context) const {
    const std::string sql = args.at("query").get<std::string>();
    const std::string commit = args.value("commit", "");
    const QueryParameters parameters = parameters_of(args);
    const StateDirectory* state = sources_.state();
    std::unique_ptr<HistoryIndex> index;
    if (state != nullptr) {
      GALLEY_ASSIGN(index, HistoryIndex::open(History(*state)));
    } else {
      GALLEY_ASSIGN(index, HistoryIndex::open_empty());
    }
    GALLEY_TRY(add_tables(sql, commit, context, *index));
    const auto left = context.deadline.is_never()
                          ? kGraphTime
                          : std::min(kGraphTime, context.deadline.left(context.clock));
    GALLEY_ASSIGN(const QueryResult found, index->query(sql, Deadline::after(context.clock, left),
                                                        context.clock, parameters));
    return answer_of(found);
  }

  /// Adds only the tables that the query names.
  Result<void> add_tables(const std::string& sql, const std::string& commit, ToolContext& context,
                          HistoryIndex& index) const {
    const bool has_tree = names_table(sql, "tree");
    const bool has_commits = names_table(sql, "git_commits");
    if (!commit.empty() && !has_tree && !has_commits) {
      return fail(ErrorKind::kUsage, "query.commit",
                  "'commit' says which tree and which commits of git are meant, but the query "
                  "names neither 'tree' nor 'git_commits'");
    }
    if (names_table(sql, "audit")) {
      const StateDirectory* state = sources_.state();
      GALLEY_ASSIGN(const QueryTable table, audit_table(state ? &state->root() : nullptr));
      GALLEY_TRY(index.add_table(table));
    }
    if (has_tree) {
      GALLEY_ASSIGN(const QueryTable table, tree_as_of(commit, context));
      GALLEY_TRY(index.add_table(table));
    }
    if (!has_commits) return {};
    const bool is_git = !commit.empty() && !TxId::parse(commit);
    GALLEY_ASSIGN(const QueryTable table,
                  git_commits_table(sources_.root_path, is_git ? commit : "HEAD"));
    return index.add_table(table);
  }

  /// Treats a number as a transaction, so a git commit whose abbreviated name has only digits must
  /// be written in full.
  Result<QueryTable> tree_as_of(const std::string& commit, ToolContext& context) const {
    if (commit.empty()) return tree_table(context);
    const auto id = TxId::parse(commit);
    if (!id) return git_tree_table(context, sources_.root_path, commit);
    const StateDirectory* state = sources_.state();
    if (state == nullptr) {
      return fail(ErrorKind::kNotFound, "history.not_found",
                  "there is no transaction " + commit + ": nothing was committed here yet");
    }
    const Directory& workspace = context.overlay.workspace();
    GALLEY_ASSIGN(const Proposal past,
                  proposal_to_tree_after(History(*state), workspace, *id, context.clock));
    Overlay overlay(workspace, make_memory_store(), context.clock);
    GALLEY_TRY(stage_proposal(past, overlay));
    ToolContext then{.overlay = overlay,
                     .clock = context.clock,
                     .root = context.root,
                     .agent = context.agent,
                     .capabilities = context.capabilities,
                     .deadline = context.deadline,
                     .logger = {},
                     .secrets = {},
                     .may_read = context.may_read,
                     .stop = context.stop};
    return tree_table(then);
  }

  ToolInfo info_;
  GraphSources sources_;
  mutable std::mutex mutex_;
};

using nlohmann::json;
using Row = std::vector<QueryValue>;

Error too_many(std::string_view table) {
  return {ErrorKind::kQuota, "limit.graph_rows",
          "the table '" + std::string(table) + "' would have more than " +
              std::to_string(kMaxGraphRows) + " rows",
          "", 0};
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
  Row row = {path, std::string(kind_name(kind)), octal_mode(mode), {}, {}};
  if (kind != FileKind::kDirectory) row[3] = size;
  if (!hash.empty()) row[4] = std::move(hash);
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

std::unique_ptr<const Tool> make_graph_query(GraphSources sources) {
  return std::make_unique<GraphQueryTool>(std::move(sources));
}

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
