#include <fmt/format.h>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/limits.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "cli/person.h"
#include "cli/tool_calls.h"
#include "engine/audit/audit.h"
#include "engine/audit/audit_export.h"
#include "engine/calls/call_supervisor.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/pipeline/custom_tools.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/idle_settings.h"
#include "engine/policy/policy.h"
#include "staging/fs/host_file.h"
#include "tools/custom_tool.h"
#include "tools/registry.h"
#include "tools/shapes.h"
#include "tools/tool_checklist.h"
#include "tools/tool_definition.h"
#include "tools/tool_view.h"

namespace galley {

namespace {

/// Returns whether the agent can call a tool, and why not.
Json state_json(Workspace& workspace, const std::string& agent, const std::string& name) {
  Json state = {{"callable", false}, {"enabled", false}, {"health", ""}};
  const auto tools = tools_of(workspace).registry();
  if (!tools) return state;
  const ToolHealth::State health = tools_of(workspace).supervisor().health_of(name);
  state["enabled"] = (*tools)->is_enabled(name);
  state["health"] = to_string(health);
  const auto found =
      ToolView(**tools, rules_of(workspace).caller(agent), tools_of(workspace).mode()).find(name);
  auto obstacle = found ? missing_tool_program(*found->front()->tool) : found.error();
  const Judgement judged = Policy(rules_of(workspace).config).judge_tool(name, Principals(agent));
  if (!obstacle && judged.decision == Decision::kDeny) obstacle = error_of(judged);
  state["callable"] = !obstacle && health != ToolHealth::State::kOut;
  if (obstacle) {
    state["reason"] = obstacle->reason;
    state["message"] = obstacle->message;
  } else if (health == ToolHealth::State::kOut) {
    state["reason"] = "tool.unhealthy";
    state["message"] = "the tool failed several times in a row and is disabled for a while";
  }
  return state;
}

/// Returns every listed tool, including those that cannot be called now, with its state.
Json list_json(Workspace& workspace, const ToolRegistry& registry, const std::string& agent,
               const std::function<bool(const ToolInfo&)>& is_shown) {
  Json document = registry.schemas();
  Json tools = Json::array();
  std::set<std::string> names;
  for (const ToolRegistry::Status& status : registry.statuses()) {
    if (!is_shown(status.info) || !names.insert(status.info.name).second) continue;
    const auto first = registry.get(status.info.name);
    Json tool = definition_json(first ? (*first)->tool->info() : status.info);
    tool["state"] = state_json(workspace, agent, status.info.name);
    tools.push_back(std::move(tool));
  }
  document["tools"] = std::move(tools);
  return document;
}

/// Returns the unusual states of a tool, for the end of its line.
std::string tool_state(const ToolRegistry::Status& status, const CallSupervisor& supervisor) {
  std::vector<std::string> all;
  if (!status.is_enabled) all.emplace_back("disabled");
  const ToolHealth::State health = supervisor.health_of(status.info.name);
  if (health != ToolHealth::State::kHealthy) all.emplace_back(to_string(health));
  if (status.precedence.priority != 0) {
    all.push_back(fmt::format("priority {}", status.precedence.priority));
  }
  for (const std::string& agent : status.precedence.availability.agents) {
    all.push_back("for " + printable_line(agent));
  }
  return all.empty() ? "" : fmt::format(" [{}]", fmt::join(all, ", "));
}

/// The manifest of a custom tool as it was given; null for any other tool.
Result<Json> given_manifest(const Session& session, const Workspace& workspace) {
  GALLEY_ASSIGN(const auto kept, trusted_tools(session.user(), workspace.root_path()));
  for (const TrustedTools& tools : kept) {
    GALLEY_ASSIGN(const ToolFolder folder, ToolFolder::read(tools.files));
    for (const CustomManifest& manifest : folder.manifests) {
      if (manifest.info.name == session.arguments().name) return Json::parse(manifest.text);
    }
  }
  return Json();
}

/// Makes each call in its own transaction, which is dropped.
Result<ToolTrial> try_tool(Workspace& workspace, const Session& session, const std::string& tool,
                           const std::string& arguments, bool is_wrong) {
  GALLEY_ASSIGN(Transaction transaction, workspace.begin(session.transaction_options()));
  ToolTrial trial{arguments, is_wrong, transaction.call(tool, arguments).result()};
  GALLEY_TRY(transaction.rollback());
  return trial;
}

std::string checklist_text(const std::vector<ToolCheckPoint>& points) {
  static constexpr std::array kWords = {"yes", "NO", "-"};
  std::string text;
  for (const ToolCheckPoint& point : points) {
    text += fmt::format("{:<4} {}: {}\n", kWords.at(static_cast<size_t>(point.outcome)), point.name,
                        printable_line(point.message));
  }
  return text;
}

}  // namespace

Result<int> run_tools_list(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const ToolRegistry* tools, tools_of(*workspace).registry());
  GALLEY_ASSIGN(const ToolProfile* profile, chosen_profile(session, *workspace));
  const std::string& agent = session.arguments().global.agent;
  const Policy policy(rules_of(*workspace).config);
  const auto is_denied = [&](const ToolInfo& info) {
    return policy.judge_tool(info.name, Principals(agent)).decision == Decision::kDeny;
  };
  std::vector<ToolInfo> shown = shown_tools(*tools, profile);
  std::erase_if(shown, is_denied);
  if (!session.arguments().shape.empty()) {
    GALLEY_ASSIGN(const ToolShape* shape, tool_shape_named(session.arguments().shape));
    session.print(shape->list(*shape, shown));
    return kExitDone;
  }
  const auto is_shown = [&](const ToolInfo& info) {
    return profile != nullptr ? profile->shows(info.name) : is_shown_without_profile(info.name);
  };
  if (session.is_json()) {
    session.print(list_json(*workspace, *tools, agent, is_shown));
    return kExitDone;
  }
  std::string text;
  for (const ToolRegistry::Status& status : tools->statuses()) {
    if (!is_shown(status.info) || is_denied(status.info)) continue;
    text += fmt::format("{:<28} {}{}\n", status.info.name, status.info.title,
                        tool_state(status, tools_of(*workspace).supervisor()));
  }
  session.print(text);
  return kExitDone;
}

