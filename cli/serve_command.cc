#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/session.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/nameless_program.h"

namespace galley {
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
