#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// The paths of the configuration of agents' programs: their hooks, and the servers that they
/// start. `galley agents install` writes to these paths. An agent that may edit them can disable
/// the hook that judges its edits. A program reads them in the folder where it is started, so they
/// are protected in every folder of a workspace.
inline constexpr std::string_view kCodexFolder = ".codex";
inline constexpr std::string_view kClaudeFolder = ".claude";
inline constexpr std::string_view kClaudeServers = ".mcp.json";
inline constexpr std::string_view kClaudeUserFile = ".claude.json";
inline constexpr std::string_view kGeminiFolder = ".gemini";
inline constexpr std::string_view kOpencodeFolder = ".opencode";
inline constexpr std::string_view kOpencodeFile = "opencode.json";
inline constexpr std::string_view kOpencodeFileWithComments = "opencode.jsonc";
/// In the user's home, like those of codex and Claude Code.
inline constexpr std::string_view kOpencodeUserFolder = ".config/opencode";

inline constexpr std::array<std::string_view, 17> kAgentFiles = {
    kCodexFolder, kClaudeFolder, kClaudeServers, kClaudeUserFile, kGeminiFolder, kOpencodeFolder,
    kOpencodeFile, kOpencodeFileWithComments, kOpencodeUserFolder, ".qwen", ".cursor",
    // Their hooks, plugins and servers are here too, but Galley writes nothing into them.
    ".cline", ".clinerules/hooks", ".continue", ".amp", ".config/amp", ".config/goose"};

/// Whether the path is one of these paths or below one, in any spelling that a case-insensitive
/// file system accepts.
[[nodiscard]] inline bool is_agent_file(const RelPath& path) {
  std::string folded = "/";
  for (const std::string_view component : path.components()) folded += folded_name(component) + "/";
  return std::any_of(kAgentFiles.begin(), kAgentFiles.end(), [&](std::string_view place) {
    return folded.find("/" + std::string(place) + "/") != std::string::npos;
  });
}

/// The paths that the configuration of agents at the root of the workspace really has, where it is
/// a link, or a folder with links: `.claude -> shared` gives `shared`. Links that leave the
/// workspace, and what is below nested folders, are left out.
/// Errors: as Directory's; none for what does not exist.
[[nodiscard]] Result<std::vector<RelPath>> targets_of_agent_links(const Directory& workspace,
                                                                  const std::string& root_path);

}  // namespace galley
