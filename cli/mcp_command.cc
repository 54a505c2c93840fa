#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/agent_processes.h"
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/tool_calls.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/workspace_state.h"
#include "server/mcp/http_door.h"
#include "server/mcp/server.h"
#include "server/session/workspace_features.h"
#include "staging/fs/host_file.h"
#include "staging/fs/line_stream.h"
#include "staging/fs/local_listener.h"
#include "staging/sandbox/nameless_program.h"
#include "tools/registry.h"

namespace galley {

namespace {

/// A client that has not read for this time is treated as disconnected.
constexpr std::chrono::seconds kWriteTime{60};

/// The default profile, because most agents know tools by its names.
constexpr const char* kDefaultProfile = "claude";

constexpr size_t kMaxPrefixBytes = 32;  // a name with it must fit into the protocol's 128

Result<void> check_tool_prefix(const std::string& prefix) {
  const bool is_good =
      prefix.size() <= kMaxPrefixBytes && std::all_of(prefix.begin(), prefix.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-' || c == '.';
      });
  if (is_good) return {};
  return fail(ErrorKind::kUsage, "usage.mcp_prefix",
              "--prefix takes at most " + std::to_string(kMaxPrefixBytes) +
                  " letters, digits, '_', '-' and '.', not '" + printable_line(prefix) + "'");
}

/// The options of a connection to a workspace.
Result<SessionOptions> session_options(Session& session, const Workspace& workspace,
                                       const SecretProvider& secrets) {
  SessionOptions options;
  options.agent = session.arguments().global.agent;
  options.version = GALLEY_VERSION;
  options.secrets = secrets;
  options.commits_each_call = session.arguments().autocommit;
  options.prefix = session.arguments().prefix;
  GALLEY_TRY(check_tool_prefix(options.prefix));
  options.choose_profile = [&session, &workspace]() -> Result<const ToolProfile*> {
    GALLEY_ASSIGN(const ToolProfile* chosen, chosen_profile(session, workspace));
    return chosen != nullptr ? Result<const ToolProfile*>(chosen) : profile_named(kDefaultProfile);
  };
  GALLEY_ASSIGN(options.profile, options.choose_profile());
  const auto& names = session.arguments().words;
  GALLEY_ASSIGN(const ToolRegistry* registry, tools_of(workspace).registry());
  for (const std::string& name : names) {
    GALLEY_TRY(registry->get(name));
  }
  options.tools = std::set<std::string>(names.begin(), names.end());
  return options;
}

std::string new_session_id() {
  constexpr size_t kSessionDigits = 16;
  return "mcp-" + random_hex(kSessionDigits);
}

Result<int> serve_pipe(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const SecretProvider secrets, secrets_of_command(session));
  GALLEY_ASSIGN(SessionOptions options, session_options(session, *workspace, secrets));
  options.session = [workspace, named = session.arguments().global.session, own = new_session_id(),
                     above = processes_above()] {
    // The agent's hook may have made the state meanwhile.
    PersistentState& persistent = persistent_of(*workspace);
    const bool has_state = persistent.refresh() && persistent.state() != nullptr;
    std::string noted = has_state ? AgentSession::of_processes(*persistent.state(), above)
                                  : AgentSession::of_first_processes(workspace->root_path(), above);
    if (!named.empty()) return OpenTransactions::AgentSessionName{named, true, noted == named};
    if (noted.empty()) return OpenTransactions::AgentSessionName{own};
    return OpenTransactions::AgentSessionName{std::move(noted), true, true};
  };
  WorkspaceFeatures features(*workspace, std::move(options));
  const SystemClock clock;
  std::atomic<bool> is_gone = false;
  McpServer server(features, clock, [&](const McpServer::Outgoing& message) {
    if (is_gone) return;
    const Deadline deadline = Deadline::after(clock, kWriteTime);
    if (!write_line(STDOUT_FILENO, message.line, deadline, clock)) is_gone = true;
  });
  LineReader lines(STDIN_FILENO, McpServer::kMaxMessageBytes);
  GALLEY_TRY(server.serve([&]() -> Result<std::optional<McpServer::Line>> {
    if (is_gone) return std::optional<McpServer::Line>();
    GALLEY_ASSIGN(auto line, lines.next());
    if (!line) return std::optional<McpServer::Line>();
    return McpServer::Line{std::move(line->text), line->is_too_long, lines.has_next(),
                           std::move(line->end)};
  }));
  return kExitDone;
}

// --- over HTTP ----------------------------------------------------------------------------------

constexpr size_t kMaxServedWorkspaces = 16;  // of --workspace: each keeps descriptors open
constexpr size_t kTokenDigits = 64;
constexpr size_t kMinTokenBytes = 32;  // shorter ones could be guessed
constexpr size_t kMaxTokenBytes = 1'024;

/// Set by SIGTERM and SIGINT.
std::atomic<bool> must_end_serving = false;

void end_serving(int /*signal*/) { must_end_serving = true; }

