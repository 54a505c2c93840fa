#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <string_view>

#include "base/printable.h"
#include "server/grpc/server.h"

namespace {

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
    if (option == known.end() || i + 1 == argc) {
      return galley::fail(galley::ErrorKind::kUsage, "usage.options",
                          "the options are --workspace DIR --address ADDRESS [--config FILE] "
                          "[--profile NAME]; galley serve --grpc gives them");
    }
    *option->second = argv[i + 1];
  }
  return options;
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
  char byte = 0;
  while (::read(end_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
  (*server)->drain();
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