Result<int> run_tools_show(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const ToolRegistry* tools, tools_of(*workspace).registry());
  const std::string& name = session.arguments().name;
  GALLEY_ASSIGN(const ToolProfile* profile, chosen_profile(session, *workspace));
  if (profile != nullptr) GALLEY_TRY(profile->check_shows(name));
  GALLEY_ASSIGN(const auto entry, tools->get(name));
  const bool is_manifest = session.arguments().manifest;
  if (is_manifest || !session.arguments().shape.empty()) {
    const std::string& wanted = session.arguments().shape;
    GALLEY_ASSIGN(const ToolShape* shape, tool_shape_named(wanted.empty() ? "nachos" : wanted));
    const ToolInfo& info = entry->tool->info();
    if (is_manifest && shape->name == "nachos") {
      GALLEY_ASSIGN(const Json given, given_manifest(session, *workspace));
      if (!given.is_null()) {
        session.print(given);
        return kExitDone;
      }
    }
    session.print(is_manifest ? shape->manifest(info) : shape->definition(info));
    return kExitDone;
  }
  const Json all = tools->schemas();
  for (const Json& tool : all.at("tools")) {
    if (tool.at("name") == name) session.print(tool);
  }
  return kExitDone;
}

Result<int> run_tools_check(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const ToolRegistry* tools, tools_of(*workspace).registry());
  const std::string& name = session.arguments().name;
  GALLEY_ASSIGN(const auto entry, tools->get(name));
  const ToolInfo& info = entry->tool->info();
  std::vector<ToolTrial> trials;
  for (const std::string& example : info.examples) {
    GALLEY_ASSIGN(ToolTrial trial, try_tool(*workspace, session, name, example, false));
    trials.push_back(std::move(trial));
  }
  for (const std::string& arguments : wrong_arguments(info)) {
    GALLEY_ASSIGN(ToolTrial trial, try_tool(*workspace, session, name, arguments, true));
    trials.push_back(std::move(trial));
  }
  GALLEY_ASSIGN(Transaction reader, workspace->begin(session.transaction_options()));
  const auto page = reader.read("docs/tools/" + name + ".md");
  std::string documentation = page ? *page : std::string(tool_page(name));
  if (documentation.empty() && has_tool_heading(info.description)) documentation = info.description;
  const auto points = check_tool(*entry, trials, documentation);
  const auto headings = check_tool_documentation(documentation);
  const Json document = checklist_json(name, points, headings);
  session.print(document, checklist_text(points) + "documentation (docs/tools/" + name + ".md):\n" +
                              checklist_text(headings));
  return document.at("ok") == true ? kExitDone : kExitNo;
}

