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
#include "engine/calls/action_states.h"
#include "engine/calls/call_scope.h"
#include "engine/calls/call_stack.h"
#include "engine/calls/call_supervisor.h"
#include "engine/calls/confirmation.h"
#include "engine/calls/early_policy.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/staged_step.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

class CallSecrets;
class KnownSecrets;
class SeenContents;
class ToolView;

/// One call of a tool, as received.
struct ToolCall {
  std::string tool;
  std::shared_ptr<const nlohmann::json> args;  ///< null is treated as {}
  std::string call_id;                         ///< the caller's own id; may be empty
  std::string reason;                          ///< of the call; may be empty
  /// Why it fails before its tool is looked up. It is recorded as every call.
  std::optional<Error> flaw = {};

  /// Parses `args_text` as untrusted JSON. An error becomes the flaw of the call.
  static ToolCall parse(std::string tool, std::string_view args_text);
  /// An error becomes the flaw of the call.
  void refuse_unless(const Result<void>& allowed) {
    if (!allowed) flaw = allowed.error();
  }
};

/// Adds the warning ToolMeta::unrecorded and returns it.
std::string warn_unrecorded(ToolMeta& meta, const Error& why);
/// Returns the warning ToolMeta::unrecorded, or null.
[[nodiscard]] const std::string* unrecorded_warning(const ToolMeta& meta);
/// Returns the warning ToolMeta::unreadable, or null.
[[nodiscard]] const std::string* unreadable_warning(const ToolMeta& meta);

/// Parses a `--format calls` document: `[{"tool": "...", "args": {...}}, …]`.
/// Errors: kInvalid, reason `calls.malformed`, with the JSON Pointer of the invalid value.
Result<std::vector<ToolCall>> parse_calls(std::string_view text);

/// The principals of an executor, and the options and limits of all its actions.
struct ExecutorOptions : CallOptions {
  std::string root;                  ///< absolute path of the workspace; may be empty
  std::string agent;                 ///< the acting agent
  std::optional<std::string> owner;  ///< the agent that began the transaction, if it is not `agent`
  std::vector<std::string> capabilities = {"fs:read", "fs:write", "exec:*"};
  CommandRunner* commands = nullptr;
  MatchStep last_step = MatchStep::kMended;  ///< the most lenient one that edits may use
  std::vector<std::string> strict;           ///< leniencies that make an edit fail
  EarlierVersions earlier;                   ///< for edits that do not fit
  /// It can refuse an action before it is performed, and its staged changes afterwards. Without it
  /// only the gate decides, and the caller has every capability.
  std::optional<EarlyPolicy> policy;
  /// Gets approvals for calls that need one. Without it every call may run.
  std::optional<ConfirmationContext> desk;
  SeenContents* seen = nullptr;           ///< of the workspace; null: nothing is remembered
  std::string seen_by;                    ///< who has seen it; empty: the agent's session
  KnownSecrets* known_secrets = nullptr;  ///< of the workspace; null: only the call's own
  bool secrets_in_files = false;          ///< secrets.in_files of galley.toml
  /// Staged changes are never committed, and no tool has effects outside of the tree.
  bool is_preview = false;
  /// The tools that can be called.
  ToolRegistry::Mode tools = ToolRegistry::Mode::kAll;
  /// Queue, health, cache and retries of the workspace's tools; null: not used.
  CallSupervisor* supervisor = nullptr;
};

/// Performs every effect, in this order: capability → list of tools → early policy → approval →
/// record (if a program runs) → effect → check of the staged changes → record. A refused action is
/// recorded and has no effect. The stations of an action are types (action_states.h).
///
/// Invariant: an action is all or nothing. The overlay is unchanged if the action fails, is a dry
///            run, or cannot be recorded. The record is written before the caller gets the result,
///            or held with the other records of its transaction (Recorder). If a call that had no
///            effect cannot be recorded, it is answered with a warning.
/// Ownership: borrows registry, recorder and clock. Threads: confined to one thread.
/// Errors:    every failure of a tool call is a ToolResult.
class Executor {
 public:
  /// `registry` may be null if no tool is called.
  Executor(const ToolRegistry* registry, Recorder& recorder, const Clock& clock,
           ExecutorOptions options);

  /// The results of stage_calls, in order. If a call failed, it is the last one, and the overlay is
  /// unchanged.
  struct StagedCalls {
    std::vector<ToolResult> results;
    [[nodiscard]] bool ok() const { return results.empty() || results.back().ok; }
  };
  [[nodiscard]] StagedCalls stage_calls(Overlay& overlay, const std::vector<ToolCall>& calls);

  /// Performs any action except a tool call. `overlay` is null if it stages nothing.
  Result<void> perform(Overlay* overlay, Action action, const Effect& effect);

