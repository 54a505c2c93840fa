#pragma once

#include <string>
#include <string_view>

namespace galley {

/// Characters that mean only themselves in a word of a shell's command line.
inline constexpr std::string_view kPlainInShell =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,";

/// Quotes a text as one word of a shell command line.
[[nodiscard]] std::string shell_word(std::string_view text);

}  // namespace galley
