#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <galley/path.h>
#include "base/hash.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/commit/outcome.h"
#include "staging/fs/content_store.h"
#include "staging/overlay/change_set.h"

namespace galley {

using WorkspaceId = std::array<uint8_t, 16>;

/// One side of one path as the journal keeps it: the node and the metadata that a new inode must
/// get.
struct JournalSide {
  Node node;
  uint32_t uid = 0;
  uint32_t gid = 0;
  int64_t mtime_ns = 0;  ///< of the old object; 0 on the new side
  std::vector<ExtendedAttribute> attributes;
  /// Setuid, setgid and sticky bits. On a new side: those that a restored directory gets.
  uint32_t special = 0;
  bool operator==(const JournalSide&) const = default;
};

/// The change that the transaction makes to one path.
struct JournalOp {
  RelPath path = RelPath::root();
  JournalSide before;
  JournalSide after;
  std::optional<RelPath> renamed_from;
  std::optional<RelPath> copied_from;
  bool operator==(const JournalOp&) const = default;
};

/// The operation on a path, or null. `ops` is sorted by path.
[[nodiscard]] inline const JournalOp* op_at(const std::vector<JournalOp>& ops,
                                            const RelPath& path) {
  const auto at = std::ranges::lower_bound(ops, path, {}, &JournalOp::path);
  return at == ops.end() || at->path != path ? nullptr : &*at;
}

/// A note about an object that recovery kept or moved aside.
struct JournalNote {
  std::string path;
  std::string text;
  bool operator==(const JournalNote&) const = default;
};

/// The contents of one journal: a transaction with both images of every path.
///
/// The byte format is described in docs/formats.md and on top of journal_reader.cc.
struct Journal {
  TxId id;
  TxId parent;  ///< the transaction committed before it, 0 for the first
  WorkspaceId workspace{};
  int64_t time_ns = 0;   ///< wall clock of the commit
  int64_t stamp_ns = 0;  ///< the file system's clock when the journal was made
  std::string boot;      ///< boot id of the machine that wrote it
  ContentId proposal;
  CommitMeta meta;
  std::vector<JournalOp> ops;           ///< sorted by path
  std::map<ContentId, Content> images;  ///< contents of both sides up to kMaxImageBytes
  std::map<ContentId, uint64_t> blobs;  ///< larger contents, in blob/: id and size
  // Appended after the commit point:
  bool is_aborted = false;
  std::string abort_reason;
  std::optional<std::string> applied_boot;  ///< boot id under which the apply step was completed
  /// Boot id under which a flush of the tree failed since then, if one did. Pages in the cache may
  /// be clean although they are not on the disk, so the contents are written again.
  std::optional<std::string> unflushed_boot;
  std::vector<JournalNote> notes;

  /// The operations as a change set (stamps are empty).
  [[nodiscard]] ChangeSet changes() const;
};

inline constexpr size_t kMaxImageBytes = size_t{1} << 20U;        ///< one image; more goes to blob/
inline constexpr uint64_t kMaxJournalBytes = uint64_t{2} << 30U;  ///< one journal
inline constexpr uint32_t kMaxJournalRecords = 1'000'000;         ///< records of one journal

enum class JournalState : uint8_t {
  kCommitted,
  kNotCommitted,  ///< torn before its end: the commit never happened
  kDamaged,       ///< reached its end once and is unreadable now; must not be deleted
};

/// The result of reading one journal file.
struct JournalVerdict {
  JournalState state = JournalState::kNotCommitted;
  std::string problem;  ///< one phrase when not committed or damaged
  Journal journal;      ///< complete only when committed
  /// The offset of the next trailer, and the checksum chain that it continues.
  uint64_t end = 0;
  uint32_t chain = 0;
  uint32_t sequence = 0;
};

/// How a reader handles the contents in a journal.
enum class ImageUse : uint8_t {
  kKeep,  ///< they are compared with their content ids and kept in Journal::images
  kSkip,  ///< only the checksums of their records are checked; Journal::images stays empty
};

/// Reads a journal from bytes. Its memory is bounded by a few times its input. It never fails; the
/// verdict reports problems.
[[nodiscard]] JournalVerdict parse_journal(std::string_view bytes, ImageUse use = ImageUse::kKeep);
/// Does the same with a file of `size` bytes, of which only a window is in memory at a time.
/// Errors: kIo when the file cannot be read.
Result<JournalVerdict> parse_journal(File& file, uint64_t size, ImageUse use = ImageUse::kKeep);

}  // namespace galley
