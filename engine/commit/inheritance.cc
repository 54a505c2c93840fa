#include "engine/commit/inheritance.h"

#include <algorithm>

#include "base/file_mode.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/posix_acl.h"

namespace galley {

namespace {

constexpr uint32_t kAllOfFile = 0666;
constexpr uint32_t kAll = 0777;
constexpr std::string_view kCapability = "security.capability";

/// The mode that was requested before the umask: under a default ACL the umask does not apply.
uint32_t requested_mode(const Node& node) {
  if (node.kind == FileKind::kDirectory) {
    return node.mode == created_directory_mode() ? kAll : node.mode;
  }
  if (node.mode == created_file_mode()) return kAllOfFile;
  return node.mode == created_file_mode(true) ? kAll : node.mode;
}

}  // namespace

std::map<RelPath, RelPath> moved_directories(const std::vector<JournalOp>& ops) {
  std::map<RelPath, RelPath> moved;
  for (const JournalOp& op : ops) {
    if (!op.renamed_from) continue;
    RelPath to = op.path;
    RelPath from = *op.renamed_from;
    do {
      to = to.parent();
      from = from.parent();
      const JournalOp* const made = op_at(ops, to);
      const JournalOp* const removed = op_at(ops, from);
      if (made == nullptr || made->before.node.kind != FileKind::kAbsent) break;
      if (removed == nullptr || removed->after.node.kind != FileKind::kAbsent) break;
      const auto [known, is_new] = moved.try_emplace(to, from);
      if (!is_new && known->second == from) break;  // those around it are known, too
      if (!is_new) known->second = RelPath::root();
    } while (to.name() == from.name());
  }
  return moved;
}

std::string broken_links(const RelPath& path, std::string_view what) {
  return "'" + path.str() + "' had other hard links; they keep " + std::string(what);
}

Inheritance::Inheritance(const Plan& plan, const Directory& workspace, const FileStat& ours)
    : plan_(&plan),
      workspace_(&workspace),
      uid_(ours.uid),
      gid_(ours.gid),
      moved_(moved_directories(plan.ops)) {
  for (size_t i = 0; i < plan.ops.size(); ++i) index_.emplace(plan.ops[i].path, i);
}

void Inheritance::restore_metadata(const Journal& undone) {
  for (const JournalOp& op : undone.ops) {
    const auto [known, is_new] = undone_.try_emplace(op.path, op);
    if (!is_new) known->second.before = op.before;
  }
}

Result<const Inheritance::InheritedProperties*> Inheritance::of_parent(const RelPath& path) {
  // The nearest existing directory: directories that this transaction makes only pass its values
  // on.
  RelPath parent = path.parent();
  while (!parent.is_root()) {
    const auto op = index_.find(parent);
    if (op == index_.end() || plan_->ops[op->second].before.node.kind == FileKind::kDirectory)
      break;
    parent = parent.parent();
  }
  const auto known = parents_.find(parent);
  if (known != parents_.end()) return &known->second;
  InheritedProperties inherited;
  GALLEY_ASSIGN(const FileStat stat, workspace_->stat(parent));
  // The group that the directory has after the commit.
  const auto op = index_.find(parent);
  uint32_t gid = stat.gid;
  if (op != index_.end()) {
    const auto& given = plan_->ops[op->second].after.node.owner;
    if (given) gid = given->gid;
  }
  if ((stat.mode & kSetGroupId) != 0) inherited.gid = gid;
  GALLEY_ASSIGN(const auto attributes, workspace_->attributes(parent));
  for (const auto& attribute : attributes) {
    if (attribute.name == kDefaultAcl) inherited.default_acl = attribute.value;
  }
  return &parents_.emplace(parent, std::move(inherited)).first->second;
}

Result<bool> Inheritance::has_set_group_id(const RelPath& path) {
  GALLEY_ASSIGN(const InheritedProperties* parent, of_parent(path));
  return parent->gid.has_value();
}

/// The change that the undone transaction made to the path.
const JournalOp* Inheritance::undone(const JournalOp& op) const {
  const auto found = undone_.find(op.path);
  return found == undone_.end() ? nullptr : &found->second;
}

const JournalSide* Inheritance::source_of(const JournalOp& op) const {
  const FileKind kind = op.after.node.kind;
  const auto moved = moved_.find(op.path);
  const JournalOp* const source = op.renamed_from         ? op_at(plan_->ops, *op.renamed_from)
                                  : moved != moved_.end() ? op_at(plan_->ops, moved->second)
                                                          : nullptr;
  if (source != nullptr && source->before.node.kind == kind) return &source->before;
  const JournalOp* const earlier = undone(op);
  const JournalSide* const old =
      earlier != nullptr && earlier->before.node.kind == kind ? &earlier->before : nullptr;
  if (op.before.node.kind != kind) return old;
  // The old mode belongs to the old owner, group and attributes. It is restored only together with
  // them: under the owner that the commit left, it would give rights to others. Metadata that was
  // changed since then stays.
  const bool is_as_left = old != nullptr && op.before.uid == earlier->after.uid &&
                          op.before.gid == earlier->after.gid &&
                          op.before.attributes == earlier->after.attributes;
  return is_as_left ? old : &op.before;
}

Result<void> Inheritance::fill(JournalOp& op) {
  if (op.after.node.kind == FileKind::kAbsent) return {};
  GALLEY_TRY(take_over(op));
  if (!op.after.node.owner) return {};
  op.after.uid = op.after.node.owner->uid;
  op.after.gid = op.after.node.owner->gid;
  return {};
}

Result<void> Inheritance::take_over(JournalOp& op) {
  op.after.uid = uid_;
  op.after.gid = gid_;
  const JournalSide* source = source_of(op);
  if (source == nullptr) return inherit(op);
  op.after.uid = source->uid;
  op.after.gid = source->gid;
  op.after.attributes = source->attributes;
  if (source->node.content != op.after.node.content) drop_capabilities(op.after);
  return {};
}

void drop_capabilities(JournalSide& side) {
  std::erase_if(side.attributes, [](const auto& a) { return a.name == kCapability; });
}

uint32_t Inheritance::special_bits_of(const JournalOp& op) const {
  const JournalSide* const source = source_of(op);
  return source == nullptr ? 0 : source->special;
}

Result<void> Inheritance::inherit(JournalOp& op) {
  GALLEY_ASSIGN(const InheritedProperties* parent, of_parent(op.path));
  if (parent->gid) op.after.gid = *parent->gid;
  if (op.after.node.kind == FileKind::kSymlink || !parent->default_acl) return {};
  const auto acl = inherit_acl(*parent->default_acl, requested_mode(op.after.node));
  if (!acl) return {};
  // The owner of a directory keeps the rights that the commit's plan relies on.
  const bool is_directory = op.after.node.kind == FileKind::kDirectory;
  op.after.node.mode = acl->mode | (is_directory ? op.after.node.mode & kOwnerAll : 0);
  if (is_directory) {
    op.after.attributes.push_back({std::string(kDefaultAcl), *parent->default_acl});
  }
  if (!acl->access.empty()) op.after.attributes.push_back({std::string(kAccessAcl), acl->access});
  return {};
}

}  // namespace galley
