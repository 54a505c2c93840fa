#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "base/shell_word.h"
#include "base/text.h"
#include "cli/agent_run.h"
#include "cli/commands.h"
#include "cli/config_file.h"
#include "cli/person.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/agent_files.h"
#include "server/agents/agent_programs.h"
#include "server/agents/hook_switches.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/printing/git_diff.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {
namespace {

constexpr uint32_t kOwnMode = 0600;
constexpr uint32_t kProjectMode = 0644;
constexpr uint32_t kProgramMode = 0755;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// The folder that a variable of an agent names, else `usual`. As agents do, it takes a relative
/// name from the current folder. By the XDG base directory specification such a name is ignored.
std::string agent_folder(const char* variable, const std::string& usual, const std::string& here) {
  const std::string named = environment(variable);
  const bool is_named = !named.empty() && !std::string_view(variable).starts_with("XDG_");
  if (named.starts_with('/')) return named;
  return is_named ? normalized_path(here + "/" + named) : usual;
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
  places.config_home = agent_folder("XDG_CONFIG_HOME", places.home + "/.config", here);
  places.codex_home = agent_folder("CODEX_HOME", places.home + "/.codex", here);
  places.claude_home = agent_folder("CLAUDE_CONFIG_DIR", places.home + "/.claude", here);
  const bool is_usual = environment("CLAUDE_CONFIG_DIR").empty();
  places.claude_file = (is_usual ? places.home : places.claude_home) + "/.claude.json";
  places.gemini_home = agent_folder("GEMINI_CLI_HOME", places.home, here) + "/.gemini";
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

  [[nodiscard]] bool is_changed() const { return text != file.text(); }
};

/// An agent, or parts of it, that `all` leaves out.
struct SkippedAgent {
  std::string agent;
  std::string reason;  ///< of the error
  std::string message;
  std::string parts;  ///< `mcp, hook`; empty: the whole agent