Result<int> run_tools_validate(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  std::string json = arguments.input;
  if (json == "-") {
    GALLEY_ASSIGN(json, session.read_input("-", "the arguments", limits::kMaxJsonBytes));
  }
  GALLEY_ASSIGN(const Workspace::ValidationResult result,
                workspace->check_call(arguments.name, json, arguments.global.agent));
  std::string text = result.valid ? "valid\n" : "";
  for (const std::string& error : result.errors) text += printable_line(error) + "\n";
  session.print({{"schema", "galley.tool-arguments/1"},
                 {"ok", result.valid},
                 {"tool", arguments.name},
                 {"valid", result.valid},
                 {"errors", result.errors}},
                text);
  return result.valid ? kExitDone : kExitMalformed;
}

Result<int> run_audit_verify(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(persistent_of(*workspace).check_trusted());
  GALLEY_ASSIGN(const AuditVerification found, persistent_of(*workspace).verify_audit());
  Json document = {{"schema", "galley.audit/1"},
                   {"ok", found.is_intact()},
                   {"records", found.records},
                   {"defects", Json::array()}};
  std::string text;
  for (const AuditDefect& defect : found.defects) {
    document["defects"].push_back({{"line", defect.line},
                                   {"seq", defect.seq},
                                   {"reason", defect.reason},
                                   {"message", defect.message}});
    if (defect.line > 0) text += fmt::format("line {}: ", defect.line);
    text += fmt::format("{} [{}]\n", printable_line(defect.message), defect.reason);
  }
  text += fmt::format("{}, {}\n", counted(found.records, "record"),
                      !found.is_intact()      ? "something is wrong with them"
                      : found.defects.empty() ? "the chain is whole"
                                              : "the chain is whole but for this loss");
  session.print(document, text);
  return found.is_intact() ? kExitDone : kExitNo;
}

Result<int> run_audit_export(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  if (persistent_of(*workspace).state() == nullptr) return kExitDone;
  GALLEY_TRY(check_reads_all(session, "the record"));
  const auto print_line = [&](std::string_view line) {
    session.print(session.terminal().content(line) + "\n");
  };
  if (session.arguments().input == "aios") {
    GALLEY_TRY(export_aios(persistent_of(*workspace).state()->root(), print_line));
  } else {
    GALLEY_TRY(export_agent_trace(History(*persistent_of(*workspace).state()), GALLEY_VERSION,
                                  print_line));
  }
  return kExitDone;
}

Result<int> run_policy_explain(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(RelPath path, session.path(session.arguments().name));
  std::string text;
  const auto there = place_of(*workspace).files().stat(path);
  if (session.arguments().name.ends_with('/') || (there && there->kind == FileKind::kDirectory)) {
    // Rules apply to the contents of a folder, not to the folder itself.
    text = "each path in " + printable_line(path.str()) + "/ that no rule names more closely:\n";
    GALLEY_ASSIGN(path, RelPath::parse(path.is_root() ? "*" : path.str() + "/*"));
  }
  const Policy policy(rules_of(*workspace).config);
  Json document = {{"schema", "galley.explain/1"}, {"ok", true}, {"path", path.str()}};
  document["decisions"] = Json::array();
  static constexpr std::array kOperations = {PathOperation::kCreate, PathOperation::kModify,
                                             PathOperation::kDelete};
  for (const PathOperation operation : kOperations) {
    const Explanation found = policy.explain(path, operation, session.arguments().global.agent);
    const Judgement& judgement = found.judgement;
    document["decisions"].push_back({{"operation", operation_name(operation)},
                                     {"decision", decision_name(judgement.decision)},
                                     {"rule", judgement.rule},
                                     {"line", judgement.line},
                                     {"message", judgement.message},
                                     {"steps", found.steps}});
    text += fmt::format("{}: {}  {}\n", operation_name(operation),
                        decision_name(judgement.decision), printable_line(judgement.message));
    for (const std::string& step : found.steps) text += "    " + printable_line(step) + "\n";
  }
  session.print(document, text);
  return kExitDone;
}

