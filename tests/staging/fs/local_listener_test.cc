#include "staging/fs/local_listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

/// A client of a socket file.
class Peer {
 public:
  explicit Peer(const std::string& path) : descriptor_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    is_connected_ =
        ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Peer() { close(); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  [[nodiscard]] bool is_connected() const { return is_connected_; }
  void say(const std::string& text) const {
    ASSERT_EQ(::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  /// Everything until the other side ends.
  [[nodiscard]] std::string heard() const {
    std::string all;
    std::array<char, 4096> piece;
    for (;;) {
      const ssize_t count = ::recv(descriptor_, piece.data(), piece.size(), 0);
      if (count <= 0) return all;
      all.append(piece.data(), static_cast<size_t>(count));
    }
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
  bool is_connected_ = false;
};

class LocalListenerTest : public ::testing::Test {
 protected:
  LocalListenerTest() {
    wait_.patience = std::chrono::seconds(60);
    wait_.look = [this](std::string_view bytes) {
      ++looks_;
      return LocalListener::Look{bytes.ends_with('.') ? size_t{0} : missing_, reply_};
    };
  }
  void open() {
    auto opened = LocalListener::open_file(path_, clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    listener_ = *std::move(opened);
  }
  LocalListener::Event next() {
    auto event = listener_->next(wait_);
    EXPECT_TRUE(event);
    return event ? *std::move(event) : LocalListener::Event();
  }
  /// Lets the listener work until nothing more arrives at once.
  void settle() {
    LocalListener::Wait brief = wait_;
    do {
      brief.until = Deadline::after(clock_, std::chrono::milliseconds(20));
    } while (listener_->next(brief)->connection);
  }

  TempDirectory folder_;
  std::string path_ = folder_.path() + "/s";
  SystemClock clock_;
  LocalListener::Wait wait_;
  size_t looks_ = 0;
  size_t missing_ = 1;  ///< of a request that does not end
  std::string reply_;   ///< to it
  std::unique_ptr<LocalListener> listener_;
};

TEST_F(LocalListenerTest, AWholeRequestIsAnsweredAndTheConnectionEnds) {
  open();
  const Peer peer(path_);
  peer.say("one");
  settle();
  peer.say(" two.");
  const auto event = next();
  EXPECT_EQ(event.bytes, "one two.");
  event.connection->send("first ");
  event.connection->send("second");
  event.connection->finish();
  EXPECT_EQ(peer.heard(), "first second");
}

TEST_F(LocalListenerTest, APeerThatLeavesBeforeItsAnswerIsReported) {
  open();
  Peer peer(path_);
  peer.say("go.");
  const auto asked = next();
  peer.close();
  const auto left = next();
  EXPECT_TRUE(left.is_closed);
  EXPECT_EQ(left.connection, asked.connection);
  asked.connection->send("into the void");  // is no error
}

TEST_F(LocalListenerTest, APeerThatLeavesIsReportedAlsoIfSendingToItFailedBefore) {
  open();
  Peer peer(path_);
  peer.say("go.");
  const auto asked = next();
  peer.close();
  asked.connection->send("into the void");  // fails before the listener sees the end
  const auto left = next();
  EXPECT_TRUE(left.is_closed);
  EXPECT_EQ(left.connection, asked.connection);
}

TEST_F(LocalListenerTest, NothingIsReturnedAtTheEndOfTheWait) {
  open();
  wait_.until = Deadline::after(clock_, std::chrono::milliseconds(1));
  EXPECT_FALSE(next().connection);
}

TEST_F(LocalListenerTest, OnlyItsUserCanOpenTheFileAndItEndsWithTheListener) {
  open();
  struct stat found {};
  ASSERT_EQ(::lstat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0600U);
  listener_.reset();
  EXPECT_NE(::lstat(path_.c_str(), &found), 0);
}

TEST_F(LocalListenerTest, TheFileOfALiveServerIsRefusedAndThatOfADeadOneReplaced) {
  open();
  const auto second = LocalListener::open_file(path_, clock_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "listener.file");
  // A killed server leaves a socket without a listener.
  listener_.reset();
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(dead);
  open();
  EXPECT_TRUE(Peer(path_).is_connected());
}

TEST_F(LocalListenerTest, AFileThatIsNotASocketAndALongPathAreRefused) {
  for (const std::string& path : {folder_.path(), folder_.path() + "/" + std::string(200, 'x')}) {
    EXPECT_FALSE(LocalListener::open_file(path, clock_)) << path;
  }
}

TEST_F(LocalListenerTest, OnlyAddressesOfThisMachineAreListenedOn) {
  for (const char* address : {"0.0.0.0", "192.168.1.1", "example.org", "::1", "127.0.0.1.5"}) {
    const auto opened = LocalListener::open_loopback(address, 0, clock_);
    ASSERT_FALSE(opened) << address;
    EXPECT_EQ(opened.error().reason, "listener.address");
  }
  EXPECT_TRUE(
      (*LocalListener::open_loopback("localhost", 0, clock_))->name().starts_with("127.0.0.1:"));
  EXPECT_TRUE(
      (*LocalListener::open_loopback("127.4.5.6", 0, clock_))->name().starts_with("127.4.5.6:"));
}

TEST_F(LocalListenerTest, BytesAreLookedAtAgainWhenTheMissingOnesAreThere) {
  open();
  missing_ = 10;
  const Peer peer(path_);
  peer.say("12345");
  settle();
  for (int i = 0; i < 9; ++i) {
    peer.say("x");
    settle();
  }
  EXPECT_EQ(looks_, 1U);
  reply_ = "more ";
  peer.say("y");
  settle();
  EXPECT_EQ(looks_, 2U);
  peer.say("123456789.");
  next().connection->finish();
  EXPECT_EQ(looks_, 3U);
  EXPECT_EQ(peer.heard(), "more ");
}

TEST_F(LocalListenerTest, ManySmallPiecesGiveNoMoreTime) {
  open();
  wait_.patience = std::chrono::milliseconds(1);
  const Peer peer(path_);
  peer.say("x");
  settle();
  wait_.until = Deadline::after(clock_, std::chrono::milliseconds(0));
  EXPECT_FALSE(next().connection);
  EXPECT_EQ(peer.heard(), "");
}

TEST_F(LocalListenerTest, WithoutFreeDescriptorsConnectionsWait) {
  open();
  const Peer first(path_);
  first.say("go.");
  const auto asked = next();
  const Peer second(path_);
  second.say("go.");
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int free = ::dup(STDIN_FILENO);
  ASSERT_GE(free, 0);
  ::close(free);
  const rlimit none{static_cast<rlim_t>(free), limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  wait_.until = Deadline::after(clock_, std::chrono::milliseconds(1));
  const auto nothing = listener_->next(wait_);
  wait_.until = {};
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(nothing->connection);
  EXPECT_EQ(next().bytes, "go.");
}

// Limit: kMaxLocalReaders of staging/fs/local_listener.h
TEST_F(LocalListenerTest, TheOldestIncompleteRequestsAreDropped) {
  open();
  std::vector<std::unique_ptr<Peer>> peers;
  for (size_t i = 0; i <= kMaxLocalReaders; ++i) {
    peers.push_back(std::make_unique<Peer>(path_));
    peers.back()->say("half");
    settle();
  }
  EXPECT_EQ(peers.front()->heard(), "");
  peers.back()->say(".");
  EXPECT_EQ(next().bytes, "half.");
}

// Limit: kMaxLocalAnswers of staging/fs/local_listener.h
TEST_F(LocalListenerTest, MoreConnectionsThanTheLimitAreClosedAtOnce) {
  open();
  std::vector<std::unique_ptr<Peer>> peers;
  for (size_t i = 0; i < kMaxLocalAnswers; ++i) {
    peers.push_back(std::make_unique<Peer>(path_));
    peers.back()->say("go.");
    EXPECT_EQ(next().bytes, "go.");
  }
  const Peer last(path_);
  settle();
  EXPECT_EQ(last.heard(), "");
  peers.front()->close();
  EXPECT_TRUE(next().is_closed);
  const Peer again(path_);
  again.say("go.");
  EXPECT_EQ(next().bytes, "go.");
}

TEST_F(LocalListenerTest, AnsweredPeersThatStayTakeNoPlaceOfOthers) {
  open();
  std::vector<std::unique_ptr<Peer>> peers;
  for (size_t i = 0; i < kMaxLocalAnswers + 20; ++i) {
    peers.push_back(std::make_unique<Peer>(path_));
    peers.back()->say("go.");
    const auto event = next();
    ASSERT_EQ(event.bytes, "go.");
    event.connection->finish();
  }
}

// Limit: kMaxUnsentBytes of staging/fs/local_listener.h
TEST_F(LocalListenerTest, APeerThatDoesNotReadIsClosedAtTheLimit) {
  open();
  const Peer peer(path_);
  peer.say("go.");
  const auto event = next();
  const std::string piece(size_t{1} << 20U, 'x');
  size_t sent = 0;
  for (; sent <= kMaxUnsentBytes + 4 * piece.size(); sent += piece.size()) {
    event.connection->send(piece);
  }
  EXPECT_LT(peer.heard().size(), kMaxUnsentBytes);
  const auto left = next();
  EXPECT_TRUE(left.is_closed);
  EXPECT_EQ(left.connection, event.connection);
}

TEST_F(LocalListenerTest, WhatAPeerDidNotTakeAtOnceIsSentLater) {
  open();
  const Peer peer(path_);
  peer.say("go.");
  const auto event = next();
  const std::string large(size_t{4} << 20U, 'x');
  event.connection->send(large);
  event.connection->finish();
  std::string heard;
  std::thread reader([&] { heard = peer.heard(); });
  listener_->flush(Deadline::after(clock_, std::chrono::seconds(60)));
  reader.join();
  EXPECT_EQ(heard.size(), large.size());
}

}  // namespace
}  // namespace galley
