#include "engine/calls/redacted_run.h"

#include <array>

#include "tools/redactor.h"

namespace galley {
namespace {

/// The two streams of one command.
class OutputFilter {
 public:
  explicit OutputFilter(const Command& command) : command_(&command) {}

  void take(OutputStream stream, std::string_view text) { pass(stream, of(stream).feed(text)); }
  /// What comes next does not follow what came before.
  void cut(OutputStream stream, uint64_t left_out) {
    pass(stream, of(stream).finish());
    if (command_->on_left_out) command_->on_left_out(stream, left_out);
  }
  void finish() {
    for (const OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
      pass(stream, of(stream).finish());
    }
  }

 private:
  PatternStream& of(OutputStream stream) { return streams_.at(static_cast<size_t>(stream)); }
  void pass(OutputStream stream, const std::string& text) {
    if (!text.empty() && command_->on_output) command_->on_output(stream, text);
  }

  const Command* command_;
  std::array<PatternStream, 2> streams_;
};

void redact(CapturedOutput& output) {
  output.head = redact_patterns(output.head);
  output.tail = redact_patterns(output.tail);
}

}  // namespace

Result<CommandResult> run_redacted(CommandRunner& runner, const Command& command,
                                   Overlay& overlay) {
  OutputFilter filter(command);
  Command watched = command;
  if (command.on_output) {
    watched.on_output = [&](OutputStream stream, std::string_view text) {
      filter.take(stream, text);
    };
    watched.on_left_out = [&](OutputStream stream, uint64_t bytes) { filter.cut(stream, bytes); };
  }
  auto result = runner.run(watched, overlay);
  filter.finish();
  if (!result) return result;
  redact(result->standard_output);
  redact(result->standard_error);
  return result;
}

}  // namespace galley
