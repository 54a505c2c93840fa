#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/history_text.h"
#include "cli/outcome.h"
#include "cli/places.h"
#include "cli/reports.h"
#include "engine/audit/recorded_calls.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/history/turns.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

namespace {

constexpr const char* kNothingAtPaths = " changes nothing at the paths that were named";

/// Returns the paths of `log` and `show` as the caller gave them: those of --path and those after
/// the options. With --turn, no word is an id.
std::vector<std::string> path_names(const Arguments& arguments) {
  std::vector<std::string> names = arguments.paths;
  if (!arguments.turn.empty() && !arguments.id.empty()) names.push_back(arguments.id);
  names.insert(names.end(), arguments.words.begin(), arguments.words.end());
  return names;
}

Result<std::vector<RelPath>> named_paths(Session& session) {
  return session.paths(path_names(session.arguments()));
}

/// Prints `text`, which has the heading, with the diff of a transaction: with a summary and the
/// patch if `has_both`. Leaves in `text` what comes before the next heading.
/// Errors: kNotFound `history.pruned` if another process removes the transaction meanwhile.
Result<void> print_diff(Session& session, TxId id, const std::vector<RelPath>& paths, bool has_both,
                        std::string& text) {
  GALLEY_ASSIGN(const History history, open_history(session));
  GALLEY_ASSIGN(const Proposal proposal, history.proposal_of(id));
  const Proposal part = part_below(proposal, paths);
  const std::string between = session.arguments().oneline ? "" : "\n";
  text += between;
  DiffArguments diff = session.arguments().diff;
  if (has_both) {
    GALLEY_TRY(print_changes(session, part, diff, text));
    text = between;
    diff.stat = diff.numstat = diff.name_status = false;
  }
  GALLEY_TRY(print_changes(session, part, diff, text));
  text = between;
  return {};
}

/// Prints the log for people: headings, and as much of each diff as requested.
Result<void> print_transactions(Session& session, const std::vector<TxSummary>& transactions,
                                bool has_patch) {
  const Arguments& arguments = session.arguments();
  const bool has_color = session.terminal().has_color();
  const DiffArguments& diff = arguments.diff;
  const bool is_summary = diff.stat || diff.numstat || diff.name_status;
  GALLEY_ASSIGN(const auto paths, named_paths(session));
  GALLEY_ASSIGN(const CommitLinks links, commit_links(session));
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const ShownTime when{arguments.date, place_of(*workspace).clock().wall_ns()};
  std::string text;  // not printed yet
  for (const TxSummary& summary : transactions) {
    text += arguments.oneline ? transaction_line(summary, has_color)
                              : transaction_text(summary, links, has_color, when);
    if ((!has_patch && !is_summary) || !summary.problem.empty()) continue;
    const auto printed = print_diff(session, summary.id, paths, is_summary && has_patch, text);
    const bool is_pruned = !printed && printed.error().reason == "history.pruned";
    if (!printed && !is_pruned) return printed;
    if (is_pruned) session.say(session.with_hints(printed.error().message));
  }
  session.print(text);
  return {};
}

/// The file as it was just after the transaction. `name` is the path as the caller gave it.
Result<Content> file_after(const Workspace& workspace, const History& history, TxId id,
                           const RelPath& path, const std::string& name) {
  // The transaction's own image does not depend on what is at the path today.
  GALLEY_ASSIGN(const Proposal own, history.proposal_of(id));
  const Change* const change = find_change(own.changes(), path);
  if (change != nullptr && change->after.kind == FileKind::kRegular) {
    if (auto image = own.content(change->after)) return *std::move(image);
  }
  const Place& place = place_of(workspace);
  GALLEY_ASSIGN(const Proposal past,
                proposal_to_tree_after(history, place.files(), id, place.clock()));
  Overlay view = overlay_of(past, place.files(), place.clock());
  auto content = view.read(path);
  if (content || content.error().reason != "path.not_found") return content;
  Error error = std::move(content.error());
  const bool is_deleted = change != nullptr && change->after.kind == FileKind::kAbsent;
  error.message = "'" + path.str() + "' did not exist just after transaction " + id.str();
  const auto moved = std::find_if(own.changes().begin(), own.changes().end(),
                                  [&](const Change& one) { return one.renamed_from == path; });
  if (is_deleted && moved != own.changes().end()) {
    error.message += ", which moved it to '" + moved->path.str() + "'";
  } else if (is_deleted) {
    error.message +=
        ", which deleted it; bring it back with: galley undo " + id.str() + " " + shell_word(name);
  }
  return fail(std::move(error));
}

Result<int> show_file(Session& session, const History& history, TxId id, const std::string& name) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const DiffArguments& diff = session.arguments().diff;
  const bool is_alone = session.arguments().words.empty() && diff.html.empty() && !diff.stat &&
                        !diff.numstat && !diff.name_status && !diff.changes_diff_layout();
  if (!is_alone) {
    return fail(ErrorKind::kUsage, "usage.whole_file",
                "show ID:PATH prints a whole file, so it takes no options of a diff and no other "
                "path; for the diff of this path: " +
                    session.hint("show " + id.str() + " " + shell_word(name)));
  }
  GALLEY_ASSIGN(const RelPath path, session.path(name));
  const Judgement reading =
      Policy(rules_of(*workspace).config).judge_read(path, session.arguments().global.agent);
  if (reading.decision == Decision::kDeny) {
    return fail(ErrorKind::kRefused, reading.id, reading.message, path.str());
  }
  GALLEY_ASSIGN(const Content content, file_after(*workspace, history, id, path, name));
  session.print({{"schema", "galley.show-file/1"},
                 {"ok", true},
                 {"id", id.str()},
                 {"path", path.str()},
                 {"content", *content}},
                session.terminal().content(*content));
  return kExitDone;
}

