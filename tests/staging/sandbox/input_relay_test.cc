#include "staging/sandbox/process_streams.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

namespace galley {
namespace {

Fd file_with(const std::string& text) {
  Fd file(memfd_create("input", MFD_CLOEXEC));
  EXPECT_EQ(write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  EXPECT_EQ(lseek(file.get(), 0, SEEK_SET), 0);
  return file;
}

/// Lets it do what can be done without waiting; false when it wants nothing any more.
bool turn(InputRelay& relay) {
  pollfd wanted = relay.wanted();
  if (wanted.fd < 0) return false;
  if (poll(&wanted, 1, 0) <= 0) return false;
  relay.advance(wanted);
  return true;
}

std::string read_some(int fd, size_t most) {
  std::string text(most, '\0');
  const ssize_t got = read(fd, text.data(), most);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

TEST(InputRelay, PassesOnAllInputAndThenTheEnd) {
  const Fd file = file_with("one\ntwo\n");
  const auto relay = *InputRelay::from(file.get());
  while (turn(*relay)) {
  }
  EXPECT_EQ(relay->wanted().fd, -1);
  EXPECT_EQ(read_some(relay->read_end(), 100), "one\ntwo\n");
  EXPECT_EQ(read_some(relay->read_end(), 100), "");
}

TEST(InputRelay, PassesOnFedInputUntilItsEnd) {
  const auto relay = *InputRelay::fed();
  EXPECT_EQ(relay->wanted().fd, -1) << "nothing to do yet";
  relay->feed("one\n");
  EXPECT_TRUE(turn(*relay));
  relay->feed("two\n");
  relay->end_input();
  while (turn(*relay)) {
  }
  EXPECT_EQ(read_some(relay->read_end(), 100), "one\ntwo\n");
  EXPECT_EQ(read_some(relay->read_end(), 100), "") << "its end";
}

TEST(InputRelay, LeavesAFileAtTheFirstUnreadByte) {
  const Fd file = file_with("0123456789");
  {
    const auto relay = *InputRelay::from(file.get());
    while (turn(*relay)) {
    }
    EXPECT_EQ(read_some(relay->read_end(), 4), "0123");
  }
  EXPECT_EQ(read_some(file.get(), 100), "456789");
}

TEST(InputRelay, SeeksBackNoMoreThanItRead) {
  const Fd file = file_with("earlier, later");
  ASSERT_EQ(lseek(file.get(), 8, SEEK_SET), 8);
  {
    const auto relay = *InputRelay::from(file.get());
    while (turn(*relay)) {
    }
    // The reader of a pipe can open its other end, too.
    const std::string name = "/proc/self/fd/" + std::to_string(relay->read_end());
    const Fd other(open(name.c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_TRUE(other.is_open());
    ASSERT_EQ(write(other.get(), "more", 4), 4);
  }
  EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 8);
}

TEST(InputRelay, DoesNotBlockWhenThePipeIsFull) {
  const std::string large(size_t{1} << 20U, 'x');
  const Fd file = file_with(large);
  {
    const auto relay = *InputRelay::from(file.get());
    while (turn(*relay)) {
    }
    EXPECT_LT(lseek(file.get(), 0, SEEK_CUR), static_cast<off_t>(large.size()));
    EXPECT_GE(relay->wanted().fd, 0);
  }
  EXPECT_EQ(lseek(file.get(), 0, SEEK_CUR), 0);
}

TEST(InputRelay, AClosedDescriptorIsAnEmptyInput) {
  const auto relay = *InputRelay::from(1 << 20);
  while (turn(*relay)) {
  }
  EXPECT_EQ(relay->wanted().fd, -1);
  EXPECT_EQ(read_some(relay->read_end(), 100), "");
}

}  // namespace
}  // namespace galley
