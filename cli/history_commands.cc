#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/render.h"
#include "engine/history/blame.h"
#include "engine/history/history.h"
#include "engine/history/index.h"
#include "engine/history/undo.h"
#include "engine/policy/policy.h"

namespace galley {
namespace {

constexpr size_t kMaxListedPaths = 8;
constexpr std::chrono::milliseconds kQueryTime{10'000};

/// The history of an open workspace; an empty one where nothing was ever committed.
Result<History> open_history(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  if (workspace->state_doubt() != nullptr) return *workspace->state_doubt();
  if (workspace->state() == nullptr) {
    return fail(ErrorKind::kNotFound, "history.empty",
                "nothing was committed in '" + workspace->root_path() + "' yet");
  }
  return History(*workspace->state());
}

Json transaction_json(const TxSummary& summary) {
  Json json = {{"id", summary.id.hex()},     {"time", rfc3339_utc(summary.time_ns)},
               {"agent", summary.agent},     {"tool", summary.tool},
               {"message", summary.message}, {"proposal", summary.proposal.hex()},
               {"paths", Json::array()}};
  if (summary.owner) json["owner"] = *summary.owner;
  if (summary.undoes) json["undoes"] = summary.undoes->hex();
  if (summary.undone_by) json["undone_by"] = summary.undone_by->hex();
  for (const TxId part : summary.partly_undone_by) json["partly_undone_by"].push_back(part.hex());
  if (!summary.problem.empty()) json["problem"] = summary.problem;
  for (const PathSummary& path : summary.paths) {
    Json entry = {{"path", path.path.str()}, {"status", std::string(1, path.status)}};
    if (path.from) entry["from"] = path.from->str();
    entry["added"] = path.added;
    entry["removed"] = path.removed;
    if (path.is_binary) entry["binary"] = true;
    if (path.is_directory) entry["directory"] = true;
    json["paths"].push_back(std::move(entry));
  }
  return json;
}

std::string transaction_text(const TxSummary& summary, bool has_color) {
  const std::string_view on = has_color ? "\033[33m" : "";
  const std::string_view off = has_color ? "\033[m" : "";
  std::string text = fmt::format("{}transaction {}{}  {}", on, summary.id.hex(), off,
                                 rfc3339_utc(summary.time_ns));
  if (!summary.tool.empty()) text += "  " + printable_line(summary.tool);
  if (!summary.agent.empty()) text += "  by " + printable_line(summary.agent);
  if (summary.owner) {
    text += "  in the transaction of " +
            (summary.owner->empty() ? "no agent" : printable_line(*summary.owner));
  }
  if (summary.undoes) text += fmt::format("  undoes {}", summary.undoes->hex());
  if (summary.undone_by) text += fmt::format("  undone by {}", summary.undone_by->hex());
  for (const TxId part : summary.partly_undone_by) {
    text += fmt::format("  partly undone by {}", part.hex());
  }
  text += "\n";
  if (!summary.problem.empty())
    text += "    cannot be read: " + printable_line(summary.problem) + "\n";
  if (!summary.message.empty()) text += "    " + printable_line(summary.message) + "\n";
  size_t shown = 0;
  for (const PathSummary& path : summary.paths) {
    if (path.is_directory) continue;
    if (++shown > kMaxListedPaths) continue;
    const std::string name =
        path.from ? fmt::format("{} => {}", path.from->str(), path.path.str()) : path.path.str();
    const std::string counts =
        path.is_binary ? "binary" : fmt::format("+{} -{}", path.added, path.removed);
    text += fmt::format("    {} {}  {}\n", path.status, printable_line(name), counts);
  }
  if (shown > kMaxListedPaths) text += fmt::format("    … and {} more\n", shown - kMaxListedPaths);
  return text;
}

Result<int> log(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  std::vector<TxSummary> transactions;
  if (workspace->state() != nullptr) {
    const Arguments& arguments = session.arguments();
    HistoryFilter filter;
    filter.agent = arguments.global.agent;
    filter.limit = arguments.limit;
    if (!arguments.since.empty()) {
      GALLEY_ASSIGN(filter.since_ns, parse_moment(arguments.since, workspace->clock().wall_ns()));
    }
    for (const std::string& path : arguments.paths) {
      GALLEY_ASSIGN(const RelPath parsed, RelPath::parse_within(path, workspace->root_path()));
      filter.paths.push_back(parsed);
    }
    GALLEY_ASSIGN(transactions, History(*workspace->state()).list(filter));
  }
  if (session.is_json()) {
    Json document = {{"schema", "galley.log/1"}, {"ok", true}, {"transactions", Json::array()}};
    for (const TxSummary& summary : transactions) {
      document["transactions"].push_back(transaction_json(summary));
    }
    session.print(document);
    return kExitDone;
  }
  std::string text;
  for (const TxSummary& summary : transactions) {
    text += transaction_text(summary, session.terminal().has_color());
  }
  if (transactions.empty()) {
    const bool is_doubted = workspace->state_doubt() != nullptr;
    session.say(is_doubted ? "nothing is committed here that is believed"
                           : "nothing was committed here yet");
  }
  session.print(text);
  return kExitDone;
}

Result<int> show(Session& session) {
  GALLEY_ASSIGN(const History history, open_history(session));
  const std::string& wanted = session.arguments().id;
  GALLEY_ASSIGN(const TxId id, history.resolve(wanted.empty() ? "@" : wanted));
  GALLEY_ASSIGN(const TxSummary summary, history.summary(id));
  GALLEY_ASSIGN(const Proposal proposal, history.proposal_of(id));
  if (session.is_json()) {
    Json document = {{"schema", "galley.show/1"}, {"ok", true}};
    document["transaction"] = transaction_json(summary);
    document["changes"] = changes_json(proposal.changes());
    GALLEY_TRY(add_exact_diff(session, document, proposal));
    session.print(document);
    return kExitDone;
  }
  GALLEY_TRY(print_changes(session, proposal, session.arguments().diff,
                           transaction_text(summary, session.terminal().has_color()) + "\n"));
  return kExitDone;
}

// --- undo and redo --------------------------------------------------------------------------

/// `PATH:N` or `PATH:N,M`: hunks counted from 1 as show prints them.
Result<HunkSelection> parse_hunks(const std::string& text, const std::string& root) {
  const size_t colon = text.rfind(':');
  HunkSelection selection;
  std::string numbers = colon == std::string::npos ? "" : text.substr(colon + 1);
  while (!numbers.empty()) {
    uint32_t number = 0;
    const char* end = numbers.data() + numbers.size();
    const auto [rest, code] = std::from_chars(numbers.data(), end, number);
    if (code != std::errc() || number == 0 || (rest != end && *rest != ',')) break;
    selection.hunks.push_back(number);
    numbers = rest == end ? "" : std::string(rest + 1, end);
  }
  if (selection.hunks.empty() || !numbers.empty()) {
    return fail(ErrorKind::kUsage, "undo.bad_hunk",
                "--hunk takes PATH:N or PATH:N,M with hunks counted from 1, not '" + text + "'");
  }
  GALLEY_ASSIGN(selection.path, RelPath::parse_within(text.substr(0, colon), root));
  return selection;
}

Result<UndoOptions> undo_options(Session& session, const Workspace& workspace) {
  const Arguments& arguments = session.arguments();
  UndoOptions options;
  for (const std::string& path : arguments.paths) {
    GALLEY_ASSIGN(const RelPath parsed, RelPath::parse_within(path, workspace.root_path()));
    options.paths.push_back(parsed);
  }
  for (const std::string& hunk : arguments.hunks) {
    GALLEY_ASSIGN(const HunkSelection selection, parse_hunks(hunk, workspace.root_path()));
    options.hunks.push_back(selection);
  }
  if (workspace.config().commit.on_conflict == OnConflict::kRefuse) {
    options.mode = MergeMode::kExact;
  }
  if (arguments.conflict == "markers") options.mode = MergeMode::kMarkers;
  return options;
}

void add_dependencies(Json& document, const std::vector<Dependency>& dependencies) {
  document["dependencies"] = Json::array();
  for (const Dependency& dependency : dependencies) {
    document["dependencies"].push_back({{"later", dependency.later.hex()},
                                        {"on", dependency.on.hex()},
                                        {"path", dependency.path.str()},
                                        {"same_lines", dependency.same_lines},
                                        {"text", dependency.text()}});
  }
}

Result<int> undo_conflict(Session& session, UndoConflict conflict, Json& document) {
  document["ok"] = false;
  document["reason"] = "undo.conflict";
  document["message"] =
      "the workspace changed since transaction " + conflict.undoes.hex() + "; nothing was undone";
  document["conflicts"] = Json::array();
  std::string text;
  for (PathConflict& path : conflict.paths) {
    GALLEY_TRY(hide_unread(session, path));
    Json entry = {{"path", path.path.str()}, {"message", path.message}};
    if (!path.diff.empty()) entry["diff"] = path.diff;
    if (!path.hunks.empty()) entry["hunks"] = hunks_json(path.hunks);
    document["conflicts"].push_back(std::move(entry));
    text += fmt::format("conflict: {} [{}]\n{}", printable_line(path.message), path.reason,
                        sides_text(path.hunks, path.diff, "undo"));
  }
  for (const Dependency& dependency : conflict.dependencies)
    text += printable_line(dependency.text()) + "\n";
  add_dependencies(document, conflict.dependencies);
  if (session.is_json()) {
    session.print(document);
  } else {
    session.terminal().talk(text + document["message"].get<std::string>() + "\n");
    const bool has_lines = std::any_of(conflict.paths.begin(), conflict.paths.end(),
                                       [](const auto& path) { return !path.hunks.empty(); });
    if (has_lines) say_markers_help(session);
  }
  return kExitNo;
}

Result<int> carry_out(Session& session, Workspace& workspace, const UndoPlan& plan,
                      Json& document) {
  document["merged"] = Json::array();
  for (const MergedPath& merged : plan.merged) {
    const std::string line = merged.path.str() + ": " + merged.how;
    document["merged"].push_back(line);
    session.say(line);
  }
  add_dependencies(document, plan.dependencies);
  TransactionOptions who = session.transaction_options();
  if (who.message.empty()) who.message = plan.message;
  if (session.arguments().dry_run) {
    GALLEY_ASSIGN(const Preview preview, workspace.judge(plan.proposal, who));
    GALLEY_TRY(show_preview(session, preview, document));
    return finish_verdict(session, preview.verdict, document);
  }
  const bool has_markers = std::any_of(plan.merged.begin(), plan.merged.end(),
                                       [](const MergedPath& path) { return path.markers > 0; });
  if (has_markers) {
    GALLEY_ASSIGN(Transaction transaction, workspace.begin_stored(who));
    GALLEY_TRY(stage_markers(session, transaction, plan.proposal, plan.merged, document));
    document["ok"] = false;
    document["reason"] = "undo.conflict";
    if (session.is_json()) session.print(document);
    return kExitNo;
  }
  CommitRequest request;
  request.tool = plan.tool;
  request.undoes = plan.undoes;
  request.on_progress = session.gate_progress();
  GALLEY_ASSIGN(const CommitOutcome outcome, workspace.commit(plan.proposal, who, request));
  return finish_commit(session, outcome, plan.proposal, document);
}

Result<int> take_back(Session& session, bool is_redo) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, open_history(session));
  const std::string& wanted = session.arguments().id;
  TxId id;
  if (!is_redo || !wanted.empty()) {
    GALLEY_ASSIGN(id, history.resolve(wanted));
  }
  GALLEY_ASSIGN(const UndoOptions options, undo_options(session, *workspace));
  const Clock& clock = workspace->clock();
  GALLEY_ASSIGN(const UndoOutcome outcome,
                is_redo ? plan_redo(history, workspace->root(), id, clock, options)
                        : plan_undo(history, workspace->root(), id, clock, options));
  Json document = {{"schema", is_redo ? "galley.redo/1" : "galley.undo/1"}, {"ok", true}};
  if (const auto* plan = std::get_if<UndoPlan>(&outcome)) {
    document["undoes"] = plan->undoes.hex();
    return carry_out(session, *workspace, *plan, document);
  }
  if (const auto* conflict = std::get_if<UndoConflict>(&outcome)) {
    document["undoes"] = conflict->undoes.hex();
    return undo_conflict(session, *conflict, document);
  }
  const std::string message = "the workspace already is as it was before transaction " +
                              std::get<NothingToUndo>(outcome).undoes.hex();
  document["undoes"] = std::get<NothingToUndo>(outcome).undoes.hex();
  document["message"] = message;
  if (session.is_json()) session.print(document);
  session.say(message);
  return kExitDone;
}

// --- blame and query ------------------------------------------------------------------------

Result<int> blame_file(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, open_history(session));
  GALLEY_ASSIGN(const RelPath path,
                RelPath::parse_within(session.arguments().name, workspace->root_path()));
  const Judgement reading =
      Policy(workspace->config()).judge_read(path, session.arguments().global.agent);
  if (reading.decision == Decision::kDeny) {
    return fail(ErrorKind::kRefused, reading.id, reading.message, path.str());
  }
  GALLEY_ASSIGN(const Blame blamed, blame(history, workspace->root(), path));
  Json document = {{"schema", "galley.blame/1"}, {"ok", true}, {"path", path.str()}};
  document["lines"] = Json::array();
  std::string text;
  size_t number = 0;
  for (const BlamedLine& line : blamed.lines) {
    ++number;
    Json entry = {{"line", number}, {"text", line.text}};
    std::string who = line.origin == LineOrigin::kOutside ? "(outside)" : "(older)";
    if (line.origin == LineOrigin::kTransaction) {
      const TxSummary& summary = blamed.transactions.at(line.tx);
      entry["id"] = line.tx.hex();
      entry["agent"] = summary.agent;
      entry["message"] = summary.message;
      who = fmt::format("{} {} {}", line.tx.hex(), summary.agent, rfc3339_utc(summary.time_ns));
    }
    document["lines"].push_back(std::move(entry));
    text +=
        fmt::format("{:<40} {:>5}) {}{}", printable_line(who), number,
                    session.terminal().content(line.text), line.text.ends_with('\n') ? "" : "\n");
  }
  if (session.is_json()) {
    session.print(document);
  } else {
    session.print(text);
  }
  return kExitDone;
}

