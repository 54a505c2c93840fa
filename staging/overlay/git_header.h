#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace galley {

// What the mode and index lines of a git patch say (git's diff-generate-patch documentation).

constexpr uint32_t kGitSymlink = 0120000;
constexpr uint32_t kGitSubmodule = 0160000;

/// Whether a mode line, if there was one, names this type.
[[nodiscard]] bool is_kind(const std::optional<uint32_t>& mode, uint32_t type);

/// Permission bits after a mode line: only the executable bits are git's to say.
[[nodiscard]] uint32_t with_git_mode(uint32_t permissions, uint32_t git_mode);

/// Whether the id of an index line names a content at all: long enough, and not the id of nothing.
[[nodiscard]] bool names_blob(std::string_view digits);

/// Whether the id of an index line, in full or shortened, is that of `content`.
[[nodiscard]] bool is_blob(std::string_view digits, std::string_view content);

}  // namespace galley
