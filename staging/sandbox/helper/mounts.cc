#include "staging/sandbox/helper/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>

namespace galley {

const unsigned kSafeMount = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

Fd clone_tree(const std::string& path, unsigned flags) {
  return Fd(open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags));
}

bool set_attributes(int tree, uint64_t attributes) {
  mount_attr attr{};
  attr.attr_set = attributes;
  return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) == 0;
}

}  // namespace galley
