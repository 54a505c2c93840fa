#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// What libgit2's own diff (xdiff, Myers) prints for two texts: the peer that bench/diff_bench
/// measures us against. Galley itself never prints it.
Result<std::string> libgit2_diff(std::string_view before, std::string_view after,
                                 const std::string& path);

}  // namespace galley
