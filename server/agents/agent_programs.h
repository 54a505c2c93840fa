#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "server/agents/json_config_entry.h"
#include "server/agents/toml_config_entry.h"

namespace galley::agent_text {

/// opencode_plugin.js, as the build embeds it (cmake/embed.cmake). It asks
/// `galley agent-hook` before each call, and reports calls, prompts and the end of answers to it.
/// It blocks every call that the hook did not answer.
extern const std::string_view kOpencodePlugin;

}  // namespace galley::agent_text

namespace galley {

/// A file that Galley writes completely. Its mark has the hash of the text below it. The hash
/// distinguishes a changed file from one that another version of Galley wrote.
///
/// Errors: both functions return kRefused `agents.foreign_entry`.
class GeneratedFile {
 public:
  /// `head` comes before the mark; each line of the mark begins with `comment`.
  GeneratedFile(std::string head, std::string comment, std::string body);

  [[nodiscard]] Result<std::string> add(const std::optional<std::string>& text,
                                        const std::string& file) const;
  [[nodiscard]] Result<std::optional<std::string>> remove_entry(const std::string& text,
                                                                const std::string& file) const;
  [[nodiscard]] Result<bool> is_installed_in(const std::string& text,
                                             const std::string& file) const;

 private:
  [[nodiscard]] bool is_ours(const std::string& text) const;

  std::string head_;
  std::string comment_;
  std::string body_;
};

/// The way in which an agent works through Galley.
enum class AgentPart : uint8_t {
  kMcp,       ///< it starts `galley mcp` for its tools
  kHook,      ///< its hooks tell `galley agent-hook` of prompts, and of calls before and after
  kCommands,  ///< a person types `/galley-undo` and the like in it
  kWrapper,   ///< a script runs it inside `galley run`
  kRun,       ///< a person's consent to what it needs there (server/agents/agent_needs.h)
};

/// Whether a configuration is for one project, or for all work of its user.
enum class AgentScope : uint8_t { kProject, kUser };

[[nodiscard]] std::string_view agent_part_name(AgentPart part);
[[nodiscard]] std::string_view agent_scope_name(AgentScope scope);

/// The places where agents look for their configuration.
struct AgentPlaces {
  std::string project;      ///< root of the workspace
  std::string home;         ///< `HOME`
  std::string config_home;  ///< `XDG_CONFIG_HOME`, or `~/.config`
  std::string codex_home;   ///< `CODEX_HOME`, or `~/.codex`
  std::string claude_home;  ///< `CLAUDE_CONFIG_DIR`, or `~/.claude`
  std::string claude_file;  ///< `.claude.json` in `CLAUDE_CONFIG_DIR`, or in the home
  std::string gemini_home;  ///< `.gemini` in `GEMINI_CLI_HOME`, or in the home
};

/// The entry that Galley writes into one file for one part.
struct AgentEntry {
  AgentPart part = AgentPart::kMcp;
  /// Absolute paths. If the agent reads several, the first existing one is used, else the first.
  std::vector<std::string> files;
  /// In the order in which they are added; removed in the reverse order.
  std::vector<std::variant<JsonConfigEntry, TomlConfigEntry, GeneratedFile>> entries;
  bool is_program = false;           ///< the file is made executable
  std::vector<std::string> folders;  ///< folders that may be created with it, innermost first
  std::string next_step;             ///< the next step for the person, or empty
};

/// A folder in which an agent keeps its state: `${variable:-~/usual}/name`.
struct AgentFolder {
  std::string_view variable;  ///< may be empty
  std::string_view usual;
  std::string_view name;  ///< may be empty
};

/// A known agent: whether Galley can configure it, and what it needs inside `galley run`.
struct AgentProgram {
  std::string_view name;  ///< of its program, and of its rules
  std::string_view title;
  std::string_view tested;          ///< its version that was run with Galley; may be empty
  std::optional<AgentScope> usual;  ///< of its configuration; empty: Galley does not write it
  std::vector<AgentFolder> state;   ///< written through
  /// A file of the home with its settings. It looks for it in its first folder when that is named.
  std::string_view settings_file;
  std::vector<std::string_view> variables;  ///< passed where they are set
  std::vector<std::pair<std::string_view, std::string_view>> settings;  ///< set inside
  std::vector<std::string_view> hosts;                                  ///< for people
  std::vector<std::string_view> options;                                ///< before its arguments
  std::string_view login;  ///< what to do if it is not logged in
  /// The programs that speak the Agent Client Protocol for it, the best first; empty: its own.
  std::vector<std::string_view> acp_programs;
  std::vector<std::string_view> acp_words;  ///< arguments that make its own program speak it
};

/// The word for every agent in place of a name.
inline constexpr std::string_view kAllAgents = "all";

/// The table of agents.
[[nodiscard]] const std::vector<AgentProgram>& agent_programs();

/// The entries for one part of an agent, each for another file.
/// Errors: kUsage `agents.unknown` with the known names; `agents.no_such_part`, with an
///         alternative, when the agent does not have such a file.
[[nodiscard]] Result<std::vector<AgentEntry>> agent_entries(std::string_view agent, AgentPart part,
                                                            AgentScope scope,
                                                            const AgentPlaces& places);

}  // namespace galley
