#include "server/agents/agent_needs.h"

#include <cstdlib>
#include <utility>

#include "base/printable.h"

namespace galley {
namespace {

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

}  // namespace

std::string AgentNeeds::text() const {
  std::string text =
      std::string(agent->title) + " (" + printable_line(program) + ") in galley run may\n";
  for (const std::string& folder : writable) {
    text += "  write " + printable_line(folder) + ", outside of the transaction\n";
  }
  for (const std::string& folder : readable) text += "  read " + printable_line(folder) + "\n";
  text += "  use the network, for " + joined(agent->hosts) + "\n";
  text += "  get these variables where they are set: " + joined(agent->variables) + "\n";
  return text;
}

const AgentProgram* agent_of_program(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  for (const AgentProgram& agent : agent_programs()) {
    if (agent.name == name) return &agent;
  }
  return nullptr;
}

AgentNeeds agent_needs(const AgentProgram& agent, const std::string& home) {
  AgentNeeds needs;
  needs.agent = &agent;
  for (const AgentFolder& folder : agent.state) {
    const char* named = std::getenv(std::string(folder.variable).c_str());
    std::string place = named == nullptr ? std::string() : std::string(named);
    if (!place.starts_with('/')) place = home + "/" + std::string(folder.usual);
    while (place.size() > 1 && place.ends_with('/')) place.pop_back();
    if (!folder.variable.empty()) needs.settings[std::string(folder.variable)] = place;
    if (!folder.name.empty()) place += "/" + std::string(folder.name);
    needs.writable.push_back(std::move(place));
  }
  for (const auto& [name, value] : agent.settings) {
    needs.settings[std::string(name)] = std::string(value);
  }
  return needs;
}

AgentEntry consent_entry(const AgentNeeds& needs, const std::string& consents) {
  return {AgentPart::kRun,
          {consents + "/" + std::string(needs.agent->name)},
          GeneratedFile("", "#", needs.text()),
          false,
          {consents},
          "start it with: galley run " + std::string(needs.agent->name)};
}

}  // namespace galley
