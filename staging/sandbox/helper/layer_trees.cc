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
#include <array>
#include <cerrno>
#include <climits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/helper/pid_one.h"

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

// How the command's view of the file system is built.
//
// The view contains only what is put into it; nothing is taken out of the host's tree. If a
// directory is forgotten here, it is missing inside, which is noticed. The opposite error, a
// directory that is visible by mistake, would not be noticed. The result:
//
//     /            tmpfs, read-only           /usr /etc /opt ...   clones of the host's, read-only
//     /tmp         tmpfs of a fixed size      /dev                 five devices of the host, links
//     /proc        of the new pid namespace   <readable>           clones, read-only
//     <home>       tmpfs of a fixed size, with only the named parts of the host's home
//     <workspace>  overlayfs, at its own path; read-only clones cover .git and .sage in it
//
// The order of the steps, and what each of them prevents:
//
// 1. Clone everything from the host as detached mounts (open_tree), before anything is mounted. The
//    new root is built on /tmp, which exists on every machine and may contain files that are
//    cloned. As root, the monitor clones the layers outside and maps their owners to ids that own
//    nothing on the host (MOUNT_ATTR_IDMAP). Without root, pid 1 does it inside the user namespace,
//    where owners are unchanged.
// 2. Compare the workspace's device and inode with those that the engine opened: the path may lead
//    elsewhere by now (ESTALE).
// 3. Make all mounts private, so that later mounts here do not appear outside, nor the reverse.
// 4. Mount the overlay from layers that are attached at short paths in a tmpfs of their own, and
//    keep it as a detached mount. Step 5 covers that tmpfs and step 8 releases it: the command can
//    reach the layers only through the overlay.
// 5. Mount the new root over /tmp, fill it with the clones, attach the overlay.
// 6. Attach kept directories below the workspace, by descriptor and without following links. The
//    workspace may contain links, and until step 8 they lead to the host.
// 7. Cover `.git`, `.sage`, denied programs and files of credentials, on top of everything else.
//    The command cannot remove a mount: it lacks the capability, and seccomp refuses the calls.
// 8. Make the root read-only, pivot_root, and detach the old root. Of the host's tree, only the
//    clones remain.
//
// overlayfs is mounted with `userxattr`, because a user namespace may not write trusted attributes.
// It is also mounted with `volatile`, because the layer is read back or dropped and never needed
// after a crash. Without `volatile`, unmounting would flush the whole file system.

constexpr const char* kNewRoot = "/tmp";
constexpr uint64_t kRootTmpfsBytes = uint64_t{1} << 20U;
constexpr mode_t kDirectoryMode = 0755;

std::string in_new_root(std::string_view path) { return kNewRoot + std::string(path); }

bool attach(int tree, const std::string& target) {
  return move_mount(tree, "", AT_FDCWD, target.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0;
}

/// mkdir -p; an existing directory is not an error.
bool make_path(const std::string& path) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    struct stat found {};
    if (stat(part.c_str(), &found) != 0 && mkdir(part.c_str(), kDirectoryMode) != 0 &&
        errno != EEXIST) {
      return false;
    }
    if (slash == std::string::npos) return true;
  }
}

struct Setting {
  const char* key;
  std::string value;
};

/// A new file system, not mounted yet.
Fd make_file_system(const char* type, const std::vector<Setting>& settings, unsigned attributes) {
  const Fd context(fsopen(type, FSOPEN_CLOEXEC));
  if (!context.is_open()) return {};
  for (const Setting& setting : settings) {
    const bool is_flag = setting.value.empty();
    const int done = fsconfig(context.get(), is_flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING,
                              setting.key, is_flag ? nullptr : setting.value.c_str(), 0);
    if (done != 0) return {};
  }
  if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return Fd(fsmount(context.get(), FSMOUNT_CLOEXEC, attributes));
}

bool attach_new(const char* type, const std::vector<Setting>& settings, unsigned attributes,
                const std::string& target) {
  const Fd mount = make_file_system(type, settings, attributes);
  return mount.is_open() && attach(mount.get(), target);
}

/// A file or directory of the host that the command may read.
struct SystemTree {
  std::string path;
  std::string link;  ///< target, when the host has a symbolic link there
  Fd tree;
  bool is_file = false;
};

