#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "engine/audit/audit.h"
#include "staging/fs/directory.h"

namespace galley {

/// The values that connect one line of the log with its neighbours.
struct AuditLink {
  uint64_t seq = 0;
  ContentId prev;
  ContentId stated;     ///< its `hash` member
  ContentId computed;   ///< SHA-256 of the canonical record without `hash`
  bool is_gap = false;  ///< an `audit.gap` record
  std::string gap;      ///< what such a record says was lost
};

/// Reads one line (without its newline).
/// Errors: kInvalid, reason `audit.malformed`, also when the line is not in canonical form.
Result<AuditLink> read_audit_link(std::string_view line);

/// The anchor in the head file: where the log ended after the last write. It is not flushed, so
/// after a power loss it may be behind or ahead of the log.
///
/// Format: one line of fixed length, `galley-audit-head 1 <seq, 20 digits> <log bytes, 20 digits>
/// <hash, 64 hexadecimal digits>\n`.
struct AuditHead {
  AuditPosition position;
  uint64_t log_bytes = 0;
};
/// Returns nullopt when the file is empty or has another form.
Result<std::optional<AuditHead>> read_audit_head(File& file);
Result<void> write_audit_head(WritableFile& file, const AuditHead& head);

/// The timestamp of a record; empty when the text is not a record.
[[nodiscard]] std::string audit_timestamp(std::string_view record);

/// Calls `take(line, is_whole)` for every line of the log that begins after the offset `from`; with
/// 0, for all lines. Only the last line can be incomplete, that is, without a newline. A missing
/// log is empty.
Result<void> for_each_audit_line(const Directory& directory, const RelPath& path,
                                 const std::function<void(std::string_view, bool)>& take,
                                 uint64_t from = 0);

/// Checks the lines of a log in order, against their neighbours and the anchor.
class AuditChainCheck {
 public:
  explicit AuditChainCheck(std::optional<AuditHead> head) : head_(head) {}
  void take(std::string_view line, bool is_whole);
  [[nodiscard]] AuditVerification finish();

 private:
  void check_place(const AuditLink& link);
  void report(uint64_t line, uint64_t seq, std::string reason, std::string message);
  bool take_from_absent(uint64_t seq);

  /// Records that were skipped so far: they may still appear at a later place.
  struct Absence {
    uint64_t last = 0;
    uint64_t line = 0;  ///< where the gap was found
  };

  std::optional<AuditHead> head_;
  bool agrees_with_head_ = false;
  AuditVerification result_;
  uint64_t line_ = 0;
  uint64_t expected_ = 1;
  ContentId previous_;
  bool previous_is_sound_ = true;       ///< false after a line with a wrong hash
  std::map<uint64_t, Absence> absent_;  ///< by first seq
};

}  // namespace galley
