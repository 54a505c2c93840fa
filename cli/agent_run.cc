#include "cli/agent_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/encoding.h"
#include "base/file_mode.h"
#include "base/limits.h"
#include "cli/config_file.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/readable_folders.h"
#include "staging/fs/controlling_terminal.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {
namespace {

constexpr uint32_t kConsentMode = 0600;
constexpr std::string_view kConsentAnswers =
    "y  yes: do not ask again, until these needs change; galley agents uninstall NAME --run ends "
    "it\n"
    "o  once: only for this run\n"
    "n  no: do not start it (also Enter)\n";

std::string own_search_path() {
  const char* path = std::getenv("PATH");
  return path == nullptr ? std::string() : std::string(path);
}

bool is_set(std::string_view variable) {
  return std::getenv(std::string(variable).c_str()) != nullptr;
}

/// Returns the program that a word means for the person, or "" if no program outside of the
/// workspace has that name. A repository could have a program of an agent's name, also on PATH.
std::string program_outside(const std::string& word, const std::string& root) {
  const auto is_outside = [&](const std::string& path) {
    return !is_at_or_below(path, root) && !is_at_or_below(real_program_path(path), root);
  };
  const size_t slash = word.rfind('/');
  if (slash != std::string::npos && !word.starts_with('/')) return {};
  const std::string search_path =
      slash == std::string::npos ? own_search_path() : word.substr(0, slash);
  for (const ResolvedProgram& found : list_programs(search_path, word.substr(slash + 1))) {
    if (found.path.starts_with('/') && is_outside(found.path)) return found.path;
  }
  return {};
}

/// Returns the folders that must be shown for the program to run.
Result<std::vector<std::string>> folders_to_show(const std::string& program) {
  const std::string home = home_folder();
  std::vector<std::string> folders;
  const auto add = [&](const std::string& one) -> Result<void> {
    for (const std::string& folder : folders_of_program(one)) {
      const std::string no = objection_to_readable(folder, home);
      if (!no.empty()) {
        return fail(
            ErrorKind::kRefused, "run.host_folder",
            one + " cannot be shown in the run, because of its folder " + folder + ": " + no);
      }
      folders.push_back(expanded_folder(folder, home));
    }
    return {};
  };
  GALLEY_TRY(add(program));
  // A script of npm is started by the person's node.
  const bool is_script = real_program_path(program).find("/node_modules/") != std::string::npos;
  const auto nodes =
      is_script ? list_programs(own_search_path(), "node") : std::vector<ResolvedProgram>();
  if (!nodes.empty()) GALLEY_TRY(add(nodes.front().path));
  return existing_folders(folders);
}

/// Whether the person's own options already give the agent its state and the network.
bool is_given(const AgentNeeds& needs, const RunArguments& run) {
  const auto is_named = [&](const std::string& folder) {
    const auto is_same = [&](const std::string& path) {
      return real_program_path(normalized_path(path)) == real_program_path(folder);
    };
    return std::any_of(run.writable.begin(), run.writable.end(), is_same) ||
           std::any_of(run.layered.begin(), run.layered.end(), is_same);
  };
  return run.shares_network && std::all_of(needs.writable.begin(), needs.writable.end(), is_named);
}

Result<bool> has_consent(const AgentNeeds& needs, const std::string& consents) {
  const AgentEntry entry = consent_entry(needs, consents);
  GALLEY_ASSIGN(const ConfigFile file, ConfigFile::read(entry.files.front(), ""));
  GALLEY_ASSIGN(
      const std::string wanted,
      std::get<GeneratedFile>(entry.entries.front()).add(std::nullopt, entry.files.front()));
  return file.text() == wanted;
}

Result<void> keep_consent(const AgentNeeds& needs, const std::string& consents) {
  const AgentEntry entry = consent_entry(needs, consents);
  GALLEY_ASSIGN(const ConfigFile file, ConfigFile::read(entry.files.front(), ""));
  GALLEY_ASSIGN(
      const std::string text,
      std::get<GeneratedFile>(entry.entries.front()).add(std::nullopt, entry.files.front()));
  return file.replace(text, kConsentMode);
}

/// Asks the person whether the agent gets its needs.
Result<void> ask_for_consent(Session& session, const AgentNeeds& needs,
                             const std::string& consents) {
  const std::string name(needs.agent->name);
  auto terminal = ControllingTerminal::open();
  // The editor that starts `galley acp` may itself be on the terminal.
  const bool is_for_editor =
      session.arguments().command == "acp" && !session.terminal().is_input_terminal();
  if (!session.arguments().global.agent.empty() || !terminal || is_for_editor) {
    const bool is_other = !acp_name(*needs.agent, session.arguments().words.front()).empty();
    return fail(ErrorKind::kRefused, "run.not_allowed",
                fmt::format("nobody has allowed {} what it needs in galley run, such as its own "
                            "state and the network, and here is nobody to ask: review and allow "
                            "it with: {}",
                            needs.agent->title,
                            is_other ? fmt::format("galley acp {}, once on a terminal", name)
                                     : fmt::format("galley agents install {} --run", name)));
  }
  session.terminal().release_terminal();
  GALLEY_TRY((*terminal)->write(needs.text()));
  for (;;) {
    GALLEY_ASSIGN(const std::string answer,
                  (*terminal)->ask("Allow? [y]es, [o]nce, [n]o, ? explains "));
    if (answer == "y" || answer == "yes") return keep_consent(needs, consents);
    if (answer == "o" || answer == "once") return {};
    if (answer != "?") {
      return fail(ErrorKind::kRefused, "person.said_no", "you answered no, so nothing was done");
    }
    GALLEY_TRY((*terminal)->write(kConsentAnswers));
  }
}

/// Copies the settings that the agent keeps next to its folder, where it does not find them inside.
Result<void> copy_settings(const AgentNeeds& needs) {
  const std::string name(needs.agent->settings_file);
  if (name.empty() || is_set(needs.agent->state.front().variable)) return {};
  const auto text =
      read_own_file(home_folder() + "/" + name, limits::kMaxFileBytes, effective_user());
  if (!text) return {};
  GALLEY_ASSIGN(const std::string place, absolute_path(needs.writable.front()));
  GALLEY_ASSIGN(const auto folder, open_writable_disk_directory(place));
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
  GALLEY_ASSIGN(const FileStat there, folder->stat(path));
  if (there.kind != FileKind::kAbsent) return {};
  return replace_file(*folder, name, *text);
}

/// Adds the needs to the options of the run.
Result<void> give(const AgentNeeds& needs, Arguments& arguments) {
  RunArguments& run = arguments.run;
  arguments.words.front() = needs.program;
  std::vector<std::string> environment;
  for (const auto& [name, value] : needs.settings) environment.push_back(name + "=" + value);
  for (const std::string_view name : needs.agent->variables) {
    if (is_set(name)) environment.emplace_back(name);
  }
  run.environment.insert(run.environment.begin(), environment.begin(), environment.end());
  for (const std::string& folder : needs.writable) {
    const bool is_layered =
        std::any_of(run.layered.begin(), run.layered.end(), [&](const std::string& path) {
          return real_program_path(normalized_path(path)) == real_program_path(folder);
        });
    if (is_layered) continue;
    // The folder may be a link to another folder, which the person made.
    if (!absolute_path(folder)) GALLEY_TRY(make_disk_directory(folder, kPrivateDirectory));
    run.writable.push_back(folder);
    if (folder == needs.writable.front()) GALLEY_TRY(copy_settings(needs));
  }
  run.readable = needs.readable;
  run.has_consent = true;
  run.shares_network = run.hosts.empty();
  if (run.shares_network) return {};
  for (const std::string_view host : needs.agent->hosts) {
    const bool is_about_the_person = host.find(' ') != host.npos;
    if (!is_about_the_person) run.hosts.emplace_back(host);
  }
  return {};
}

}  // namespace

