#include "staging/sandbox/piped_process.h"

#include <gtest/gtest.h>

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "tests/support/temp_directory.h"

namespace galley {
namespace {

TEST(PipedProcess, InputAndOutputMayExceedThePipeCapacity) {
  const std::string much(size_t{3} << 20U, 'x');
  const auto said = run_piped({"cat"}, {}, much, much.size());
  ASSERT_TRUE(said.has_value()) << said.error().message;
  EXPECT_EQ(said->status, 0);
  EXPECT_EQ(said->output, much);
}

TEST(PipedProcess, OutputBeyondTheLimitIsAnError) {
  const auto said = run_piped({"cat"}, {}, std::string(1000, 'x'), 999);
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().reason, "limit.host_output");
}

TEST(PipedProcess, ReturnsTheStatusAndTheStandardError) {
  const auto said = run_piped({"sh", "-c", "echo no >&2; exit 7"}, {}, "unread", 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->status, 7);
  EXPECT_EQ(said->complaint, "no\n");
}

TEST(PipedProcess, AProgramThatDoesNotReadItsInputIsNotAnError) {
  const std::string much(size_t{3} << 20U, 'x');
  const auto said = run_piped({"true"}, {}, much, 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->status, 0);
}

// Limit: kMaxStandardErrorBytes of staging/sandbox/piped_process.h
TEST(PipedProcess, StandardErrorIsKeptUpToItsLimit) {
  const auto said = run_piped({"sh", "-c", "yes | head -c 100000 >&2"}, {}, "", 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->complaint.size(), PipedProcess::kMaxStandardErrorBytes);
}

TEST(PipedProcess, TheProgramGetsNoOtherDescriptor) {
  const int leaking = ::dup(STDIN_FILENO);  // as a library opens one
  const auto said =
      run_piped({"sh", "-c", "test -e /dev/fd/" + std::to_string(leaking)}, {}, "", 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->status, 1);
  ::close(leaking);
}

TEST(PipedProcess, VariablesAreSetAndRemoved) {
  PipedProcessOptions options;
  options.environment = {"GALLEY_A=ours"};
  options.unset = {"HOME"};
  const auto said = run_piped({"sh", "-c", "echo $GALLEY_A ${HOME-none}"}, options, "", 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->output, "ours none\n");
}

TEST(PipedProcess, AMissingProgramIsNamed) {
  const auto said = run_piped({"galley-no-such-program"}, {}, "", 100);
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().reason, "host.not_found");
}

/// A short time limit, for programs that never end.
PipedProcessOptions soon() {
  PipedProcessOptions options;
  options.time = std::chrono::milliseconds(300);
  return options;
}

/// A program that has printed its number, and then hangs.
std::unique_ptr<PipedProcess> hanging() {
  const TempDirectory folder;
  const std::string ready = folder.path() + "/ready";
  auto process =
      PipedProcess::start({"sh", "-c", R"(echo $$; : > "$0"; exec sleep 1000)", ready}, soon());
  GALLEY_CHECK(process.has_value());
  while (!std::filesystem::exists(ready)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return *std::move(process);
}

bool is_there(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0 || errno != ESRCH; }

TEST(PipedProcess, AProgramThatNeverEndsIsEnded) {
  for (const char* line : {"exec sleep 1000", "exec >&-; exec sleep 1000",
                           "trap '' TERM; exec >&-; while :; do sleep 0.05; done"}) {
    SCOPED_TRACE(line);
    const auto said = run_piped({"sh", "-c", line}, soon(), "", 100);
    ASSERT_FALSE(said.has_value());
    EXPECT_EQ(said.error().kind, ErrorKind::kTimeout);
    EXPECT_EQ(said.error().reason, "host.timeout");
  }
}

TEST(PipedProcess, AProgramThatStopsWritingIsEnded) {
  const auto process = hanging();
  const auto pid = process->read(100);
  ASSERT_TRUE(pid.has_value());
  EXPECT_TRUE(is_there(*pid));
  EXPECT_EQ(process->read(100).error().reason, "host.timeout");
  EXPECT_FALSE(is_there(*pid));
}

TEST(PipedProcess, AProgramThatBlocksItsInputIsEnded) {
  const auto process = PipedProcess::start({"sh", "-c", "exec sleep 1000"}, soon());
  ASSERT_TRUE(process.has_value());
  const auto given = (*process)->write(std::string(size_t{8} << 20U, 'x'));
  ASSERT_FALSE(given.has_value());
  EXPECT_EQ(given.error().reason, "host.timeout");
}

TEST(PipedProcess, AProgramThatOutlivesItsPipesIsEnded) {
  auto process = hanging();
  const std::string pid = *process->read(100);
  EXPECT_EQ(process->wait().error().reason, "host.timeout");
  process.reset();
  EXPECT_FALSE(is_there(pid));
}

TEST(PipedProcess, ARequestToStopEndsTheProgram) {
  std::stop_source source;
  PipedProcessOptions options;
  options.stop = source.get_token();
  std::jthread later([&] { source.request_stop(); });
  const auto said = run_piped({"sleep", "1000"}, options, "", 100);
  ASSERT_FALSE(said.has_value());
  EXPECT_EQ(said.error().reason, "host.stopped");
}

}  // namespace
}  // namespace galley
