#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <future>
#include <map>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "server/grpc/server.h"

namespace {

/// gRPC ends within GrpcServer::kDrainTime after the last call, or never.
constexpr std::chrono::seconds kMostIdle = galley::GrpcServer::kDrainTime + std::chrono::seconds(5);

int end_pipe[2] = {-1, -1};

void ask_to_end(int /*signal*/) { (void)!::write(end_pipe[1], "", 1); }

int report(const galley::Error& error) {
  const std::string line = "galley-serve-grpc: " + galley::printable_line(error.message) + "\n";
  std::fputs(line.c_str(), stderr);
  return galley::exit_status(error.kind);
}

/// Reads `--NAME VALUE` pairs. `galley serve` writes them.
galley::Result<galley::GrpcServerOptions> read_options(int argc, char** argv) {
  galley::GrpcServerOptions options;
  const std::map<std::string_view, std::string*> known = {{"--workspace", &options.workspace},
                                                          {"--address", &options.address},
                                                          {"--config", &options.config},
                                                          {"--profile", &options.profile}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = known.find(argv[i]);
    if (option == known.end() || i + 1 == argc || *argv[i + 1] == '\0') {
      return galley::fail(galley::ErrorKind::kUsage, "usage.options",
                          "the options are --workspace DIR --address ADDRESS [--config FILE] "
                          "[--profile NAME]; galley serve --grpc gives them");
    }
    *option->second = argv[i + 1];
  }
  return options;
}

void wait_for_signal() {
  char byte = 0;
  while (::read(end_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
}

/// Waits for the end of a server that drains. gRPC loses calls if the system refuses it a thread,
/// and then waits for them for ever. So this process ends when no call has run for kMostIdle.
void await_end(const galley::GrpcServer& server, const std::future<void>& end) {
  constexpr std::chrono::seconds kLookEvery{1};
  std::chrono::seconds idle{0};
  while (end.wait_for(kLookEvery) != std::future_status::ready) {
    idle = server.has_calls() ? std::chrono::seconds(0) : idle + kLookEvery;
    if (idle < kMostIdle) continue;
    std::fputs("galley-serve-grpc: ended without gRPC, which still waits for calls that it lost\n",
               stderr);
    std::_Exit(galley::exit_status(galley::ErrorKind::kInternal));
  }
}

int serve(int argc, char** argv) {
  const auto options = read_options(argc, argv);
  if (!options) return report(options.error());
  std::signal(SIGPIPE, SIG_IGN);
  if (::pipe(end_pipe) != 0) return report(galley::os_error(errno, "making", "a pipe"));
  std::signal(SIGTERM, ask_to_end);
  std::signal(SIGINT, ask_to_end);
  const auto server = galley::GrpcServer::open(*options);
  if (!server) return report(server.error());
  std::fprintf(stderr, "serving %s\n", galley::printable_line((*server)->address()).c_str());
  std::promise<void> signalled;
  // The thread is made now, because the system may refuse one later.
  const std::future<void> end = std::async(std::launch::async, [&, asked = signalled.get_future()] {
    asked.wait();
    (*server)->drain();
  });
  wait_for_signal();
  signalled.set_value();
  await_end(**server, end);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return serve(argc, argv);
  } catch (const std::exception& error) {
    return report({galley::ErrorKind::kInternal, "internal.exception",
                   std::string("unexpected: ") + error.what(), "", 0});
  }
}
