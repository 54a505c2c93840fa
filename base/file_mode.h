#pragma once

#include <cstdint>

namespace galley {

/// Bits of st_mode (POSIX <sys/stat.h>), and the modes of private files and directories.
inline constexpr uint32_t kPermissionBits = 0777;
inline constexpr uint32_t kAnyExecute = 0111;
inline constexpr uint32_t kOwnerAll = 0700;
inline constexpr uint32_t kOwnerRead = 0400;
inline constexpr uint32_t kSpecialBits = 07000;
inline constexpr uint32_t kSetUserId = 04000;
inline constexpr uint32_t kSetGroupId = 02000;
inline constexpr uint32_t kSticky = 01000;
inline constexpr uint32_t kPrivateDirectory = 0700;
inline constexpr uint32_t kPrivateFile = 0600;

}  // namespace galley
