#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Appends a `GIT binary patch` body for a pair of contents: both sides as zlib-deflated literals
/// in git's base 85, forward then reverse, so that it can be applied and reversed (git's
/// diff-format).
void append_binary_patch(std::string_view before, std::string_view after, std::string& out);

}  // namespace galley