/// The mounts from open_readable(), by their paths in the view.
std::vector<SystemTree> readable_trees(const SandboxRequest& request, std::vector<Fd> opened) {
  std::vector<SystemTree> trees;
  for (size_t i = 0; i < opened.size(); ++i) {
    SystemTree entry;
    entry.path = request.readable[i];
    std::array<char, PATH_MAX> target{};
    if (readlinkat(opened[i].get(), "", target.data(), target.size() - 1) > 0) {
      entry.link = target.data();
    } else {
      entry.tree = std::move(opened[i]);
    }
    trees.push_back(std::move(entry));
  }
  return trees;
}

bool open_system(const std::vector<std::string>& paths, std::vector<SystemTree>& out,
                 SetupFailure& failure) {
  for (const std::string& path : paths) {
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0) continue;  // /opt and /lib32 do not exist on every host
    SystemTree entry;
    entry.path = path;
    entry.is_file = !S_ISDIR(found.st_mode);
    if (S_ISLNK(found.st_mode)) {
      std::array<char, PATH_MAX> target{};
      if (readlink(path.c_str(), target.data(), target.size() - 1) < 0) {
        return failed(failure, "read the link " + path);
      }
      entry.link = target.data();
    } else {
      entry.tree = clone_tree(path, AT_RECURSIVE);
      const bool is_device = S_ISCHR(found.st_mode);
      const uint64_t attributes = MOUNT_ATTR_NOSUID | (is_device ? 0 : MOUNT_ATTR_NODEV) |
                                  (is_device ? 0 : MOUNT_ATTR_RDONLY);
      if (!entry.tree.is_open() || !set_attributes(entry.tree.get(), attributes)) {
        return failed(failure, "clone " + path);
      }
    }
    out.push_back(std::move(entry));
  }
  return true;
}

bool place_system(const std::vector<SystemTree>& system, SetupFailure& failure) {
  for (const SystemTree& entry : system) {
    const std::string target = in_new_root(entry.path);
    const std::string parent = target.substr(0, target.rfind('/'));
    if (!make_path(parent)) return failed(failure, "make " + entry.path);
    if (!entry.link.empty()) {
      if (symlink(entry.link.c_str(), target.c_str()) != 0 && errno != EEXIST) {
        return failed(failure, "link " + entry.path);
      }
      continue;
    }
    if (entry.is_file) {
      const Fd made(open(target.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0644));
      if (!made.is_open() && errno != EACCES && errno != EROFS) {
        return failed(failure, "make " + entry.path);
      }
    } else if (!make_path(target)) {
      return failed(failure, "make " + entry.path);
    }
    if (!attach(entry.tree.get(), target)) return failed(failure, "mount " + entry.path);
  }
  return true;
}

/// The read-only and writable places of the host. A directory comes before its contents.
std::vector<SystemTree> host_trees(const SandboxRequest& request, LayerTrees& trees,
                                   std::vector<Fd> overlays) {
  std::vector<SystemTree> all = readable_trees(request, std::move(trees.readable));
  const auto add = [&all](const std::vector<std::string>& paths, std::vector<Fd>& mounts) {
    for (size_t i = 0; i < mounts.size(); ++i) {
      SystemTree entry;
      entry.path = paths[i];
      entry.tree = std::move(mounts[i]);
      all.push_back(std::move(entry));
    }
  };
  add(request.writable, trees.writable);
  add(request.layered, overlays);
  std::stable_sort(all.begin(), all.end(), [](const SystemTree& a, const SystemTree& b) {
    return a.path.size() < b.path.size();
  });
  return all;
}

/// Of a view. All views and the host share the terminals of the kernel.
constexpr const char* kMostTerminals = "256";

/// Makes pseudo-terminals of the view, which programs that start shells need. The host's are not
/// among them, and the kernel reserves some for the host (kernel.pty.reserve).
bool place_terminals(SetupFailure& failure) {
  const std::string place = in_new_root("/dev/pts");
  const bool is_mounted =
      mkdir(place.c_str(), kDirectoryMode) == 0 &&
      attach_new(
          "devpts",
          {{"newinstance", ""}, {"ptmxmode", "0666"}, {"mode", "0620"}, {"max", kMostTerminals}},
          MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, place) &&
      symlink("pts/ptmx", in_new_root("/dev/ptmx").c_str()) == 0;
  return is_mounted || failed(failure, "mount /dev/pts");
}

std::vector<std::string> system_paths(const SandboxRequest& request) {
  std::vector<std::string> paths = request.system;
  if (request.live != 0) paths.emplace_back("/dev/tty");
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/full"}) paths.emplace_back(device);
  if (request.fixed_random != 0) return paths;
  for (const char* device : {"/dev/random", "/dev/urandom"}) paths.emplace_back(device);
  return paths;
}

