#include <fmt/format.h>

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/session.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/nameless_program.h"

namespace galley {
namespace {

/// Becomes the program that serves. It is never linked into this one.
Result<int> serve(Session& session) {
  const Arguments& arguments = session.arguments();
  const ServeArguments& wanted = arguments.serve;
  const bool is_grpc = !wanted.grpc.empty();
  if (is_grpc == !wanted.nats.empty()) {
    return fail(ErrorKind::kUsage, "usage.serve",
                "galley serve takes --grpc ADDRESS or --nats URL");
  }
  if (!arguments.global.agent.empty() || !arguments.global.config.empty()) {
    return fail(ErrorKind::kUsage, "usage.serve",
                "galley serve takes neither --agent nor --config: its callers name their agents, "
                "and --server-config says who they are");
  }
  const std::string name = is_grpc ? "galley-serve-grpc" : "galley-serve-nats";
  GALLEY_ASSIGN(const std::string workspace, absolute_path("."));
  const auto program = companion_program(name);
  if (!program) {
    return fail(ErrorKind::kNotFound, "serve.not_installed",
                fmt::format("{}: install the Debian package {}, or build Galley with -D{}=ON",
                            program.error().message, is_grpc ? "galley-grpc" : "galley-nats",
                            is_grpc ? "GALLEY_WITH_GRPC" : "GALLEY_WITH_NATS"));
  }
  std::vector<std::string> words = {"--workspace", workspace, "--address",
                                    is_grpc ? wanted.grpc : wanted.nats};
  if (!wanted.config.empty()) words.insert(words.end(), {"--config", wanted.config});
  if (!arguments.profile.empty()) words.insert(words.end(), {"--profile", arguments.profile});
  return fail(become_program(*program, words));
}

}  // namespace

int run_serve(Session& session) { return session.finish(serve(session)); }

}  // namespace galley
