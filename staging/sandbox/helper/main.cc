// galley-sandbox: runs one command in its own namespaces and reports how it ended. The engine
// starts it with the socket of request.h as descriptor 3.
//
// It is a separate program for two reasons. An engine with a gigabyte of memory takes 24 to 50 ms
// to fork. And a single-threaded process may do things that a threaded one may not.

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "staging/sandbox/helper/admission.h"
#include "staging/sandbox/helper/monitor.h"
#include "staging/sandbox/helper/walls.h"

/// As in cmake/single_file.cc.
namespace __gnu_cxx {
void __verbose_terminate_handler() { std::abort(); }  // NOLINT(bugprone-reserved-identifier)
}  // namespace __gnu_cxx

namespace galley {
namespace {

/// Makes the namespaces and waits for a request. Returns false if none arrives: a namespace keeps
/// the host's mounts in use, so it must not exist for long.
bool wait_as_spare(Monitor& monitor, int longest_ms) {
  SetupFailure failure;  // will occur again, and be reported, with a request
  (void)monitor.start(true, failure);
  pollfd request{kControlFd, POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&request, 1, longest_ms);
  } while (ready < 0 && errno == EINTR);
  return ready != 0;
}

HelperReport run(Monitor& monitor, const ReceivedRequest& received) {
  if (received.request.copy_level == 0) return monitor.run(received);
  monitor.end();
  if (received.input.is_open()) (void)dup2(received.input.get(), STDIN_FILENO);
  return run_on_copy(received.request);
}

}  // namespace
}  // namespace galley

int main(int argc, char** argv) {
  using namespace galley;
  (void)signal(SIGPIPE, SIG_IGN);
  (void)close(kProgramFd);
  // The kernel would name a file without a name by its number.
  (void)prctl(PR_SET_NAME, "galley-sandbox");
  Monitor monitor;
  const bool is_spare = argc > 2 && std::string_view(argv[1]) == kSpareArgument;
  if (is_spare && !wait_as_spare(monitor, std::atoi(argv[2]))) {
    monitor.end();
    return kSpareExpired;
  }
  ReceivedRequest received;
  if (!receive_request(kControlFd, received)) {
    monitor.end();
    if (!is_spare) {
      std::fputs("galley-sandbox is started by galley; it has no use of its own\n", stderr);
    }
    return 2;
  }
  HelperReport report = run(monitor, received);
  report.landlock_abi = landlock_abi();
  const bool is_told = write(kControlFd, &report, sizeof report) == sizeof report;
  // The engine does not wait for this: the kernel removes the namespaces and their mounts.
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  return is_told ? 0 : 1;
}
