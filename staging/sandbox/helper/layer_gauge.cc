#include "staging/sandbox/helper/layer_gauge.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "staging/sandbox/helper/usage.h"

namespace galley {
namespace {

constexpr uint64_t kBlock = 512;    // of st_blocks (stat(2))
constexpr int kMaxTreeDepth = 128;  // a descriptor a level, of the 1,024 that everybody may have

using Inode = std::pair<dev_t, ino_t>;

/// A sum over files, each inode once; not complete when something could not be looked at.
struct Sum {
  uint64_t bytes = 0;
  bool is_complete = true;
  std::set<Inode> several;  ///< seen, of those that can be met again

  void add(const struct stat& found) {
    const bool is_new = found.st_nlink == 1 || several.insert({found.st_dev, found.st_ino}).second;
    if (is_new) bytes += static_cast<uint64_t>(found.st_blocks) * kBlock;
  }
};

bool is_dot(std::string_view name) { return name == "." || name == ".."; }

// What goes away while it is looked at is no failure: the command runs on.
void add_tree(Fd directory, int depth, Sum& sum) {
  DIR* stream = depth < kMaxTreeDepth && directory.is_open() ? fdopendir(directory.get()) : nullptr;
  if (stream == nullptr) {
    sum.is_complete = false;
    return;
  }
  (void)directory.release();
  while (const dirent* entry = readdir(stream)) {
    struct stat found {};
    if (is_dot(entry->d_name) ||
        fstatat(dirfd(stream), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (S_ISREG(found.st_mode)) sum.add(found);
    if (!S_ISDIR(found.st_mode)) continue;
    Fd below(openat(dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (below.is_open() || errno != ENOENT) add_tree(std::move(below), depth + 1, sum);
  }
  closedir(stream);
}

/// The whole of a watched directory, which stays open.
void add_all_of(const Fd& directory, Sum& sum) {
  add_tree(Fd(openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0, sum);
}

uint64_t used_bytes(const Fd& directory) {
  struct statfs system {};
  if (fstatfs(directory.get(), &system) != 0) return 0;
  return (system.f_blocks - system.f_bfree) * static_cast<uint64_t>(system.f_bsize);
}

/// Files that a process holds open and that no directory has any more.
void add_nameless(int process, const std::set<dev_t>& devices, Sum& sum) {
  Fd directory(openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool has_ended = !directory.is_open() && (errno == ENOENT || errno == ESRCH);
  if (has_ended) return;
  DIR* files = directory.is_open() ? fdopendir(directory.get()) : nullptr;
  if (files == nullptr) {
    sum.is_complete = false;
    return;
  }
  (void)directory.release();
  while (const dirent* entry = readdir(files)) {
    struct stat found {};
    if (is_dot(entry->d_name) || fstatat(dirfd(files), entry->d_name, &found, 0) != 0) continue;
    if (!S_ISREG(found.st_mode) || found.st_nlink != 0) continue;
    // Seen through the overlay a file has a device number of the overlay's own.
    bool is_watched = devices.count(found.st_dev) != 0;
    if (!is_watched) {
      const Fd file(openat(dirfd(files), entry->d_name, O_PATH | O_CLOEXEC));
      struct statfs system {};
      is_watched = fstatfs(file.get(), &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
    }
    if (is_watched) sum.add(found);
  }
  closedir(files);
}

}  // namespace

void LayerGauge::watch(Fd directory) {
  struct statfs system {};
  struct stat found {};
  if (!directory.is_open() || fstatfs(directory.get(), &system) != 0 ||
      system.f_type != TMPFS_MAGIC || fstat(directory.get(), &found) != 0) {
    return;
  }
  Sum first;
  add_all_of(directory, first);
  const uint64_t used = used_bytes(directory);
  trees_.push_back({std::move(directory), found.st_dev, first.bytes, used, system.f_blocks != 0});
}

uint64_t LayerGauge::grown(uint64_t suspect_bytes, const std::set<pid_t>* processes) {
  uint64_t growth = 0;
  bool is_suspect = false;
  std::set<dev_t> devices;
  for (Tree& tree : trees_) {
    const uint64_t used = used_bytes(tree.directory);
    // Others freed memory, and may have freed as much as the command took.
    is_disturbed_ = is_disturbed_ || used < tree.least_used;
    tree.least_used = std::min(tree.least_used, used);
    is_suspect = is_suspect || is_disturbed_ || !tree.is_bounded;
    if (devices.insert(tree.device).second) growth += used - tree.least_used;
  }
  const bool is_asked = suspect_bytes == 0 || is_suspect || growth > suspect_bytes;
  if (trees_.empty() || !is_asked) return 0;
  Sum now;
  uint64_t before = 0;
  for (const Tree& tree : trees_) {
    add_all_of(tree.directory, now);
    before += tree.first_bytes;
  }
  for_each_process(processes, [&](int process) { add_nameless(process, devices, now); });
  if (!now.is_complete) return std::max(growth, now.bytes > before ? now.bytes - before : 0);
  return now.bytes > before ? now.bytes - before : 0;
}

}  // namespace galley
