#include "engine/calls/sanitizer.h"

#include <gtest/gtest.h>

#include "doubles/fake_command_runner.h"
#include "doubles/memory_directory.h"

namespace galley {
namespace {

TEST(RedactedRun, RemovesKeysFromStreamedPiecesAndTheResult) {
  const auto workspace = make_memory_directory();
  const SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  FakeCommandRunner runner([](const Command& command, Overlay&) -> Result<CommandResult> {
    command.on_output(OutputStream::kStdout, "key AKIAIOSF");
    command.on_output(OutputStream::kStderr, "other\n");
    command.on_output(OutputStream::kStdout, "ODNN7EXAMPLE\npart");
    command.on_left_out(OutputStream::kStdout, 7);
    command.on_output(OutputStream::kStdout, "end");
    CommandResult result;
    result.standard_output.head = "key AKIAIOSFODNN7EXAMPLE";
    result.standard_error.tail = "https://bob:pw@host/";
    return result;
  });
  std::string shown;
  Command command;
  command.on_output = [&](OutputStream, std::string_view text) { shown += text; };
  command.on_left_out = [&](OutputStream, uint64_t bytes) {
    shown += "<" + std::to_string(bytes) + ">";
  };
  const auto result = run_redacted(runner, command, overlay);
  ASSERT_TRUE(result);
  EXPECT_EQ(shown, "other\nkey [REDACTED:aws-access-key]\npart<7>end");
  EXPECT_EQ(result->standard_output.head, "key [REDACTED:aws-access-key]");
  EXPECT_EQ(result->standard_error.tail, "https://bob:[REDACTED:url-password]@host/");
}

}  // namespace
}  // namespace galley
