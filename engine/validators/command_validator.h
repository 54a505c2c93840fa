#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/validator.h"
#include "engine/validators/builtin.h"
#include "engine/validators/validator_cache.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// The end of the rule name of a finding for a file that a fixer would change.
inline constexpr std::string_view kWouldChangeRule = ".would_change";

/// Maximum number of files that a validator's result depends on.
inline constexpr size_t kMaxInputs = 200'000;

/// The resources of command validators. Both pointers may be null.
struct CommandValidatorParts {
  CommandRunner* runner = nullptr;  ///< null: the validator cannot judge, so the gate refuses
  ValidatorCache* cache = nullptr;
  std::string surroundings = {};  ///< names everything else that can change results: for the cache
};

/// Makes a validator that runs a program on the proposed tree. The program's writes are dropped.
///
/// Errors: kInvalid `config.value` for a parser pattern that does not compile.
[[nodiscard]] Result<ValidatorPtr> make_command_validator(const ValidatorConfig& config,
                                                          const CommandValidatorParts& parts);

/// Returns the changed regular files that a command validator selects, in order.
[[nodiscard]] std::vector<RelPath> selected_files(const ValidatorConfig& config,
                                                  const ChangeSet& changes);

/// Returns the commands of one run, with `{files}` replaced. Several commands are needed if the
/// names do not fit into one. A validator per file has one command for each file.
[[nodiscard]] std::vector<Command> commands_of(const ValidatorConfig& config,
                                               const std::vector<RelPath>& files,
                                               const ValidatorContext& context);

/// The result of one command, by its exit status.
enum class RunEnd : uint8_t {
  kNoComplaint,
  kComplaint,
};
/// Returns the result of a command.
/// Errors: the command could not judge, because of a limit, a signal, an unknown status, or a
///         missing program that it needs. The message has the last lines of its output.
[[nodiscard]] Result<RunEnd> end_of(const ValidatorConfig& config, const CommandResult& result);

/// Returns the state of a file after a fixer. A fixer changes only the contents of files: many
/// write a new file and rename it, which loses the mode.
[[nodiscard]] Node fixed_node(const Node& was, Node now);

/// Returns the words of the validator's command, for messages.
[[nodiscard]] std::string command_words(const ValidatorConfig& config);

/// Returns the command's output as printable text. A long output is reduced to its beginning and
/// end.
[[nodiscard]] std::string shown_output(const CommandResult& result);

/// Returns the Error for an untrusted command, kRefused `trust.needed`, which names the command.
[[nodiscard]] Error not_trusted(const ValidatorConfig& config);

/// Returns the last lines of a command's output, for a message.
[[nodiscard]] std::string output_tail(const CommandResult& result);

}  // namespace galley
