#include "staging/sandbox/helper/layer_trees.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/usage.h"

namespace galley {

namespace {

bool open_readable(const std::vector<std::string>& paths, std::vector<Fd>& out,
                   SetupFailure& failure) {
  for (const std::string& path : paths) {
    Fd entry(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    if (!entry.is_open() || fstat(entry.get(), &found) != 0) return failed(failure, "open " + path);
    if (!S_ISLNK(found.st_mode)) {
      entry = clone_tree(path, AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
      const uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY;
      if (!entry.is_open() || !set_attributes(entry.get(), attributes)) {
        return failed(failure, "clone " + path);
      }
    }
    out.push_back(std::move(entry));
  }
  return true;
}

/// Opens folders that the command may write directly or in a layer. It follows no link: the engine
/// has resolved them.
bool open_writable(const std::vector<std::string>& paths, std::vector<Fd>& out,
                   SetupFailure& failure) {
  for (const std::string& path : paths) {
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const Fd place(
        static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
    const unsigned depth = geteuid() == 0 ? 0 : AT_RECURSIVE;
    Fd tree(place.is_open() ? open_tree(place.get(), "",
                                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | depth)
                            : -1);
    if (!tree.is_open() || !set_attributes(tree.get(), kSafeMount)) {
      return failed(failure, "open " + path);
    }
    out.push_back(std::move(tree));
  }
  return true;
}

}  // namespace

bool open_layers(const SandboxRequest& request, LayerTrees& trees, SetupFailure& failure) {
  // overlayfs ignores mounts below the workspace. Without privileges the kernel clones a mount only
  // together with them, and with them root could not map every owner.
  trees.workspace = clone_tree(request.workspace, geteuid() == 0 ? 0 : AT_RECURSIVE);
  if (!trees.workspace.is_open()) return failed(failure, "clone the workspace");
  struct stat found {};
  if (fstat(trees.workspace.get(), &found) != 0 || found.st_dev != request.workspace_device ||
      found.st_ino != request.workspace_inode) {
    errno = ESTALE;
    return failed(failure, "find the workspace where it was");
  }
  for (const std::string& lower : request.lowers) {
    trees.lowers.push_back(clone_tree(lower, 0));
    if (!trees.lowers.back().is_open()) return failed(failure, "clone a layer");
  }
  trees.upper_home = clone_tree(request.upper_home, 0);
  if (!trees.upper_home.is_open()) return failed(failure, "clone the upper layer");
  for (const std::string& kept : request.keep_from) {
    trees.keep.push_back(clone_tree(kept, 0));
    if (!trees.keep.back().is_open()) return failed(failure, "clone a kept directory");
  }
  for (const std::string& home : request.layer_homes) {
    trees.layer_homes.push_back(clone_tree(home, 0));
    if (!trees.layer_homes.back().is_open()) return failed(failure, "clone a layer");
  }
  return open_readable(request.readable, trees.readable, failure) &&
         open_writable(request.writable, trees.writable, failure) &&
         open_writable(request.layer_lowers, trees.layered, failure);
}

bool idmap_layers(const LayerTrees& trees, int user_ns, SetupFailure& failure) {
  const auto map = [&](const Fd& tree) {
    mount_attr attr{};
    attr.attr_set = MOUNT_ATTR_IDMAP;
    attr.userns_fd = static_cast<uint64_t>(user_ns);
    return mount_setattr(tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0;
  };
  bool done = map(trees.workspace) && map(trees.upper_home);
  for (const Fd& lower : trees.lowers) done = done && map(lower);
  for (const Fd& kept : trees.keep) done = done && map(kept);
  for (const auto* places : {&trees.writable, &trees.layered, &trees.layer_homes}) {
    for (const Fd& place : *places) done = done && map(place);
  }
  return done || failed(failure, "map the owners of the layers");
}

namespace {

constexpr uint64_t kBlock = 512;    // of st_blocks (stat(2))
constexpr int kMaxTreeDepth = 128;  // two descriptors per level, of the usual limit of 1,024

using Inode = std::pair<dev_t, ino_t>;

/// A sum over files that counts each inode once. It is not complete if a file could not be read.
struct Sum {
  uint64_t bytes = 0;
  bool is_complete = true;
  bool opens_closed = false;  ///< also reads directories that are closed to their owner
  std::set<Inode> several;    ///< counted files with several names

  void add(const struct stat& found) {
    const bool is_new = found.st_nlink == 1 || several.insert({found.st_dev, found.st_ino}).second;
    if (is_new) bytes += static_cast<uint64_t>(found.st_blocks) * kBlock;
  }
};

bool is_dot(std::string_view name) { return name == "." || name == ".."; }

/// Gives the owner of a directory all rights to it for the lifetime of this object. Only the owner
/// can change these rights.
class OpenToOwner {
 public:
  OpenToOwner(const Fd& directory, bool is_wanted)
      : path_("/proc/self/fd/" + std::to_string(directory.get())) {
    struct stat found {};
    if (!is_wanted || fstat(directory.get(), &found) != 0) return;
    mode_ = found.st_mode & 07777U;
    is_changed_ = (mode_ & S_IRWXU) != S_IRWXU && chmod(path_.c_str(), mode_ | S_IRWXU) == 0;
  }
  OpenToOwner(const OpenToOwner&) = delete;
  OpenToOwner& operator=(const OpenToOwner&) = delete;
  ~OpenToOwner() {
    if (is_changed_) (void)chmod(path_.c_str(), mode_);
  }

 private:
  std::string path_;
  mode_t mode_ = 0;
  bool is_changed_ = false;
};

// A file that is removed meanwhile is not an error: the command is still running.
void add_tree(const Fd& directory, int depth, Sum& sum) {
  const OpenToOwner open(directory, sum.opens_closed);
  Fd below(openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* stream = depth < kMaxTreeDepth && below.is_open() ? fdopendir(below.get()) : nullptr;
  if (stream == nullptr) {
    sum.is_complete = false;
    return;
  }
  (void)below.release();
  while (const dirent* entry = readdir(stream)) {
    struct stat found {};
    if (is_dot(entry->d_name)) continue;
    if (fstatat(dirfd(stream), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) {
      sum.is_complete = sum.is_complete && errno == ENOENT;
      continue;
    }
    if (S_ISREG(found.st_mode)) sum.add(found);
    if (!S_ISDIR(found.st_mode)) continue;
    const Fd next(
        openat(dirfd(stream), entry->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (next.is_open() || errno != ENOENT) add_tree(next, depth + 1, sum);
  }
  closedir(stream);
}

uint64_t used_bytes(const Fd& directory) {
  struct statfs system {};
  if (fstatfs(directory.get(), &system) != 0) return 0;
  return (system.f_blocks - system.f_bfree) * static_cast<uint64_t>(system.f_bsize);
}

/// Adds files that a process holds open and that are no longer in any directory.
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
    // Through the overlay, a file has a device number of the overlay.
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
  add_tree(directory, 0, first);
  const uint64_t used = used_bytes(directory);
  trees_.push_back({std::move(directory), found.st_dev, first.bytes, used, system.f_blocks != 0});
}

uint64_t LayerGauge::grown(uint64_t suspect_bytes, const std::set<pid_t>* processes) {
  uint64_t growth = 0;
  bool is_suspect = false;
  std::set<dev_t> devices;
  for (Tree& tree : trees_) {
    const uint64_t used = used_bytes(tree.directory);
    // Other processes have freed memory, perhaps as much as the command has used.
    is_disturbed_ = is_disturbed_ || used < tree.least_used;
    tree.least_used = std::min(tree.least_used, used);
    is_suspect = is_suspect || is_disturbed_ || !tree.is_bounded;
    if (devices.insert(tree.device).second) growth += used - tree.least_used;
  }
  const bool is_asked = suspect_bytes == 0 || is_suspect || growth > suspect_bytes;
  if (trees_.empty() || !is_asked) return 0;
  Sum now;
  now.opens_closed = suspect_bytes == 0;
  uint64_t before = 0;
  for (const Tree& tree : trees_) {
    add_tree(tree.directory, 0, now);
    before += tree.first_bytes;
  }
  for_each_process(processes, [&](int process) { add_nameless(process, devices, now); });
  if (!now.is_complete) return std::max(growth, now.bytes > before ? now.bytes - before : 0);
  return now.bytes > before ? now.bytes - before : 0;
}

}  // namespace galley
