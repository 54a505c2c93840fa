#pragma once

#include <optional>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// Returns the configuration that is used while galley.toml cannot be read. Every change then needs
/// a person's approval, agents may do nothing, and no command runs. A person can still undo the
/// change of galley.toml itself.
[[nodiscard]] Config strict_defaults();

/// Returns why the proposed galley.toml could not be used, or nothing. To commit such a file would
/// break every command that follows.
/// Errors: those of reading the proposed tree.
[[nodiscard]] Result<std::optional<Error>> proposed_configuration_flaw(const ProposedTree& tree);

/// Makes all validators of a configuration, since some flaws do not show in its text.
[[nodiscard]] Result<void> check_validators(const Config& config, const Directory& root);

}  // namespace galley
