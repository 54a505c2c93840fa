#include "cli/history_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/glob.h"
#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "cli/made_edits.h"
#include "engine/audit/recorded_calls.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/state_directory.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/session_activity.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {
namespace {

constexpr size_t kMaxListedPaths = 8;

std::string number_text(std::string_view word, TxId id, bool has_color) {
  return has_color ? fmt::format("\033[33m{}{}\033[m", word, id.str())
                   : fmt::format("{}{}", word, id.str());
}

/// Whether a directory can be omitted: a path in it was created or removed at the same time.
bool is_told_by_files(const PathSummary& directory, const TxSummary& summary) {
  return std::any_of(summary.paths.begin(), summary.paths.end(), [&](const PathSummary& other) {
    return other.path.is_below(directory.path) ||
           (other.status == 'R' && other.from && other.from->is_below(directory.path));
  });
}

std::string path_line(const PathSummary& path) {
  if (path.is_directory) {
    return fmt::format("    {} {}/\n", path.status, printable_line(path.path.str()));
  }
  const std::string name =
      path.from ? fmt::format("{} => {}", path.from->str(), path.path.str()) : path.path.str();
  const std::string counts =
      path.is_binary ? "binary" : fmt::format("+{} -{}", path.added, path.removed);
  return fmt::format("    {} {}  {}\n", path.status, printable_line(name), counts);
}

/// Returns the newest git commit of a transaction, abbreviated as git does in a large repository.
std::string commits_line(const std::vector<std::string>& commits) {
  constexpr size_t kCommitDigits = 12;
  const size_t others = commits.size() - 1;
  return fmt::format("    in git {}{}\n", commits.back().substr(0, kCommitDigits),
                     others == 0 ? "" : fmt::format(" and {} more", others));
}

}  // namespace

Result<History> open_history(Session& session, std::string_view verb) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  return persistent_of(*workspace).history(verb);
}

Result<void> check_session(Session& session) {
  const std::string& id = session.arguments().of_session;
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const StateDirectory* state = persistent_of(*workspace).state();
  if (id.empty() || state == nullptr) return {};
  GALLEY_ASSIGN(const auto commits,
                History(*state).list({.session = id, .limit = 1, .with_lines = false}));
  const AgentSession agent(*state, id);
  const bool has_notes =
      agent.turn().number > 0 || !agent.kept_edits().empty() || agent.lost_edits() > 0;
  if (!commits.empty() || has_notes) return {};
  GALLEY_ASSIGN(const auto dropped, committed_by_session(state->root(), id));
  if (!dropped.empty()) return {};
  GALLEY_ASSIGN(const WorkspaceActivity activity, activity_of(*workspace));
  std::vector<std::string> known;
  for (const SessionActivity& one : activity.sessions) {
    if (one.session == id) return {};
    known.push_back(one.session);
  }
  std::string near = did_you_mean(id, known);
  for (const std::string& one : known) {
    if (near.empty() && one.starts_with(id)) near = "; did you mean '" + one + "'?";
  }
  return fail(ErrorKind::kNotFound, "history.unknown_session",
              "no session '" + printable_line(id) +
                  "' has a commit, a turn or an open transaction here" + printable_line(near) +
                  (near.empty() ? "; " : " ") + session.hint("turns") +
                  " lists turns with their sessions");
}

namespace {

/// An older turn must not be taken for that of the newest prompt. The turn in which a hooked agent
/// asks is not meant.
Result<void> check_is_last(const Session& session, const History& history,
                           const TurnSummary& turn) {
  if (turn.session.empty()) return {};
  const AgentSession::Turn newest = AgentSession(history.state(), turn.session).turn();
  const bool asks = session.hooked_session() == turn.session && !newest.has_ended;
  GALLEY_ASSIGN(const auto commits,
                history.list({.session = turn.session, .limit = 1, .with_lines = false}));
  const uint64_t known = commits.empty() ? 0 : commits.front().turn;
  if (known == 0 || newest.number <= known + (asks ? 1 : 0)) return {};
  return fail(ErrorKind::kNotFound, "turn.no_change",
              "the last turn of the session '" + printable_line(turn.session) +
                  "' changed nothing; the one before is turn " + turn.id.str() +
                  ": name it with --turn " + turn.id.str());
}

}  // namespace

