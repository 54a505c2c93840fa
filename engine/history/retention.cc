#include "engine/history/retention.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/commit/blob_store.h"
#include "engine/commit/journal.h"
#include "engine/commit/retire.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/directory.h"

namespace galley {
namespace {

constexpr int64_t kDayNs = int64_t{86400} * 1'000'000'000;
constexpr int kMaxDepth = 256;

struct Retired {
  TxId id;
  uint64_t bytes = 0;
  int64_t time_ns = 0;
  std::set<ContentId> blobs;
  bool is_readable = false;
};

/// The size of a file on disk is counted in whole blocks of this size.
constexpr uint64_t kBlockBytes = 4096;
uint64_t on_disk(uint64_t size) { return (size + kBlockBytes - 1) / kBlockBytes * kBlockBytes; }

Result<Retired> look_at(const StateDirectory& state, const Directory& directory, TxId id) {
  Retired retired;
  retired.id = id;
  GALLEY_ASSIGN(const FileStat stat, directory.stat(journal_name(id)));
  retired.bytes = on_disk(stat.size);
  retired.time_ns = stat.mtime_ns;
  GALLEY_ASSIGN(const JournalVerdict verdict, read_journal(state, directory, id, ImageUse::kSkip));
  if (verdict.state != JournalState::kCommitted) return retired;
  retired.is_readable = true;
  retired.time_ns = verdict.journal.time_ns;
  for (const auto& [blob, size] : verdict.journal.blobs) retired.blobs.insert(blob);
  return retired;
}

/// Adds the contents of one place, and the bytes that all files of each one need.
Result<void> add_blobs(const Directory& root, const RelPath& top,
                       std::map<ContentId, uint64_t>& blobs) {
  GALLEY_ASSIGN(const FileStat there, root.stat(top));
  if (there.kind != FileKind::kDirectory) return {};
  GALLEY_ASSIGN(const auto directory, root.open_directory(top));
  GALLEY_ASSIGN(const auto shards, directory->list());
  for (const DirectoryEntry& shard : shards) {
    const auto name = RelPath::parse(shard.name);
    if (!name || shard.kind != FileKind::kDirectory) continue;
    GALLEY_ASSIGN(const auto opened, directory->open_directory(*name));
    GALLEY_ASSIGN(const auto files, opened->list());
    for (const DirectoryEntry& file : files) {
      std::string_view hex = file.name;
      for (const std::string_view ending : {kDeltaEnding, kBaseEnding}) {
        if (hex.ends_with(ending)) hex.remove_suffix(ending.size());
      }
      const auto id = ContentId::from_hex(hex);
      if (!id || file.name.substr(0, 2) != shard.name) continue;
      GALLEY_ASSIGN(const RelPath path, RelPath::parse(file.name));
      GALLEY_ASSIGN(const FileStat stat, opened->stat(path));
      blobs[*id] += on_disk(stat.size);
    }
  }
  return {};
}

/// Those below the id, and those of an earlier Galley.
Result<std::map<ContentId, uint64_t>> blobs_on_disk(const StateDirectory& state) {
  std::map<ContentId, uint64_t> blobs;
  for (const RelPath& top : {state.own("blob"), chosen_path("blob")}) {
    GALLEY_TRY(add_blobs(state.root(), top, blobs));
  }
  return blobs;
}

/// The contents that edits of agents need until they are on record: those in the kept files of
/// sessions (engine/pipeline/agent_session.h). Absent while one of these files is incomplete.
Result<std::optional<std::set<ContentId>>> blobs_of_sessions(const StateDirectory& state) {
  std::set<ContentId> blobs;
  const auto sessions = state.root().open_directory(state.own("sessions"));
  if (!sessions && sessions.error().kind == ErrorKind::kNotFound) return std::optional(blobs);
  if (!sessions) return fail(sessions.error());
  GALLEY_ASSIGN(const auto folders, (*sessions)->list());
  for (const DirectoryEntry& folder : folders) {
    const auto session = (*sessions)->open_directory(chosen_path(folder.name));
    if (!session) continue;  // another process removed it
    GALLEY_ASSIGN(const auto files, (*session)->list());
    for (const DirectoryEntry& entry : files) {
      if (!entry.name.ends_with(".j")) continue;
      const auto file = (*session)->open_file(chosen_path(entry.name));
      if (!file) continue;
      GALLEY_ASSIGN(const FileStat stat, (*file)->stat());
      GALLEY_ASSIGN(const JournalVerdict kept, parse_journal(**file, stat.size, ImageUse::kSkip));
      if (kept.state != JournalState::kCommitted) return std::optional<std::set<ContentId>>();
      for (const auto& [blob, size] : kept.journal.blobs) blobs.insert(blob);
    }
  }
  return std::optional(std::move(blobs));
}

/// The limit that the transaction exceeds; null when it stays.
const char* limit_passed(const HistoryConfig& limits, const Retired& one, uint64_t newer,
                         uint64_t newer_bytes, int64_t now_ns) {
  if (limits.keep_transactions > 0 && newer >= limits.keep_transactions) return "count";
  const bool is_old = limits.keep_days > 0 &&
                      limits.keep_days < static_cast<uint64_t>(INT64_MAX / kDayNs) &&
                      now_ns - one.time_ns > static_cast<int64_t>(limits.keep_days) * kDayNs;
  if (is_old) return "age";
  if (limits.keep_bytes > 0 && newer_bytes + one.bytes > limits.keep_bytes) return "bytes";
  return nullptr;
}

class Pruning {
 public:
  Pruning(const StateDirectory& state, const HistoryConfig& limits, int64_t now_ns)
      : state_(&state), limits_(&limits), now_ns_(now_ns) {}

