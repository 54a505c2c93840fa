#include "staging/sandbox/piped_process.h"

#include <gtest/gtest.h>

#include <string>

namespace galley {
namespace {

TEST(PipedProcess, GivesAndTakesMoreThanAPipeHolds) {
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

TEST(PipedProcess, KeepsTheStatusAndTheComplaint) {
  const auto said = run_piped({"sh", "-c", "echo no >&2; exit 7"}, {}, "unread", 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->status, 7);
  EXPECT_EQ(said->complaint, "no\n");
}

TEST(PipedProcess, OneThatDoesNotReadEndsNobody) {
  const std::string much(size_t{3} << 20U, 'x');
  const auto said = run_piped({"true"}, {}, much, 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->status, 0);
}

TEST(PipedProcess, ComplaintsAreKeptToTheirLimit) {
  const auto said = run_piped({"sh", "-c", "yes | head -c 100000 >&2"}, {}, "", 100);
  ASSERT_TRUE(said.has_value());
  EXPECT_EQ(said->complaint.size(), PipedProcess::kMaxComplaintBytes);
}

TEST(PipedProcess, NamesAreSetAndLeftOut) {
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

}  // namespace
}  // namespace galley