Result<std::string> consent_folder(const UserSettings& user, const std::string& root) {
  const std::string folder = user.trust_path.substr(0, user.trust_path.rfind('/')) + "/agents";
  if (!user.trust_path.empty() && !is_at_or_below(folder, root)) return folder;
  return fail(ErrorKind::kRefused, "trust.no_place",
              user.trust_path.empty()
                  ? "there is no home directory to record a consent in: set HOME or XDG_STATE_HOME"
                  : "consents are recorded in " + folder +
                        ", inside the workspace itself, where every edit could forge them: set "
                        "XDG_STATE_HOME to a folder outside");
}

std::string installed_program(const AgentProgram& agent, const std::string& root) {
  return program_outside(std::string(agent.name), root);
}

namespace {

/// The folders of the agent and, for its hooks, of Galley, if a run would not show them.
Result<std::vector<std::string>> folders_of_programs(const std::string& program,
                                                     const std::string& root) {
  GALLEY_ASSIGN(std::vector<std::string> folders, folders_to_show(program));
  const std::string own = program_outside("galley", root);
  if (own.empty()) return folders;
  // The agent works without its hooks, so a Galley that cannot be shown is no reason to refuse.
  const auto more = folders_to_show(own);
  if (!more) return folders;
  for (const std::string& folder : *more) {
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(folder);
    }
  }
  return folders;
}

}  // namespace

