#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// The files of kept outputs in one stage. The oldest one makes room for the next.
inline constexpr size_t kMaxKeptOutputs = 16;
/// The bytes of one kept output. The rest is not kept.
inline constexpr uint64_t kMaxKeptOutputBytes = uint64_t{2} << 20U;

/// One output stream of a call of a stored transaction.
struct OutputName {
  std::string execution;  ///< the id of the call, which begins with its time
  std::string stream;     ///< `stdout` or `stderr`
};

/// Keeps an output as the file `outputs/<execution id>.<stream>` of a stage. The file is dropped
/// with the stage. The first line of the file is the agent that called, and only this agent can
/// read it.
/// Errors: kUsage `output.name`.
Result<void> keep_output(const WritableDirectory& stage, const OutputName& name,
                         const std::string& agent, std::string_view text);

/// Returns a kept output.
/// Errors: kUsage `output.name`; kNotFound `output.not_found`.
Result<std::string> kept_output(const Directory& stage, const OutputName& name,
                                const std::string& agent);

}  // namespace galley
