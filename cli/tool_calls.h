#pragma once

#include <string>
#include <vector>

#include <galley/tool.h>
#include "base/result.h"
#include "cli/session.h"

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

}  // namespace galley
