#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "engine/git_hooks/hook_files.h"
#include "engine/pipeline/maintenance.h"
#include "engine/policy/config.h"
#include "engine/policy/recommend.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/resolve_program.h"
#include "staging/sandbox/syntax_program.h"

namespace galley {
namespace {

/// Writes galley.toml and trusts it. If it switches on commands, a person confirms them first.
Result<void> write_trusted(Session& session, const Workspace& workspace, const std::string& text) {
  GALLEY_ASSIGN(const Config config, parse_config(text, kConfigFileName));
  const TrustPart part = trust_part_of(config);
  if (!part.is_empty()) {
    GALLEY_TRY(
        require_person(session, part.brief(), "Write galley.toml and trust these commands?"));
  }
  GALLEY_TRY(persistent_of(workspace).write_config(text, session.arguments().force));
  if (part.is_empty()) return {};
  return record_trust(session.user(),
                      {workspace.root_path(), part.hash(), place_of(workspace).clock().wall_ns()});
}

/// Returns the programs that can run here, in the sandbox or with one more folder in it.
FoundPrograms found_programs() {
  FoundPrograms programs;
  const std::string path = program_search_path({});
  programs.has = [path](std::string_view name) {
    return !list_programs(path, name).empty() || !hidden_program(name, path).empty();
  };
  programs.folders = [path](std::string_view name) {
    const std::string hidden = hidden_program(name, path);
    return hidden.empty() ? std::vector<std::string>() : folders_of_program(hidden);
  };
  programs.has_grammars = SyntaxProgram::find().has_value();
  return programs;
}

void print_actions(Session& session, const std::vector<std::string>& actions) {
  std::string text;
  for (const std::string& action : actions) text += printable_line(action) + "\n";
  session.print({{"schema", "galley.recover/1"},
                 {"ok", true},
                 {"dry_run", session.arguments().dry_run},
                 {"actions", actions}},
                text);
}

Result<int> adopt(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  GALLEY_ASSIGN(const AdoptionPlan plan, plan_adoption(*workspace));
  if (!session.arguments().dry_run) {
    std::string text = printable_line(plan.doubt) + "\nTaken over, this is what it does and is:\n";
    for (const std::string& effect : plan.effects) text += "  " + printable_line(effect) + "\n";
    GALLEY_TRY(require_person(
        session, text, "Adopt '.galley' in " + printable_line(workspace->root_path()) + "?"));
    GALLEY_TRY(adopt_state(*workspace, plan));
  }
  print_actions(session, plan.effects);
  if (!session.arguments().dry_run) session.say("'.galley' is adopted");
  return kExitDone;
}

std::string_view status_name(CheckStatus status) {
  if (status == CheckStatus::kOk) return "ok";
  return status == CheckStatus::kWarning ? "warning" : "error";
}

}  // namespace

Result<int> run_init(Session& session) {
  const Arguments& arguments = session.arguments();
  // It has the rules for agents.
  GALLEY_TRY(refuse_inside_exec("init"));
  GALLEY_TRY(refuse_to_agents(arguments, "only a person may write galley.toml: leave out --agent"));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const std::string text,
                recommended_config(
                    place_of(*workspace).files(), found_programs(),
                    arguments.enables ? FoundCommands::kSwitchedOn : FoundCommands::kAsComments));
  if (!arguments.dry_run) {
    GALLEY_TRY(write_trusted(session, *workspace, text));
  }
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.init/1"},
                       {"ok", true},
                       {"file", kConfigFileName},
                       {"written", !arguments.dry_run},
                       {"text", text}});
    return kExitDone;
  }
  if (arguments.dry_run) {
    session.print(session.terminal().content(text));
  } else {
    session.say("wrote " + workspace->root_path() + "/" + std::string(kConfigFileName));
    GALLEY_ASSIGN(const FileStat git,
                  place_of(*workspace).files().stat(RelPath::parse(".git").value()));
    if (git.kind != FileKind::kAbsent) {
      session.say("let git ask the same gate: " + session.hint("hook install"));
    }
  }
  return kExitDone;
}