Result<AgentNeeds> needs_of_installed(const AgentProgram& agent, const std::string& root) {
  AgentNeeds needs = agent_needs(agent, home_folder());
  needs.program = installed_program(agent, root);
  if (needs.program.empty()) {
    return fail(ErrorKind::kNotFound, "agents.no_program",
                "there is no program '" + std::string(agent.name) +
                    "' on your PATH outside of the workspace: install it first");
  }
  GALLEY_ASSIGN(needs.readable, folders_of_programs(needs.program, root));
  return needs;
}

Result<Arguments> arguments_of_acp(Arguments arguments, const std::string& root) {
  std::string& word = arguments.words.front();
  const AgentProgram* agent = agent_of_program(word);
  if (agent == nullptr || word != agent->name) return arguments;
  const auto is_given = [&](std::string_view one) {
    return std::find(arguments.words.begin(), arguments.words.end(), one) != arguments.words.end();
  };
  if (std::any_of(agent->acp_words.begin(), agent->acp_words.end(), is_given)) return arguments;
  const auto& programs = agent->acp_programs;
  if (programs.empty() && agent->acp_words.empty()) {
    return fail(
        ErrorKind::kUsage, "acp.unknown",
        fmt::format("Galley does not know how {} speaks the Agent Client Protocol: name the "
                    "program and its arguments, as in: galley acp -- PROGRAM ARGUMENTS",
                    agent->title));
  }
  const auto installed = std::find_if(programs.begin(), programs.end(), [&](const auto& name) {
    return !program_outside(std::string(name), root).empty();
  });
  if (!programs.empty()) word = installed == programs.end() ? programs.front() : *installed;
  // Some are commands, which come before options.
  arguments.words.insert(arguments.words.begin() + 1, agent->acp_words.begin(),
                         agent->acp_words.end());
  return arguments;
}

namespace {

/// Its commits can be taken back together, and are not those of another run. An editor has sessions
/// of its own.
void name_session(Arguments& arguments) {
  const bool is_session = arguments.command == "run" && arguments.run.resume.empty();
  if (!is_session || !arguments.global.session.empty()) return;
  constexpr size_t kSessionDigits = 12;
  arguments.global.session = "run-" + random_hex(kSessionDigits);
}

}  // namespace

Result<Arguments> arguments_of_run(Session& session) {
  Arguments arguments = session.arguments();
  name_session(arguments);
  const AgentProgram* agent = agent_of_program(arguments.words.front());
  if (agent == nullptr || home_folder().empty()) return arguments;
  GALLEY_ASSIGN(const std::string here, absolute_path("."));
  GALLEY_ASSIGN(const UserSettings user, load_user_settings());
  GALLEY_ASSIGN(const FoundRoot root, find_root(here, user.config));
  const std::string program = program_outside(arguments.words.front(), root.path);
  if (program.empty()) return arguments;
  AgentNeeds needs = agent_needs(*agent, home_folder());
  needs.program = program;
  if (!is_given(needs, arguments.run)) {
    GALLEY_ASSIGN(needs.readable, folders_of_programs(program, root.path));
    GALLEY_ASSIGN(const std::string consents, consent_folder(user, root.path));
    GALLEY_ASSIGN(const bool is_allowed, has_consent(needs, consents));
    if (!is_allowed && !user.config.unattended)
      GALLEY_TRY(ask_for_consent(session, needs, consents));
    GALLEY_TRY(give(needs, arguments));
  }
  arguments.words.insert(arguments.words.begin() + 1, agent->options.begin(), agent->options.end());
  if (arguments.global.agent.empty()) arguments.global.agent = std::string(agent->name);
  return arguments;
}

}  // namespace galley
