#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"
#include "tools/tool.h"

namespace galley {

/// The kind of a record; docs/operations.md describes each one.
enum class AuditKind : uint8_t {
  kCall,
  kCallDryRun,
  kCallsDropped,
  kBegun,
  kExec,
  kEdit,
  kEditsDropped,
  kFix,
  kIndex,
  kSavepoint,
  kRollback,
  kFork,
  kCommit,
  kUndo,
  kRedo,
  kRefusal,
  kConflict,
  kApproval,
  kConfirmation,
  kGrant,
  kRevocation,
  kToolsAdded,
  kToolsRemoved,
  kAdoption,
  kLink,
  kRun,
  kComment,
  kPush,
  kGap,
};
/// The names of the kinds in records, in the same order.
inline constexpr std::array<std::string_view, 29> kAuditKindNames = {
    "call",          "call.dry_run", "calls.dropped", "begun",       "exec",          "edit",
    "edits.dropped", "fix",          "index",         "savepoint",   "rollback",      "fork",
    "commit",        "undo",         "redo",          "refusal",     "conflict",      "approval",
    "confirmation",  "grant",        "revocation",    "tools.added", "tools.removed", "adoption",
    "link",          "run",          "comment",       "push",        "audit.gap"};

[[nodiscard]] constexpr std::string_view to_string(AuditKind kind) {
  return kAuditKindNames.at(static_cast<size_t>(kind));
}

/// One event to record. Empty strings and absent values are left out of the record.
struct AuditEvent {
  AuditKind kind = AuditKind::kCall;
  std::string execution_id;         ///< unique; makes appending after a crash idempotent
  std::string parent_execution_id;  ///< of the tool call that made this call
  std::string call_id;              ///< the caller's own id of the call (gen_ai.tool.call.id)
  std::string tool;
  std::string agent;                 ///< the agent that asked
  std::optional<std::string> owner;  ///< the agent that began the transaction, if it is not `agent`
  std::string task_id;
  std::string goal_id;
  std::string session_id;  ///< the conversation that the event belongs to
  std::string reason;      ///< the caller's reason
  std::string risk_level;  ///< `low`, `medium`, `high`, `critical`
  std::string tx;          ///< the transaction: its id while it is open, its number after the
                           ///< commit
  std::string open_tx;     ///< the id that a committed transaction had while it was open
  std::string rules;       ///< the file of rules, if it is another one than galley.toml
  std::string proposal;    ///< id of the judged or committed proposal, in hexadecimal
  JsonDocument input;      ///< redacted and shortened by the log before it is written
  JsonDocument output;
  std::optional<ToolError> error;
  int64_t duration_ms = 0;
  std::vector<std::string> capabilities_used;
  JsonDocument context;                   ///< other information from the caller about the call; may
                                          ///< be null
  std::vector<std::string> secrets_used;  ///< names of the secrets that the tool got
  /// Paths of the staged changes; a directory ends in `/`.
  std::vector<std::string> changed = {};
  /// Ids of the calls that this event reverted; recorded in `output`.
  std::vector<std::string> executions = {};
};

/// Builds the canonical record of an event without its place in the chain. CommitMeta::audit
/// carries such records, and AuditLog::append accepts them. Keys are sorted, without spaces, UTF-8,
/// one line, at most kMaxAuditRecordBytes. Larger texts are replaced by their size and SHA-256,
/// secrets by `[REDACTED:rule]`.
[[nodiscard]] std::string audit_record(const AuditEvent& event, int64_t wall_ns);

/// The text of a document as the `input` of a record.
[[nodiscard]] std::string recorded_input(const nlohmann::ordered_json& document);
/// Whether the `input` or `output` of a record is the whole document: nothing in it was replaced by
/// its SHA-256 or hidden.
[[nodiscard]] bool is_recorded_whole(const nlohmann::json& document);

inline constexpr size_t kMaxAuditRecordBytes = size_t{64} << 10U;  ///< one audit record

/// The place of a record in the chain.
struct AuditPosition {
  uint64_t seq = 0;  ///< 1-based; 0 before the first record
  ContentId hash;    ///< of the record; empty before the first one
  bool operator==(const AuditPosition&) const = default;
};

/// A record without its place in the chain, as canonical JSON.
class AuditMembers {
 public:
  /// The members of a record that was read. `object` must be an object.
  [[nodiscard]] static AuditMembers of(const nlohmann::json& object);
  /// Begins a member, and returns the text to which the caller appends its value. Members are added
  /// in the order of their keys.
  std::string& add(std::string_view key);
  [[nodiscard]] size_t bytes() const { return text_.size(); }
  [[nodiscard]] std::string object() const;
  /// The line of the record after the one at `position`, which becomes its own.
  [[nodiscard]] std::string linked(AuditPosition& position) const;

