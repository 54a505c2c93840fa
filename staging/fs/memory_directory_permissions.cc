#include <cerrno>

#include "base/file_mode.h"
#include "staging/fs/memory_tree.h"

namespace galley {
namespace {

constexpr uint32_t kOwnerShift = 6;
constexpr uint32_t kGroupShift = 3;
constexpr uint32_t kKeep = UINT32_MAX;

}  // namespace

bool MemoryTree::is_owner(const MemoryNode& node) const { return !user || user->uid == node.uid; }

bool MemoryTree::is_member(uint32_t gid) const {
  return !user || user->gid == gid || user->groups.count(gid) != 0;
}

bool MemoryTree::allows(const MemoryNode& node, uint32_t rights) const {
  if (!user) return true;
  uint32_t bits = node.mode;
  if (user->uid == node.uid) {
    bits >>= kOwnerShift;
  } else if (is_member(node.gid)) {
    bits >>= kGroupShift;
  }
  return (bits & rights) == rights;
}

int MemoryTree::refuses_mode(const MemoryNode& node) const { return is_owner(node) ? 0 : EPERM; }

int MemoryTree::refuses_owner(const MemoryNode& node, uint32_t uid, uint32_t gid) const {
  if (!user) return 0;
  const bool keeps_uid = uid == kKeep || uid == node.uid;
  const bool may_group = gid == kKeep || gid == node.gid || is_member(gid);
  return is_owner(node) && keeps_uid && may_group ? 0 : EPERM;
}

int MemoryTree::refuses_attribute(const MemoryNode& node, const std::string& name) const {
  if (!user) return 0;
  if (name.starts_with("user.")) return allows(node, kWriteRight) ? 0 : EACCES;
  return name.starts_with("system.") && is_owner(node) ? 0 : EPERM;
}

uint32_t MemoryTree::permitted_mode(const MemoryNode& node, uint32_t mode) const {
  return is_member(node.gid) ? mode : mode & ~kSetGroupId;
}

}  // namespace galley