/// `show --turn N [PATH...]`: each transaction of the turn that changed one of the paths, oldest
/// first, with its diff.
Result<int> show_turn(Session& session, const History& history) {
  GALLEY_ASSIGN(const TurnSummary turn, wanted_turn(session, history));
  const std::string what = "turn " + turn.name();
  GALLEY_TRY(
      check_names_in(session, history, turn.transactions, path_names(session.arguments()), what));
  GALLEY_ASSIGN(const auto paths, named_paths(session));
  std::vector<TxSummary> oldest_first;
  for (auto one = turn.transactions.rbegin(); one != turn.transactions.rend(); ++one) {
    if (!paths.empty()) {
      GALLEY_ASSIGN(const Proposal whole, history.proposal_of(one->id));
      if (part_below(whole, paths).is_empty()) continue;
    }
    GALLEY_ASSIGN(TxSummary summary, history.summary(one->id));
    oldest_first.push_back(std::move(summary));
  }
  if (oldest_first.empty()) session.say(what + kNothingAtPaths);
  if (!session.is_json()) {
    const DiffArguments& diff = session.arguments().diff;
    const bool is_summary = diff.stat || diff.numstat || diff.name_status;
    GALLEY_TRY(print_transactions(session, oldest_first, !is_summary));
    return kExitDone;
  }
  GALLEY_ASSIGN(const CommitLinks links, commit_links(session));
  Json document = {{"schema", "galley.show-turn/1"},
                   {"ok", true},
                   {"turn", turn.name()},
                   {"transactions", Json::array()}};
  for (const TxSummary& summary : oldest_first) {
    document["transactions"].push_back(transaction_json(summary, links));
  }
  session.print(document);
  return kExitDone;
}

}  // namespace