Result<int> run_recover(Session& session) {
  if (session.arguments().adopt) return adopt(session);
  const bool dry_run = session.arguments().dry_run;
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  GALLEY_ASSIGN(const auto actions, recover_now(*workspace, dry_run));
  print_actions(session, actions);
  if (actions.empty()) session.say("nothing to recover");
  return kExitDone;
}

Result<int> run_gc(Session& session) {
  const bool dry_run = session.arguments().dry_run;
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const auto cleared, clear_garbage(*workspace, dry_run));
  Json document = {{"schema", "galley.gc/1"}, {"ok", true}, {"dry_run", dry_run}};
  uint64_t freed = 0;
  std::string text;
  document["cleared"] = Json::array();
  for (const ClearedItem& item : cleared) {
    freed += item.bytes;
    document["cleared"].push_back({{"what", item.what}, {"bytes", item.bytes}});
    text += fmt::format("{:>12}  {}\n", item.bytes, printable_line(item.what));
  }
  document["freed_bytes"] = freed;
  session.print(document, text);
  session.say(fmt::format("{} {} bytes", dry_run ? "would free" : "freed", freed));
  return kExitDone;
}

namespace {

/// Names the git hooks of Galley that no longer run. Outside of a repository there are none.
void add_idle_hooks(std::vector<Check>& checks) {
  const auto idle = idle_hooks(GitProgram());
  if (!idle) return;
  if (!idle->outside.empty()) {
    checks.push_back({"git hooks", CheckStatus::kWarning,
                      fmt::format("git does not run Galley's {}, because core.hooksPath is '{}'",
                                  fmt::join(idle->outside, ", "), idle->place.directory),
                      "galley hook install installs them there, or says what to do instead"});
  }
  if (!idle->moved.empty()) {
    checks.push_back({"git hooks", CheckStatus::kWarning,
                      fmt::format("git does not run Galley's {}, which lefthook moved to NAME.old",
                                  fmt::join(idle->moved, ", ")),
                      "galley hook install shows the lines for lefthook; then remove NAME.old"});
  }
}

}  // namespace

Result<int> run_doctor(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  GALLEY_ASSIGN(auto checks, examine(*workspace, session.arguments().repair));
  add_idle_hooks(checks);
  Json document = {{"schema", "galley.doctor/1"}, {"ok", true}, {"checks", Json::array()}};
  std::string text;
  bool is_well = true;
  for (const Check& check : checks) {
    Json entry = {
        {"name", check.name}, {"status", status_name(check.status)}, {"message", check.message}};
    if (!check.remedy.empty()) entry["remedy"] = check.remedy;
    document["checks"].push_back(std::move(entry));
    is_well = is_well && check.status != CheckStatus::kError;
    text += fmt::format("{:<8} {:<20} {}\n", status_name(check.status), check.name,
                        printable_line(check.message));
    if (!check.remedy.empty()) text += fmt::format("{:29} {}\n", "", printable_line(check.remedy));
  }
  document["ok"] = is_well;
  session.print(document, text);
  return is_well ? kExitDone : kExitNo;
}

Result<int> run_rescue(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const std::string& verb = session.arguments().subcommand;
  const std::string& name = session.arguments().name;
  if (verb == "show") {
    GALLEY_TRY(check_reads_all(session, "rescue"));
    GALLEY_ASSIGN(const std::string bytes, read_rescued(*workspace, name));
    session.print(session.terminal().content(bytes));
    return kExitDone;
  }
  if (verb == "drop") GALLEY_TRY(drop_rescued(*workspace, name));
  GALLEY_ASSIGN(const auto entries, list_rescued(*workspace));
  Json document = {{"schema", "galley.rescue/1"}, {"ok", true}, {"entries", Json::array()}};
  std::string text;
  for (const RescuedItem& entry : entries) {
    document["entries"].push_back({{"name", entry.name}, {"bytes", entry.bytes}});
    text += fmt::format("{:>12}  {}\n", entry.bytes, printable_line(entry.name));
  }
  session.print(document, text);
  return kExitDone;
}

}  // namespace galley
