#pragma once

#include <optional>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// What holds while galley.toml cannot be read: its rules are not known, so every change needs a
/// person's yes, no agent may do anything, and nothing is run or widened. A person may take the
/// file itself back.
[[nodiscard]] Config strict_defaults();

/// Why the galley.toml that a proposal leaves could not be used, or nothing: a commit of it would
/// stop every command after it.
/// Errors: of reading the proposed tree.
[[nodiscard]] Result<std::optional<Error>> proposed_configuration_flaw(const ProposedTree& tree);

/// Refuses a configuration whose validators cannot be made, which its text alone does not show.
[[nodiscard]] Result<void> check_validators(const Config& config, const Directory& root);

}  // namespace galley