  [[nodiscard]] bool has_reason_of(const SkippedAgent& other) const {
    return agent == other.agent && reason == other.reason && message == other.message;
  }
};

/// The changes of one command.
struct AgentPlan {
  std::vector<PlannedEntry> entries;
  std::vector<SkippedAgent> skipped;
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

/// The policy keeps agents from their files in a workspace only where agents usually have them.
Result<void> check_protected(const PlannedEntry& planned, const AgentPlaces& places) {
  const auto inside = RelPath::parse_within(planned.file, places.project);
  const bool is_config = planned.entry.part == AgentPart::kMcp ||
                         planned.entry.part == AgentPart::kHook ||
                         planned.entry.part == AgentPart::kCommands;
  if (!inside || !is_config || is_agent_file(*inside)) return {};
  return fail(ErrorKind::kRefused, "agents.folder_in_workspace",
              planned.file +
                  " is in the workspace, where every agent could change it; let the "
                  "variable of the agent name a folder elsewhere");
}

Result<void> plan(PlannedEntry& planned, bool is_install, const AgentPlaces& places,
                  PlannedFiles& files) {
  const std::string project = project_of(planned.scope, places);
  GALLEY_ASSIGN(planned.file, file_of(planned.entry, project));
  if (is_install) GALLEY_TRY(check_protected(planned, places));
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
  // A message about the file names its line before any entry of any part was added.
  const std::optional<std::string> stored = file.file.text();
  const auto check = [&](const auto& entry) -> Result<void> {
    if (stored) GALLEY_TRY(entry.is_installed_in(*stored, planned.file));
    return {};
  };
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
  for (const auto& entry : entries) GALLEY_TRY(std::visit(check, entry));
  for (const auto& entry : entries) GALLEY_TRY(std::visit(change, entry));
  const bool is_changed = file.text != before;
  planned.state =
      is_install ? (is_changed ? "added" : "present") : (is_changed ? "removed" : "absent");
  return {};
}

bool names_parts(const AgentArguments& which) {
  return which.mcp || which.hook || which.commands || which.wrapper || which.run;
}

std::vector<AgentPart> wanted_parts(const AgentArguments& which) {
  std::vector<AgentPart> parts;
  const bool is_any = names_parts(which);
  if (which.mcp || !is_any) parts.push_back(AgentPart::kMcp);
  if (which.hook || !is_any) parts.push_back(AgentPart::kHook);
  if (which.commands || !is_any) parts.push_back(AgentPart::kCommands);
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

/// Refuses files in a project of another user, as `galley init` does.
Result<void> check_owner_of_project(const AgentPlan& plan, const std::string& project,
                                    const UserSettings& user) {
  const auto is_there = [](const PlannedEntry& one) { return one.scope == AgentScope::kProject; };
  if (std::none_of(plan.entries.begin(), plan.entries.end(), is_there)) return {};
  GALLEY_ASSIGN(const auto root, open_disk_directory(project));
  return check_owner_of_root(*root, project, user.config);
}

/// Whether npx, `pnpm dlx`, `yarn dlx` or bunx keeps the program for a while only.
bool is_short_lived(std::string_view program) {
  static constexpr std::array<std::string_view, 4> kFolders = {"/_npx/", "/pnpm/dlx/", "/dlx-",
                                                               "/bunx-"};
  return std::any_of(kFolders.begin(), kFolders.end(), [&](std::string_view folder) {
    const size_t at = program.find(folder);
    if (at == program.npos) return false;
    const std::string_view rest = program.substr(at + folder.size());
    return folder.ends_with('/') || (!rest.empty() && is_digit(rest.front()));
  });
}

/// The entries call `galley` by its name. The PATH of npx ends with npx, and an agent that does not
/// find the program of its hook denies each call.
Result<void> check_path(const AgentPlan& plan, const std::string& project) {
  const auto is_start = [](const PlannedEntry& one) { return one.entry.part != AgentPart::kRun; };
  if (std::none_of(plan.entries.begin(), plan.entries.end(), is_start)) return {};
  const auto found = list_programs(environment("PATH"), "galley");
  const auto is_lasting = [&](const ResolvedProgram& one) {
    return !is_short_lived(one.path) && !is_short_lived(one.real) &&
           !is_at_or_below(one.path, project);
  };
  if (std::any_of(found.begin(), found.end(), is_lasting)) return {};
  // npm may have a strange package of this name, so the way out takes this very program.
  GALLEY_ASSIGN(const std::string self, absolute_path("/proc/self/exe"));
  const std::string own_folder = environment("HOME") + "/.local/bin";
  const bool is_copied = is_short_lived(self) || is_at_or_below(self, project);
  std::string way = is_copied ? "install -D -m 755 " : "mkdir -p ~/.local/bin && ln -sf ";
  way = ". Put it there: " + way + shell_word(self) + " ~/.local/bin/galley";
  if (self == own_folder + "/galley") way.clear();
  if ((":" + environment("PATH") + ":").find(":" + own_folder + ":") == std::string::npos) {
    way += ". Add ~/.local/bin to your PATH";
  }
  return fail(ErrorKind::kNotFound, "agents.not_on_path",
              (found.empty() ? "the agent would not find galley, because no program of this name "
                               "is on your PATH"
                             : "the agent would not find galley: '" + found.front().path +
                                   "' is on the PATH of this command only, or in a folder that "
                                   "does not stay") +
                  way);
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

/// Folders, each before those that it is in.
using Folders = std::set<std::string, std::greater<>>;

/// Puts files back, the last written first. Returns `error`, which also names the files that stay
/// changed.
Error put_back(const std::vector<const PlannedFile*>& written, const Folders& new_folders,
               Error error) {
  for (auto one = written.rbegin(); one != written.rend(); ++one) {
    const auto restored = (*one)->file.restore((*one)->text);
    if (restored) continue;
    error.message += "; " + (*one)->file.path() + " stays changed: " + restored.error().message;
  }
  for (const std::string& folder : new_folders) remove_if_empty(folder);
  return error;
}

/// Writes all files or none.
Result<void> write(const PlannedFiles& files) {
  std::vector<const PlannedFile*> written;
  Folders new_folders;
  Folders empty_folders;
  Folders left_folders;
  for (const auto& [name, planned] : files) {
    if (!planned.is_changed()) continue;
    for (const std::string& folder : planned.folders) {
      if (!has_folder(folder)) new_folders.insert(folder);
      if (is_empty_folder(folder)) empty_folders.insert(folder);
    }
    const auto replaced = planned.file.replace(planned.text, planned.mode);
    if (!replaced) return fail(put_back(written, new_folders, replaced.error()));
    written.push_back(&planned);
  }
  for (const PlannedFile* planned : written) {
    if (!planned->text) left_folders.insert(planned->folders.begin(), planned->folders.end());
  }
  for (const std::string& folder : left_folders) remove_if_empty(folder);
  for (const std::string& folder : empty_folders) keep_when_empty(folder);
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

/// Calls `line` once for the files of one part that have the same state, with their names.
void for_each_line(const std::vector<PlannedEntry>& entries,
                   const std::function<void(const PlannedEntry&, const std::string&)>& line) {
  for (size_t first = 0; first < entries.size();) {
    const PlannedEntry& one = entries[first];
    size_t end = first + 1;
    while (end < entries.size() && entries[end].agent == one.agent &&
           entries[end].entry.part == one.entry.part && entries[end].scope == one.scope &&
           entries[end].state == one.state) {
      ++end;
    }
    const size_t more = end - first - 1;
    line(one, more == 0 ? one.file : fmt::format("{} and {} more", one.file, more));
    first = end;
  }
}

void print(Session& session, const AgentPlan& plan, const PlannedFiles& files, bool is_diff_shown) {
  const Arguments& arguments = session.arguments();
  if (session.is_json()) {
    Json document = {{"schema", "galley.agents/1"}, {"ok", true}, {"dry_run", arguments.dry_run}};
    document["entries"] = entries_json(plan.entries);
    document["diff"] = diffs_of(files, false, false);
    for (const SkippedAgent& one : plan.skipped) {
      document["skipped"].push_back(
          {{"agent", one.agent}, {"reason", one.reason}, {"message", one.message}});
    }
    session.print(document);
    return;
  }
  if (!is_diff_shown) {
    const Terminal& terminal = session.terminal();
    session.print(diffs_of(files, terminal.has_color(), terminal.escapes()));
  }
  for_each_line(plan.entries, [&](const PlannedEntry& planned, const std::string& in) {
    const std::string would = arguments.dry_run ? "would be " : "";
    const bool is_change = planned.state == "added" || planned.state == "removed";
    session.say(fmt::format("{} {}: {}{} in {}", planned.agent, agent_part_name(planned.entry.part),
                            is_change ? would : "", planned.state, in));
    const std::string& next = planned.entry.next_step;
    if (planned.state == "added" && !next.empty()) session.say(next);
  });
  for (const SkippedAgent& one : plan.skipped) {
    const bool is_whole =
        std::none_of(plan.entries.begin(), plan.entries.end(),
                     [&](const PlannedEntry& entry) { return entry.agent == one.agent; });
    const std::string what = is_whole ? one.agent : one.agent + " " + one.parts;
    session.say(what + " is left out: " + printable_line(one.message));
  }
}

/// The consents that a person can have given to an agent: to its program, and to those for
/// editors.
std::vector<AgentEntry> consents_to(const AgentProgram& agent, const std::string& home,
                                    const std::string& consents) {
  AgentNeeds needs = agent_needs(agent, home);
  std::vector<AgentEntry> entries = {consent_entry(needs, consents)};
  for (const std::string_view program : agent.acp_programs) {
    needs.program = program;
    entries.push_back(consent_entry(needs, consents));
  }
  return entries;
}

/// Returns the file and key with which a person switched the agent's hooks off; empty without one.
std::string hooks_off_by(const std::string& agent, const AgentPlaces& places) {
  std::set<std::string> known;
  for (const std::string& path : hook_switch_files(agent, places)) {
    const auto file = ConfigFile::read(
        path, is_at_or_below(path, places.project) ? places.project : std::string());
    if (!file || !file->text()) continue;
    for (const HookSwitch& one : hook_switches(agent, *file->text())) {
      if (known.insert(one.key).second && one.is_off) return one.key + " in " + path;
    }
  }
  return {};
}

/// A hook that never runs would look like a gate.
Result<void> check_hooks_run(const std::string& agent, const AgentPlaces& places) {
  const std::string off = hooks_off_by(agent, places);
  if (off.empty()) return {};
  return fail(ErrorKind::kRefused, "agents.hooks_off",
              off +
                  " switches the hooks off, so Galley would judge nothing that this agent does: "
                  "change it, then install the hook; or install --mcp --commands without the "
                  "hook");
}

/// Returns the entries of one part. A new consent names the program that is installed.
Result<std::vector<AgentEntry>> entries_of(const std::string& name, AgentPart part,
                                           AgentScope scope, const AgentPlaces& places,
                                           bool is_install) {
  if (part != AgentPart::kRun) return agent_entries(name, part, scope, places);
  if (scope != AgentScope::kUser) {
    return fail(ErrorKind::kUsage, "agents.no_such_part",
                "a consent belongs to you, not to a project: leave out --project");
  }
  const AgentProgram& agent = *agent_of_program(name);
  GALLEY_ASSIGN(const UserSettings user, load_user_settings());
  GALLEY_ASSIGN(const std::string consents, consent_folder(user, places.project));
  if (!is_install) return consents_to(agent, places.home, consents);
  GALLEY_ASSIGN(const AgentNeeds needs, needs_of_installed(agent, places.project));
  return std::vector<AgentEntry>{consent_entry(needs, consents)};
}

/// Why an agent is not found here, or "" if its program or a folder of its state is.
std::string why_not_found(const AgentProgram& agent, const AgentPlaces& places) {
  if (!installed_program(agent, places.project).empty()) return "";
  const std::vector<std::string> folders = agent_needs(agent, places.home).writable;
  if (std::any_of(folders.begin(), folders.end(), has_folder)) return "";
  return fmt::format("no program '{}' is on your PATH outside of the workspace, and there is no {}",
                     agent.name, fmt::join(folders, " or "));
}

/// Whether `all`, or the removal of all parts, goes on without the part that has this error.
bool is_left_out(const Error& error) {
  return error.reason == "agents.no_such_part" || error.reason == "agents.no_program" ||
         error.reason == "run.host_folder" || error.reason == "agents.hooks_off";
}

/// Adds the wanted parts of one agent.
Result<void> add_agent(const Arguments& arguments, const std::string& name,
                       const AgentPlaces& places, AgentPlan& plan) {
  const bool is_install = arguments.subcommand == "install";
  const bool is_all =
      arguments.name == kAllAgents || (!is_install && !names_parts(arguments.agents));
  for (const AgentPart part : wanted_parts(arguments.agents)) {
    const AgentScope scope = wanted_scope(arguments.agents, name, part);
    auto found = entries_of(name, part, scope, places, is_install);
    if (found && is_install && part == AgentPart::kHook) {
      const auto checked = check_hooks_run(name, places);
      if (!checked) found = fail(checked.error());
    }
    if (!found && is_all && is_left_out(found.error())) {
      SkippedAgent skipped{name, found.error().reason, found.error().message,
                           std::string(agent_part_name(part))};
      const bool is_told = !plan.skipped.empty() && plan.skipped.back().has_reason_of(skipped);
      if (is_told) plan.skipped.back().parts += ", " + skipped.parts;
      if (is_install && !is_told) plan.skipped.push_back(std::move(skipped));
      continue;
    }
    if (!found) return fail(found.error());
    for (AgentEntry& entry : *found) {
      plan.entries.push_back({name, scope, std::move(entry), "", ""});
    }
  }
  return {};
}

/// Returns the wanted parts of the named agent, or of all: those to install must be found here.
Result<AgentPlan> wanted_entries(const Arguments& arguments, const AgentPlaces& places) {
  AgentPlan plan;
  if (arguments.name != kAllAgents) {
    GALLEY_TRY(add_agent(arguments, arguments.name, places, plan));
    return plan;
  }
  for (const AgentProgram& agent : agent_programs()) {
    const std::string name(agent.name);
    const std::string why =
        arguments.subcommand == "install" ? why_not_found(agent, places) : std::string();
    if (why.empty()) {
      GALLEY_TRY(add_agent(arguments, name, places, plan));
    } else {
      plan.skipped.push_back({name, "agents.no_program", why, ""});
    }
  }
  return plan;
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

/// Two hooks judge each call twice. Says so after an installation.
void say_second_hooks(Session& session, const AgentPlan& plan, const AgentPlaces& places) {
  for (const PlannedEntry& planned : plan.entries) {
    if (planned.entry.part != AgentPart::kHook) continue;
    const AgentScope scope =
        planned.scope == AgentScope::kUser ? AgentScope::kProject : AgentScope::kUser;
    const auto others = agent_entries(planned.agent, AgentPart::kHook, scope, places);
    if (!others) continue;
    for (const AgentEntry& entry : *others) {
      PlannedEntry other{planned.agent, scope, entry, "", ""};
      other.state = entry_state(other, places);
      if (other.state != "present" && other.state != "incomplete") continue;
      session.say(
          fmt::format("{} hook: {} has one, too. One is enough; remove that with: galley "
                      "agents uninstall {} --hook --{}",
                      other.agent, other.file, other.agent, agent_scope_name(scope)));
    }
  }
}

Result<int> change(Session& session) {
  const Arguments& arguments = session.arguments();
  // Agents run the commands in these files outside of every sandbox.
  GALLEY_TRY(refuse_inside_exec("agents " + arguments.subcommand));
  GALLEY_TRY(refuse_to_agents(arguments, "only a person may configure agents: leave out --agent"));
  GALLEY_ASSIGN(const AgentPlaces places, agent_places());
  const bool is_install = arguments.subcommand == "install";
  GALLEY_ASSIGN(AgentPlan wanted, wanted_entries(arguments, places));
  // Remove in the reverse order of the installation.
  if (!is_install) std::reverse(wanted.entries.begin(), wanted.entries.end());
  PlannedFiles files;
  for (PlannedEntry& planned : wanted.entries) {
    GALLEY_TRY(plan(planned, is_install, places, files));
  }
  const bool is_change = std::any_of(files.begin(), files.end(),
                                     [](const auto& one) { return one.second.is_changed(); });
  bool is_diff_shown = false;
  if (!arguments.dry_run && is_change) {
    GALLEY_TRY(check_owner_of_project(wanted, places.project, session.user()));
    if (is_install) GALLEY_TRY(check_path(wanted, places.project));
    GALLEY_TRY(ask(session, files));
    is_diff_shown = !arguments.agents.yes && !session.is_unattended();
    GALLEY_TRY(write(files));
  }
  print(session, wanted, files, is_diff_shown);
  if (is_install) say_second_hooks(session, wanted, places);
  return kExitDone;
}

void add_states(const AgentProgram& program, AgentScope scope, const std::vector<AgentEntry>& found,
                const AgentPlaces& places, std::vector<PlannedEntry>& entries) {
  for (const AgentEntry& entry : found) {
    PlannedEntry& planned =
        entries.emplace_back(PlannedEntry{std::string(program.name), scope, entry, "", ""});
    planned.state = entry_state(planned, places);
    const bool is_hook = planned.entry.part == AgentPart::kHook && planned.state == "present";
    if (is_hook && !hooks_off_by(planned.agent, places).empty()) planned.state = "disabled";
  }
}

Result<int> list_agents(Session& session) {
  GALLEY_ASSIGN(const AgentPlaces places, agent_places());
  constexpr std::array kParts = {AgentPart::kMcp, AgentPart::kHook, AgentPart::kCommands,
                                 AgentPart::kWrapper};
  GALLEY_ASSIGN(const UserSettings user, load_user_settings());
  const auto consents = consent_folder(user, places.project);
  std::vector<PlannedEntry> entries;
  for (const AgentProgram& program : agent_programs()) {
    for (const AgentPart part : kParts) {
      for (const AgentScope scope : {AgentScope::kProject, AgentScope::kUser}) {
        const auto found = agent_entries(program.name, part, scope, places);
        if (found) add_states(program, scope, *found, places, entries);
      }
    }
    if (!consents) continue;
    add_states(program, AgentScope::kUser, consents_to(program, places.home, *consents), places,
               entries);
  }
  Json document = {{"schema", "galley.agents/1"}, {"ok", true}, {"dry_run", false}};
  document["entries"] = entries_json(entries);
  std::string text;
  for_each_line(entries, [&](const PlannedEntry& planned, const std::string& files) {
    text += fmt::format("{:<9} {:<8} {:<8} {:<10} {}\n", planned.agent,
                        agent_part_name(planned.entry.part), agent_scope_name(planned.scope),
                        planned.state, printable_line(files));
  });
  session.print(document, text);
  return kExitDone;
}

}  // namespace

Result<int> run_agents(Session& session) {
  return session.arguments().subcommand == "list" ? list_agents(session) : change(session);
}

}  // namespace galley