Result<int> run_log(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  std::vector<TxSummary> transactions;
  Json document = {{"schema", "galley.log/1"}, {"ok", true}, {"transactions", Json::array()}};
  std::string damage;
  const Arguments& arguments = session.arguments();
  if (persistent_of(*workspace).state() != nullptr) {
    HistoryFilter filter;
    filter.agent = arguments.global.agent;
    filter.session = arguments.of_session;
    filter.limit = arguments.limit.value_or(0);
    if (!arguments.since.empty()) {
      GALLEY_ASSIGN(filter.since_ns,
                    parse_time_expression(arguments.since, place_of(*workspace).clock().wall_ns()));
    }
    if (!arguments.until.empty()) {
      GALLEY_ASSIGN(filter.until_ns,
                    parse_time_expression(arguments.until, place_of(*workspace).clock().wall_ns()));
    }
    filter.message = arguments.grep;
    GALLEY_ASSIGN(filter.paths, named_paths(session));
    if (arguments.limit != 0) {
      GALLEY_ASSIGN(transactions, History(*persistent_of(*workspace).state()).list(filter));
    }
    if (transactions.empty()) GALLEY_TRY(check_session(session));
    GALLEY_ASSIGN(damage, damage_text(*persistent_of(*workspace).state(), transactions, document));
  }
  if (session.is_json()) {
    GALLEY_ASSIGN(const CommitLinks links, commit_links(session));
    for (const TxSummary& summary : transactions) {
      document["transactions"].push_back(transaction_json(summary, links));
    }
    session.print(document);
    return kExitDone;
  }
  GALLEY_TRY(print_transactions(session, transactions, arguments.patch));
  if (!damage.empty()) session.print_error_lines(damage);
  if (!transactions.empty() || arguments.limit == 0) return kExitDone;
  std::optional<TxId> latest;
  if (persistent_of(*workspace).state() != nullptr) {
    GALLEY_ASSIGN(latest, History(*persistent_of(*workspace).state()).latest());
  }
  const bool is_doubted = workspace->state_distrust() != nullptr;
  session.say(is_doubted ? "there is no trusted history here"
              : latest   ? "no transaction is like that"
                         : "nothing was committed here yet");
  return kExitDone;
}

Result<int> run_show(Session& session) {
  GALLEY_ASSIGN(const History history, open_history(session));
  if (!session.arguments().turn.empty()) return show_turn(session, history);
  const std::string& wanted = session.arguments().id;
  const size_t colon = wanted.find(':');
  const std::string number = wanted.substr(0, colon);
  GALLEY_ASSIGN(const TxId id, history.resolve(number.empty() ? "@" : number));
  if (colon != std::string::npos) return show_file(session, history, id, wanted.substr(colon + 1));
  GALLEY_ASSIGN(const TxSummary summary, history.summary(id));
  const std::string what = "transaction " + id.str();
  GALLEY_TRY(check_names_in(session, history, {summary}, path_names(session.arguments()), what));
  GALLEY_ASSIGN(const Proposal whole, history.proposal_of(id));
  GALLEY_ASSIGN(const auto paths, named_paths(session));
  const Proposal proposal = part_below(whole, paths);
  if (proposal.is_empty() && !whole.is_empty()) {
    session.say(what + kNothingAtPaths);
  }
  GALLEY_ASSIGN(const CommitLinks links, commit_links(session));
  if (!session.arguments().diff.html.empty()) {
    ReviewSubject subject;
    subject.title = "Commit " + id.str();
    subject.facts = facts_of(summary);
    GALLEY_TRY(write_report(session, proposal, std::move(subject)));
    if (!session.is_json()) return kExitDone;
  }
  if (session.is_json()) {
    Json document = {{"schema", "galley.show/1"}, {"ok", true}};
    document["transaction"] = transaction_json(summary, links);
    document["changes"] = changes_json(proposal.changes());
    GALLEY_TRY(add_exact_diff(session, document, proposal));
    session.print(document);
    return kExitDone;
  }
  GALLEY_TRY(
      print_changes(session, proposal, session.arguments().diff,
                    transaction_text(summary, links, session.terminal().has_color()) + "\n"));
  return kExitDone;
}

// --- turns --------------------------------------------------------------------------------------