/// The bytes are the same for every deterministic command and at every opening of the file.
bool place_fixed_random(SetupFailure& failure) {
  std::string bytes(kMaxFixedRandomBytes, '\0');
  uint64_t state = 1;
  for (char& byte : bytes) {  // xorshift (Marsaglia 2003)
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    byte = static_cast<char>(state >> 32U);
  }
  for (const char* path : {"/dev/random", "/dev/urandom"}) {
    const Fd file(open(in_new_root(path).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0444));
    if (!file.is_open() ||
        write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      return failed(failure, std::string("make ") + path);
    }
  }
  return true;
}

/// The ids that the kernel would draw. Nothing else is in their folder.
bool place_fixed_ids(SetupFailure& failure) {
  const std::string place = in_new_root("/proc/sys/kernel/random");
  if (access(place.c_str(), F_OK) != 0) return true;
  if (!attach_new("tmpfs", {{"size", "256k"}, {"mode", "0555"}}, kSafeMount, place)) {
    return failed(failure, "mount /proc/sys/kernel/random");
  }
  constexpr std::string_view kId = "00000000-0000-4000-8000-000000000001\n";
  for (const char* name : {"/boot_id", "/uuid"}) {
    const Fd file(open((place + name).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0444));
    if (!file.is_open() || write(file.get(), kId.data(), kId.size()) != ssize_t{kId.size()}) {
      return failed(failure, "make " + place + name);
    }
  }
  return true;
}

/// Whether the run writes to or over this folder of the host.
bool is_host_folder(const SandboxRequest& request, const char* path) {
  const auto has = [path](const std::vector<std::string>& paths) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  return has(request.writable) || has(request.layered);
}

bool place_dev_links(const SandboxRequest& request, SetupFailure& failure) {
  struct Link {
    const char* target;
    const char* path;
  };
  constexpr std::array<Link, 6> kLinks = {{{"/proc/self/fd", "/dev/fd"},
                                           {"/proc/self/fd/0", "/dev/stdin"},
                                           {"/proc/self/fd/1", "/dev/stdout"},
                                           {"/proc/self/fd/2", "/dev/stderr"},
                                           {"/tmp", "/dev/shm"},
                                           {"../tmp", "/var/tmp"}}};
  if (!make_path(in_new_root("/var"))) return failed(failure, "make /var");
  for (const Link& link : kLinks) {
    // A mount on the link to /tmp would hide the private /tmp with the home in it.
    if (is_host_folder(request, link.path)) continue;
    if (symlink(link.target, in_new_root(link.path).c_str()) != 0) {
      return failed(failure, std::string("link ") + link.path);
    }
  }
  return true;
}

/// Makes the overlay from layers attached at short paths. The `lowerdir=a:b` option then needs no
/// escaping and stays below the limit of 256 bytes of fsconfig, also on kernels without
/// `lowerdir+`.
Fd make_overlay(const std::vector<const Fd*>& lower_trees, const Fd& upper_home,
                SetupFailure& failure) {
  if (!attach_new("tmpfs", {{"size", std::to_string(kRootTmpfsBytes)}}, kSafeMount, kNewRoot)) {
    (void)failed(failure, "mount a place for the layers");
    return {};
  }
  std::string lowers;
  const auto place = [&](const Fd& tree, const std::string& name) {
    const std::string target = in_new_root("/" + name);
    lowers += (lowers.empty() ? "" : ":") + target;
    return mkdir(target.c_str(), kDirectoryMode) == 0 && attach(tree.get(), target);
  };
  bool done = true;
  for (size_t i = 0; i < lower_trees.size(); ++i) {
    done = done && place(*lower_trees[i], std::to_string(i));
  }
  const std::string layers = lowers;
  if (!done || !place(upper_home, "u")) {
    (void)failed(failure, "attach the layers");
    return {};
  }
  Fd overlay = make_file_system("overlay",
                                {{"lowerdir", layers},
                                 {"upperdir", in_new_root("/u/upper")},
                                 {"workdir", in_new_root("/u/work")},
                                 {"userxattr", ""},
                                 {"volatile", ""}},
                                kSafeMount);
  if (!overlay.is_open()) (void)failed(failure, "mount overlayfs");
  return overlay;
}

