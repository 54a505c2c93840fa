#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/agents/agent_programs.h"

namespace galley {

/// A setting that an agent has for all hooks, or for that of Galley.
struct HookSwitch {
  std::string key;  ///< as a person finds it: `hooksConfig.enabled`
  bool is_off = false;
};

/// The files in which an agent looks for such settings. Of one key, the first file that has it
/// counts.
[[nodiscard]] std::vector<std::string> hook_switch_files(std::string_view agent,
                                                         const AgentPlaces& places);

/// The settings in the text of one of these files. A text that the agent could not read has none.
[[nodiscard]] std::vector<HookSwitch> hook_switches(std::string_view agent,
                                                    const std::string& text);

}  // namespace galley