  /// Chooses the transactions to drop: with each one it drops all older ones, so that no gap is
  /// left.
  /// `due` are journals that count as retired: those that gc retires before it prunes.
  Result<void> choose(const std::vector<TxId>& due) {
    const auto is_due = [&](TxId id) { return std::find(due.begin(), due.end(), id) != due.end(); };
    GALLEY_ASSIGN(const auto pending, journal_ids(state_->journals()));
    for (const TxId id : pending) {
      if (is_due(id)) continue;
      auto one = look_at(*state_, state_->journals(), id);
      if (!one && one.error().kind == ErrorKind::kNotFound) continue;
      if (!one) return fail(one.error());
      if (!one->is_readable) may_drop_blobs_ = false;
      keep(*one);
    }
    GALLEY_ASSIGN(blobs_, blobs_on_disk(*state_));
    GALLEY_ASSIGN(const auto of_sessions, blobs_of_sessions(*state_));
    if (of_sessions) needed_.insert(of_sessions->begin(), of_sessions->end());
    if (!of_sessions) may_drop_blobs_ = false;
    GALLEY_ASSIGN(auto retired, journal_ids(state_->undo()));
    retired.insert(retired.end(), due.begin(), due.end());
    std::sort(retired.begin(), retired.end());
    const char* why = nullptr;
    for (auto id = retired.rbegin(); id != retired.rend(); ++id) {
      const auto& place = is_due(*id) ? state_->journals() : state_->undo();
      GALLEY_ASSIGN(const Retired one, look_at(*state_, place, *id));
      if (why == nullptr && kept_ > 0) {
        why = limit_passed(*limits_, one, kept_, kept_bytes_ + blob_bytes(one), now_ns_);
      }
      if (why == nullptr) {
        if (!one.is_readable) may_drop_blobs_ = false;
        kept_bytes_ += blob_bytes(one);
        keep(one);
        continue;
      }
      // A damaged journal is evidence: `galley doctor` decides about it.
      if (!one.is_readable) {
        may_drop_blobs_ = false;
        continue;
      }
      report_.transactions.insert(report_.transactions.begin(), {one.id, one.bytes, why});
      report_.bytes += one.bytes;
    }
    for (const auto& [blob, size] : blobs_) {
      if (!may_drop_blobs_ || needed_.contains(blob)) continue;
      dropped_blobs_.push_back(blob);
      report_.bytes += size;
    }
    report_.blobs = dropped_blobs_.size();
    return {};
  }

