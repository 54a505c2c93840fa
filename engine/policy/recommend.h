#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// What the machine has for the commands that a configuration names.
struct FoundPrograms {
  /// Whether a program can be run; empty: all can.
  std::function<bool(std::string_view)> has;
  /// The folders of `sandbox.readable` that a program needs; none where it lies in the system's.
  std::function<std::vector<std::string>(std::string_view)> folders;
  bool has_grammars = false;  ///< galley-syntax is installed
};

/// Text of a galley.toml for the languages, formatters and tests found in this workspace: what is
/// safe is on, commands and stricter rules are there as comments. A command is proposed only where
/// its program is there and what it judges is configured.
[[nodiscard]] Result<std::string> recommended_config(const Directory& root,
                                                     const FoundPrograms& programs = {});

}  // namespace galley
