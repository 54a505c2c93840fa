#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <galley/tool.h>
#include "base/result.h"
#include "cli/session.h"
#include "tools/profiles.h"

/// The pages of docs/tools, concatenated, as the build embeds them (cmake/embed.cmake).
namespace galley::tool_pages {

extern const std::string_view kAll;

}  // namespace galley::tool_pages

namespace galley {

/// Returns a provider for the environment variables of these names only; empty without names.
/// Values are never on the command line, where other processes could read them.
/// Errors: kUsage `secret.not_set`.
[[nodiscard]] Result<SecretProvider> secrets_of_environment(const std::vector<std::string>& names);

/// Returns the secrets of --secret and --secrets. A file inside the workspace is refused, since
/// every tool can read it.
/// Errors: those of secrets_of_environment and secrets_from_file; kRefused `secret.file_inside`.
[[nodiscard]] Result<SecretProvider> secrets_of_command(Session& session);

/// Begins the transcript of --transcript, if the option is given.
Result<void> begin_transcript(Session& session, Transaction& transaction);

/// Returns the page about a built-in tool; empty if there is none.
[[nodiscard]] std::string_view tool_page(std::string_view tool);

/// Returns the tool profile of --profile, or that of --agent in galley.toml, or null.
/// Errors: as profile_named().
Result<const ToolProfile*> chosen_profile(const Session& session, const Workspace& workspace);

}  // namespace galley
