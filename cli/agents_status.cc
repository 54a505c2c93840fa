#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/history_text.h"
#include "cli/run_service.h"
#include "engine/pipeline/session_activity.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {
namespace {

constexpr size_t kUsualSessions = 20;
/// More overlapping paths than this are only counted.
constexpr size_t kMaxListedOverlaps = 200;
constexpr size_t kMaxPrintedOverlaps = 20;
constexpr std::chrono::seconds kLookAgain{1};
constexpr size_t kLine = 80;  ///< columns
constexpr size_t kSessionColumn = 28;
constexpr size_t kAgentColumn = 12;

std::string name_or_dash(const std::string& name) { return name.empty() ? "-" : name; }

Json open_json(const OpenWork& work, const std::optional<ListedRun>& run) {
  Json json = {{"tx", work.tx},
               {"begun", rfc3339_utc(work.begun_ns)},
               {"changed", rfc3339_utc(work.changed_ns)},
               {"held", !work.paths}};
  if (work.paths) json["files"] = work.paths->size();
  if (run) json["run"] = run_json(*run);
  return json;
}

std::string open_text(const OpenWork& work, const std::optional<ListedRun>& run) {
  const std::string files =
      work.paths ? "stages " + counted(work.paths->size(), "file") : "is in use by a command now";
  std::string text = fmt::format("  {} {}\n", printable_line(work.tx), files);
  if (!run) return text;
  const std::string state = run->has_ended          ? "ended"
                            : !run->is_live         ? "interrupted"
                            : run->note.is_attached ? "attached"
                            : run->note.is_terminal ? "detached"
                                                    : "without a terminal";
  const std::string program = run->note.name.empty() ? join(run->note.argv, " ") : run->note.name;
  const std::string head = "    run, " + state + ": ";
  return text + head + printable_line(program, kLine - 1 - head.size()) + "\n";
}

Json author_json(const PathAuthor& author, const char* id) {
  return {{"session", author.session}, {"agent", author.agent}, {id, author.id}};
}

Json overlap_json(const PathOverlap& overlap) {
  Json json = {
      {"path", overlap.path.str()}, {"staged", Json::array()}, {"committed", Json::array()}};
  for (const PathAuthor& one : overlap.staged) json["staged"].push_back(author_json(one, "tx"));
  for (const PathAuthor& one : overlap.committed) {
    json["committed"].push_back(author_json(one, "id"));
  }
  return json;
}

std::string overlap_text(const PathOverlap& overlap) {
  constexpr size_t kNamed = 3;
  constexpr size_t kIdDigits = 8;
  constexpr std::string_view kHead = "both: ";
  std::vector<std::string> words;
  const auto add = [&](const PathAuthor& one, std::string_view how, std::string_view id) {
    const std::string name =
        one.agent.empty() ? "" : " by " + printable_line(one.agent, kAgentColumn - 1);
    words.push_back(fmt::format("{}{} in {}", how, name, id));
  };
  for (const PathAuthor& one : overlap.staged) add(one, "staged", one.id.substr(0, kIdDigits));
  for (const PathAuthor& one : overlap.committed) add(one, "committed", one.id);
  return std::string(kHead) + printable_line(overlap.path.str(), kLine - 1 - kHead.size()) +
         "\n    " + printable_line(join_some(words, kNamed), kLine - 5) + "\n";
}

std::string session_text(const SessionActivity& session, const ShownTime& when) {
  const std::string name = printable_line(name_or_dash(session.session), kSessionColumn - 1);
  const std::string agent = printable_line(name_or_dash(session.agent), kAgentColumn - 1);
  return fmt::format("{:<{}}  {:<{}}  {:>15}  {:>7}  {:>4}\n", name, kSessionColumn, agent,
                     kAgentColumn, when.text(session.active_ns), session.commits,
                     session.open.size());
}

/// Tells what is not listed.
void say_left_out(Session& session, const WorkspaceActivity& activity, size_t more_sessions,
                  size_t more_overlaps) {
  if (more_overlaps > 0) session.say(counted(more_overlaps, "more path") + " overlap: see --json");
  if (more_sessions > 0) {
    session.say(fmt::format("{} not shown: -n {} shows all", counted(more_sessions, "session"),
                            activity.sessions.size()));
  }
  if (activity.is_cut) {
    session.say(fmt::format("only the newest {} commits were read", kMaxActivityCommits));
  }
}

void show_activity(Session& session, const WorkspaceActivity& activity, int64_t now_ns) {
  const size_t most = session.arguments().limit.value_or(kUsualSessions);
  const size_t shown = std::min<size_t>(most, activity.sessions.size());
  const ShownTime when{"relative", now_ns};
  Json document = {{"schema", "galley.agents-status/1"},
                   {"ok", true},
                   {"sessions", Json::array()},
                   {"overlaps", Json::array()},
                   {"more_sessions", activity.sessions.size() - shown},
                   {"overlapping", activity.overlaps.size()},
                   {"is_cut", activity.is_cut}};
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:>15}  {:>7}  {:>4}\n", "SESSION", kSessionColumn, "AGENT",
                  kAgentColumn, "ACTIVE", "COMMITS", "OPEN");
  for (size_t i = 0; i < shown; ++i) {
    const SessionActivity& one = activity.sessions[i];
    Json json = {{"session", one.session},
                 {"agent", one.agent},
                 {"active", rfc3339_utc(one.active_ns)},
                 {"commits", one.commits},
                 {"open", Json::array()}};
    text += session_text(one, when);
    for (const OpenWork& work : one.open) {
      const auto run = run_of(session, work.tx);
      json["open"].push_back(open_json(work, run));
      text += open_text(work, run);
    }
    document["sessions"].push_back(std::move(json));
  }
  const size_t listed = std::min(activity.overlaps.size(), kMaxListedOverlaps);
  for (size_t i = 0; i < listed; ++i) {
    document["overlaps"].push_back(overlap_json(activity.overlaps[i]));
    if (i < kMaxPrintedOverlaps) text += overlap_text(activity.overlaps[i]);
  }
  for (const std::string& tx : activity.damaged) document["damaged"].push_back(tx);
  if (session.is_json()) {
    session.print(document);
    return;
  }
  if (!activity.damaged.empty()) {
    session.print_error_lines(session.with_hints(
        fmt::format("damaged, so not listed: {}; drop each with: galley rollback --tx ID\n",
                    join(activity.damaged, ", "))));
  }
  if (activity.sessions.empty()) {
    session.say("no session has staged or committed anything here");
    return;
  }
  session.print(text);
  say_left_out(session, activity, activity.sessions.size() - shown,
               activity.overlaps.size() - std::min(activity.overlaps.size(), kMaxPrintedOverlaps));
}

