#include "server/agents/agent_needs.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/printable.h"
#include "engine/policy/readable_folders.h"
#include "staging/sandbox/live_run.h"

namespace galley {
namespace {

/// Words of programs that miss a login, in lower case.
constexpr std::array<std::string_view, 16> kLoginWords = {"not logged in",
                                                          "log in to",
                                                          "please log in",
                                                          "please run /login",
                                                          "not authenticated",
                                                          "unauthorized",
                                                          "authentication required",
                                                          "invalid api key",
                                                          "missing api key",
                                                          "no api key",
                                                          "api key is missing",
                                                          "api key not",
                                                          "login required",
                                                          "auth method",
                                                          "no auth type",
                                                          "no provider configured"};
constexpr std::array<std::string_view, 2> kReadOnlyWords = {"read-only file system", "erofs"};
constexpr size_t kMaxNamedPath = 300;

/// ASCII letters only; other bytes stay.
std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

/// The last absolute path in a line, or empty. A shell names its script before it.
std::string path_in(std::string_view line) {
  std::string path;
  for (size_t at = line.find('/'); at != line.npos; at = line.find('/', at + 1)) {
    const bool is_start = at == 0 || std::string_view(" '\"`(=:").find(line[at - 1]) != line.npos;
    if (!is_start) continue;
    const size_t end = std::min(line.find_first_of(" '\"`):,\r\n", at), line.size());
    if (end - at > 1 && end - at <= kMaxNamedPath) path = line.substr(at, end - at);
  }
  return path;
}

/// The last line of `output` with one of the words: what it said before may be a file that it read.
template <size_t kCount>
std::string_view last_line_with(const std::array<std::string_view, kCount>& words,
                                std::string_view output, const std::string& lower) {
  size_t last = std::string::npos;
  for (const std::string_view word : words) {
    const size_t at = lower.rfind(word);
    if (at != std::string::npos && (last == std::string::npos || at > last)) last = at;
  }
  if (last == std::string::npos) return {};
  const size_t start = last == 0 ? 0 : output.rfind('\n', last) + 1;  // npos + 1 is the beginning
  return output.substr(start, std::min(output.find('\n', last), output.size()) - start);
}

/// Names the folder of a path with the option that makes it writable. The path is what a program
/// said, so a folder that no run may write is not offered.
std::string advice_on_folder_of(const std::string& path, const std::string& home) {
  const std::string folder = path.substr(0, std::max<size_t>(path.rfind('/'), 1));
  const auto has = [&](std::string_view part) {
    return (folder + "/").find(part) != std::string::npos;
  };
  const bool is_plain = !has("//") && !has("/./") && !has("/../");
  if (!is_plain || is_system_folder(folder) || !objection_to_writable(folder, home).empty() ||
      !objection_to_start_place(folder, home).empty()) {
    return ", and no option makes it writable";
  }
  return ": start it with --allow-write " + printable_line(folder) +
         ", or with --layer to drop what it writes there";
}

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
  text += "  use the whole network of this machine (it needs " + joined(agent->hosts) + ")\n";
  text += "  get these variables where they are set: " + joined(agent->variables) + "\n";
  return text;
}

std::string_view acp_name(const AgentProgram& agent, std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  const auto found = std::find(agent.acp_programs.begin(), agent.acp_programs.end(), name);
  return found == agent.acp_programs.end() ? std::string_view() : *found;
}

const AgentProgram* agent_of_program(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);  // npos + 1 is 0
  for (const AgentProgram& agent : agent_programs()) {
    if (agent.name == name || !acp_name(agent, name).empty()) return &agent;
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
  // The program for editors has its own consent, because a person can allow each.
  std::string_view name = acp_name(*needs.agent, needs.program);
  if (name.empty()) name = needs.agent->name;
  return {AgentPart::kRun,
          {consents + "/" + std::string(name)},
          {GeneratedFile("", "#", needs.text())},
          false,
          {consents},
          "start it with: galley run " + std::string(needs.agent->name)};
}

std::vector<std::string> missing_settings(const AgentProgram& agent, std::string_view output,
                                          const std::string& home) {
  std::vector<std::string> missing;
  const std::string title(agent.title);
  const std::string lower = in_lower_case(output);
  const std::string_view read_only = last_line_with(kReadOnlyWords, output, lower);
  const std::string path = path_in(read_only);
  if (!path.empty()) {
    missing.push_back(title + " could not write " + printable_line(path) +
                      ", which is read-only in the run" + advice_on_folder_of(path, home));
  } else if (!read_only.empty()) {
    missing.push_back(title +
                      " met a folder that is read-only in the run: name it with --allow-write "
                      "FOLDER, or with --layer FOLDER to drop what it writes there");
  }
  if (!last_line_with(kLoginWords, output, lower).empty()) {
    missing.push_back(title + " is not logged in: " + std::string(agent.login));
  }
  return missing;
}

}  // namespace galley
