#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <galley/tool.h>
#include "base/result.h"
#include "cli/session.h"
#include "tools/profiles.h"

/// The pages of docs/tools, one after the other, as the build embeds them (cmake/embed.cmake).
namespace galley::tool_pages {

extern const std::string_view kAll;

}  // namespace galley::tool_pages

namespace galley {

/// Answers the environment variables of these names, and nothing else; empty where there are none.
/// Secrets are named, and taken from the environment: on a command line others could read them.
/// Errors: kUsage `secret.not_set`.
[[nodiscard]] Result<SecretProvider> secrets_of_environment(const std::vector<std::string>& names);

/// What --secret and --secrets give the calls of this command. A file inside the workspace is
/// refused: there every tool can read it.
/// Errors: those of secrets_of_environment and secrets_from_file; kRefused `secret.file_inside`.
[[nodiscard]] Result<SecretProvider> secrets_of_command(Session& session);

/// Begins the transcript that --transcript names, if it does.
Result<void> begin_transcript(Session& session, Transaction& transaction);

/// The page about a built-in tool; empty where there is none.
[[nodiscard]] std::string_view tool_page(std::string_view tool);

/// The profile of tools that --profile names, else that of --agent in galley.toml; null: none.
/// Errors: as profile_named().
Result<const ToolProfile*> chosen_profile(const Session& session, const Workspace& workspace);

}  // namespace galley
