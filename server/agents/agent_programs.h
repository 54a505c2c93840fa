#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "server/agents/json_config_entry.h"
#include "server/agents/toml_config_entry.h"

namespace galley {

/// A file that is Galley's as a whole: its mark has the hash of what stands below it, so that one
/// that somebody changed is known from one that another version of Galley wrote.
///
/// Errors: of both kRefused `agents.foreign_entry`.
class OwnFile {
 public:
  /// `head` stands before the mark, each line of which begins with `comment`.
  OwnFile(std::string head, std::string comment, std::string body);

  [[nodiscard]] Result<std::string> add(const std::optional<std::string>& text,
                                        const std::string& file) const;
  [[nodiscard]] Result<std::optional<std::string>> take_away(const std::string& text,
                                                             const std::string& file) const;
  [[nodiscard]] Result<bool> is_in(const std::string& text, const std::string& file) const;

 private:
  [[nodiscard]] bool is_ours(const std::string& text) const;

  std::string head_;
  std::string comment_;
  std::string body_;
};

/// How an agent works through Galley.
enum class AgentPart : uint8_t {
  kMcp,      ///< it starts `galley mcp` for its tools
  kHook,     ///< its hook asks `galley agent-hook` before each call
  kWrapper,  ///< a script that runs it inside of `galley run`
};

/// Whether a configuration is that of one project, or of everything its user does.
enum class AgentScope : uint8_t { kProject, kUser };

[[nodiscard]] std::string_view agent_part_name(AgentPart part);
[[nodiscard]] std::string_view agent_scope_name(AgentScope scope);

/// Where agents look for their configuration.
struct AgentPlaces {
  std::string project;      ///< root of the workspace
  std::string home;         ///< `HOME`
  std::string config_home;  ///< `XDG_CONFIG_HOME`, or `~/.config`
  std::string codex_home;   ///< `CODEX_HOME`, or `~/.codex`
};

/// One entry of Galley's in one file.
struct AgentEntry {
  AgentPart part = AgentPart::kMcp;
  /// Absolute. Of several that the agent reads, the first that is there, else the first.
  std::vector<std::string> files;
  std::variant<JsonConfigEntry, TomlConfigEntry, OwnFile> entry;
  bool is_program = false;           ///< it is made executable
  std::vector<std::string> folders;  ///< that may be made with it, innermost first
  std::string next_step;             ///< what its person has to do, or empty
};

/// An agent that Galley knows how to configure.
struct AgentProgram {
  std::string_view name;
  AgentScope usual = AgentScope::kProject;
};

/// codex, claude, gemini and opencode.
[[nodiscard]] const std::vector<AgentProgram>& agent_programs();

/// Errors: kUsage `agents.unknown` with the names, `agents.no_such_part` where that agent has no
///         such file, with what to do instead.
[[nodiscard]] Result<AgentEntry> agent_entry(std::string_view agent, AgentPart part,
                                             AgentScope scope, const AgentPlaces& places);

}  // namespace galley
