#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// What the program of a custom tool answered: one JSON object (docs/custom-tools.md).
///
/// Invariant: ok means that `data` is set to an object; otherwise `message` says why not.
struct CustomAnswer {
  bool ok = false;
  JsonDocument data;
  std::string code;                       ///< of SAGE's, the tool's own, or empty
  std::string message;                    ///< of an error
  std::optional<int64_t> retry_after_ms;  ///< the service asked to be left alone for so long
  JsonDocument details;                   ///< may be null
  std::vector<std::string> warnings;

  /// Reads what a program wrote on its standard output.
  /// Errors: kInvalid `tool.output`, whose message is a clause that says what is wrong with it.
  static Result<CustomAnswer> read(std::string_view text);
};

}  // namespace galley
