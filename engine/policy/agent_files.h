#pragma once

#include <array>
#include <string_view>

#include "base/rel_path.h"

namespace galley {

/// Where programs of agents look for what configures them: their hooks and the servers that they
/// start. `galley agents install` writes into these places. An agent that may edit them may switch
/// off the hook that judges its edits. It reads them in the folder where it is started, so each
/// counts anywhere in a workspace.
inline constexpr std::string_view kCodexFolder = ".codex";
inline constexpr std::string_view kClaudeFolder = ".claude";
inline constexpr std::string_view kClaudeServers = ".mcp.json";
inline constexpr std::string_view kGeminiFolder = ".gemini";
inline constexpr std::string_view kOpencodeFolder = ".opencode";
inline constexpr std::string_view kOpencodeFile = "opencode.json";
inline constexpr std::string_view kOpencodeFileWithComments = "opencode.jsonc";
/// Of a user: below the home, that of codex and Claude Code too.
inline constexpr std::string_view kOpencodeUserFolder = ".config/opencode";

inline constexpr std::array<std::string_view, 8> kAgentFiles = {kCodexFolder,
                                                                kClaudeFolder,
                                                                kClaudeServers,
                                                                kGeminiFolder,
                                                                kOpencodeFolder,
                                                                kOpencodeFile,
                                                                kOpencodeFileWithComments,
                                                                kOpencodeUserFolder};

/// Whether the path is one of these places or is below one, in any spelling that a folding file
/// system accepts.
[[nodiscard]] bool is_agent_file(const RelPath& path);

}  // namespace galley