  /// Drops journals first, durably: no journal may be left without a blob that it names.
  Result<void> carry_out() {
    for (const auto& pruned : report_.transactions) {
      GALLEY_TRY(state_->undo().remove_file(journal_name(pruned.id)));
    }
    if (dropped_blobs_.empty()) return {};
    GALLEY_TRY(state_->undo().sync());
    for (const ContentId& blob : dropped_blobs_) {
      GALLEY_TRY(remove_blob(state_->root(), state_->own("blob"), blob));
    }
    return {};
  }

  PruneReport report() && { return std::move(report_); }

 private:
  void keep(const Retired& one) {
    ++kept_;
    kept_bytes_ += one.bytes;
    needed_.insert(one.blobs.begin(), one.blobs.end());
  }
  /// Bytes of the blobs that this transaction is the first to need.
  uint64_t blob_bytes(const Retired& one) const {
    uint64_t bytes = 0;
    for (const ContentId& blob : one.blobs) {
      const auto found = blobs_.find(blob);
      if (found != blobs_.end() && !needed_.contains(blob)) bytes += found->second;
    }
    return bytes;
  }

  const StateDirectory* state_;
  const HistoryConfig* limits_;
  int64_t now_ns_;
  uint64_t kept_ = 0;
  uint64_t kept_bytes_ = 0;
  bool may_drop_blobs_ = true;
  std::set<ContentId> needed_;
  std::map<ContentId, uint64_t> blobs_;
  std::vector<ContentId> dropped_blobs_;
  PruneReport report_;
};

/// Leaves out what is removed meanwhile or may not be read (a killed command leaves such
/// directories).
void measure(const Directory& directory, int depth, DiskUse::Part& part) {
  const auto entries = directory.list();
  if (depth > kMaxDepth || !entries) return;
  for (const DirectoryEntry& entry : *entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name) continue;
    if (entry.kind == FileKind::kDirectory) {
      const auto below = directory.open_directory(*name);
      if (below) measure(**below, depth + 1, part);
      continue;
    }
    const auto stat = directory.stat(*name);
    if (!stat || stat->kind == FileKind::kAbsent) continue;
    ++part.files;
    part.bytes += on_disk(stat->size);
  }
}

}  // namespace

Result<PruneReport> prune_history(const StateDirectory& state, const HistoryConfig& limits,
                                  const Clock& clock, bool dry_run) {
  Pruning pruning(state, limits, clock.wall_ns());
  std::vector<TxId> due;
  if (dry_run) {
    GALLEY_ASSIGN(due, due_journals(state, clock));
  }
  GALLEY_TRY(pruning.choose(due));
  if (!dry_run) GALLEY_TRY(pruning.carry_out());
  return std::move(pruning).report();
}

Result<DiskUse> disk_use(const StateDirectory& state) {
  DiskUse use;
  DiskUse::Part other{"other", 0, 0};
  GALLEY_ASSIGN(const auto entries, state.root().list());
  static const std::set<std::string> kNamed = {"j",        "undo",   "blob",       "slot",  "stage",
                                               "contents", "rescue", "quarantine", "cache", "keep"};
  for (const DirectoryEntry& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name) continue;
    if (entry.kind != FileKind::kDirectory) {
      GALLEY_ASSIGN(const FileStat stat, state.root().stat(*name));
      ++other.files;
      other.bytes += on_disk(stat.size);
      continue;
    }
    GALLEY_ASSIGN(const auto below, state.root().open_directory(*name));
    if (!kNamed.contains(entry.name)) {
      measure(*below, 0, other);
      continue;
    }
    DiskUse::Part part{entry.name, 0, 0};
    measure(*below, 0, part);
    use.parts.push_back(std::move(part));
  }
  use.parts.push_back(std::move(other));
  for (const DiskUse::Part& part : use.parts) use.bytes += part.bytes;
  GALLEY_ASSIGN(const auto retired, journal_ids(state.undo()));
  GALLEY_ASSIGN(const auto pending, journal_ids(state.journals()));
  use.transactions = retired.size() + pending.size();
  return use;
}

}  // namespace galley
