#include "staging/fs/line_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace galley {
namespace {

constexpr size_t kMost = 1000;

/// Both ends of something that bytes go through.
struct Ends {
  int read = -1;
  int write = -1;
  void close_writing() { ::close(std::exchange(write, -1)); }
  ~Ends() {
    if (write >= 0) ::close(write);
    ::close(read);
  }
};

void send(const Ends& ends, const std::string& bytes) {
  ASSERT_EQ(::write(ends.write, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

/// Lines to the end; one that was too long shows as `<too long>`.
std::vector<std::string> read_all(const Ends& ends) {
  LineReader lines(ends.read, kMost);
  std::vector<std::string> found;
  while (auto line = lines.next().value()) {
    found.push_back(line->is_too_long ? "<too long>" : line->text);
  }
  return found;
}

/// A pipe, and a socket: what agents give a server for its standard input.
class LineStream : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(GetParam() ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)
                         : pipe2(ends, O_CLOEXEC),
              0);
    ends_.read = ends[0];
    ends_.write = ends[1];
  }
  Ends ends_;
};
INSTANTIATE_TEST_SUITE_P(Of, LineStream, ::testing::Bool(), [](const auto& shape) {
  return std::string(shape.param ? "Sockets" : "Pipes");
});

TEST_P(LineStream, LinesAreReadToTheEndIncludingAnUnterminatedLastLine) {
  send(ends_, "one\n\ntwo\nand no end");
  ends_.close_writing();
  EXPECT_EQ(read_all(ends_), (std::vector<std::string>{"one", "", "two", "and no end"}));
}

TEST_P(LineStream, ALineOverTheLimitIsSkipped) {
  std::thread writer([this] {
    send(ends_, "one\n" + std::string(kMost, 'x') + "\n" + std::string(300'000, 'x') + "\nlast\n");
    ends_.close_writing();
  });
  const auto found = read_all(ends_);
  writer.join();
  EXPECT_EQ(found,
            (std::vector<std::string>{"one", std::string(kMost, 'x'), "<too long>", "last"}));
}

TEST_P(LineStream, TheEndsOfALineOverTheLimitAreKept) {
  std::thread writer([this] {
    for (const std::string& middle : {std::string(kMost, 'x'), std::string(300'000, 'x')}) {
      send(ends_, "begin" + middle + "end\n");
    }
    ends_.close_writing();
  });
  LineReader lines(ends_.read, kMost);
  for (int i = 0; i < 2; ++i) {
    const auto line = lines.next().value();
    ASSERT_TRUE(line && line->is_too_long);
    EXPECT_TRUE(line->text.starts_with("beginx") && line->end.ends_with("xend"));
    EXPECT_LE(line->text.size() + line->end.size(), 2U * 4096U);
  }
  writer.join();
}

TEST_P(LineStream, APieceThatArrivesWhileTheReaderSleepsIsRead) {
  std::thread writer([this] {
    for (const char* piece : {"be", "fore\naf", "ter\n"}) {
      // Long enough to fall asleep; where it is not, the same comes out.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      send(ends_, piece);
    }
    ends_.close_writing();
  });
  const auto found = read_all(ends_);
  writer.join();
  EXPECT_EQ(found, (std::vector<std::string>{"before", "after"}));
}

TEST_P(LineStream, ABufferedLineIsReportedAsAvailable) {
  send(ends_, "one\ntwo\nth");
  LineReader lines(ends_.read, kMost);
  EXPECT_EQ(lines.next().value()->text, "one");
  EXPECT_TRUE(lines.has_next());
  EXPECT_EQ(lines.next().value()->text, "two");
  EXPECT_FALSE(lines.has_next());
}

TEST(LineStreamOfAFile, AFileIsReadToItsEnd) {
  Ends ends;
  ends.read = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(ends.read, 0);
  ASSERT_EQ(::pwrite(ends.read, "one\ntwo\n", 8, 0), 8);
  EXPECT_EQ(read_all(ends), (std::vector<std::string>{"one", "two"}));
}

}  // namespace
}  // namespace galley
