#pragma once

#include <cstddef>
#include <cstdint>

/// Limits that several parts of Galley share. A limit that only one source file needs is defined in
/// that file.
namespace galley::limits {

inline constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30U;   ///< one file read or staged
inline constexpr uint64_t kMaxPatchBytes = uint64_t{1} << 29U;  ///< one patch or edit document
inline constexpr size_t kMaxChanges = 200'000;                  ///< paths in one change set
inline constexpr size_t kMaxFilesInPatch = 100'000;             ///< files of one patch
inline constexpr size_t kMaxHunksInPatch = 1'000'000;           ///< hunks of one patch
inline constexpr size_t kMaxJsonBytes = size_t{64} << 20U;      ///< one JSON document of a call
inline constexpr int kMaxJsonDepth = 128;                       ///< nesting of such a document
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20U;     ///< galley.toml or a rule file
inline constexpr size_t kMaxSymlinkBytes = 4095;                ///< the target of a symbolic link
inline constexpr size_t kMaxFindings = 10'000;                  ///< findings kept of one validator
inline constexpr size_t kMaxParsedFindings = 100'000;           ///< findings read of one output

}  // namespace galley::limits
