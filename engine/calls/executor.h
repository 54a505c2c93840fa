#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <galley/tool.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/calls/call_scope.h"
#include "engine/calls/call_stack.h"
#include "engine/calls/call_supervisor.h"
#include "engine/calls/confirmation.h"
#include "engine/calls/early_policy.h"
#include "engine/calls/road.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/staged_step.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

class CallSecrets;
class KnownSecrets;
class SeenContents;

/// One call of a tool as it came in.
struct ToolCall {
  std::string tool;
  std::shared_ptr<const nlohmann::json> args;  ///< null counts as {}
  std::string call_id;                         ///< the caller's own id; may be empty
  std::string reason;                          ///< why; may be empty

  /// Parses `args_text` as untrusted JSON.
  static Result<ToolCall> parse(std::string tool, std::string_view args_text);
};

/// The calls of a `--format calls` document: `[{"tool": "...", "args": {...}}, …]`.
/// Errors: kInvalid, reason `calls.malformed`, with the JSON Pointer of what is wrong.
Result<std::vector<ToolCall>> parse_calls(std::string_view text);

/// Who acts, and what everything that one executor lets through may do.
struct ExecutorOptions : CallOptions {
  std::string root;                  ///< absolute path of the workspace; may be empty
  std::string agent;                 ///< who acts
  std::optional<std::string> owner;  ///< who began the transaction, when that is somebody else
  std::vector<std::string> capabilities = {"fs:read", "fs:write", "exec:*"};
  CommandRunner* commands = nullptr;
  MatchStep last_step = MatchStep::kMended;  ///< how far edits may be matched
  std::vector<std::string> strict;           ///< leniencies that no edit may need
  EarlierVersions earlier;                   ///< what edits that do not fit may have meant
  /// Says no before anything is done, and to what was staged before it counts. Nothing: everything
  /// passes to the gate, and the caller has every capability.
  std::optional<EarlyPolicy> policy;
  /// Where a call that needs somebody's yes gets it; nothing: every call may run.
  std::optional<ConfirmationDesk> desk;
  SeenContents* seen = nullptr;           ///< of the workspace; null: nothing is remembered
  KnownSecrets* known_secrets = nullptr;  ///< of the workspace; null: only the call's own
  bool secrets_in_files = false;          ///< secrets.in_files of galley.toml
  /// What is staged is never committed: no tool acts outside of the tree.
  bool is_preview = false;
  /// Which tools can be called.
  ToolRegistry::Mode tools = ToolRegistry::Mode::kAll;
  /// Queue, health, cache and retries of the workspace's tools; null: none of them.
  CallSupervisor* supervisor = nullptr;
};

/// The one road of every effect: capability → list of tools → early policy → somebody's yes →
/// record (of what runs a program) → effect → what was staged → record. A refusal is recorded, too,
/// and nothing is done then. Its stations are types (road.h).
///
/// Invariant: an action is all or nothing: when it fails, is a dry run, or its record cannot be
///            written, the overlay is what it was before. Its record is written before the caller
///            hears of it, or held with those of its transaction (Recorder).
/// Ownership: borrows registry, recorder and clock. Threads: confined to one thread.
/// Errors:    every failure of a tool call is a ToolResult.
class Executor {
 public:
  /// `registry` may be null where no tool is called.
  Executor(const ToolRegistry* registry, Recorder& recorder, const Clock& clock,
           ExecutorOptions options);

  /// What stage_calls did: the results in order; when one failed it is the last, and the overlay is
  /// what it was before the first.
  struct StagedCalls {
    std::vector<ToolResult> results;
    [[nodiscard]] bool ok() const { return results.empty() || results.back().ok; }
  };
  [[nodiscard]] StagedCalls stage_calls(Overlay& overlay, const std::vector<ToolCall>& calls);

  /// Anything that is no call of a tool. `overlay` is null where nothing is staged.
  Result<void> perform(Overlay* overlay, Action action, const Effect& effect);

  /// What each action changed since this was last asked, of those that are kept and on record.
  [[nodiscard]] std::vector<StagedStep> take_steps() { return std::exchange(steps_, {}); }

