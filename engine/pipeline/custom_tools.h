#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "engine/pipeline/trust.h"
#include "tools/custom_manifest.h"
#include "tools/registry.h"

namespace galley {

// Custom tools that a person added to a workspace (docs/tools.md). They are stored
// next to the trust records, outside every workspace:
//
//     $XDG_STATE_HOME/galley/tools/<SHA-256 of the root's path>/
//         lock              held while tools are added or removed
//         <hash of the files>/
//             record.json   the original folder, and the names that may be called
//             files/        a copy of the folder; the programs in it are run

/// The contents of a folder of tools.
///
/// A value: Galley hashes, shows and stores the same bytes.
struct ToolFolder {
  static constexpr size_t kMaxToolFiles = 1000;  ///< files in a folder of custom tools
  static constexpr uint64_t kMaxToolBytes = uint64_t{64} << 20U;  ///< all files of such a folder

  /// A regular file. Other objects (links, devices) are refused.
  struct Item {
    std::string path;  ///< relative
    bool is_program = false;
    std::string bytes;
  };

  std::string path;                       ///< absolute
  std::vector<Item> items;                ///< by path
  std::vector<CustomManifest> manifests;  ///< of `manifest.json` and every `*.tool.json` in it
  ContentId hash;                         ///< of all items

  /// Reads a folder, except `__pycache__` and `.git`.
  /// Errors: kInvalid `tool.folder` (no manifest, a link, an executable that is missing or is not
  ///         a program), `tool.exists` for two tools with the same name, those of CustomManifest;
  ///         kQuota `limit.tool_folder`; kNotFound.
  static Result<ToolFolder> read(const std::string& path);
};

/// A stored folder of tools.
struct TrustedTools {
  std::string source;  ///< absolute path of the original folder
  ContentId hash;
  std::vector<std::string> names;  ///< of the tools that may be called
  int64_t given_ns = 0;
  std::string files;  ///< absolute path of the copy

  bool operator==(const TrustedTools&) const = default;
};

/// Returns the folder in which the tools of the workspace at `root` are stored.
[[nodiscard]] std::string tools_folder(const UserSettings& settings, const std::string& root);
/// Returns whether that folder is outside of the workspace.
[[nodiscard]] bool is_tools_folder_outside(const UserSettings& settings, const std::string& root);

/// Errors: kRefused `trust.no_place` if tools cannot be stored outside of the workspace at `root`.
Result<void> check_tools_have_a_place(const UserSettings& settings, const std::string& root);

/// Stores a folder of tools for the workspace at `root`. Replaces an earlier copy of that folder.
/// Errors: kRefused `trust.no_place` as record_trust(); kTimeout `tool.locked`; kIo.
Result<void> trust_tools(const UserSettings& settings, const std::string& root,
                         const ToolFolder& folder, int64_t now_ns);

/// Returns the stored folders of a workspace, oldest first, each with its newest copy.
[[nodiscard]] Result<std::vector<TrustedTools>> trusted_tools(const UserSettings& settings,
                                                              const std::string& root);

/// Removes a tool, and its folder with the last tool. Returns false if the tool is not
/// stored.
/// Errors: kTimeout `tool.locked`; kIo.
Result<bool> forget_tool(const UserSettings& settings, const std::string& root,
                         std::string_view name);

/// Adds the tools of a folder to a registry, to check their names and schemas. They refuse to run.
/// Errors: kInvalid `tool.exists` (also those of ToolRegistry::check_distinct()), `tool.name`,
///         `tool.schema`.
Result<void> add_tools_of(ToolRegistry& registry, const ToolFolder& folder);

/// Adds the stored tools of a workspace to its registry. Returns a notice for each tool that is
/// left out, because a tool has its name, or one like it, already.
/// Errors: kInvalid `tool.schema`, `manifest.*`; each says how to remove the tool.
Result<std::vector<std::string>> add_custom_tools(ToolRegistry& registry,
                                                  const UserSettings& settings,
                                                  const std::string& root);

}  // namespace galley
