#pragma once

#include <string>
#include <vector>

#include "tools/tool.h"

namespace galley {

/// The bytes of stdout and stderr together that an answer shows. Of a longer output it shows head
/// and tail, because errors of a build are at the end.
inline constexpr size_t kMaxShownOutput = 20'000;

/// An output that is not shown whole.
struct CutOutput {
  std::string stream;  ///< `stdout` or `stderr`
  std::string whole;
};

/// Replaces long outputs in the result of a command by head and tail, also those in the details of
/// an error, and returns the whole ones.
std::vector<CutOutput> cut_outputs(ToolResult& result);

/// Adds to a result how to get the middle of its outputs: `kept`, the id of the call.
void name_kept_outputs(ToolResult& result, const std::string& execution);

}  // namespace galley
