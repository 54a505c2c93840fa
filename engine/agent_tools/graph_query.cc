#include "engine/agent_tools/graph_query.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/agent_tools/graph_tables.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/history/rebase.h"
#include "staging/overlay/overlay.h"
#include "tools/json_input.h"

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

}  // namespace

std::unique_ptr<const Tool> make_graph_query(GraphSources sources) {
  return std::make_unique<GraphQueryTool>(std::move(sources));
}

}  // namespace galley
