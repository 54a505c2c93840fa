#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/validator.h"

namespace galley {

class CommandRunner;
class ValidatorCache;

/// Makes the validators of a configuration, in its order. If `runner` is null, command validators
/// cannot run, so the gate refuses. `cache` may be null.
///
/// Ownership: the validators borrow the configuration, the runner and the cache.
/// Errors:    kInvalid `config.value` for a pattern or rule file that does not compile.
[[nodiscard]] Result<std::vector<std::unique_ptr<Validator>>> make_validators(
    const Config& config, const Directory& workspace, CommandRunner* runner, ValidatorCache* cache);

}  // namespace galley
