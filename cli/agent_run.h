#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"
#include "server/agents/agent_needs.h"

namespace galley {

/// Returns the folder with a person's consents to what agents need in `galley run`, next to the
/// trust records.
/// Errors: kRefused `trust.no_place` without a home, or when it is inside the workspace at `root`.
Result<std::string> consent_folder(const UserSettings& user, const std::string& root);

/// Returns the agent's program that PATH finds outside of the workspace at `root`, or "".
[[nodiscard]] std::string installed_program(const AgentProgram& agent, const std::string& root);

/// Returns the needs of an agent with its program, which PATH finds outside of the workspace.
/// Errors: kNotFound `agents.no_program`; kRefused `run.host_folder`: its folder cannot be shown.
Result<AgentNeeds> needs_of_installed(const AgentProgram& agent, const std::string& root);

/// Returns the arguments of `galley acp` with the program that speaks the protocol for a known
/// agent that is called by its name alone: of several, the first that PATH finds outside of the
/// workspace at `root`.
/// Errors: kUsage `acp.unknown`.
Result<Arguments> arguments_of_acp(Arguments arguments, const std::string& root);

/// Returns the arguments of `galley run` for its program. A known agent runs under its own rules,
/// with its state, its variables and the network, if the person consented: once per agent, or now.
/// Any other program is the person's, and the arguments stay as they are.
///
/// Nothing in a workspace can consent, and no program in it is taken for an agent.
/// Errors: kRefused `run.not_allowed` without a consent and without a person to ask,
///         `person.said_no`.
Result<Arguments> arguments_of_run(Session& session);

}  // namespace galley
