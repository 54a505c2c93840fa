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

/// Returns why the proposed galley.toml is not valid, or nothing. After a commit of such a file
/// every command would fail.
/// Errors: those of reading the proposed tree.
[[nodiscard]] Result<std::optional<Error>> proposed_configuration_flaw(const ProposedTree& tree);

/// Creates all validators of a configuration to find flaws that the parser does not find.
[[nodiscard]] Result<void> check_validators(const Config& config, const Directory& root);

}  // namespace galley