Result<TurnSummary> wanted_turn(Session& session, const History& history) {
  const Arguments& arguments = session.arguments();
  GALLEY_TRY(check_session(session));
  auto found = find_turn(history, arguments.turn, session.named_session());
  const bool only_shows = arguments.command == "show" || arguments.command == "diff";
  if (!found && found.error().reason == "history.nothing_to_undo" && only_shows) {
    found.error().message = "no transaction is in effect, so there is no last turn; " +
                            session.hint("turns") + " lists all, and --turn N names one";
  }
  if (!found) return fail(found.error());
  TurnSummary turn = *std::move(found);
  if (arguments.turn == "last") GALLEY_TRY(check_is_last(session, history, turn));
  if (arguments.of_session.empty() || arguments.of_session == turn.session) return turn;
  return fail(ErrorKind::kUsage, "turn.session",
              "turn " + turn.name() + " is not of the session '" +
                  printable_line(arguments.of_session) + "': leave out --session, or name one of " +
                  session.hint("turns --session " + shell_word(arguments.of_session)));
}

Result<std::optional<std::string>> hint_if_absent(Session& session, const RelPath& path,
                                                  const std::vector<std::string>& known) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  GALLEY_ASSIGN(const FileStat there, place_of(*workspace).files().stat(path));
  if (there.kind != FileKind::kAbsent) return std::optional<std::string>();
  const auto near = nearest_pathspec(path.str(), known);
  if (!near) return std::optional<std::string>("");
  GALLEY_ASSIGN(const RelPath here, session.place());
  const std::string from_root = here.is_root() ? "" : ":/";
  return std::optional("did you mean '" + from_root + printable_line(*near) + "'?");
}

Result<void> check_names_in(Session& session, const History& history,
                            const std::vector<TxSummary>& transactions,
                            const std::vector<std::string>& names, const std::string& what) {
  if (names.empty()) return {};
  std::vector<std::string> changed;
  for (const TxSummary& one : transactions) {
    for (const PathSummary& path : one.paths) {
      changed.push_back(path.path.str());
      if (path.from) changed.push_back(path.from->str());
    }
  }
  for (const std::string& name : names) {
    GALLEY_ASSIGN(const RelPath meant, session.path(name));
    const bool is_changed =
        meant.is_root() || std::any_of(changed.begin(), changed.end(), [&](const auto& path) {
          return path == meant.str() || path.starts_with(meant.str() + "/");
        });
    if (is_changed) continue;
    auto found = hint_if_absent(session, meant, changed);
    if (!found && found.error().reason == "path.through_symlink") continue;
    GALLEY_ASSIGN(const auto hint, std::move(found));
    if (!hint) continue;
    GALLEY_ASSIGN(const auto others,
                  history.list({.paths = {meant}, .limit = 1, .with_lines = false}));
    if (!others.empty()) continue;
    return fail(ErrorKind::kUsage, "undo.unknown_path",
                what + " did not change '" + printable_line(name) + "', and nothing is there" +
                    (hint->empty() ? "" : "; " + *hint),
                meant.str());
  }
  return {};
}

Result<CommitLinks> commit_links(Session& session) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const StateDirectory* state = persistent_of(*workspace).state();
  return state == nullptr ? Result<CommitLinks>(CommitLinks()) : read_commit_links(*state);
}

