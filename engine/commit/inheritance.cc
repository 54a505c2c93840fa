#include "engine/commit/inheritance.h"

#include <algorithm>

#include "base/file_mode.h"
#include "engine/commit/acl.h"
#include "staging/fs/creation_mode.h"

namespace galley {
namespace {

constexpr uint32_t kAllOfFile = 0666;
constexpr uint32_t kAll = 0777;
constexpr std::string_view kCapability = "security.capability";

/// The mode that was asked for before the umask: with a default ACL the umask has no say.
uint32_t requested_mode(const Node& node) {
  if (node.kind == FileKind::kDirectory) {
    return node.mode == created_directory_mode() ? kAll : node.mode;
  }
  if (node.mode == created_file_mode()) return kAllOfFile;
  return node.mode == created_file_mode(true) ? kAll : node.mode;
}

}  // namespace

Inheritance::Inheritance(const Plan& plan, const Directory& workspace, const FileStat& ours)
    : plan_(&plan), workspace_(&workspace), uid_(ours.uid), gid_(ours.gid) {
  for (size_t i = 0; i < plan.ops.size(); ++i) index_.emplace(plan.ops[i].path, i);
}

void Inheritance::bring_back(Journal undone) { undone_ = std::move(undone); }

Result<const Inheritance::Hereditary*> Inheritance::of_parent(const RelPath& path) {
  // The nearest directory that stands already: ones made by this transaction only pass it on.
  RelPath parent = path.parent();
  while (!parent.is_root()) {
    const auto op = index_.find(parent);
    if (op == index_.end() || plan_->ops[op->second].before.node.kind == FileKind::kDirectory)
      break;
    parent = parent.parent();
  }
  const auto known = parents_.find(parent);
  if (known != parents_.end()) return &known->second;
  Hereditary hereditary;
  GALLEY_ASSIGN(const FileStat stat, workspace_->stat(parent));
  if ((stat.mode & kSetGroupId) != 0) hereditary.gid = stat.gid;
  GALLEY_ASSIGN(const auto attributes, workspace_->attributes(parent));
  for (const auto& attribute : attributes) {
    if (attribute.name == kDefaultAcl) hereditary.default_acl = attribute.value;
  }
  return &parents_.emplace(parent, std::move(hereditary)).first->second;
}

Result<bool> Inheritance::has_set_group_id(const RelPath& path) {
  GALLEY_ASSIGN(const Hereditary* parent, of_parent(path));
  return parent->gid.has_value();
}

/// What the transaction that is taken back did to the path.
const JournalOp* Inheritance::undone(const JournalOp& op) const {
  const auto found = std::lower_bound(
      undone_.ops.begin(), undone_.ops.end(), op.path,
      [](const JournalOp& earlier, const RelPath& path) { return earlier.path < path; });
  return found != undone_.ops.end() && found->path == op.path ? &*found : nullptr;
}

const JournalSide* Inheritance::source_of(const JournalOp& op) const {
  const FileKind kind = op.after.node.kind;
  if (op.renamed_from) {
    const auto found = index_.find(*op.renamed_from);
    const JournalSide* source = found != index_.end() ? &plan_->ops[found->second].before : nullptr;
    if (source != nullptr && source->node.kind == kind) return source;
  }
  const JournalOp* const earlier = undone(op);
  const JournalSide* const old =
      earlier != nullptr && earlier->before.node.kind == kind ? &earlier->before : nullptr;
  if (op.before.node.kind != kind) return old;
  // The mode that comes back is that of the owner and group then: with those that the commit had to
  // leave it with, others would gain by it. What somebody gave it since stays.
  const bool is_as_left = old != nullptr && op.before.uid == earlier->after.uid &&
                          op.before.gid == earlier->after.gid &&
                          op.before.attributes == earlier->after.attributes;
  return is_as_left ? old : &op.before;
}

Result<void> Inheritance::fill(JournalOp& op) {
  if (op.after.node.kind == FileKind::kAbsent) return {};
  op.after.uid = uid_;
  op.after.gid = gid_;
  const JournalSide* source = source_of(op);
  if (source == nullptr) return inherit(op);
  op.after.uid = source->uid;
  op.after.gid = source->gid;
  op.after.attributes = source->attributes;
  // As write(2) would: new content does not inherit the trust the old one was given.
  std::erase_if(op.after.attributes, [](const auto& a) { return a.name == kCapability; });
  return {};
}

uint32_t Inheritance::special_of(const JournalOp& op) const {
  const JournalSide* const source = source_of(op);
  return source == nullptr ? 0 : source->special;
}

Result<void> Inheritance::inherit(JournalOp& op) {
  GALLEY_ASSIGN(const Hereditary* parent, of_parent(op.path));
  if (parent->gid) op.after.gid = *parent->gid;
  if (op.after.node.kind == FileKind::kSymlink || !parent->default_acl) return {};
  const auto acl = inherit_acl(*parent->default_acl, requested_mode(op.after.node));
  if (!acl) return {};
  // The owner of a directory keeps the rights that the plan of the commit goes by.
  const bool is_directory = op.after.node.kind == FileKind::kDirectory;
  op.after.node.mode = acl->mode | (is_directory ? op.after.node.mode & kOwnerAll : 0);
  if (is_directory) {
    op.after.attributes.push_back({std::string(kDefaultAcl), *parent->default_acl});
  }
  if (!acl->access.empty()) op.after.attributes.push_back({std::string(kAccessAcl), acl->access});
  return {};
}

}  // namespace galley
