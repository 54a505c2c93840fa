#pragma once

#include <string_view>

#include "cli/session.h"

namespace galley {

/// Returns the function of a command (`apply`, `tools list`), or null.
[[nodiscard]] CommandFunction find_command(std::string_view command, std::string_view subcommand);

/// Whether a command of this name exists, with or without subcommands.
[[nodiscard]] bool is_command(std::string_view word);

int run_preview(Session& session);
int run_apply(Session& session);
int run_check(Session& session);

int run_begin(Session& session);
int run_stage(Session& session);
int run_edit(Session& session);
int run_status(Session& session);
int run_diff(Session& session);
int run_call(Session& session);
int run_replay(Session& session);
int run_review(Session& session);
int run_validate(Session& session);
int run_approve(Session& session);
int run_commit(Session& session);
int run_rollback(Session& session);
int run_savepoint(Session& session);
int run_fork(Session& session);
int run_pick(Session& session);
int run_exec(Session& session);
int run_run(Session& session);
int run_acp(Session& session);
int run_attach(Session& session);
int run_stop(Session& session);
int run_sync(Session& session);
int run_at(Session& session);

int run_log(Session& session);
int run_show(Session& session);
int run_turns(Session& session);
int run_undo(Session& session);
int run_redo(Session& session);
int run_push(Session& session);
int run_blame(Session& session);
int run_query(Session& session);

int run_grant(Session& session);
int run_revoke(Session& session);
int run_grants(Session& session);

int run_init(Session& session);
int run_trust(Session& session);
int run_recover(Session& session);
int run_gc(Session& session);
int run_doctor(Session& session);
int run_rescue(Session& session);

int run_mcp(Session& session);
int run_serve(Session& session);
int run_jobs(Session& session);
int run_agent_hook(Session& session);
int run_agents(Session& session);
int run_agents_status(Session& session);

int run_complete(Session& session);
int run_completions(Session& session);

int run_tools_list(Session& session);
int run_tools_show(Session& session);
int run_tools_check(Session& session);
int run_tools_validate(Session& session);
int run_tools_add(Session& session);
int run_tools_trust(Session& session);
int run_tools_remove(Session& session);
int run_audit_verify(Session& session);
int run_audit_export(Session& session);
int run_policy_explain(Session& session);
int run_edits_explain(Session& session);
int run_policy_test(Session& session);

/// Whether a command works with --repo.
[[nodiscard]] bool works_on_branches(std::string_view command);

/// Whether a command only shows or repairs, so that it runs even if galley.toml cannot be read.
[[nodiscard]] bool reads_or_repairs(std::string_view command);

/// Whether the program was called as `apply_patch`, through a link.
[[nodiscard]] bool is_apply_patch(std::string_view argv0);

/// Runs `apply_patch PATCH` and `apply_patch < PATCH`. The syntax is that of the program that
/// models know, but the patch is applied completely or not at all, and through the gate. Paths are
/// relative to the current directory. The words of the session are the program's arguments. Returns
/// the exit status: 0, or 1 with the reason on stderr, or 2 for wrong usage.
int run_apply_patch(Session& session);

}  // namespace galley