/// Reads `[ADDRESS:]PORT`.
Result<std::unique_ptr<LocalListener>> listener_at(const std::string& text, const Clock& clock) {
  const size_t colon = text.rfind(':');
  const std::string address = colon == std::string::npos ? "" : text.substr(0, colon);
  const std::string_view digits = std::string_view(text).substr(colon + 1);
  uint16_t port = 0;
  const auto [rest, code] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (digits.empty() || code != std::errc() || rest != digits.data() + digits.size()) {
    return fail(ErrorKind::kUsage, "listener.address",
                "--http takes PORT or ADDRESS:PORT, not '" + printable_line(text) + "'");
  }
  return LocalListener::open_loopback(address, port, clock);
}

/// The token in a file, or a new one.
Result<std::string> token_of(const std::string& file) {
  if (file.empty()) return random_hex(kTokenDigits);
  GALLEY_ASSIGN(const std::string text, read_private_file(file, kMaxTokenBytes));
  std::string token(trim(text, " \t\r\n"));
  const bool is_word =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (is_word && token.size() >= kMinTokenBytes) return token;
  return fail(ErrorKind::kInvalid, "usage.token",
              fmt::format("'{}' must have one word of at least {} printable characters: make one "
                          "with openssl rand -hex 32",
                          printable_line(file), kMinTokenBytes));
}

/// The directories to serve, by the path of their address.
Result<std::map<std::string, std::string>> served_directories(const Session& session) {
  const auto& named = session.arguments().serving.workspaces;
  if (named.empty()) return std::map<std::string, std::string>{{"/mcp", "."}};
  if (named.size() > kMaxServedWorkspaces) {
    return fail(ErrorKind::kUsage, "usage.workspace",
                fmt::format("one server serves at most {} workspaces", kMaxServedWorkspaces));
  }
  std::map<std::string, std::string> found;
  for (const std::string& one : named) {
    GALLEY_ASSIGN(const std::string directory, absolute_path(one));
    const std::string name = directory.substr(directory.rfind('/') + 1);
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const bool is_plain = !name.empty() && name.find_first_not_of(kPlain) == std::string::npos;
    if (is_plain && found.emplace("/mcp/" + name, directory).second) continue;
    return fail(ErrorKind::kUsage, "usage.workspace",
                fmt::format("'{}' {}: serve it with another galley mcp", printable_line(directory),
                            is_plain ? "has the name of another --workspace"
                                     : "has a name that an address cannot have"));
  }
  return found;
}

/// The features of one session, with a workspace of its own: its commits carry its session id.
struct ServedSession {
  std::unique_ptr<Workspace> workspace;
  WorkspaceFeatures features;
};

/// Opens what a client uses: each session its own workspace. The shared one is opened once, at the
/// start. A session that the client names is also that of hooks and commands.
McpHttpDoor::OpenFeatures opener(Session& session, const std::string& directory,
                                 const SecretProvider& secrets) {
  return [&session, directory,
          secrets](const McpHttpDoor::Opening& opening) -> Result<std::shared_ptr<McpFeatures>> {
    const auto& [is_shared, named] = opening;
    GALLEY_TRY(check_session_id(named));
    const std::string id = named.empty() ? new_session_id() : named;
    GALLEY_ASSIGN(auto workspace, session.open_other(directory, id, is_shared));
    GALLEY_ASSIGN(SessionOptions options, session_options(session, *workspace, secrets));
    options.is_shared = is_shared;
    if (!named.empty()) {
      options.session = [named = named] { return OpenTransactions::AgentSessionName{named, true}; };
    }
    Workspace& served = *workspace;
    std::shared_ptr<ServedSession> owner(
        new ServedSession{std::move(workspace), {served, std::move(options)}});
    return std::shared_ptr<McpFeatures>(owner, &owner->features);
  };
}

/// Says where clients find the server. The token is printed once, and only if no file has it.
void tell_addresses(Session& session, const McpHttpDoor::Options& options,
                    const LocalListener& listener) {
  std::string text;
  for (const auto& [path, open] : options.paths) {
    text += options.host.name.empty()
                ? fmt::format("{} {}\n", printable_line(listener.name()), path)
                : fmt::format("http://{}{}\n", listener.name(), path);
  }
  const bool has_file = !session.arguments().serving.token_file.empty();
  if (!options.token.empty() && !has_file) {
    text += fmt::format("Authorization: Bearer {}\n", options.token);
  }
  session.terminal().print_message(text);
}

