#pragma once

#include <string_view>

#include "cli/session.h"

namespace galley {

/// Returns the function of a command (`apply`, `tools list`), or null.
[[nodiscard]] CommandFunction find_command(std::string_view command, std::string_view subcommand);

/// Whether a command of this name exists, with or without subcommands.
[[nodiscard]] bool is_command(std::string_view word);

Result<int> run_preview(Session& session);
Result<int> run_apply(Session& session);
Result<int> run_check(Session& session);

Result<int> run_begin(Session& session);
Result<int> run_stage(Session& session);
Result<int> run_edit(Session& session);
Result<int> run_status(Session& session);
Result<int> run_diff(Session& session);
Result<int> run_call(Session& session);
Result<int> run_replay(Session& session);
Result<int> run_review(Session& session);
Result<int> run_validate(Session& session);
Result<int> run_approve(Session& session);
Result<int> run_commit(Session& session);
Result<int> run_rollback(Session& session);
Result<int> run_savepoint(Session& session);
Result<int> run_fork(Session& session);
Result<int> run_pick(Session& session);
Result<int> run_exec(Session& session);
Result<int> run_run(Session& session);
Result<int> run_acp(Session& session);
Result<int> run_attach(Session& session);
Result<int> run_stop(Session& session);
Result<int> run_sync(Session& session);
Result<int> run_at(Session& session);

Result<int> run_log(Session& session);
Result<int> run_show(Session& session);
Result<int> run_turns(Session& session);
Result<int> run_undo(Session& session);
Result<int> run_redo(Session& session);
Result<int> run_push(Session& session);
Result<int> run_blame(Session& session);
Result<int> run_query(Session& session);

Result<int> run_grant(Session& session);
Result<int> run_revoke(Session& session);
Result<int> run_grants(Session& session);

Result<int> run_init(Session& session);
Result<int> run_trust(Session& session);
Result<int> run_recover(Session& session);
Result<int> run_gc(Session& session);
Result<int> run_doctor(Session& session);
Result<int> run_rescue(Session& session);

Result<int> run_mcp(Session& session);
Result<int> run_serve(Session& session);
Result<int> run_jobs(Session& session);
Result<int> run_agent_hook(Session& session);
Result<int> run_agents(Session& session);
Result<int> run_agents_status(Session& session);

Result<int> run_complete(Session& session);
Result<int> run_completions(Session& session);

Result<int> run_tools_list(Session& session);
Result<int> run_tools_show(Session& session);
Result<int> run_tools_check(Session& session);
Result<int> run_tools_validate(Session& session);
Result<int> run_tools_add(Session& session);
Result<int> run_tools_trust(Session& session);
Result<int> run_tools_remove(Session& session);
Result<int> run_audit_verify(Session& session);
Result<int> run_audit_export(Session& session);
Result<int> run_policy_explain(Session& session);
Result<int> run_edits_explain(Session& session);
Result<int> run_policy_test(Session& session);

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
Result<int> run_apply_patch(Session& session);

}  // namespace galley
