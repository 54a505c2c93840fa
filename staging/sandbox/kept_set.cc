#include "staging/sandbox/kept_set.h"

#include <thread>
#include <utility>

#include "base/content_id.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/layer.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kPollEvery{5};
constexpr uint32_t kLockMode = 0600;
constexpr uint32_t kDirectoryMode = 0755;

/// A build directory that two compilers write at once is broken: one run after the other.
Result<void> wait_for(WritableFile& lock, const Command& command, const Clock& clock) {
  const auto wall = command.limits.or_usual().wall;
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
      if (!node || node->kind != FileKind::kSymlink) continue;
      return fail(ErrorKind::kRefused, "sandbox.keep_link",
                  "'" + path.str() + "' cannot be kept between runs, because '" + at.str() +
                      "' is a symbolic link; name the directory itself",
                  path.str());
    }
  }
  return {};
}

Result<KeptSet> KeptSet::take(const std::string& home, const Command& command,
                              const FileStat& workspace_root, const Clock& clock) {
  KeptSet kept;
  if (command.keep.empty()) return kept;
  GALLEY_ASSIGN(const auto directory, open_writable_disk_directory(home));
  // Flat names of hashes, so that any name of a validator will do.
  const std::string set = ContentId::of(command.keep_name).hex();
  GALLEY_ASSIGN(const RelPath lock, RelPath::parse(set + ".lock"));
  GALLEY_ASSIGN(kept.lock_,
                directory->open_writable_file(lock, OpenMode::kOpenOrCreate, kLockMode));
  GALLEY_TRY(wait_for(*kept.lock_, command, clock));
  for (const RelPath& path : command.keep) {
    const std::string key = ContentId::of(command.keep_name + "\n" + path.str()).hex();
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(key));
    GALLEY_TRY(make_directories(*directory, name, kDirectoryMode));
    GALLEY_TRY(imitate_owner(*directory, name, workspace_root));
    kept.paths_.push_back(home + "/" + key);
  }
  return kept;
}

}  // namespace galley
