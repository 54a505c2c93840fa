// Reads any bytes as a configuration of an agent. Adding an entry works or is an error. Removing an
// added entry restores the original bytes.
#include <optional>
#include <string>
#include <variant>

#include "base/result.h"
#include "server/agents/agent_programs.h"

namespace {

const galley::AgentPlaces& places() {
  static const galley::AgentPlaces kPlaces = {
      "/p", "/h", "/h/.config", "/h/.codex", "/h/.claude", "/h/.claude.json", "/h/.gemini"};
  return kPlaces;
}

void add_and_take_away(const galley::AgentEntry& agent, const std::string& text) {
  const auto come_and_go = [&](const auto& entry) {
    const auto there = entry.is_installed_in(text, "FILE");
    const auto added = entry.add(text, "FILE");
    if (!added || (there && *there)) return;
    const auto back = entry.remove_entry(*added, "FILE");
    GALLEY_CHECK(back.has_value() && *back == std::optional<std::string>(text));
  };
  for (const auto& entry : agent.entries) std::visit(come_and_go, entry);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const galley::AgentProgram& program : galley::agent_programs()) {
    if (!program.usual) continue;  // Galley does not write its configuration
    for (const auto part :
         {galley::AgentPart::kMcp, galley::AgentPart::kHook, galley::AgentPart::kCommands}) {
      const auto entries =
          galley::agent_entries(program.name, part, galley::AgentScope::kProject, places());
      GALLEY_CHECK(entries.has_value());
      for (const galley::AgentEntry& entry : *entries) add_and_take_away(entry, text);
    }
  }
  return 0;
}