 private:
  /// Where an action takes effect.
  struct Place {
    Overlay* overlay = nullptr;                ///< null: nothing is staged
    const Overlay::Entries* before = nullptr;  ///< it becomes this again when nothing is kept
    CallSecrets* secrets = nullptr;            ///< of a call
    const Effect* effect = nullptr;            ///< of anything else
  };
  /// What one try of a tool has besides its call.
  struct Attempt {
    const ToolRegistry::Entry& entry;
    Overlay& overlay;
    CallSecrets& secrets;
    std::mutex* policy_mutex = nullptr;  ///< set on a thread that is not the executor's
  };
  struct SideCall;

  // The stations.
  Admitted admit(Overlay& overlay, const ToolCall& call);
  tl::expected<Allowed, Ran> allow(Admitted what);
  Ran run(Allowed what, const Place& place);
  Recorded put_on_record(Ran ran, const Place& place);
  /// All of them.
  Recorded travel(Admitted what, const Place& place);
  ToolResult call_once(Overlay& overlay, const Overlay::Entries& before, const ToolCall& call);

  // What they ask (executor.cc).
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Action& action,
                                                       const Place& place) const;
  [[nodiscard]] bool judges_effects() const;
  /// Why a call must not replace a file: it was saved since this session saw it.
  [[nodiscard]] std::optional<Error> refusal_of_unseen(const Intent& intent,
                                                       Overlay& overlay) const;
  [[nodiscard]] std::string session() const;
  void note_seen(const Action& action, const ChangeSet& changes, const Overlay& overlay) const;
  [[nodiscard]] Arrival now() const { return {clock_->wall_ns(), clock_->steady()}; }
  void measure(const Arrival& arrival, ToolMeta& meta) const;
  Result<void> record_begin(Action& action);
  Result<void> record(Action action, const ToolResult& result);
  void name_execution(AuditEvent& event) const;
  void sign(AuditEvent& event) const;

  // A call and its tools (executor_tools.cc).
  [[nodiscard]] Result<std::vector<ToolRegistry::EntryPointer>> find_tools(
      std::string_view name) const;
  [[nodiscard]] Admitted asked(const ToolCall& call) const;
  void name_call(const ToolCall& call, AuditEvent& record) const;
  void take_ids(const ToolInfo& info, Admitted& what) const;
  void prepare(const ToolRegistry::Entry& entry, Overlay& overlay, Admitted& what) const;
  [[nodiscard]] std::optional<Error> check_start(Overlay& overlay) const;
  ToolResult answer(Allowed& call, const Place& place);
  ToolResult run_supervised(const Allowed& call, const Attempt& attempt);
  ToolResult run_tool(const Allowed& call, const Attempt& attempt, ReadNotes* notes);
  [[nodiscard]] ToolContext context_for(const ToolInfo& info, const Attempt& attempt,
                                        ReadNotes* notes);
  static void judge_result(const ToolRegistry::Entry& entry, const ToolContext& context,
                           std::chrono::milliseconds time, ToolResult& result);
  static void add_warnings(const ToolRegistry::Entry& entry, ToolMeta& meta);
  [[nodiscard]] const ToolConfig& config_of(const ToolInfo& info) const;
  [[nodiscard]] std::chrono::milliseconds time_of(const ToolInfo& info, const Intent& intent) const;
  [[nodiscard]] uint64_t memory_of(const ToolInfo& info) const;

  // Reads side by side (executor_reads.cc).
  [[nodiscard]] std::vector<SideCall> side_calls(const std::vector<ToolCall>& calls,
                                                 size_t first) const;
  [[nodiscard]] bool asks_for_a_yes(const ToolInfo& info) const;
  size_t stage_reads(Overlay& overlay, const std::vector<ToolCall>& calls, size_t first,
                     std::vector<ToolResult>& results);
  void read_aside(SideCall& one, Overlay& view, std::mutex& policy_mutex);
  ToolResult finish_aside(SideCall& one, Overlay& overlay, bool is_consistent);

  const ToolRegistry* registry_;
  Recorder* recorder_;
  const Clock* clock_;
  ExecutorOptions options_;
  Result<CallScope> scope_;  ///< an Error lets nothing pass
  CallStack stack_;
  std::vector<StagedStep> steps_;
};

}  // namespace galley