Result<int> run_policy_test(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const std::string& file = session.arguments().input;
  GALLEY_ASSIGN(const std::string toml, read_host_file(file, limits::kMaxConfigBytes));
  GALLEY_ASSIGN(const PolicyTestResult result,
                Policy(rules_of(*workspace).config).test(toml, file));
  Json document = {{"schema", "galley.policy-test/1"},
                   {"ok", result.failures.empty()},
                   {"passed", result.passed},
                   {"failures", Json::array()}};
  std::string text;
  for (const Finding& finding : result.failures) {
    document["failures"].push_back(finding_json(finding));
    text += fmt::format("{}:{}: {}\n", printable_line(finding.path), finding.line,
                        printable_line(finding.message));
  }
  text += fmt::format("{} passed, {} failed\n", result.passed, result.failures.size());
  session.print(document, text);
  return result.failures.empty() ? kExitDone : kExitNo;
}

namespace {

Json record_json(const TrustRecord& record) {
  Json json = {{"root", record.root}, {"hash", record.hash.hex()}, {"given_ns", record.given_ns}};
  if (!record.before.is_none()) json["before"] = record.before.hex();
  return json;
}

Result<int> list_trusted(Session& session) {
  GALLEY_ASSIGN(const UserSettings settings, load_user_settings());
  GALLEY_ASSIGN(const auto records, list_trust(settings));
  Json document = {{"schema", "galley.trust-list/1"}, {"ok", true}, {"trusted", Json::array()}};
  std::string text;
  for (const TrustRecord& record : records) {
    document["trusted"].push_back(record_json(record));
    text += fmt::format("{}  {}\n", record.hash.hex(), printable_line(record.root));
    if (record.before.is_none()) continue;
    text += fmt::format("{}  the same, before the newest change: only for commits of git\n",
                        record.before.hex());
  }
  GALLEY_ASSIGN(const auto approvals, list_rules_approvals(settings));
  document["rules"] = Json::array();
  for (const RulesApproval& approval : approvals) {
    document["rules"].push_back(
        {{"root", approval.root}, {"path", approval.path}, {"given_ns", approval.given_ns}});
    text += fmt::format("{}  a change of {} in {}\n", rfc3339_utc(approval.given_ns),
                        approval.path.empty() ? "rules" : printable_line(approval.path),
                        approval.root.empty() ? "a repository" : printable_line(approval.root));
  }
  session.print(document, text);
  return kExitDone;
}

Result<int> revoke_trusted(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  GALLEY_ASSIGN(const bool was_trusted, revoke_trust(session.user(), workspace->root_path()));
  session.tell({{"schema", "galley.trust/1"},
                {"ok", true},
                {"root", workspace->root_path()},
                {"trusted", false}},
               fmt::format("{} {}", workspace->root_path(),
                           was_trusted ? "is no longer trusted" : "was not trusted"));
  return kExitDone;
}

/// Returns the text of the question: everything that differs from the defaults. It is printable
/// ASCII (trust_part.h).
std::string shown_part(const Workspace& workspace) {
  const TrustPart& part = rules_of(workspace).trust_part;
  return fmt::format("{}{}# {} in {}\n# hash {}\n", part.brief(), part.is_empty() ? "" : "\n",
                     printable_line(rules_of(workspace).config.file),
                     printable_line(workspace.root_path()), part.hash().hex());
}

Json trust_json(const Workspace& workspace, bool trusted) {
  const TrustPart& part = rules_of(workspace).trust_part;
  return {{"schema", "galley.trust/1"},    {"ok", true},
          {"root", workspace.root_path()}, {"trusted", trusted},
          {"hash", part.hash().hex()},     {"part", part.text()}};
}

}  // namespace

