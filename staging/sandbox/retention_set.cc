#include "staging/sandbox/retention_set.h"

#include <thread>

#include "base/file_mode.h"
#include "base/hash.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kPollEvery{5};
constexpr uint32_t kDirectoryMode = 0755;

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
  GALLEY_ASSIGN(const auto directory, open_writable_disk_directory(home));
  // Flat names of hashes, so that a validator may have any name.
  const std::string id = ContentId::of(command.keep_name).hex();
  GALLEY_ASSIGN(const RelPath lock, RelPath::parse(id + ".lock"));
  GALLEY_ASSIGN(set.lock_,
                directory->open_writable_file(lock, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(wait_for(*set.lock_, command, clock));
  for (const RelPath& path : command.keep) {
    const std::string key = ContentId::of(command.keep_name + "\n" + path.str()).hex();
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(key));
    GALLEY_TRY(make_directories(*directory, name, kDirectoryMode));
    GALLEY_TRY(set_owner_like(*directory, name, workspace_root));
    set.paths_.push_back(home + "/" + key);
  }
  return set;
}

}  // namespace galley