  /// Returns the kept and recorded changes of each action since the last call of take_steps().
  [[nodiscard]] std::vector<StagedStep> take_steps() { return std::exchange(steps_, {}); }
  /// Returns the warning about actions without an effect that could not be recorded, or "".
  [[nodiscard]] const std::string& warning() const { return unrecorded_; }

 private:
  /// The target of an action.
  struct Place {
    Overlay* overlay = nullptr;                ///< null: it stages nothing
    const Overlay::Entries* before = nullptr;  ///< restored if the action is not kept
    CallSecrets* secrets = nullptr;            ///< of a tool call
    const Effect* effect = nullptr;            ///< of any other action
  };
  /// The inputs of one attempt, besides the call.
  struct Attempt {
    const ToolRegistry::Entry& entry;
    Overlay& overlay;
    CallSecrets& secrets;
    std::mutex* policy_mutex = nullptr;  ///< set on threads other than the executor's
  };
  struct ParallelRead;

  // The stations. An action is large, so it is moved only from one station to the next.
  Admitted admit(Overlay& overlay, const ToolCall& call);
  tl::expected<Allowed, Ran> allow(Admitted&& what);
  Ran run(Allowed&& what, const Place& place);
  Recorded record_result(Ran&& ran, const Place& place);
  /// Passes all stations.
  Recorded process(Admitted&& what, const Place& place);
  ToolResult call_once(Overlay& overlay, const Overlay::Entries& before, const ToolCall& call);

  // The checks (executor.cc).
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Action& action,
                                                       const Place& place) const;
  [[nodiscard]] bool judges_effects() const;
  /// Returns an error with a diff if the call would replace a file that another program saved after
  /// this session last saw it.
  [[nodiscard]] std::optional<ToolError> refusal_of_unseen(const Intent& intent,
                                                           Overlay& overlay) const;
  /// Returns an error with a diff if the call names lines by their numbers, and another program
  /// changed the file up to there after this session last saw it.
  [[nodiscard]] std::optional<ToolError> refusal_of_stale_numbers(const Intent& intent,
                                                                  Overlay& overlay) const;
  /// The text of the file that the session saw last and the present one, if both may be shown.
  [[nodiscard]] std::optional<std::pair<Content, Content>> seen_and_now(const RelPath& path,
                                                                        Overlay& overlay) const;
  [[nodiscard]] bool is_unseen(const RelPath& path, Overlay& overlay) const;
  [[nodiscard]] std::string session() const;
  void note_absent(const Intent& intent, const Overlay& overlay) const;
  void note_seen(const Action& action, const ChangeSet& changes, Overlay& overlay) const;
  [[nodiscard]] Arrival now() const { return {clock_->wall_ns(), clock_->steady()}; }
  void measure(const Arrival& arrival, ToolMeta& meta) const;
  Result<void> record_begin(Action& action);
  Result<void> record(Action&& action, const ToolResult& result);
  void name_execution(AuditEvent& event) const;
  void sign(AuditEvent& event) const;

  // A call and its tools (executor_tools.cc).
  [[nodiscard]] Result<std::vector<ToolRegistry::EntryPointer>> find_tools(
      std::string_view name) const;
  [[nodiscard]] ToolView view() const;
  [[nodiscard]] Admitted asked(const ToolCall& call) const;
  void name_call(const ToolCall& call, AuditEvent& record) const;
  void take_ids(const ToolInfo& info, Admitted& what) const;
  void prepare(const ToolRegistry::Entry& entry, Overlay& overlay, Admitted& what) const;
  [[nodiscard]] std::optional<Error> check_start(Overlay& overlay) const;
  void offer(const ToolCall& meant, const std::string& called, ToolError& error) const;
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

  // Parallel reads (executor_reads.cc).
  [[nodiscard]] std::vector<ParallelRead> parallel_reads(const std::vector<ToolCall>& calls,
                                                         size_t first) const;
  [[nodiscard]] bool asks_for_confirmation(const ToolInfo& info) const;
  size_t stage_reads(Overlay& overlay, const std::vector<ToolCall>& calls, size_t first,
                     std::vector<ToolResult>& results);
  void read_in_parallel(ParallelRead& one, Overlay& view, std::mutex& policy_mutex);
  ToolResult finish_parallel_read(ParallelRead& one, Overlay& overlay, bool is_consistent);

  const ToolRegistry* registry_;
  Recorder* recorder_;
  const Clock* clock_;
  ExecutorOptions options_;
  Result<CallScope> scope_;  ///< an Error refuses every action
  CallStack stack_;
  std::vector<StagedStep> steps_;
  std::string unrecorded_;
};

}  // namespace galley