namespace {

constexpr size_t kShownCommands = 5;  // of a turn; --json has all

std::string turn_state(const TurnSummary& turn) {
  const auto left = turn.in_effect();
  if (left.empty()) return "undone";
  bool has_undone = false;
  for (const TxSummary& one : turn.transactions) {
    has_undone = has_undone || one.undone_by || !one.partly_undone_by.empty();
  }
  return has_undone ? "partly undone" : "open";
}

/// The transactions whose commands only the audit log has. A command of its own transaction is the
/// message of that.
std::set<TxId> with_calls(const std::vector<TurnSummary>& turns) {
  std::set<TxId> found;
  for (const TurnSummary& turn : turns) {
    for (const TxSummary& one : turn.transactions) {
      if (one.tool != "exec" && !one.undoes) found.insert(one.id);
    }
  }
  return found;
}

/// The shell commands of a turn that changed something, in their order.
std::vector<std::string> commands_of(const TurnSummary& turn, const CommittedCommands& called) {
  std::vector<std::string> commands;
  for (const TxSummary& one : turn.transactions) {
    const auto found = called.find(one.id);
    if (one.tool == "exec") {
      commands.insert(commands.begin(), one.message);
    } else if (found != called.end()) {
      commands.insert(commands.begin(), found->second.begin(), found->second.end());
    }
  }
  return commands;
}

Json turn_json(const TurnSummary& turn, const std::vector<std::string>& commands) {
  Json json = {{"id", turn.id.str()},          {"time", rfc3339_utc(turn.time_ns)},
               {"agent", turn.agent},          {"session", turn.session},
               {"prompt", turn.title},         {"files", turn.files()},
               {"state", turn_state(turn)},    {"commands", commands},
               {"transactions", Json::array()}};
  for (const TxSummary& one : turn.transactions) json["transactions"].push_back(one.id.str());
  return json;
}

std::string turn_line(const TurnSummary& turn, const std::vector<std::string>& commands,
                      const ShownTime& when) {
  std::string text = fmt::format("{:>4}  {}", turn.id.str(), when.text(turn.time_ns));
  if (!turn.agent.empty()) text += "  " + printable_line(turn.agent);
  if (!turn.session.empty()) text += "  " + printable_line(turn.session);
  text += fmt::format("  {}  {}", counted(turn.files(), "file"), turn_state(turn));
  const bool is_titled = !turn.title.empty() && (commands.empty() || turn.title != commands.back());
  if (is_titled) text += "  " + printable_line(turn.title);
  text += "\n";
  const size_t shown = std::min(commands.size(), kShownCommands);
  for (size_t i = 0; i < shown; ++i) text += "      $ " + printable_line(commands[i]) + "\n";
  if (shown < commands.size()) {
    text += fmt::format("      and {}\n", counted(commands.size() - shown, "more command"));
  }
  return text;
}

}  // namespace

Result<int> run_turns(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const Arguments& arguments = session.arguments();
  const HistoryFilter filter{
      .agent = arguments.global.agent, .session = arguments.of_session, .with_lines = false};
  std::vector<TurnSummary> found;
  if (arguments.limit != 0) {
    GALLEY_ASSIGN(found,
                  newest_turns([&](const HistoryFilter& wanted) { return workspace->log(wanted); },
                               filter, arguments.limit.value_or(0)));
  }
  if (found.empty()) GALLEY_TRY(check_session(session));
  Json document = {{"schema", "galley.turns/1"}, {"ok", true}, {"turns", Json::array()}};
  const ShownTime when{arguments.date, place_of(*workspace).clock().wall_ns()};
  std::string text;
  CommittedCommands called;
  const StateDirectory* state = persistent_of(*workspace).state();
  if (state != nullptr) {
    GALLEY_ASSIGN(called, committed_commands(state->root(), with_calls(found)));
  }
  for (const TurnSummary& turn : found) {
    const std::vector<std::string> commands = commands_of(turn, called);
    document["turns"].push_back(turn_json(turn, commands));
    text += turn_line(turn, commands, when);
  }
  if (session.is_json()) {
    session.print(document);
  } else if (found.empty() && arguments.limit != 0) {
    session.say("no turn is like that");
  } else {
    session.print(text);
  }
  std::set<std::string> sessions = {arguments.of_session};
  // The first edit of a session, which has no turn yet, may be the missed one.
  const bool is_about_all = arguments.of_session.empty() && filter.agent.empty();
  if (is_about_all && state != nullptr) sessions = AgentSession::with_kept_edits(*state);
  for (const TurnSummary& turn : found) sessions.insert(turn.session);
  for (const std::string& one : sessions) say_lost_edits(session, *workspace, one);
  return kExitDone;
}

}  // namespace galley
