#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace galley {

/// A message or rule name that came from a file or a program is cut here.
inline constexpr size_t kMaxFindingBytes = 1000;
/// Of a command's output that is kept with a finding: its beginning and its end.
inline constexpr size_t kMaxFindingOutputBytes = size_t{8} << 10U;

enum class Severity : uint8_t { kNote, kWarning, kError };

/// One thing a rule or validator has to say about the proposed tree.
struct Finding {
  std::string rule;  ///< stable dotted name: `json.syntax`, `policy.path`, or the validator's
  Severity severity = Severity::kError;
  std::string path;     ///< workspace-relative; empty for the whole change
  uint32_t line = 0;    ///< 1-based in the proposed file; 0 when it has none
  uint32_t column = 0;  ///< 1-based, in bytes; 0 when it has none
  std::string message;  ///< one sentence
  std::string remedy;   ///< what to do about it; may be empty
  std::string output;   ///< of the command, printable, several lines; may be empty
  bool operator==(const Finding&) const = default;
};

}  // namespace galley
