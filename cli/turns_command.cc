#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/history_text.h"
#include "engine/audit/recorded_calls.h"
#include "engine/history/turns.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {
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
  if (const StateDirectory* state = persistent_of(*workspace).state(); state != nullptr) {
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
  for (const TurnSummary& turn : found) sessions.insert(turn.session);
  for (const std::string& one : sessions) say_lost_edits(session, *workspace, one);
  return kExitDone;
}

}  // namespace galley
