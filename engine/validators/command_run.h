#pragma once

#include <string>
#include <vector>

#include "engine/policy/config.h"
#include "engine/policy/validator.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// The changed regular files that a command validator selects, in order.
[[nodiscard]] std::vector<RelPath> selected_files(const ValidatorConfig& config,
                                                  const ChangeSet& changes);

/// The commands of one run: with `{files}` replaced (several commands when the names do not fit
/// into one), or one command for each file if the validator is per file.
[[nodiscard]] std::vector<Command> commands_of(const ValidatorConfig& config,
                                               const std::vector<RelPath>& files,
                                               const ValidatorContext& context);

/// The result of one command, by the validator's rules about exit statuses.
enum class RunEnd : uint8_t {
  kNoComplaint,
  kComplaint,
};
/// Errors: it could not judge, because of a limit, a signal, a status of neither kind, or a missing
///         program that it needs; with the last lines of its output.
[[nodiscard]] Result<RunEnd> end_of(const ValidatorConfig& config, const CommandResult& result);

/// The words of its command, for messages.
[[nodiscard]] std::string command_words(const ValidatorConfig& config);

/// The command's output, printable: only its beginning and its end when it is long.
[[nodiscard]] std::string shown_output(const CommandResult& result);

/// The Error (kRefused `trust.needed`) for an untrusted command: names what it would run.
[[nodiscard]] Error not_trusted(const ValidatorConfig& config);

/// The last lines of a command's output, for a message.
[[nodiscard]] std::string output_tail(const CommandResult& result);

}  // namespace galley
