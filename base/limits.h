#pragma once

#include <cstddef>
#include <cstdint>

/// The sizes, depths and counts that bound Galley as a whole. A limit of one file is in that file.
namespace galley::limits {

inline constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30U;   ///< one file read or staged
inline constexpr uint64_t kMaxPatchBytes = uint64_t{1} << 29U;  ///< one patch or edit document
inline constexpr size_t kMaxChanges = 200'000;                  ///< paths in one change set
inline constexpr size_t kMaxFilesInPatch = 100'000;
inline constexpr size_t kMaxHunksInPatch = 1'000'000;
inline constexpr size_t kMaxJsonBytes = size_t{64} << 20U;
inline constexpr int kMaxJsonDepth = 128;
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20U;
inline constexpr size_t kMaxSymlinkBytes = 4095;
inline constexpr size_t kMaxFindings = 10'000;  ///< kept per validator

}  // namespace galley::limits
