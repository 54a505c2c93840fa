#pragma once

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/validator.h"
#include "engine/validators/builtin.h"
#include "engine/validators/validator_cache.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// The end of the rule name of a finding for a file that a fixer would change.
inline constexpr std::string_view kWouldChangeRule = ".would_change";

/// The resources of command validators. Each may be null.
struct CommandValidatorParts {
  CommandRunner* runner = nullptr;  ///< null: the validator cannot judge, so the gate refuses
  ValidatorCache* cache = nullptr;
};

/// Makes a validator that runs a program on the proposed tree. The program's writes are dropped.
///
/// Errors: kInvalid `config.value` for a parser pattern that does not compile.
[[nodiscard]] Result<ValidatorPtr> make_command_validator(const ValidatorConfig& config,
                                                          const CommandValidatorParts& parts);

}  // namespace galley
