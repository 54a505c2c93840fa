#pragma once

#include <functional>
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
#include "staging/overlay/overlay.h"
#include "staging/overlay/staged_step.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

class CallSecrets;
class KnownSecrets;

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
  /// Says no before anything is done: by the agent's list of tools and what is known of the effect.
  /// Null lets everything pass to the gate.
  std::function<std::optional<Error>(const Action&)> early_policy;
  /// Says no to what was staged, before it counts; null: the gate alone does.
  std::function<std::optional<Error>(const Action&, const Overlay::Entries& before,
                                     const Overlay::Entries& now)>
      late_policy;
  /// Says no to a call that needs somebody's yes and has none; null: every call may run.
  std::function<std::optional<Error>(const Action&)> confirmation;
  /// Whether who acts has a capability, for tools that are there for those only who have it; null:
  /// all of them.
  std::function<bool(std::string_view needed)> has_capability;
  KnownSecrets* known_secrets = nullptr;  ///< of the workspace; null: only the call's own
  bool secrets_in_files = false;          ///< secrets.in_files of galley.toml
  /// which files searches may show; empty: all.
  std::function<bool(const RelPath&)> may_read;
  /// Where ids of executions come from; random unless given.
  std::function<std::string()> make_execution_id;
  /// Told what each action changed that is kept and on record; may be empty.
  std::function<void(StagedStep)> on_step;
  /// What is staged is never committed: no tool acts outside of the tree.
  bool is_preview = false;
  /// Which tools can be called.
  ToolRegistry::Mode tools = ToolRegistry::Mode::kAll;
  /// Queue, health, cache and retries of the workspace's tools; null: none of them.
  CallSupervisor* supervisor = nullptr;
};

/// The one road of every effect: capability → list of tools → early policy → somebody's yes →
/// record (of what runs a program) → effect → what was staged → record. A refusal is recorded, too,
/// and nothing is done then.
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

  [[nodiscard]] ToolResult call(Overlay& overlay, const ToolCall& call);

  /// What stage_calls did: the results in order; when one failed it is the last, and the overlay is
  /// what it was before the first.
  struct StagedCalls {
    std::vector<ToolResult> results;
    [[nodiscard]] bool ok() const { return results.empty() || results.back().ok; }
  };
  [[nodiscard]] StagedCalls stage_calls(Overlay& overlay, const std::vector<ToolCall>& calls);

  /// Anything that is no call of a tool. `overlay` is null where nothing is staged.
  Result<void> perform(Overlay* overlay, Action action, const Effect& effect);

 private:
  /// What came of an action; `error` is set when it was refused or could not be recorded.
  struct Passed {
    ToolResult result;
    std::optional<Error> error;
  };
  Passed pass(Overlay* overlay, const Overlay::Entries* before, Action action,
              const std::function<ToolResult(AuditEvent&)>& effect);
  static Passed unrecorded(const Error& why);
  /// A call of a tool that may be run: what it gets.
  struct Prepared {
    std::shared_ptr<const nlohmann::json> args;     ///< with the defaults of the schema
    std::shared_ptr<const ParsedArguments> parsed;  ///< of its intent; may be null
    std::optional<std::chrono::milliseconds> time;  ///< that the arguments ask for
    std::vector<RelPath> writes;                    ///< as its intent has them
    bool is_open_ended = false;
    bool runs_programs = false;
    bool takes_secrets = false;       ///< `$ENV.NAME` in its arguments is replaced
    std::vector<RelPath> reads = {};  ///< as its intent has them
    std::shared_ptr<const nlohmann::json> given =
        nullptr;  ///< the arguments as the caller sent them
    std::string execution_id = {};
    ReadNotes* notes = nullptr;          ///< filled with what it reads; may be null
    std::mutex* policy_mutex = nullptr;  ///< set on a thread that is not the executor's
  };
  /// Where a call runs.
  struct CallPlace {
    Overlay& overlay;
    CallSecrets& secrets;
  };
  struct SideCall;
  [[nodiscard]] std::optional<Error> refusal(const Action& action) const;
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Action& action,
                                                       const Overlay::Entries& before,
                                                       const Overlay::Entries& now) const;
  ToolResult call_once(Overlay& overlay, const Overlay::Entries& before, const ToolCall& call);
  void prepare(const ToolRegistry::Entry& entry, Overlay& overlay, Prepared& prepared,
               Action& action) const;
  [[nodiscard]] std::optional<Error> check_start(Overlay& overlay) const;
  [[nodiscard]] ToolContext context_for(const ToolInfo& info, Overlay& overlay) const;
  ToolResult run_with_secrets(const ToolRegistry::Entry& entry, const Prepared& prepared,
                              Overlay& overlay, CallSecrets& secrets);
  ToolResult run_tool(const ToolRegistry::Entry& entry, const Prepared& prepared, Overlay& overlay,
                      CallSecrets& secrets);
  // Which tool, and what it may take (executor_runs.cc).
  Result<std::vector<ToolRegistry::EntryPointer>> find_tools(std::string_view name) const;
  ToolResult run_first_that_works(const std::vector<ToolRegistry::EntryPointer>& tools,
                                  const Prepared& prepared, CallPlace place, AuditEvent& record);
  ToolResult run_supervised(const ToolRegistry::Entry& entry, const Prepared& prepared,
                            Overlay& overlay, CallSecrets& secrets);
  void watch_context(const Prepared& prepared, ToolContext& context);
  ToolResult call_from_tool(Overlay& overlay, const std::string& tool, const nlohmann::json& args);
  [[nodiscard]] const ToolConfig& config_of(const ToolInfo& info) const;
  [[nodiscard]] std::chrono::milliseconds time_of(const ToolInfo& info,
                                                  const Prepared& prepared) const;
  [[nodiscard]] uint64_t memory_of(const ToolInfo& info) const;
  [[nodiscard]] Action action_of(const ToolCall& call) const;
  std::string sign_call(const ToolCall& call, Action& action) const;
  static void add_warnings(const ToolRegistry::Entry& entry, ToolMeta& meta);
  // Reads side by side (executor_reads.cc).
  [[nodiscard]] std::vector<SideCall> side_calls(const std::vector<ToolCall>& calls,
                                                 size_t first) const;
  size_t stage_reads(Overlay& overlay, const std::vector<ToolCall>& calls, size_t first,
                     std::vector<ToolResult>& results);
  void read_aside(SideCall& one, Overlay& view, std::mutex& policy_mutex);
  ToolResult finish_aside(SideCall& one, Overlay& overlay, bool is_consistent);
  static void judge_result(const ToolRegistry::Entry& entry, const ToolContext& context,
                           std::chrono::milliseconds time, ToolResult& result);
  static void measure(const Clock& clock, int64_t started_ns,
                      std::chrono::steady_clock::time_point started, ToolMeta& meta);
  Result<void> record_begin(Action& action);
  Result<void> record(Action action, const ToolResult& result);
  void name_execution(AuditEvent& event) const;
  void sign(AuditEvent& event) const;

  const ToolRegistry* registry_;
  Recorder* recorder_;
  const Clock* clock_;
  ExecutorOptions options_;
  Result<CallScope> scope_;  ///< an Error lets nothing pass
  CallStack stack_;
};

}  // namespace galley