Fd overlay_of_workspace(const LayerTrees& trees, SetupFailure& failure) {
  std::vector<const Fd*> lowers;
  for (const Fd& lower : trees.lowers) lowers.push_back(&lower);
  lowers.push_back(&trees.workspace);
  return make_overlay(lowers, trees.upper_home, failure);
}

/// Overlays over folders of the host, one for each of SandboxRequest::layered.
bool overlays_of_host(const LayerTrees& trees, std::vector<Fd>& overlays, SetupFailure& failure) {
  for (size_t i = 0; i < trees.layered.size(); ++i) {
    overlays.push_back(make_overlay({&trees.layered[i]}, trees.layer_homes[i], failure));
    if (!overlays.back().is_open()) return false;
  }
  return true;
}

bool place_overlay(const SandboxRequest& request, const Fd& overlay, SetupFailure& failure) {
  const std::string target = in_new_root(request.workspace);
  if (!make_path(target)) return failed(failure, "make " + request.workspace);
  return attach(overlay.get(), target) || failed(failure, "attach the overlay");
}

/// Makes the directories of `path` below `top` and opens the last one. It works by descriptor and
/// follows no link: the workspace may contain links, and until pivot() they lead to the host.
Fd make_below(const Fd& top, std::string_view path) {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd at(openat(top.get(), ".", kFlags));
  for (size_t start = 0; at.is_open() && start < path.size();) {
    const size_t end = std::min(path.find('/', start), path.size());
    const std::string name(path.substr(start, end - start));
    start = end + 1;
    if (mkdirat(at.get(), name.c_str(), kDirectoryMode) != 0 && errno != EEXIST) return {};
    at = Fd(openat(at.get(), name.c_str(), kFlags));
  }
  return at;
}

