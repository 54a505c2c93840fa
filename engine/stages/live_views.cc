#include "engine/stages/live_views.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "engine/commit/retire.h"
#include "engine/commit/writer_lock.h"
#include "engine/stages/run_folder.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/user_state.h"
#include "staging/sandbox/view_pins.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kLookAgain{10};
constexpr std::chrono::milliseconds kLongestEnd{500};

Error not_pinned(const RunFolder& folder, const std::string& why) {
  const auto note = folder.note();
  const std::string called = note && !note->name.empty() ? " ('" + note->name + "')" : "";
  return {ErrorKind::kRefused, "run.not_pinned",
          "the view of the run " + folder.tx() + called + " cannot be kept as it is: " + why +
              "; nothing was changed. End it first: galley stop " + folder.tx(),
          "", 0};
}

/// Whether the process in the note exists, belongs to us, and began when the note says.
bool is_supervised(const RunNote& note) {
  const std::string folder = "/proc/" + std::to_string(note.supervisor.pid);
  const auto process = open_disk_directory(folder);
  const auto stat = process ? (*process)->stat(RelPath::root()) : Result<FileStat>(FileStat());
  return stat && stat->kind == FileKind::kDirectory && stat->uid == effective_user() &&
         note.supervisor.start != 0 && ProcessIdentity::of(note.supervisor.pid) == note.supervisor;
}

/// Opens the mounted overlay of a run; null if its program has not begun or has ended.
Result<std::unique_ptr<WritableDirectory>> open_mount(const RunFolder& folder) {
  const auto note = folder.note();
  if (!note && note.error().kind == ErrorKind::kNotFound) return nullptr;  // it has not begun yet
  if (!note) return not_pinned(folder, note.error().message);
  if (note->mount_fd < 0) return nullptr;  // its program has ended
  // The caller tries again, because the process may have ended just now. It is also invisible from
  // another PID namespace.
  if (!is_supervised(*note)) return not_pinned(folder, "its process cannot be seen");
  auto mount = open_writable_disk_directory("/proc/" + std::to_string(note->supervisor.pid) +
                                            "/fd/" + std::to_string(note->mount_fd));
  // The descriptor is closed after the program died.
  if (!mount && mount.error().kind == ErrorKind::kNotFound) return nullptr;
  if (!mount) return not_pinned(folder, mount.error().message);
  return mount;
}

Result<void> pin(const RunFolder& folder, const ChangeSet& changes) {
  GALLEY_ASSIGN(const auto mount, open_mount(folder));
  if (mount == nullptr) return {};
  GALLEY_ASSIGN(const auto upper,
                folder.directory().open_writable_directory(*RelPath::parse("upper")));
  const auto pinned = pin_view({*mount, *upper}, changes);
  return pinned ? pinned : not_pinned(folder, pinned.error().message);
}

/// A run may end while it is pinned; then nothing must be kept. The process that collects its files
/// also holds its lock for a moment, so only a lasting failure counts.
Result<void> pin_while_live(const StateDirectory& state, const std::string& id,
                            const ChangeSet& changes) {
  for (std::chrono::milliseconds waited{0};; waited += kLookAgain) {
    const auto folder = RunFolder::open(state, id);
    if (!folder && folder.error().kind == ErrorKind::kNotFound) return {};
    if (!folder) return fail(folder.error());
    GALLEY_ASSIGN(const bool is_live, folder->is_live());
    if (!is_live) return {};
    const auto pinned = pin(*folder, changes);
    if (pinned || waited >= kLongestEnd) return pinned;
    std::this_thread::sleep_for(kLookAgain);
  }
}

}  // namespace

Result<OpenView> OpenView::open(const StateDirectory& state, const std::string& tx) {
  GALLEY_ASSIGN(const RunFolder folder, RunFolder::open(state, tx));
  GALLEY_ASSIGN(auto mount, open_mount(folder));
  if (mount == nullptr) {
    return fail(ErrorKind::kNotFound, "run.not_found", "the run " + tx + " has ended");
  }
  GALLEY_ASSIGN(auto upper, folder.directory().open_writable_directory(*RelPath::parse("upper")));
  return OpenView(std::move(mount), std::move(upper));
}

Result<void> OpenView::put(const RelPath& path, const Node& node, std::string_view bytes) const {
  return put_in_view({*mount_, *upper_}, path, node, bytes);
}

Result<void> pin_live_views(const StateDirectory& state, const ChangeSet& changes) {
  GALLEY_ASSIGN(const auto ids, RunFolder::list(state));
  for (const std::string& id : ids) GALLEY_TRY(pin_while_live(state, id, changes));
  return {};
}

Result<void> clear_removed_directories(const StateDirectory& state, const Clock& clock) {
  // A run starts only under this lock.
  const auto lock = WriterLock::take(state, clock, std::chrono::milliseconds(0));
  if (!lock && lock.error().kind == ErrorKind::kTimeout) return {};
  if (!lock) return fail(lock.error());
  GALLEY_ASSIGN(const auto ids, RunFolder::list(state));
  for (const std::string& id : ids) {
    const auto folder = RunFolder::open(state, id);
    const auto is_live = folder ? folder->is_live() : Result<bool>(false);
    if (!is_live || *is_live) return {};
  }
  return RemovedDirectories::clear(state, *lock);
}

}  // namespace galley
