#include "cli/commands.h"

#include <algorithm>
#include <array>

#include "cli/hook_command.h"

namespace galley {
namespace {

struct Row {
  std::string_view command;
  std::string_view subcommand;
  CommandFunction run;
};

constexpr std::array kCommands = {
    Row{"preview", "", run_preview},
    Row{"apply", "", run_apply},
    Row{"check", "", run_check},
    Row{"begin", "", run_begin},
    Row{"stage", "", run_stage},
    Row{"edit", "", run_edit},
    Row{"status", "", run_status},
    Row{"diff", "", run_diff},
    Row{"review", "", run_review},
    Row{"call", "", run_call},
    Row{"replay", "", run_replay},
    Row{"exec", "", run_exec},
    Row{"run", "", run_run},
    Row{"acp", "", run_acp},
    Row{"attach", "", run_attach},
    Row{"stop", "", run_stop},
    Row{"sync", "", run_sync},
    Row{"savepoint", "", run_savepoint},
    Row{"fork", "", run_fork},
    Row{"pick", "", run_pick},
    Row{"validate", "", run_validate},
    Row{"approve", "", run_approve},
    Row{"commit", "", run_commit},
    Row{"rollback", "", run_rollback},
    Row{"log", "", run_log},
    Row{"show", "", run_show},
    Row{"turns", "", run_turns},
    Row{"undo", "", run_undo},
    Row{"redo", "", run_redo},
    Row{"push", "", run_push},
    Row{"blame", "", run_blame},
    Row{"query", "", run_query},
    Row{"at", "", run_at},
    Row{"grant", "", run_grant},
    Row{"revoke", "", run_revoke},
    Row{"grants", "", run_grants},
    Row{"init", "", run_init},
    Row{"trust", "", run_trust},
    Row{"recover", "", run_recover},
    Row{"gc", "", run_gc},
    Row{"doctor", "", run_doctor},
    Row{"mcp", "", run_mcp},
    Row{"serve", "", run_serve},
    Row{"worker", "", run_jobs},
    Row{"submit", "", run_jobs},
    Row{"jobs", "", run_jobs},
    Row{"agent-hook", "", run_agent_hook},
    Row{"agents", "list", run_agents},
    Row{"agents", "status", run_agents_status},
    Row{"agents", "install", run_agents},
    Row{"agents", "uninstall", run_agents},
    Row{"complete", "", run_complete},
    Row{"completions", "", run_completions},
    Row{"hook", "install", run_hook},
    Row{"hook", "uninstall", run_hook},
    Row{"hook", "run", run_hook},
    Row{"rescue", "list", run_rescue},
    Row{"rescue", "show", run_rescue},
    Row{"rescue", "drop", run_rescue},
    Row{"tools", "list", run_tools_list},
    Row{"tools", "show", run_tools_show},
    Row{"tools", "check", run_tools_check},
    Row{"tools", "validate", run_tools_validate},
    Row{"tools", "add", run_tools_add},
    Row{"tools", "trust", run_tools_trust},
    Row{"tools", "remove", run_tools_remove},
    Row{"audit", "verify", run_audit_verify},
    Row{"audit", "export", run_audit_export},
    Row{"edits", "explain", run_edits_explain},
    Row{"policy", "explain", run_policy_explain},
    Row{"policy", "test", run_policy_test},
};

/// Commands that show or restore something. They must work with a galley.toml that cannot be read.
/// `gc` is not included, because that file defines how long history is kept.
constexpr std::array<std::string_view, 16> kReadOrRepair = {
    "status",  "diff",   "log",    "show",     "turns",   "undo", "redo",  "blame",
    "recover", "doctor", "rescue", "rollback", "approve", "init", "audit", "query"};

/// Commands that work on a branch of --repo. The others need files in a directory, or write files
/// that are not in a commit.
constexpr std::array<std::string_view, 29> kOnBranches = {
    "preview", "apply",    "begin",     "stage", "status", "diff",  "call",   "approve",
    "commit",  "rollback", "savepoint", "fork",  "pick",   "exec",  "at",     "log",
    "show",    "undo",     "redo",      "blame", "query",  "grant", "revoke", "grants",
    "trust",   "recover",  "gc",        "audit", "push"};

}  // namespace

bool works_on_branches(std::string_view command) {
  return std::find(kOnBranches.begin(), kOnBranches.end(), command) != kOnBranches.end();
}

bool reads_or_repairs(std::string_view command) {
  return std::find(kReadOrRepair.begin(), kReadOrRepair.end(), command) != kReadOrRepair.end();
}

CommandFunction find_command(std::string_view command, std::string_view subcommand) {
  for (const Row& row : kCommands) {
    if (row.command == command && row.subcommand == subcommand) return row.run;
  }
  return nullptr;
}

bool is_command(std::string_view word) {
  return std::any_of(kCommands.begin(), kCommands.end(),
                     [word](const Row& row) { return row.command == word; });
}

}  // namespace galley
