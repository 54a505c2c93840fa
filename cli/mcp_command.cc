#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <set>

#include "cli/commands.h"
#include "cli/tool_calls.h"
#include "cli/tool_profile.h"
#include "server/mcp/server.h"
#include "server/session/workspace_features.h"
#include "staging/fs/line_stream.h"

namespace galley {
namespace {

/// A client that reads nothing for so long is gone.
constexpr std::chrono::seconds kWriteTime{60};

/// Most agents know tools by these names; no profile has two names for one verb.
constexpr const char* kDefaultProfile = "claude";

Result<int> serve(Session& session) {
  // A client that is gone shows as an error of writing, not as a signal.
  std::signal(SIGPIPE, SIG_IGN);
  // Each thread would have a heap of its own, and none gives back what it once had.
  mallopt(M_ARENA_MAX, 2);
  session.set_approver(client_approver());
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  SessionOptions options;
  options.agent = session.arguments().global.agent;
  options.version = GALLEY_VERSION;
  GALLEY_ASSIGN(options.secrets, secrets_of_command(session));
  options.commits_each_call = session.arguments().autocommit;
  GALLEY_ASSIGN(options.profile, chosen_profile(session, *workspace));
  if (options.profile == nullptr) {
    GALLEY_ASSIGN(options.profile, profile_named(kDefaultProfile));
  }
  const auto& names = session.arguments().words;
  options.tools = std::set<std::string>(names.begin(), names.end());
  WorkspaceFeatures features(*workspace, std::move(options));
  const SystemClock clock;
  std::atomic<bool> is_gone = false;
  McpServer server(features, clock, [&](const std::string& line) {
    if (is_gone) return;
    const Deadline deadline = Deadline::after(clock, kWriteTime);
    if (!write_line(STDOUT_FILENO, line, deadline, clock)) is_gone = true;
  });
  LineReader lines(STDIN_FILENO, McpServer::kMaxMessageBytes);
  GALLEY_TRY(server.serve([&]() -> Result<std::optional<McpServer::Line>> {
    if (is_gone) return std::optional<McpServer::Line>();
    GALLEY_ASSIGN(auto line, lines.next());
    if (!line) return std::optional<McpServer::Line>();
    return McpServer::Line{std::move(line->text), line->is_too_long, lines.has_next()};
  }));
  return kExitDone;
}

}  // namespace

int run_mcp(Session& session) { return session.finish(serve(session)); }

}  // namespace galley