Json transaction_json(const TxSummary& summary, const CommitLinks& links) {
  Json json = {{"id", summary.id.str()},     {"time", rfc3339_utc(summary.time_ns)},
               {"agent", summary.agent},     {"tool", summary.tool},
               {"message", summary.message}, {"proposal", summary.proposal.hex()},
               {"paths", Json::array()}};
  if (summary.owner) json["owner"] = *summary.owner;
  if (!summary.session.empty()) json["session"] = summary.session;
  if (summary.turn > 0) json["turn"] = summary.turn;
  if (summary.undoes) json["undoes"] = summary.undoes->str();
  for (const TxId also : summary.also_undoes) json["also_undoes"].push_back(also.str());
  if (summary.undone_by) json["undone_by"] = summary.undone_by->str();
  for (const TxId part : summary.partly_undone_by) json["partly_undone_by"].push_back(part.str());
  if (!summary.problem.empty()) json["problem"] = summary.problem;
  const auto commits = links.find(summary.id);
  if (commits != links.end()) json["commits"] = commits->second;
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

Result<std::string> damage_text(const StateDirectory& state, const std::vector<TxSummary>& told,
                                Json& document) {
  GALLEY_ASSIGN(const auto damaged, damaged_pending_ids(state));
  std::string text;
  for (const TxId id : damaged) {
    document["damaged"].push_back(id.str());
    const bool is_told =
        std::any_of(told.begin(), told.end(), [&](const TxSummary& one) { return one.id == id; });
    if (is_told) continue;
    text += "the journal of transaction " + id.str() + " is damaged; run `galley doctor`\n";
  }
  return text;
}

std::string ShownTime::text(int64_t wall_ns) const {
  if (wall_ns == 0) return "at an unknown time";  // its journal is damaged
  constexpr int64_t kSecond = 1'000'000'000;
  const std::time_t seconds = wall_ns / kSecond;
  if (style == "local") {
    std::tm parts{};
    std::array<char, 32> local{};  // NOLINT: "2026-11-25 18:59:01 +0100"
    if (localtime_r(&seconds, &parts) == nullptr) return rfc3339_utc(wall_ns);
    (void)std::strftime(local.data(), local.size(), "%Y-%m-%d %H:%M:%S %z", &parts);
    return local.data();
  }
  if (style != "relative") return rfc3339_utc(wall_ns);
  struct Unit {
    int64_t seconds;
    std::string_view name;
  };
  constexpr std::array<Unit, 6> kUnits = {{{31'536'000, "year"},
                                           {2'592'000, "month"},
                                           {86'400, "day"},
                                           {3'600, "hour"},
                                           {60, "minute"},
                                           {1, "second"}}};
  const int64_t ago = (now_ns - wall_ns) / kSecond;
  for (const Unit& unit : kUnits) {
    if (ago < unit.seconds) continue;
    return counted(static_cast<uint64_t>(ago / unit.seconds), std::string(unit.name)) + " ago";
  }
  return ago < 0 ? "in the future" : "just now";
}

std::string transaction_text(const TxSummary& summary, const CommitLinks& links, bool has_color,
                             const ShownTime& when) {
  std::string text = fmt::format("{}  {}", number_text("transaction ", summary.id, has_color),
                                 when.text(summary.time_ns));
  if (!summary.tool.empty()) text += "  " + printable_line(summary.tool);
  if (!summary.agent.empty()) text += "  by " + printable_line(summary.agent);
  if (summary.owner) {
    text += "  in the transaction of " +
            (summary.owner->empty() ? "no agent" : printable_line(*summary.owner));
  }
  if (!summary.session.empty()) text += "  session " + printable_line(summary.session);
  if (summary.undoes) text += fmt::format("  undoes {}", summary.undoes->str());
  for (const TxId also : summary.also_undoes) text += fmt::format(", {}", also.str());
  if (summary.undone_by) text += fmt::format("  undone by {}", summary.undone_by->str());
  for (const TxId part : summary.partly_undone_by) {
    text += fmt::format("  partly undone by {}", part.str());
  }
  text += "\n";
  if (!summary.problem.empty())
    text += "    cannot be read: " + printable_line(summary.problem) + "\n";
  if (!summary.message.empty()) text += "    " + printable_line(summary.message) + "\n";
  const auto commits = links.find(summary.id);
  if (commits != links.end()) text += commits_line(commits->second);
  size_t shown = 0;
  for (const PathSummary& path : summary.paths) {
    if (path.is_directory && is_told_by_files(path, summary)) continue;
    if (++shown > kMaxListedPaths) continue;
    text += path_line(path);
  }
  if (shown > kMaxListedPaths) text += fmt::format("    … and {} more\n", shown - kMaxListedPaths);
  return text;
}

std::string transaction_line(const TxSummary& summary, bool has_color) {
  std::string text = number_text("", summary.id, has_color) + " ";
  if (!summary.problem.empty())
    return text + "cannot be read: " + printable_line(summary.problem) + "\n";
  const size_t line_end = summary.message.find('\n');
  text += printable_line(summary.message.empty() ? "(" + summary.tool + ")"
                                                 : summary.message.substr(0, line_end));
  if (!summary.agent.empty()) text += "  by " + printable_line(summary.agent);
  if (summary.undone_by) text += "  undone by " + summary.undone_by->str();
  return text + "\n";
}

void say_lost_edits(Session& session, Workspace& workspace, const std::string& id) {
  const StateDirectory* state = persistent_of(workspace).state();
  if (id.empty() || state == nullptr) return;
  const AgentSession agent(*state, id);
  if (const size_t missed = missed_edits(workspace, agent); missed > 0) {
    session.say(fmt::format(
        "{} of session {} {} not on record yet, because the agent did not report {}: {} records "
        "and reverts {}",
        counted(missed, "edit"), id, missed == 1 ? "is" : "are", missed == 1 ? "it" : "them",
        session.hint("undo --session " + shell_word(id)), missed == 1 ? "it" : "them"));
  }
  const size_t lost = agent.lost_edits();
  if (lost == 0) return;
  session.say(fmt::format("{} of session {} {} not on record", counted(lost, "edit"), id,
                          lost == 1 ? "is" : "are"));
}

}  // namespace galley
