#pragma once

#include <galley/transaction.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/audit/audit.h"
#include "engine/calls/guarded_runner.h"
#include "engine/history/rebase.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/policy.h"
#include "engine/policy/principals.h"
#include "engine/stages/scratch_home.h"
#include "engine/stages/stored_stage.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_edits.h"
#include "staging/sandbox/command_runner.h"
#include "tools/tool.h"

namespace galley {

/// The inside of a transaction, for the sources that are named after it.
struct Transaction::State {
  State(WorkspaceState& opened, std::shared_ptr<ContentStore> store,
        TransactionOptions transaction_options)
      : workspace(&opened),
        options(std::move(transaction_options)),
        overlay(*opened.root, std::move(store), opened.clock()) {
    if (opened.config.commit.isolation == Isolation::kSerializable) overlay.track_reads();
  }

  /// What commands of this transaction run in; its layers live as long as the transaction is open.
  CommandRunner* runner() {
    if (workspace->options.runner != nullptr) return workspace->options.runner;
    if (own_runner == nullptr) {
      GuardedRunnerOptions runner_options;
      runner_options.workspace = workspace->root_path;
      runner_options.who = options.principals();
      if (stage) {
        runner_options.layer_home = workspace->stage_path(stage->id());
        runner_options.scratch_home = [this] { return need_scratch_home(stage->directory()); };
      }
      own_runner =
          make_guarded_runner(workspace->config, std::move(runner_options), workspace->clock());
    }
    return own_runner.get();
  }

  /// Ends a staging that no tool call did: what the caller may not change in somebody else's
  /// transaction is not staged, and what is staged is on record.
  static Result<void> settle(Transaction& transaction, const Overlay::Entries& before,
                             AuditEvent event);

  WorkspaceState* workspace;
  TransactionOptions options;
  std::optional<StoredStage> stage;  ///< of a stored transaction
  Overlay overlay;
  std::unique_ptr<CommandRunner> own_runner;
  std::string id;
  std::string reason;                     ///< given for what is done now; may be empty
  std::optional<uint64_t> saved_version;  ///< of the overlay, when the stage has just this
  Overlay::Entries owners;                ///< what was staged when somebody else took it up
  bool is_over = false;
};

/// A refusal that names the rule and the way out.
[[nodiscard]] tl::unexpected<Error> refused_by(const Judgement& judgement);

/// The beginning of a record about what is done in the names of `who`.
[[nodiscard]] AuditEvent own_event(std::string kind, const TransactionOptions& who);

/// A text on record: its size and hash, and the path it was made of when that is one.
[[nodiscard]] JsonDocument text_on_record(std::string_view text, const std::string& path = {});

}  // namespace galley