 private:
  /// The members of the chain. They are written last.
  static constexpr std::array<std::string_view, 3> kChainKeys = {"hash", "prev", "seq"};

  std::string text_;                                   ///< the members, each after a comma
  std::array<size_t, kChainKeys.size()> places_ = {};  ///< of the members of the chain
  size_t placed_ = 0;
};

/// Builds the same record as audit_record(), as members.
[[nodiscard]] AuditMembers audit_members(const AuditEvent& event, int64_t wall_ns);

/// One defect that verify found.
struct AuditDefect {
  uint64_t line = 0;   ///< 1-based line of audit.jsonl
  uint64_t seq = 0;    ///< the seq expected there
  std::string reason;  ///< `audit.changed`, `audit.missing`, `audit.reordered`, `audit.truncated`,
                       ///< `audit.malformed`, `audit.lost`, `audit.unrecorded`
  std::string message;
};

struct AuditVerification {
  uint64_t records = 0;
  AuditPosition last;
  AuditPosition sound;               ///< the last record before the first defect other than
                                     ///< `audit.lost`
  std::vector<AuditDefect> defects;  ///< in file order, at most kMaxAuditDefects
  /// Whether the chain is whole. A loss that a record of a repair reports does not break it.
  [[nodiscard]] bool is_intact() const;
};

inline constexpr size_t kMaxAuditDefects = 100;  ///< defects that a verification reports

/// The hash-chained record of every call and outcome: `audit.jsonl`, one JSON object per line
/// (docs/operations.md). The file `audit/<workspace id>/head` is its lock and its anchor. A git
/// pull cannot replace that file.
///
/// Invariant: records are only added, and each one contains the hash of the one before. A record is
///            written before append() returns, but not flushed to the disk. A record that must be
///            durable is also in the journal of a commit. If the log lost it, recovery adds it
///            again.
/// Threads:   safe to share; any number of threads and processes may append side by side.
/// Errors:    kIo; kTimeout, reason `audit.locked`, when another process holds the log.
class AuditLog final : public AuditSink {
 public:
  AuditLog(const StateDirectory& state, const Clock& clock)
      : AuditLog(state.root(), clock, state.own("audit/head")) {}
  /// Opens the log with `head`, a path in the directory, as its anchor.
  AuditLog(const WritableDirectory& directory, const Clock& clock, RelPath head);

  /// Adds a record made by audit_record(); the cost does not depend on the length of the log.
  Result<AuditPosition> append(std::string_view record);
  Result<AuditPosition> append(const AuditEvent& event);
  Result<AuditPosition> append(const std::vector<AuditMembers>& records);
  /// Adds the records whose execution_id is not in the log yet; recovery uses it. It searches the
  /// log from its end backwards until it has found all of them.
  Result<size_t> append_missing(const std::vector<std::string>& records);
  /// The indexes of `records` that are missing from the log.
  Result<std::vector<size_t>> missing(const std::vector<std::string>& records) const;
  /// Repairs a log that was cut short: an `audit.gap` record says what was lost, so that the log
  /// can be continued. Does nothing to a complete log.
  Result<void> close_gap();
  /// Renames a damaged log to `audit.<n>.jsonl` and begins a new one. The first record of the new
  /// log has the name and the hash of the damaged one, and the position of its last valid record.
  /// Returns the name; empty when the log was not damaged. If only its anchor was replaced, a
  /// record says that records may have been lost.
  Result<std::string> begin_new_log();
  /// Flushes the log to the disk.
  Result<void> sync();
  /// See AuditSink.
  Result<void> add(const std::vector<std::string>& records) override;
  Result<void> settle(const std::vector<std::string>& records) override;
  /// The timestamp of the first record; empty for an empty log.
  Result<std::string> first_timestamp() const;

  /// Reads the whole log and checks every record, the chain and the anchor.
  Result<AuditVerification> verify() const;

 private:
  Result<std::unique_ptr<WritableFile>> lock(OpenMode mode) const;
  /// Opens the anchor, also one of an earlier Galley. With kOpenOrCreate a missing anchor is
  /// created.
  Result<std::unique_ptr<WritableFile>> open_head(OpenMode mode) const;
  Result<AuditVerification> verify_locked(File* head_file) const;
  [[nodiscard]] Result<bool> is_there() const;
  /// If `is_new`, the anchor is of an earlier log and is replaced without being compared.
  Result<AuditPosition> append_locked(WritableFile& head_file,
                                      const std::vector<AuditMembers>& records, bool is_new = false,
                                      const std::string& anchor = "");

  const WritableDirectory* directory_;
  const Clock* clock_;
  RelPath head_;
};

}  // namespace galley
