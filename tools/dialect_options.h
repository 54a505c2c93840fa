#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "tools/dialect.h"

namespace galley {

/// What the tools that only profiles show need to know of a workspace.
struct DialectOptions {
  NachosFolders nachos;
  TenexSettings tenex;
};

/// One value of `[tools.TOOL] config` in galley.toml; empty where it is not given.
using ToolSetting = std::function<std::string(std::string_view tool, std::string_view key)>;

/// The options as galley.toml has them (docs/profiles.md has the keys).
[[nodiscard]] DialectOptions dialect_options(const ToolSetting& setting);

}  // namespace galley