Result<int> serve_http(Session& session) {
  const auto& serving = session.arguments().serving;
  if (!session.arguments().global.repository.empty() ||
      !session.arguments().global.session.empty()) {
    return fail(
        ErrorKind::kUsage, "usage.mcp_http",
        "--repo and --session belong to one client: over HTTP each names its session in the "
        "header Galley-Session, or has its own");
  }
  const SystemClock clock;
  GALLEY_ASSIGN(const auto directories, served_directories(session));
  GALLEY_ASSIGN(const SecretProvider secrets, secrets_of_command(session));
  McpHttpDoor::Options options;
  options.must_end = [] { return must_end_serving.load(); };
  for (const auto& [path, directory] : directories) {
    options.paths[path] = opener(session, directory, secrets);
  }
  std::unique_ptr<LocalListener> listener;
  if (serving.socket.empty()) {
    GALLEY_ASSIGN(options.token, token_of(serving.token_file));
    GALLEY_ASSIGN(listener, listener_at(serving.http, clock));
    options.host.name = listener->name();
    constexpr std::string_view kNumbers = "127.0.0.1:";
    if (options.host.name.starts_with(kNumbers)) {
      options.host.alias = "localhost:" + options.host.name.substr(kNumbers.size());
    }
  } else {
    GALLEY_ASSIGN(listener, LocalListener::open_file(serving.socket, clock));
  }
  std::signal(SIGTERM, end_serving);
  std::signal(SIGINT, end_serving);
  McpHttpDoor door(*listener, options, clock);
  GALLEY_TRY(door.open());
  tell_addresses(session, options, *listener);
  GALLEY_TRY(door.serve());
  return kExitDone;
}

}  // namespace

Result<int> run_mcp(Session& session) {
  // A write to a disconnected client returns an error and raises no signal.
  std::signal(SIGPIPE, SIG_IGN);
  // Otherwise each thread would have its own heap, and heaps rarely return memory.
  mallopt(M_ARENA_MAX, 2);
  session.set_approver(client_approver());
  const auto& serving = session.arguments().serving;
  const bool is_pipe = serving.http.empty() && serving.socket.empty();
  return is_pipe ? serve_pipe(session) : serve_http(session);
}

// --- serve, worker, submit, jobs ----------------------------------------------------------------

namespace {

/// Becomes the program that serves. It is never linked into this one.
Result<int> become_companion(Session& session, bool is_grpc, std::vector<std::string> words) {
  const Arguments& arguments = session.arguments();
  const GlobalArguments& global = arguments.global;
  if (!global.agent.empty() || !global.config.empty() || !global.session.empty()) {
    return fail(ErrorKind::kUsage, "usage.serve",
                "galley " + arguments.command +
                    " takes neither --agent nor --session nor --config: its callers name their "
                    "agents and sessions, and --server-config says who they are");
  }
  if (!global.message.empty() && arguments.command != "submit") {
    return fail(ErrorKind::kUsage, "usage.serve",
                "galley " + arguments.command +
                    " takes no --reason: each call or job has a reason of its own");
  }
  const std::string name = is_grpc ? "galley-serve-grpc" : "galley-serve-nats";
  const auto program = companion_program(name);
  if (!program) {
    return fail(ErrorKind::kNotFound, "serve.not_installed",
                fmt::format("{}: install the Debian package {}, or build Galley with -D{}=ON",
                            program.error().message, is_grpc ? "galley-grpc" : "galley-nats",
                            is_grpc ? "GALLEY_WITH_GRPC" : "GALLEY_WITH_NATS"));
  }
  const std::string& config = arguments.serve.config;
  if (!config.empty()) words.insert(words.end(), {"--config", config});
  return fail(become_program(*program, words));
}

}  // namespace

Result<int> run_serve(Session& session) {
  const Arguments& arguments = session.arguments();
  const ServeArguments& wanted = arguments.serve;
  const bool is_grpc = !wanted.grpc.empty();
  if (is_grpc == !wanted.nats.empty()) {
    return fail(ErrorKind::kUsage, "usage.serve",
                "galley serve takes --grpc ADDRESS or --nats URL");
  }
  GALLEY_ASSIGN(const std::string workspace, absolute_path("."));
  std::vector<std::string> words = {"--workspace", workspace, "--address",
                                    is_grpc ? wanted.grpc : wanted.nats};
  if (!arguments.profile.empty()) words.insert(words.end(), {"--profile", arguments.profile});
  return become_companion(session, is_grpc, std::move(words));
}

Result<int> run_jobs(Session& session) {
  const Arguments& arguments = session.arguments();
  const ServeArguments& wanted = arguments.serve;
  const bool is_worker = arguments.command == "worker";
  if (is_worker && wanted.config.empty()) {
    return fail(ErrorKind::kUsage, "usage.serve",
                "galley worker needs --server-config FILE, which names its cache and the "
                "repositories of its jobs");
  }
  std::vector<std::string> words = {arguments.command, "--address", wanted.nats};
  if (!wanted.job.empty() && wanted.job != "-") words.insert(words.end(), {"--job", wanted.job});
  if (wanted.wait_s > 0) words.insert(words.end(), {"--wait", std::to_string(wanted.wait_s)});
  if (!arguments.id.empty()) words.insert(words.end(), {"--id", arguments.id});
  const std::string& reason = arguments.global.message;
  if (!reason.empty()) words.insert(words.end(), {"--reason", reason});
  if (session.is_json() && !is_worker) words.insert(words.end(), {"--format", "json"});
  return become_companion(session, false, std::move(words));
}

}  // namespace galley