Result<int> run_trust(Session& session) {
  const Arguments& arguments = session.arguments();
  if (arguments.list) return list_trusted(session);
  if (arguments.revoke && !arguments.dry_run) return revoke_trusted(session);
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  const TrustPart& part = rules_of(*workspace).trust_part;
  for (const std::string& line : idle_settings(rules_of(*workspace).config)) {
    session.say("warning: " + line);
  }
  if (part.is_empty() || arguments.show || arguments.dry_run) {
    const bool counts = rules_of(*workspace).config.not_trusted.empty();
    if (session.is_json() || part.is_empty()) {
      session.tell(
          trust_json(*workspace, counts),
          "nothing here has to be trusted: the configuration runs nothing and widens nothing");
    } else {
      session.print(shown_part(*workspace));
      session.say(counts ? "it is trusted" : "it is not trusted");
    }
    return kExitDone;
  }
  if (session.is_unattended() && !session.is_json()) session.print(shown_part(*workspace));
  GALLEY_TRY(require_person(session, shown_part(*workspace),
                            "Trust this for you and this folder, as long as it stays the same?"));
  GALLEY_TRY(record_trust(session.user(), {workspace->root_path(), part.hash(),
                                           place_of(*workspace).clock().wall_ns()}));
  session.tell(trust_json(*workspace, true),
               "trusted; take it back with: " + session.hint("trust --revoke"));
  return kExitDone;
}

namespace {

Json grant_json(const Workspace::Grant& grant) {
  return {{"agent", grant.agent},
          {"capability", grant.capability},
          {"granted", !grant.is_revoked},
          {"by", grant.by},
          {"said", rfc3339_utc(grant.decided_ns)}};
}

Json granted_json(const std::string& agent, const std::string& capability, bool is_granted) {
  return {{"schema", "galley.grant/1"},
          {"ok", true},
          {"agent", agent},
          {"capability", capability},
          {"granted", is_granted}};
}

std::string who_says(const Session& session) {
  const std::string& name = session.arguments().name;
  return name.empty() ? "the command line" : name;
}

}  // namespace

/// Only a person may grant. An agent is refused on record, without a question.
Result<int> run_grant(Session& session) {
  const std::string& agent = session.arguments().id;
  const std::string& capability = session.arguments().input;
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const TransactionOptions who = session.transaction_options();
  if (who.agent.empty()) {
    GALLEY_TRY(require_person(session, "",
                              fmt::format("Grant `{}` to the agent {}?", printable_line(capability),
                                          printable_line(agent))));
  }
  GALLEY_TRY(workspace->grant(agent, capability, who_says(session), who));
  const Config& config = rules_of(*workspace).config;
  const AgentProfile* list = Policy(config).bounds(agent);
  const std::string extent = list == nullptr
                                 ? ""
                                 : fmt::format(", as far as [agents.{}] ({}) gives it", list->name,
                                               place_in(config, list->line));
  session.tell(granted_json(agent, capability, true),
               fmt::format("{} has {} from now on{}; take it back with: {}", agent, capability,
                           extent, session.hint(fmt::format("revoke {} '{}'", agent, capability))));
  return kExitDone;
}

/// A revocation only narrows, so it needs no question. An agent is refused.
Result<int> run_revoke(Session& session) {
  const std::string& agent = session.arguments().id;
  const std::string& capability = session.arguments().input;
  GALLEY_TRY(refuse_inside_exec("revoke"));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(
      workspace->revoke(agent, capability, who_says(session), session.transaction_options()));
  session.tell(granted_json(agent, capability, false),
               fmt::format("{} has {} no longer", agent, capability));
  return kExitDone;
}

Result<int> run_grants(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const auto all, workspace->grants());
  Json document = {{"schema", "galley.grants/1"}, {"ok", true}, {"grants", Json::array()}};
  std::string text;
  for (const Workspace::Grant& one : all) {
    document["grants"].push_back(grant_json(one));
    text += fmt::format("{:<16} {} {:<32} {} {}\n", printable_line(one.agent),
                        one.is_revoked ? "-" : "+", printable_line(one.capability),
                        rfc3339_utc(one.decided_ns), printable_line(one.by));
  }
  session.print(document, text);
  return kExitDone;
}

}  // namespace galley
