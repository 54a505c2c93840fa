#include "staging/sandbox/helper/layer_trees.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "staging/sandbox/helper/mounts.h"

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

/// Places to write through to, or over. No link on the way is followed: the engine resolved them.
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
  // overlayfs does not look into mounts below the workspace; without privileges the kernel lets us
  // clone a mount only together with them, and with them root could not map every owner.
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

}  // namespace galley
