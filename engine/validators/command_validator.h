#pragma once

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/validator.h"
#include "engine/validators/builtin.h"
#include "engine/validators/validator_cache.h"
#include "staging/sandbox/command_runner.h"

namespace galley {

/// The end of the rule name of a finding that a fixer would change the file.
inline constexpr std::string_view kWouldChangeRule = ".would_change";

/// Resources of command validators; either may be null.
struct CommandValidatorParts {
  CommandRunner* runner = nullptr;  ///< null: the validator cannot judge, so the gate refuses
  ValidatorCache* cache = nullptr;
};

/// A validator that runs a program on the proposed tree; the program's writes are dropped.
///
/// Errors: kInvalid `config.value` for a parser pattern that does not compile.
[[nodiscard]] Result<ValidatorPtr> make_command_validator(const ValidatorConfig& config,
                                                          const CommandValidatorParts& parts);

}  // namespace galley
