#include "staging/sandbox/terminal/run_client.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "staging/sandbox/terminal/run_socket.h"

namespace galley {
namespace {

/// The next message from a client, which is waited for; nothing when it is gone.
std::optional<RunFrameReader::Frame> hear(RunPeer& client) {
  while (client.is_open()) {
    if (auto frame = client.next()) return frame;
    pollfd one{client.descriptor(), POLLIN, 0};
    if (poll(&one, 1, -1) > 0) client.receive();
  }
  return client.next();
}

TEST(RunClient, AResizeBeforeTheRunBeginsIsReported) {
  int sockets[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  Fd ours(sockets[0]);
  Fd theirs(sockets[1]);
  const winsize first{24, 80, 0, 0};
  int window = -1;
  const pid_t client = forkpty(&window, nullptr, nullptr, &first);
  ASSERT_GE(client, 0);
  if (client == 0) {
    ours = Fd();
    ClientOptions options;
    options.is_terminal = true;
    options.attaches = true;
    _exit(attach_to_run(std::move(theirs), options).why == ClientEnd::Reason::kEnded ? 0 : 1);
  }
  theirs = Fd();
  const Fd terminal(window);
  RunPeer peer(std::move(ours));

  const auto attached = hear(peer);
  ASSERT_TRUE(attached && attached->kind == RunMessage::kAttach);
  EXPECT_EQ(attached->text, (RunScreen{24, 80}).encode());
  const winsize second{40, 120, 0, 0};
  ASSERT_EQ(ioctl(terminal.get(), TIOCSWINSZ, &second), 0);
  peer.send(RunMessage::kBegun, "");
  peer.send(RunMessage::kEnded, "");
  const auto told = hear(peer);
  ASSERT_TRUE(told && told->kind == RunMessage::kScreen);
  EXPECT_EQ(told->text, (RunScreen{40, 120}).encode());

  int status = 0;
  ASSERT_EQ(waitpid(client, &status, 0), client);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace galley
