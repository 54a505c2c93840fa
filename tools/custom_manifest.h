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

/// What the manifest of a custom tool says: a program that answers JSON with JSON
/// (docs/tools.md). Its shape is Nachos', with the fields that a tool of Galley's has
/// besides.
///
/// A value: parse() takes nothing on trust, and asks for nothing that no wall can hold.
struct CustomManifest {
  static constexpr size_t kMaxManifestBytes = size_t{256} << 10U;  ///< the manifest of a tool

  ToolInfo info;                         ///< of the tool; its timeout is always set
  std::string package;                   ///< `name` of the manifest: who made it calls it so
  std::string text;                      ///< of the manifest, as it was given
  std::string executable;                ///< in the manifest's folder; empty: it cannot be called
  bool uses_network = false;             ///< the host's, all of it
  bool writes = false;                   ///< what it writes is staged; else it is dropped
  std::vector<std::string> writable;     ///< patterns of `fs:write:…`; empty: anywhere
  std::vector<std::string> secrets;      ///< names of those that its environment gets
  std::optional<uint64_t> memory_bytes;  ///< of all its processes
  std::optional<uint64_t> processor_ms;  ///< of all its processes, for one call

  /// Reads one manifest; `file` is for messages.
  /// Errors: kInvalid `manifest.malformed`, `manifest.unknown_key` (with the nearest one),
  ///         `manifest.missing`, `manifest.value`; kRefused `tool.egress_not_enforceable` for a
  ///         list of hosts, which no wall holds; kQuota `limit.json_bytes`.
  static Result<CustomManifest> parse(std::string_view text, const std::string& file);
};

}  // namespace galley