Json value_json(const QueryValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      value);
}

Result<int> query(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const History history, open_history(session));
  GALLEY_ASSIGN(const auto index, HistoryIndex::open(history));
  GALLEY_ASSIGN(const QueryResult result,
                index->query(session.arguments().name,
                             Deadline::after(workspace->clock(), kQueryTime), workspace->clock()));
  Json document = {{"schema", "galley.query/1"}, {"ok", true}, {"columns", result.columns}};
  document["rows"] = Json::array();
  const auto table_line = [](const std::vector<std::string>& fields) {
    std::string line;
    for (const std::string& field : fields) line += printable_line(field) + "\t";
    line.back() = '\n';
    return line;
  };
  std::string text = table_line(result.columns);
  for (const auto& row : result.rows) {
    Json cells = Json::array();
    std::vector<std::string> words;
    for (const QueryValue& value : row) {
      cells.push_back(value_json(value));
      words.push_back(cells.back().is_string() ? cells.back().get<std::string>()
                                               : cells.back().dump());
    }
    document["rows"].push_back(std::move(cells));
    text += table_line(words);
  }
  if (session.is_json()) {
    session.print(document);
  } else {
    session.print(text);
  }
  if (result.is_cut) session.say("there are more rows; add a LIMIT or a WHERE");
  return kExitDone;
}

}  // namespace

int run_log(Session& session) { return session.finish(log(session)); }
int run_show(Session& session) { return session.finish(show(session)); }
int run_undo(Session& session) { return session.finish(take_back(session, false)); }
int run_redo(Session& session) { return session.finish(take_back(session, true)); }
int run_blame(Session& session) { return session.finish(blame_file(session)); }
int run_query(Session& session) { return session.finish(query(session)); }

}  // namespace galley
