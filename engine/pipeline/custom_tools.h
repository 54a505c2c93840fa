#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/content_id.h"
#include "base/result.h"
#include "engine/pipeline/trust.h"
#include "tools/custom_manifest.h"
#include "tools/registry.h"

namespace galley {

// The custom tools that a person lets a workspace have (docs/custom-tools.md). Kept where trust is
// kept, outside every workspace:
//
//     $XDG_STATE_HOME/galley/tools/<SHA-256 of the root's path>/<hash of the files>/
//         record.json   who: the folder they came from, the names that may be called
//         files/        a copy of the folder, which is what is run

/// What lies in a folder of tools.
///
/// A value: the bytes that were read are those that are hashed, shown and kept.
struct ToolFolder {
  static constexpr size_t kMaxToolFiles = 1000;
  static constexpr uint64_t kMaxToolBytes = uint64_t{64} << 20U;

  /// A file as it is kept; what else a folder holds (links, devices) is refused.
  struct Item {
    std::string path;  ///< relative
    bool is_program = false;
    std::string bytes;
  };

  std::string path;                       ///< absolute
  std::vector<Item> items;                ///< by path
  std::vector<CustomManifest> manifests;  ///< of `manifest.json` and every `*.tool.json` in it
  ContentId hash;                         ///< of all items

  /// Reads a folder; `__pycache__` and `.git` in it are passed over.
  /// Errors: kInvalid `tool.folder` (no manifest, a link, an executable that is missing or is no
  ///         program), `tool.exists` for two tools of one name, those of CustomManifest; kQuota
  ///         `limit.tool_folder`; kNotFound.
  static Result<ToolFolder> read(const std::string& path);
};

/// A folder of tools that a person trusted for one workspace.
struct TrustedTools {
  std::string source;  ///< absolute path of the folder that was looked at
  ContentId hash;
  std::vector<std::string> names;  ///< of the tools that may be called
  int64_t given_ns = 0;
  std::string files;  ///< absolute path of the copy
};

/// The folder of what is kept of tools for the workspace at `root`, where it has one.
[[nodiscard]] std::string tools_home(const UserSettings& settings, const std::string& root);
/// Whether there is a place outside of that workspace.
[[nodiscard]] bool has_tools_home(const UserSettings& settings, const std::string& root);

/// Errors: kRefused `trust.no_place` where tools cannot be kept outside the workspace at `root`.
Result<void> check_tools_have_a_place(const UserSettings& settings, const std::string& root);

/// Keeps a folder of tools for the workspace at `root`, in place of what was kept from that folder.
/// Errors: kRefused `trust.no_place` as record_trust(); kIo.
Result<void> trust_tools(const UserSettings& settings, const std::string& root,
                         const ToolFolder& folder, int64_t now_ns);

/// Every folder that is kept for a workspace, oldest first.
[[nodiscard]] Result<std::vector<TrustedTools>> trusted_tools(const UserSettings& settings,
                                                              const std::string& root);

/// Takes one tool away; false when no folder has it. A folder without tools is not kept.
Result<bool> forget_tool(const UserSettings& settings, const std::string& root,
                         std::string_view name);

/// Adds every tool of a folder to a registry, to see whether they fit: they are not to be called.
/// Errors: kInvalid `tool.exists`, `tool.name`, `tool.schema`.
Result<void> add_tools_of(ToolRegistry& registry, const ToolFolder& folder);

/// Adds the tools that are kept for a workspace to its registry.
/// Errors: kInvalid `tool.exists`, `tool.schema`, `manifest.*`; each says how to take it away.
Result<void> add_custom_tools(ToolRegistry& registry, const UserSettings& settings,
                              const std::string& root);

}  // namespace galley
