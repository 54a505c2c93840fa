#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/agents/agent_programs.h"

namespace galley {

/// The needs of one agent inside `galley run`: its row of agent_programs(), with the folders of
/// this person. A value.
struct AgentNeeds {
  const AgentProgram* agent = nullptr;
  std::string program;                ///< absolute
  std::vector<std::string> writable;  ///< absolute: the folders of its state, written through
  std::vector<std::string> readable;  ///< absolute: folders of its program outside of the view
  std::map<std::string, std::string> settings;  ///< variables that it gets in any case

  /// Returns the needs as lines for people, with every character visible. A person's consent is to
  /// exactly this text.
  [[nodiscard]] std::string text() const;
};

/// Returns the name of this program, given by name or path, if it speaks the Agent Client Protocol
/// for the agent and is not the agent's own; else "".
[[nodiscard]] std::string_view acp_name(const AgentProgram& agent, std::string_view program);

/// Returns the row of an agent whose program has this name or path, or nullptr.
[[nodiscard]] const AgentProgram* agent_of_program(std::string_view program);

/// Returns the needs of an agent whose state is below `home`, or where this process's environment
/// says. `program` and `readable` are empty.
[[nodiscard]] AgentNeeds agent_needs(const AgentProgram& agent, const std::string& home);

/// The file that holds a person's consent to these needs, in the folder `consents`.
[[nodiscard]] AgentEntry consent_entry(const AgentNeeds& needs, const std::string& consents);

/// Returns which settings the output of a failed agent asks for, one sentence for people each: a
/// folder that it could not write, a login. A folder that objection_to_writable() refuses to a
/// person whose home is `home` is not offered.
[[nodiscard]] std::vector<std::string> missing_settings(const AgentProgram& agent,
                                                        std::string_view output,
                                                        const std::string& home);

}  // namespace galley
