#pragma once

#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/git_directories.h"
#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"

namespace galley {

/// Applies `[policy.effects]` to a proposal: limits of the whole change, and special kinds of
/// paths. Appends every judgement that is not kAllow.
[[nodiscard]] Result<void> judge_effects(const Config& config, const ProposedTree& tree,
                                         const GitDirectories& git, std::vector<Judgement>& out);

/// git's rule: a NUL among the first 8000 bytes.
[[nodiscard]] bool is_binary(std::string_view content);

/// Turns ASCII letters into lower case: names with the same result are one name on macOS and
/// Windows.
[[nodiscard]] std::string fold_case(std::string_view name);

/// Pairs of paths of the proposed tree whose names differ only in case. The proposal makes at least
/// one of each pair.
[[nodiscard]] Result<std::vector<std::pair<RelPath, RelPath>>> case_collisions(
    const ProposedTree& tree);

}  // namespace galley
