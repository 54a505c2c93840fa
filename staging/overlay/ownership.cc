#include "staging/overlay/ownership.h"

#include "staging/fs/user_state.h"

namespace galley {

Owner owner_of(const FileStat& stat) { return {stat.uid, stat.gid}; }

bool changes_owner(const Node& before, const Node& after) {
  return after.owner && before.kind == after.kind && before.owner != after.owner;
}

Node with_owner(Node node, const Owner& owner) {
  if (node.kind == FileKind::kRegular || node.kind == FileKind::kDirectory) node.owner = owner;
  return node;
}

Node with_owner_like(const Node& found, const Node& wanted, const FileStat& stat) {
  return wanted.owner ? with_owner(found, owner_of(stat)) : found;
}

std::string owner_text(const Owner& owner) {
  return std::to_string(owner.uid) + ":" + std::to_string(owner.gid);
}

Result<void> check_owner_change(const RelPath& path, const std::optional<Owner>& now,
                                const Owner& wanted) {
  if (may_give_owner(now ? now->uid : effective_user(), wanted.uid, wanted.gid)) return {};
  const std::string who = is_root_user() ? "this process, which lacks CAP_CHOWN or does not have "
                                           "these ids in its user namespace,"
                                         : "the user " + std::to_string(effective_user());
  return fail(ErrorKind::kRefused, "owner.not_permitted",
              who + " may not give '" + path.str() + "' to " + owner_text(wanted) +
                  (is_root_user() ? std::string("; name other ids")
                                  : "; a user may give its own files to its own groups only: "
                                    "name such a group, or have root make this change"),
              path.str());
}

}  // namespace galley
