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

/// The commands of one run: `{files}` filled in (in several commands when there are too many for
/// one), or one command for each file when it is per file.
[[nodiscard]] std::vector<Command> commands_of(const ValidatorConfig& config,
                                               const std::vector<RelPath>& files,
                                               const ValidatorContext& context);

/// How one command ended, by the validator's rules about exit statuses.
enum class RunEnd : uint8_t {
  kNoComplaint,
  kComplaint,
};
/// Errors: it could not judge: a limit, a signal, a status that is neither, a program that it needs
///         and that is missing; with its last words.
[[nodiscard]] Result<RunEnd> end_of(const ValidatorConfig& config, const CommandResult& result);

/// The words of its command, for messages.
[[nodiscard]] std::string command_words(const ValidatorConfig& config);

/// What the command wrote, printable: its beginning and its end when it is much.
[[nodiscard]] std::string shown_output(const CommandResult& result);

/// The Error (kRefused `trust.needed`) for a command that nobody trusted: what it would run.
[[nodiscard]] Error not_trusted(const ValidatorConfig& config);

/// The last lines of what a command said, for a message.
[[nodiscard]] std::string last_words(const CommandResult& result);

}  // namespace galley
