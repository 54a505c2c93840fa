#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/content_id.h"
#include "base/result.h"
#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"
#include "tools/tool.h"

namespace galley {

/// What kind of thing is on record; docs/audit.md says what each means.
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
  kGap,
};
/// The names that records have for them, in this order.
inline constexpr std::array<std::string_view, 27> kAuditKindNames = {
    "call",          "call.dry_run", "calls.dropped", "begun",       "exec",          "edit",
    "edits.dropped", "fix",          "index",         "savepoint",   "rollback",      "fork",
    "commit",        "undo",         "redo",          "refusal",     "conflict",      "approval",
    "confirmation",  "grant",        "revocation",    "tools.added", "tools.removed", "adoption",
    "link",          "run",          "audit.gap"};

[[nodiscard]] constexpr std::string_view to_string(AuditKind kind) {
  return kAuditKindNames.at(static_cast<size_t>(kind));
}

/// One thing that goes on record. Empty strings and absent values are left out of the record.
struct AuditEvent {
  AuditKind kind = AuditKind::kCall;
  std::string execution_id;         ///< unique; makes appending after a crash idempotent
  std::string parent_execution_id;  ///< of the tool's call that this one was made by
  std::string call_id;              ///< the caller's own id of the call (gen_ai.tool.call.id)
  std::string tool;
  std::string agent;                 ///< who asked
  std::optional<std::string> owner;  ///< who began the transaction, when that is somebody else
  std::string task_id;
  std::string goal_id;
  std::string session_id;  ///< the conversation that it belongs to
  std::string reason;      ///< why the caller asked
  std::string risk_level;  ///< `low`, `medium`, `high`, `critical`
  std::string tx;          ///< the transaction, as messages name it: while it is open by its id,
                           ///< committed by its number
  std::string open_tx;     ///< of one that was committed: the id it had while it was open
  std::string proposal;    ///< hex id of the proposal judged or committed
  JsonDocument input;      ///< redacted and shortened by the log before it is written
  JsonDocument output;
  std::optional<ToolError> error;
  int64_t duration_ms = 0;
  std::vector<std::string> capabilities_used;
  JsonDocument context;                   ///< what else the caller said of the call; may be null
  std::vector<std::string> secrets_used;  ///< names of those that a tool was given
  /// Paths that it changed of what is staged; a directory's ends in `/`.
  std::vector<std::string> changed = {};
};

/// Builds the canonical record of an event without its place in the chain: what CommitMeta::audit
/// carries, and what AuditLog::append takes. Keys sorted, no spaces, UTF-8, one line, at most
/// kMaxAuditRecordBytes; larger texts are replaced by their size and SHA-256, secrets by
/// `[REDACTED:rule]`.
[[nodiscard]] std::string audit_record(const AuditEvent& event, int64_t wall_ns);

inline constexpr size_t kMaxAuditRecordBytes = size_t{64} << 10U;

/// Where a record stands in the chain.
struct AuditPosition {
  uint64_t seq = 0;  ///< 1-based; 0 before the first record
  ContentId hash;    ///< of the record; none before the first
  bool operator==(const AuditPosition&) const = default;
};

/// One thing that verify found.
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
  AuditPosition sound;               ///< the last before the first defect that is no loss
  std::vector<AuditDefect> defects;  ///< in file order, at most kMaxAuditDefects
  [[nodiscard]] bool is_intact() const { return defects.empty(); }
};

inline constexpr size_t kMaxAuditDefects = 100;

/// The hash-chained record of every call and outcome: `audit.jsonl`, one JSON object a line
/// (docs/audit.md), with `audit/<workspace id>/head` as its lock and anchor, which no pull can
/// replace.
///
/// Invariant: records are only ever added; each names the hash of the one before. A record is
///            written before append() returns, but not flushed to the platter: what must be durable
///            travels in a commit's journal and is appended again from there after a crash.
/// Ownership: borrows the `.galley` directory and the clock.
/// Threads:   safe to share; any number of threads and processes may append side by side.
/// Errors:    kIo; kTimeout, reason `audit.locked`, when another process holds the log.
class AuditLog final : public AuditSink {
 public:
  AuditLog(const StateDirectory& state, const Clock& clock)
      : AuditLog(state.root(), clock, state.own("audit/head")) {}
  /// With the anchor somewhere else in the directory.
  AuditLog(const WritableDirectory& directory, const Clock& clock, RelPath head);

  /// Adds a record made by audit_record(); costs the same in a log of any length.
  Result<AuditPosition> append(std::string_view record);
  Result<AuditPosition> append(const AuditEvent& event);
  /// Adds those of `records` whose execution_id the log does not have yet (recovery). Looks from
  /// the end of the log backwards until it has met all of them.
  Result<size_t> append_missing(const std::vector<std::string>& records);
  /// Which of `records` the log does not have, by index.
  Result<std::vector<size_t>> missing(const std::vector<std::string>& records) const;
  /// Says in an `audit.gap` record what a log that was cut short has lost, so that it can be gone
  /// on with; does nothing to a log that ends where it should.
  Result<void> close_gap();
  /// Sets a log that is damaged aside as `audit.<n>.jsonl` and begins a new one, whose first record
  /// names it, its hash and its last good record. Tells its name; empty when none was damaged.
  Result<std::string> begin_anew();
  /// Flushes the log to the disk.
  Result<void> sync();
  /// As AuditSink has them.
  Result<void> add(const std::vector<std::string>& records) override;
  Result<void> settle(const std::vector<std::string>& records) override;
  /// When the first record of the log was made, as records have it; empty in an empty log.
  Result<std::string> first_timestamp() const;

  /// Reads the whole log and checks every record, the chain and the anchor.
  Result<AuditVerification> verify() const;

 private:
  Result<std::unique_ptr<WritableFile>> lock(OpenMode mode) const;
  /// Opens the anchor, makes it with kOpenOrCreate, and takes over that of an earlier Galley.
  Result<std::unique_ptr<WritableFile>> open_head(OpenMode mode) const;
  Result<AuditVerification> verify_locked(File* head_file) const;
  [[nodiscard]] Result<bool> is_there() const;
  Result<AuditPosition> append_locked(WritableFile& head_file, std::vector<nlohmann::json> records);

  const WritableDirectory* directory_;
  const Clock* clock_;
  RelPath head_;
};

/// What audit_record() writes, before it is text.
[[nodiscard]] nlohmann::json audit_document(const AuditEvent& event, int64_t wall_ns);

}  // namespace galley
