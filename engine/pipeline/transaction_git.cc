// The commit of git that follows a transaction's own, where a tool asked for one.
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/agent_tools/git_commit.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/stages/git_message.h"

namespace galley {

void Transaction::State::ask_for_git_commits(const std::vector<ToolCall>& calls,
                                             std::vector<ToolResult>& results) {
  for (size_t i = 0; i < calls.size() && i < results.size(); ++i) {
    if (calls[i].tool != kGitCommitTool || results[i].meta.dry_run) continue;
    git_message = results[i].data->at("message").get<std::string>();
    if (!stage) continue;
    const auto kept = keep_git_message(stage->directory(), git_message);
    if (!kept) results[i] = ToolResult::failure(tool_error_from(kept.error()));
  }
}

/// The transaction is committed by now: what goes wrong here is told, and changes nothing of that.
void Transaction::State::end_with(Receipt& receipt) {
  is_over = true;
  if (stage && git_message.empty()) {
    git_message = kept_git_message(stage->directory()).value_or("");
  }
  if (git_message.empty()) return;
  Recorder own_record(workspace->audit, workspace->clock(), RecordTime::kAtOnce);
  Action action;
  action.record.kind = AuditKind::kLink;
  action.record.tool = kGitCommitTool;
  action.record.tx = receipt.id.str();
  action.record.input = json_document({{"message", git_message}});
  action.record.capabilities_used = {"git:commit"};
  action.runs_program = true;
  const auto made =
      pass_alone(*workspace, options, own_record, std::move(action), [&](AuditEvent& event) {
        return commit_to_git(workspace->root_path, git_message, receipt.changes)
            .map([&](std::string hash) {
              event.output = json_document({{"commit", hash}});
              receipt.git_commit = std::move(hash);
            });
      });
  if (made) return;
  receipt.warnings.push_back("the commit of git that was asked for was not made: " +
                             made.error().message);
}

}  // namespace galley
