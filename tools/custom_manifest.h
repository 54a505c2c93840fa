#pragma once

#include <galley/tool.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// The manifest of a custom tool: a program that reads and writes JSON (docs/tools.md). The format
/// is that of Nachos, with more fields for the properties of Galley's tools.
///
/// A value. parse() checks every field, and refuses permissions that the sandbox cannot enforce.
struct CustomManifest {
  static constexpr size_t kMaxManifestBytes = size_t{256} << 10U;  ///< the manifest of a tool

  ToolInfo info;                         ///< its timeout is always set
  std::string package;                   ///< `name` of the manifest: the package of the tool
  std::string text;                      ///< the manifest as it was read
  std::string executable;                ///< in the manifest's folder; empty: it cannot be called
  bool uses_network = false;             ///< callers need `net:host`
  std::vector<std::string> hosts;        ///< the only ones; empty: all, if `uses_network`
  bool writes = false;                   ///< its writes are staged; else they are dropped
  std::vector<std::string> writable;     ///< patterns of `fs:write:…`; empty: every path
  std::vector<std::string> secrets;      ///< names of the secrets in its environment
  std::optional<uint64_t> memory_bytes;  ///< of all its processes
  std::optional<uint64_t> processor_ms;  ///< of all its processes, for one call

  /// Parses a manifest. `file` is its name in messages.
  /// Errors: kInvalid `manifest.malformed`, `manifest.unknown_key` (with the nearest key),
  ///         `manifest.missing`, `manifest.value`; kRefused `tool.egress_not_enforceable` for a
  ///         list of hosts, which the sandbox cannot enforce; kQuota `limit.json_bytes`.
  static Result<CustomManifest> parse(std::string_view text, const std::string& file);
};

}  // namespace galley