/// Shows what overlaps now and did not at the last look, until the program is stopped.
Result<int> follow_overlaps(Session& session, const Workspace& workspace,
                            WorkspaceActivity activity) {
  const auto texts_of = [](const WorkspaceActivity& of) {
    std::set<std::string> texts;
    for (const PathOverlap& overlap : of.overlaps) texts.insert(overlap_text(overlap));
    return texts;
  };
  std::set<std::string> known = texts_of(activity);
  while (true) {
    std::fflush(stdout);
    std::this_thread::sleep_for(kLookAgain);
    GALLEY_ASSIGN(activity, activity_of(workspace));
    std::set<std::string> now = texts_of(activity);
    std::string added;
    for (const std::string& text : now) {
      if (!known.contains(text)) added += text;
    }
    known = std::move(now);
    if (added.empty()) continue;
    if (session.is_json()) {
      show_activity(session, activity, place_of(workspace).clock().wall_ns());
    } else {
      session.print(added);
    }
  }
}

}  // namespace

Result<int> run_agents_status(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const WorkspaceActivity activity, activity_of(*workspace));
  show_activity(session, activity, place_of(*workspace).clock().wall_ns());
  if (!session.arguments().agents.follow) return kExitDone;
  return follow_overlaps(session, *workspace, activity);
}

}  // namespace galley
