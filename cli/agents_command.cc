#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/agent_run.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/person.h"
#include "engine/pipeline/find_root.h"
#include "engine/pipeline/trust.h"
#include "server/agents/agent_programs.h"
#include "staging/fs/host_file.h"
#include "staging/printing/git_diff.h"

namespace galley {
namespace {

constexpr uint32_t kOwnMode = 0600;
constexpr uint32_t kProjectMode = 0644;
constexpr uint32_t kProgramMode = 0755;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<AgentPlaces> agent_places() {
  GALLEY_ASSIGN(const std::string here, absolute_path("."));
  GALLEY_ASSIGN(const UserSettings user, load_user_settings());
  GALLEY_ASSIGN(const FoundRoot root, find_root(here, user.config));
  AgentPlaces places;
  places.project = root.path;
  places.home = environment("HOME");
  if (!places.home.starts_with('/')) {
    return fail(ErrorKind::kUsage, "agents.no_home",
                "HOME is not a directory, so the files of agents cannot be found; set HOME");
  }
  const std::string config = environment("XDG_CONFIG_HOME");
  places.config_home = config.starts_with('/') ? config : places.home + "/.config";
  const std::string codex = environment("CODEX_HOME");
  places.codex_home = codex.starts_with('/') ? codex : places.home + "/.codex";
  return places;
}

/// One entry that is added to a file or removed from it.
struct PlannedEntry {
  std::string agent;
  AgentScope scope = AgentScope::kProject;
  AgentEntry entry;
  std::string file;   ///< the name that the agent uses
  std::string state;  ///< what was found, or what is done
};

/// A file with all its changes.
struct PlannedFile {
  ConfigFile file;
  std::optional<std::string> text;  ///< the new contents
  uint32_t mode = kOwnMode;
  std::vector<std::string> folders;
};

using PlannedFiles = std::map<std::string, PlannedFile>;

/// Returns the first of its files that exists, else the first.
Result<std::string> file_of(const AgentEntry& entry, const std::string& project) {
  for (const std::string& path : entry.files) {
    GALLEY_ASSIGN(const ConfigFile file, ConfigFile::read(path, project));
    if (file.text()) return path;
  }
  return entry.files.front();
}

std::string project_of(AgentScope scope, const AgentPlaces& places) {
  return scope == AgentScope::kProject ? places.project : std::string();
}

Result<void> plan(PlannedEntry& planned, bool is_install, const AgentPlaces& places,
                  PlannedFiles& files) {
  const std::string project = project_of(planned.scope, places);
  GALLEY_ASSIGN(planned.file, file_of(planned.entry, project));
  auto known = files.find(planned.file);
  if (known == files.end()) {
    GALLEY_ASSIGN(ConfigFile file, ConfigFile::read(planned.file, project));
    const uint32_t mode = planned.entry.is_program ? kProgramMode
                          : project.empty()        ? kOwnMode
                                                   : kProjectMode;
    auto text = file.text();
    known =
        files.emplace(planned.file, PlannedFile{std::move(file), std::move(text), mode, {}}).first;
  }
  PlannedFile& file = known->second;
  file.folders = planned.entry.folders;
  const std::optional<std::string> before = file.text;
  const auto change = [&](const auto& entry) -> Result<void> {
    if (is_install) {
      GALLEY_ASSIGN(file.text, entry.add(file.text, planned.file));
    } else if (file.text) {
      GALLEY_ASSIGN(file.text, entry.remove_entry(*file.text, planned.file));
    }
    return {};
  };
  auto& entries = planned.entry.entries;
  if (!is_install) std::reverse(entries.begin(), entries.end());
  for (const auto& entry : entries) GALLEY_TRY(std::visit(change, entry));
  const bool is_changed = file.text != before;
  planned.state =
      is_install ? (is_changed ? "added" : "present") : (is_changed ? "removed" : "absent");
  return {};
}

std::vector<AgentPart> wanted_parts(const AgentArguments& which) {
  std::vector<AgentPart> parts;
  const bool is_any = which.mcp || which.hook || which.wrapper || which.run;
  if (which.mcp || !is_any) parts.push_back(AgentPart::kMcp);
  if (which.hook || !is_any) parts.push_back(AgentPart::kHook);
  if (which.wrapper) parts.push_back(AgentPart::kWrapper);
  if (which.run) parts.push_back(AgentPart::kRun);
  return parts;
}

AgentScope wanted_scope(const AgentArguments& which, const std::string& agent, AgentPart part) {
  if (which.project) return AgentScope::kProject;
  const bool is_own = part == AgentPart::kWrapper || part == AgentPart::kRun;
  if (which.user || is_own) return AgentScope::kUser;
  const AgentProgram* program = agent_of_program(agent);
  return program == nullptr ? AgentScope::kProject : program->usual.value_or(AgentScope::kProject);
}

/// Returns the changes of a file as git prints them.
std::string diff_of(const PlannedFile& planned, const DiffOptions& options) {
  FilePair pair;
  pair.old_path = pair.new_path = planned.file.path();
  const auto& before = planned.file.text();
  const uint32_t made = planned.mode == kProgramMode ? git_mode::kExecutable : git_mode::kRegular;
  if (before) pair.old_mode = git_mode::kRegular;
  if (planned.text) pair.new_mode = before ? git_mode::kRegular : made;
  if (before) pair.old_content = *before;
  if (planned.text) pair.new_content = *planned.text;
  return git_diff(pair, options);
}

std::string diffs_of(const PlannedFiles& files, bool has_color, bool is_printable) {
  DiffOptions options;
  options.color = has_color;
  options.is_printable = is_printable;
  options.old_prefix = options.new_prefix = "";
  std::string text;
  for (const auto& [name, file] : files) text += diff_of(file, options);
  return text;
}

/// Asks the person on a terminal. Elsewhere --yes is required.
Result<void> ask(Session& session, const PlannedFiles& files) {
  if (session.arguments().agents.yes) return {};
  const Terminal& terminal = session.terminal();
  const auto asked =
      require_person(session, "", "Write this?", diffs_of(files, terminal.has_error_color(), true));
  if (asked || asked.error().reason != "person.no_terminal") return asked;
  return fail(ErrorKind::kUsage, "agents.not_asked",
              "there is no terminal to ask at: review it with --dry-run, then add --yes");
}

Result<void> write(const PlannedFiles& files) {
  for (const auto& [name, planned] : files) {
    if (planned.text == planned.file.text()) continue;
    GALLEY_TRY(planned.file.replace(planned.text, planned.mode));
    if (planned.text) continue;
    for (const std::string& folder : planned.folders) remove_if_empty(folder);
  }
  return {};
}

Json entries_json(const std::vector<PlannedEntry>& entries) {
  Json list = Json::array();
  for (const PlannedEntry& planned : entries) {
    list.push_back({{"agent", planned.agent},
                    {"part", agent_part_name(planned.entry.part)},
                    {"scope", agent_scope_name(planned.scope)},
                    {"file", planned.file},
                    {"state", planned.state}});
  }
  return list;
}

void print(Session& session, const std::vector<PlannedEntry>& entries, const PlannedFiles& files,
           bool is_diff_shown) {
  const Arguments& arguments = session.arguments();
  if (session.is_json()) {
    Json document = {{"schema", "galley.agents/1"}, {"ok", true}, {"dry_run", arguments.dry_run}};
    document["entries"] = entries_json(entries);
    document["diff"] = diffs_of(files, false, false);
    session.print(document);
    return;
  }
  if (!is_diff_shown) {
    const Terminal& terminal = session.terminal();
    session.print(diffs_of(files, terminal.has_color(), terminal.escapes()));
  }
  for (const PlannedEntry& planned : entries) {
    const std::string would = arguments.dry_run ? "would be " : "";
    const bool is_change = planned.state == "added" || planned.state == "removed";
    session.say(fmt::format("{} {}: {}{} in {}", planned.agent, agent_part_name(planned.entry.part),
                            is_change ? would : "", planned.state, planned.file));
    const std::string& next = planned.entry.next_step;
    if (planned.state == "added" && !next.empty()) session.say(next);
  }
}

/// Agents run the commands in these files outside of every sandbox.
Result<void> refuse_entries_to_agents(const Arguments& arguments) {
  GALLEY_TRY(refuse_inside_exec("agents " + arguments.subcommand));
  if (arguments.dry_run || arguments.global.agent.empty()) return {};
  return fail(ErrorKind::kRefused, "person.agent",
              "only a person may configure agents: leave out --agent");
}

/// Returns the entry of one part. A consent names the program that is installed.
Result<AgentEntry> entry_of(const Arguments& arguments, AgentPart part, AgentScope scope,
                            const AgentPlaces& places) {
  if (part != AgentPart::kRun) return agent_entry(arguments.name, part, scope, places);
  if (scope != AgentScope::kUser) {
    return fail(ErrorKind::kUsage, "agents.no_such_part",
                "a consent belongs to you, not to a project: leave out --project");
  }
  const AgentProgram& agent = *agent_of_program(arguments.name);
  GALLEY_ASSIGN(const UserSettings user, load_user_settings());
  GALLEY_ASSIGN(const std::string consents, consent_folder(user, places.project));
  AgentNeeds needs = agent_needs(agent, places.home);
  if (arguments.subcommand == "install") {
    GALLEY_ASSIGN(needs, needs_of_installed(agent, places.project));
  }
  return consent_entry(needs, consents);
}

Result<int> change(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_TRY(refuse_entries_to_agents(arguments));
  GALLEY_ASSIGN(const AgentPlaces places, agent_places());
  const bool is_install = arguments.subcommand == "install";
  std::vector<PlannedEntry> entries;
  for (const AgentPart part : wanted_parts(arguments.agents)) {
    const AgentScope scope = wanted_scope(arguments.agents, arguments.name, part);
    GALLEY_ASSIGN(AgentEntry entry, entry_of(arguments, part, scope, places));
    entries.push_back({arguments.name, scope, std::move(entry), "", ""});
  }
  // Remove in the reverse order of the installation.
  if (!is_install) std::reverse(entries.begin(), entries.end());
  PlannedFiles files;
  for (PlannedEntry& planned : entries) GALLEY_TRY(plan(planned, is_install, places, files));
  const bool is_change = std::any_of(files.begin(), files.end(), [](const auto& one) {
    return one.second.text != one.second.file.text();
  });
  bool is_diff_shown = false;
  if (!arguments.dry_run && is_change) {
    GALLEY_TRY(ask(session, files));
    is_diff_shown = !arguments.agents.yes && !session.is_unattended();
    GALLEY_TRY(write(files));
  }
  print(session, entries, files, is_diff_shown);
  return kExitDone;
}

/// Returns whether one entry is installed. A read error is part of the text and not a failure.
std::string entry_state(PlannedEntry& planned, const AgentPlaces& places) {
  const std::string project = project_of(planned.scope, places);
  const auto path = file_of(planned.entry, project);
  planned.file = path ? *path : planned.entry.files.front();
  const auto file = path ? ConfigFile::read(*path, project) : Result<ConfigFile>(path.error());
  if (!file) return "unreadable";
  if (!file->text()) return "absent";
  size_t present = 0;
  for (const auto& one : planned.entry.entries) {
    const auto is_installed_in = std::visit(
        [&](const auto& entry) { return entry.is_installed_in(*file->text(), planned.file); }, one);
    if (!is_installed_in)
      return is_installed_in.error().reason == "agents.foreign_entry" ? "foreign" : "unreadable";
    present += *is_installed_in ? 1 : 0;
  }
  // Another version of Galley wrote only some of them.
  if (present > 0 && present < planned.entry.entries.size()) return "incomplete";
  return present > 0 ? "present" : "absent";
}

Result<int> list_agents(Session& session) {
  GALLEY_ASSIGN(const AgentPlaces places, agent_places());
  constexpr std::array kParts = {AgentPart::kMcp, AgentPart::kHook, AgentPart::kWrapper};
  GALLEY_ASSIGN(const UserSettings user, load_user_settings());
  const auto consents = consent_folder(user, places.project);
  std::vector<PlannedEntry> entries;
  for (const AgentProgram& program : agent_programs()) {
    for (const AgentPart part : kParts) {
      for (const AgentScope scope : {AgentScope::kProject, AgentScope::kUser}) {
        auto entry = agent_entry(program.name, part, scope, places);
        if (!entry) continue;
        PlannedEntry planned{std::string(program.name), scope, *std::move(entry), "", ""};
        planned.state = entry_state(planned, places);
        entries.push_back(std::move(planned));
      }
    }
    if (!consents) continue;
    PlannedEntry planned{std::string(program.name), AgentScope::kUser,
                         consent_entry(agent_needs(program, places.home), *consents), "", ""};
    planned.state = entry_state(planned, places);
    entries.push_back(std::move(planned));
  }
  if (session.is_json()) {
    Json document = {{"schema", "galley.agents/1"}, {"ok", true}, {"dry_run", false}};
    document["entries"] = entries_json(entries);
    session.print(document);
    return kExitDone;
  }
  std::string text;
  for (const PlannedEntry& planned : entries) {
    text += fmt::format("{:<9} {:<8} {:<8} {:<10} {}\n", planned.agent,
                        agent_part_name(planned.entry.part), agent_scope_name(planned.scope),
                        planned.state, printable_line(planned.file));
  }
  session.print(text);
  return kExitDone;
}

}  // namespace

int run_agents(Session& session) {
  const bool is_list = session.arguments().subcommand == "list";
  return session.finish(is_list ? list_agents(session) : change(session));
}

}  // namespace galley