bool place_kept(const SandboxRequest& request, const LayerTrees& trees, SetupFailure& failure) {
  const Fd top(open(in_new_root(request.workspace).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; i < trees.keep.size(); ++i) {
    const Fd target =
        make_below(top, std::string_view(request.keep_to[i]).substr(request.workspace.size() + 1));
    if (!target.is_open() || move_mount(trees.keep[i].get(), "", target.get(), "",
                                        MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0) {
      return failed(failure, "keep " + request.keep_to[i]);
    }
  }
  return true;
}

/// The path by which the person entered the workspace becomes a link into it. If the link cannot be
/// made, the path is missing, which is harmless.
void place_spelled(const SandboxRequest& request) {
  if (request.spelled.empty()) return;
  const size_t slash = request.spelled.rfind('/');
  const Fd top(open(kNewRoot, O_PATH | O_DIRECTORY | O_CLOEXEC));
  const Fd parent =
      make_below(top, slash == 0 ? "" : std::string_view(request.spelled).substr(1, slash - 1));
  if (!parent.is_open()) return;
  (void)!symlinkat(request.spelled_folder.c_str(), parent.get(),
                   request.spelled.c_str() + slash + 1);
}

bool freeze(const SandboxRequest& request, SetupFailure& failure) {
  for (const std::string& path : request.frozen) {
    const std::string target = in_new_root(path);
    struct stat found {};
    if (lstat(target.c_str(), &found) != 0 || S_ISLNK(found.st_mode)) continue;
    const Fd tree = clone_tree(target, AT_RECURSIVE);
    if (!tree.is_open() || !set_attributes(tree.get(), MOUNT_ATTR_RDONLY | kSafeMount) ||
        !attach(tree.get(), target)) {
      return failed(failure, "make " + path + " read-only");
    }
  }
  return true;
}

/// Mounts a file that cannot be read or executed over each denied program and each file of
/// credentials. So the dynamic loader cannot load a denied program, and its bytes cannot be copied.
bool cover(const SandboxRequest& request, SetupFailure& failure) {
  std::vector<std::string> covered = request.covered;
  covered.insert(covered.end(), request.hidden.begin(), request.hidden.end());
  if (covered.empty()) return true;
  const std::string blank = in_new_root("/run/denied");
  const Fd made(open(blank.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0));
  if (!made.is_open()) return failed(failure, "make a file for denied programs");
  for (const std::string& path : covered) {
    const std::string target = in_new_root(path);
    struct stat found {};
    if (lstat(target.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    const Fd tree = clone_tree(blank, 0);
    if (!tree.is_open() || !set_attributes(tree.get(), MOUNT_ATTR_RDONLY | kSafeMount) ||
        !attach(tree.get(), target)) {
      return failed(failure, "cover " + path);
    }
  }
  return true;
}

/// Makes the run's own empty home, before parts of the host's home are placed in it.
bool place_home(const SandboxRequest& request, SetupFailure& failure) {
  if (request.home.empty()) return true;
  const std::string target = in_new_root(request.home);
  const bool is_placed =
      make_path(target) &&
      attach_new("tmpfs", {{"size", std::to_string(request.private_bytes)}, {"mode", "0700"}},
                 kSafeMount, target);
  return is_placed || failed(failure, "make the home");
}

/// Tells git the identity of the user, because the new home is empty. Follows no link: until
/// pivot(), links lead to the host.
void make_git_config(const SandboxRequest& request) {
  if (request.git_config.empty()) return;
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const Fd home(static_cast<int>(
      syscall(SYS_openat2, AT_FDCWD, in_new_root(request.home).c_str(), &how, sizeof how)));
  constexpr int kFlags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
  const Fd file(openat(home.get(), ".gitconfig", kFlags, 0644));
  // An existing file is the user's own.
  if (file.is_open()) (void)write_all(file.get(), request.git_config);
}

bool pivot(SetupFailure& failure) {
  if (chdir(kNewRoot) != 0) return failed(failure, "enter the new root");
  mount_attr attr{};
  attr.attr_set = MOUNT_ATTR_RDONLY;
  if (mount_setattr(AT_FDCWD, kNewRoot, 0, &attr, sizeof attr) != 0) {
    return failed(failure, "make the root read-only");
  }
  // pivot_root(2): with both arguments "." the old root ends up on top of the new one.
  if (syscall(SYS_pivot_root, ".", ".") != 0) return failed(failure, "pivot_root");
  if (umount2(".", MNT_DETACH) != 0) return failed(failure, "let go of the old root");
  if (chdir("/") != 0) return failed(failure, "enter /");
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
  uint64_t threads = 0;
  if (is_exiting(process, threads)) {
    // Its files are closed, or will be in a moment, unless another thread has them open.
    sum.is_complete = sum.is_complete && threads <= 1;
    return;
  }
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

bool enter_view(const SandboxRequest& request, LayerTrees trees, Fd& second,
                SetupFailure& failure) {
  std::vector<SystemTree> system;
  if (!open_system(system_paths(request), system, failure)) return false;
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return failed(failure, "make the mounts private");
  }
  const Fd overlay = overlay_of_workspace(trees, failure);
  std::vector<Fd> over_host;
  if (!overlay.is_open() || !overlays_of_host(trees, over_host, failure)) return false;
  const std::string root_size = std::to_string(kRootTmpfsBytes);
  if (!attach_new("tmpfs", {{"size", root_size}, {"mode", "0755"}}, kSafeMount, kNewRoot)) {
    return failed(failure, "mount the root");
  }
  for (const char* name : {"/tmp", "/proc", "/dev", "/run"}) {
    if (mkdir(in_new_root(name).c_str(), kDirectoryMode) != 0)
      return failed(failure, "make the root");
  }
  const std::string private_size = std::to_string(request.private_bytes);
  if (!attach_new("tmpfs", {{"size", private_size}, {"mode", "1777"}}, kSafeMount,
                  in_new_root("/tmp"))) {
    return failed(failure, "mount /tmp");
  }
  if (mkdir(in_new_root("/tmp/home").c_str(), 0700) != 0) return failed(failure, "make the home");
  const bool is_placed = place_system(system, failure) && place_dev_links(request, failure) &&
                         (request.fixed_random == 0 || place_fixed_random(failure)) &&
                         place_home(request, failure) &&
                         place_system(host_trees(request, trees, std::move(over_host)), failure);
  if (!is_placed) return false;
  if (!place_terminals(failure)) return false;
  make_git_config(request);
  if (!attach_new("proc", {}, kSafeMount | MOUNT_ATTR_NOEXEC, in_new_root("/proc"))) {
    return failed(failure, "mount /proc");
  }
  if (request.fixed_random != 0 && !place_fixed_ids(failure)) return false;
  if (!place_overlay(request, overlay, failure)) return false;
  if (request.live != 0) second = clone_tree(in_new_root(request.workspace), 0);
  if (request.live != 0 && !second.is_open()) return failed(failure, "clone the overlay");
  place_spelled(request);
  return place_kept(request, trees, failure) && freeze(request, failure) &&
         cover(request, failure) && pivot(failure);
}

}  // namespace galley
