#include "staging/sandbox/retention_set.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/file_mode.h"
#include "base/hash.h"
#include "base/limits.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "staging/overlay/overlay_file.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kPollEvery{5};
constexpr uint32_t kDirectoryMode = 0755;
/// Files of earlier proposals that each run must get a copy of. With more, to build from scratch
/// once takes less time.
constexpr size_t kMostGone = 100;
constexpr uint64_t kMostGoneBytes = uint64_t{16} << 20U;

/// Two compilers that write to one build directory at the same time break it, so runs take turns.
Result<void> wait_for(WritableFile& lock, const Command& command, const Clock& clock) {
  const auto wall = command.limits.with_defaults().wall;
  const Deadline deadline = wall.count() == 0 ? Deadline() : Deadline::after(clock, wall);
  for (;;) {
    GALLEY_ASSIGN(const bool is_ours, lock.try_lock(LockMode::kExclusive));
    if (is_ours) return {};
    if (command.stop.stop_requested()) {
      return fail(ErrorKind::kTimeout, "sandbox.cancelled", "it was stopped before it was run");
    }
    if (deadline.has_passed(clock)) {
      return fail(ErrorKind::kTimeout, "sandbox.keep_busy",
                  "what '" + command.keep_name +
                      "' keeps is in use by another run; wait for that one to end");
    }
    std::this_thread::sleep_for(kPollEvery);
  }
}

}  // namespace

Result<void> refuse_links_to_keep(const std::vector<RelPath>& paths, Overlay& overlay) {
  for (const RelPath& path : paths) {
    for (RelPath at = path; !at.is_root(); at = at.parent()) {
      const auto node = overlay.node_without_content(at);
      if (!node || node->kind == FileKind::kAbsent || node->kind == FileKind::kDirectory) continue;
      const bool is_link = node->kind == FileKind::kSymlink;
      return fail(ErrorKind::kRefused, "sandbox.keep_link",
                  "'" + path.str() + "' cannot be kept between runs, because '" + at.str() +
                      (is_link ? "' is a symbolic link; name the directory itself"
                               : "' is no directory; name a directory"),
                  path.str());
    }
  }
  return {};
}

Result<RetentionSet> RetentionSet::take(const std::string& home, const Command& command,
                                        const FileStat& workspace_root, const Clock& clock) {
  RetentionSet set;
  if (command.keep.empty()) return set;
  GALLEY_ASSIGN(set.home_, open_writable_disk_directory(home));
  const auto& directory = set.home_;
  // Flat names of hashes, so that a validator may have any name.
  const std::string id = ContentId::of(command.keep_name).hex();
  GALLEY_ASSIGN(const RelPath lock, RelPath::parse(id + ".lock"));
  GALLEY_ASSIGN(set.lock_,
                directory->open_writable_file(lock, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(wait_for(*set.lock_, command, clock));
  set.seen_name_ = id + ".seen";
  GALLEY_ASSIGN(const auto text,
                read_own_file(*directory, *RelPath::parse(set.seen_name_), limits::kMaxFileBytes));
  if (text) {
    if (auto entries = decode_entries(*text)) set.seen_ = *std::move(entries);
  }
  for (const RelPath& path : command.keep) {
    const std::string key = ContentId::of(command.keep_name + "\n" + path.str()).hex();
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(key));
    GALLEY_TRY(make_directories(*directory, name, kDirectoryMode));
    GALLEY_TRY(set_owner_like(*directory, name, workspace_root));
    set.names_.push_back(name);
    set.paths_.push_back(home + "/" + key);
  }
  set.root_ = workspace_root;
  if (!set.seen_) GALLEY_TRY(set.empty());
  return set;
}

Result<void> RetentionSet::empty() {
  for (const RelPath& name : names_) {
    GALLEY_TRY(erase_layer(*home_, name));
    GALLEY_TRY(make_directories(*home_, name, kDirectoryMode));
    GALLEY_TRY(set_owner_like(*home_, name, root_));
  }
  seen_.reset();
  return {};
}

Result<void> RetentionSet::set_times(Overlay& overlay, int64_t now_ns, ChangeSet& changes,
                                     ChangeSet& restored) {
  const Overlay::Entries last = seen_.value_or(Overlay::Entries());
  Overlay::Entries seen;
  const auto see = [&](Change& change) {
    const auto known = last.find(change.path);
    const bool is_same = known != last.end() && known->second.now == change.after;
    change.written = is_same ? known->second.written : Change::WriteTime{now_ns, false};
    seen.emplace(change.path, {{}, {}, change.after, {}, {}, {}, change.written});
  };
  for (Change& change : changes) see(change);
  for (Change& change : restored) see(change);
  const Overlay::Entries own = seen;
  std::vector<RelPath> gone;
  size_t missing = 0;
  uint64_t bytes = 0;
  for (const auto& [path, known] : last) {
    if (missing + gone.size() > kMostGone || bytes > kMostGoneBytes) break;
    if (own.contains(path)) continue;
    const auto stat = reachable_stat(overlay.workspace(), path);
    if (!stat || stat->kind != FileKind::kRegular) {
      seen.emplace(path, known);  // it may come back as it was
      ++missing;
      continue;
    }
    if (stat->mtime_ns >= known.written.ns && stat->size == known.now.size) {
      const auto node = overlay.node(path);
      if (node && *node == known.now) continue;  // committed, for example
    }
    gone.push_back(path);
    bytes += stat->size;
  }
  if (missing + gone.size() > kMostGone || bytes > kMostGoneBytes) {
    GALLEY_TRY(empty());
    return note_seen(own);
  }
  for (const RelPath& path : gone) {
    const auto node = overlay.node(path);
    const auto copied =
        node ? overlay.store()->copy(node->content, overlay.workspace(), path) : Result<void>();
    if (!node || (!copied && copied.error().reason == "stage.content_changed")) {
      seen.emplace(path, last.at(path));  // it changes just now, or nobody can read it
      continue;
    }
    GALLEY_TRY(copied);
    see(restored.emplace_back(Change{path, *node, *node, {}, {}, {}, {}}));
  }
  std::sort(restored.begin(), restored.end(),
            [](const Change& a, const Change& b) { return a.path < b.path; });
  return note_seen(std::move(seen));
}

Result<void> RetentionSet::note_seen(Overlay::Entries seen) {
  if (seen_ && *seen_ == seen) return {};
  GALLEY_TRY(replace_file(*home_, seen_name_, encode_entries(seen)));
  seen_ = std::move(seen);
  return {};
}

}  // namespace galley
