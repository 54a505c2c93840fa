#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/audit/audit.h"
#include "staging/overlay/overlay.h"
#include "tools/registry.h"
#include "tools/tool.h"

namespace galley {

/// One call of a tool as it came in.
struct ToolCall {
  std::string tool;
  std::shared_ptr<const nlohmann::json> args;  ///< null counts as {}
  std::string call_id;                         ///< the caller's own id; may be empty
  std::string task_id;
  std::string goal_id;
  std::string reason;  ///< why; may be empty
  std::string tx;      ///< the transaction it is staged in, for the record

  /// Parses `args_text` as untrusted JSON.
  static Result<ToolCall> parse(std::string tool, std::string_view args_text);
};

/// The calls of a `--format calls` document: `[{"tool": "...", "args": {...}}, …]`.
/// Errors: kInvalid, reason `calls.malformed`, with the JSON Pointer of what is wrong.
Result<std::vector<ToolCall>> parse_calls(std::string_view text);

/// What every call of one executor may do.
struct ExecutorOptions {
  std::string root;                  ///< absolute path of the workspace; may be empty
  std::string agent;                 ///< who calls
  std::optional<std::string> owner;  ///< who began the transaction, when that is somebody else
  std::vector<std::string> capabilities = {"fs:read", "fs:write", "exec:*"};
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
  bool dry_run = false;
  bool deterministic = false;
  CommandRunner* commands = nullptr;
  SecretProvider secrets;
  std::function<void(const ToolLog&)> logger;
  MatchStep last_step = MatchStep::kUnicode;  ///< how far edits may be matched
  EarlierVersions earlier;                    ///< what edits that do not fit may have meant
  /// Says no before anything is done, from what the arguments tell; null lets everything pass to
  /// the gate. Called with the tool, its intent and the agent.
  std::function<std::optional<ToolError>(const ToolInfo&, const Intent&)> early_policy;
  /// which files searches may show; empty: all.
  std::function<bool(const RelPath&)> may_read;
  /// Where ids of executions come from; random unless given.
  std::function<std::string()> make_execution_id;
};

class Grants;
class SecretWatch;

/// Runs one call from end to end: schema → capabilities and early policy → pre-state → run with a
/// deadline on the overlay → output schema → audit.
///
/// Invariant: a call is all or nothing: when it fails, is a dry run, or its record cannot be
/// written,
///            the overlay is what it was before. Its record is written before the caller hears of
///            it.
/// Ownership: borrows registry, log and clock. Threads: confined to one thread.
/// Errors:    every failure is a ToolResult.
class Executor {
 public:
  /// `audit` may be null: nothing goes on record (a preview without a `.galley` directory).
  Executor(const ToolRegistry& registry, AuditLog* audit, const Clock& clock,
           ExecutorOptions options);

  [[nodiscard]] ToolResult call(Overlay& overlay, const ToolCall& call);

  /// What stage_calls did: the results in order; when one failed it is the last, and the overlay is
  /// what it was before the first.
  struct StagedCalls {
    std::vector<ToolResult> results;
    [[nodiscard]] bool ok() const { return results.empty() || results.back().ok; }
  };
  [[nodiscard]] StagedCalls stage_calls(Overlay& overlay, const std::vector<ToolCall>& calls);

 private:
  ToolResult call_once(Overlay& overlay, const ToolCall& call);
  ToolResult perform(const ToolRegistry::Entry& entry, const nlohmann::json& args, Overlay& overlay,
                     SecretWatch& secrets);
  ToolResult recorded(ToolResult result, const ToolCall& call, const ToolInfo* info);
  [[nodiscard]] std::optional<ToolError> refusal_of(const Grants& grants, const ToolInfo& info,
                                                    const Intent& intent) const;
  [[nodiscard]] std::string new_execution_id() const;

  const ToolRegistry* registry_;
  AuditLog* audit_;
  const Clock* clock_;
  ExecutorOptions options_;
};

}  // namespace galley
