#include "engine/commit/slots.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace galley {
namespace {

constexpr uint32_t kPrivateDirectory = 0700;
constexpr uint32_t kPrivateFile = 0600;
constexpr size_t kCopyBytes = size_t{1} << 20U;
constexpr int kMaxLeftovers = 1000;
constexpr uint32_t kSetGroupId = 02000;
constexpr uint32_t kOwnerAll = 0700;
constexpr uint32_t kKeepOwner = UINT32_MAX;
constexpr std::string_view kAccessAcl = "system.posix_acl_access";
constexpr std::string_view kDefaultAcl = "system.posix_acl_default";
constexpr std::string_view kCapability = "security.capability";

RelPath slot_path(TxId id) {
  auto path = RelPath::parse(id.hex());
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

/// `ours` is the slot directory: what is made in it has its owner and group.
Result<void> set_owner(const Directory& directory, const FileStat& ours, const RelPath& name,
                       const JournalSide& side, const RelPath& path,
                       std::vector<std::string>& warnings) {
  if (ours.uid == side.uid && ours.gid == side.gid) return {};
  const auto set = directory.set_owner(name, side.uid, side.gid);
  if (set) return {};
  if (set.error().os_error != EPERM) return set.error();
  // The group alone may be allowed; a file that nobody asked to give away stays ours otherwise.
  const auto group = directory.set_owner(name, kKeepOwner, side.gid);
  warnings.push_back("the owner" + std::string(group ? "" : " and group") + " of '" + path.str() +
                     "' could not be kept");
  return {};
}

Result<void> set_attributes(const Directory& directory, const RelPath& name,
                            const JournalSide& side, const RelPath& path,
                            std::vector<std::string>& warnings) {
  for (const auto& attribute : side.attributes) {
    const auto set = directory.set_attribute(name, attribute);
    if (set) continue;
    const int code = set.error().os_error;
    if (code != EPERM && code != EOPNOTSUPP && code != EACCES) return set.error();
    warnings.push_back("the attribute " + attribute.name + " of '" + path.str() +
                       "' could not be kept");
  }
  return {};
}

}  // namespace

RelPath Slots::name(size_t op, std::string_view suffix) {
  auto path = RelPath::parse(std::to_string(op) + std::string(suffix));
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

Result<Slots> Slots::create(const StateDirectory& state, TxId id) {
  const RelPath path = slot_path(id);
  GALLEY_TRY(state.slots().make_directory(path, kPrivateDirectory));
  GALLEY_ASSIGN(auto directory, state.slots().open_directory(path));
  GALLEY_ASSIGN(const FileStat ours, directory->stat(RelPath::root()));
  return Slots(std::move(directory), ours);
}

Result<Slots> Slots::open_or_create(const StateDirectory& state, TxId id) {
  const RelPath path = slot_path(id);
  GALLEY_TRY(make_directories(state.slots(), path, kPrivateDirectory));
  GALLEY_ASSIGN(auto directory, state.slots().open_directory(path));
  GALLEY_ASSIGN(const FileStat ours, directory->stat(RelPath::root()));
  return Slots(std::move(directory), ours);
}

Result<RelPath> Slots::free_name(size_t op, const RelPath& path) const {
  for (int attempt = 0; attempt < kMaxLeftovers; ++attempt) {
    RelPath free = name(op, ".r" + std::to_string(attempt));
    GALLEY_ASSIGN(const FileStat stat, directory_->stat(free));
    if (stat.kind == FileKind::kAbsent) return free;
  }
  return fail(ErrorKind::kQuota, "limit.recovery",
              "recovery of '" + path.str() + "' was interrupted too often; look into .galley/slot");
}

Result<void> Slots::replace_by_copy(const Directory& directory, const RelPath& name) const {
  GALLEY_ASSIGN(const RelPath writing, RelPath::parse(name.str() + std::string(kWritingSuffix)));
  GALLEY_TRY(remove_tree(*directory_, writing));
  GALLEY_ASSIGN(const auto from, directory.open_file(name, OpenMode::kRead));
  GALLEY_ASSIGN(const auto copy,
                directory_->open_file(writing, OpenMode::kCreateNew, kPrivateFile));
  for (uint64_t at = 0;;) {
    GALLEY_ASSIGN(const std::string bytes, from->read_at(at, kCopyBytes));
    if (bytes.empty()) break;
    GALLEY_TRY(copy->write_at(at, bytes));
    at += bytes.size();
  }
  GALLEY_TRY(copy->sync());
  return directory_->rename(writing, directory, name, RenameMode::kReplace);
}

Result<void> Slots::write_file(const RelPath& name, const RelPath& path, const JournalSide& side,
                               const Content& content, std::vector<std::string>& warnings) const {
  GALLEY_ASSIGN(const auto file, directory_->open_file(name, OpenMode::kCreateNew, kPrivateFile));
  if (!content->empty()) GALLEY_TRY(file->write_at(0, *content));
  GALLEY_TRY(set_owner(*directory_, ours_, name, side, path, warnings));
  GALLEY_TRY(set_attributes(*directory_, name, side, path, warnings));
  // Last: an ACL rewrites the group bits, a change of owner clears bits.
  return file->set_mode(side.node.mode);
}

Result<void> Slots::write(const RelPath& name, const RelPath& path, const JournalSide& side,
                          const Content& content, std::vector<std::string>& warnings) const {
  switch (side.node.kind) {
    case FileKind::kRegular:
      return write_file(name, path, side, content, warnings);
    case FileKind::kSymlink:
      GALLEY_TRY(directory_->make_symlink(name, *content));
      return set_owner(*directory_, ours_, name, side, path, warnings);
    case FileKind::kDirectory: {
      GALLEY_TRY(directory_->make_directory(name, kPrivateDirectory));
      GALLEY_TRY(set_owner(*directory_, ours_, name, side, path, warnings));
      GALLEY_TRY(set_attributes(*directory_, name, side, path, warnings));
      // Open to us until it is filled; the plan closes it afterwards.
      GALLEY_ASSIGN(const FileStat stat, directory_->stat(name));
      return directory_->set_mode(name, side.node.mode | kOwnerAll | (stat.mode & kSetGroupId));
    }
    default:
      GALLEY_CHECK(false);
  }
  return {};
}

Inheritance::Inheritance(const Plan& plan, const Directory& workspace, const FileStat& ours)
    : plan_(&plan), workspace_(&workspace), uid_(ours.uid), gid_(ours.gid) {
  for (size_t i = 0; i < plan.ops.size(); ++i) index_.emplace(plan.ops[i].path, i);
}

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
    if (attribute.name == kDefaultAcl) hereditary.acl.push_back(attribute);
  }
  return &parents_.emplace(parent, std::move(hereditary)).first->second;
}

Result<void> Inheritance::fill(JournalOp& op) {
  if (op.after.node.kind == FileKind::kAbsent) return {};
  const JournalSide* source = nullptr;
  if (op.renamed_from) {
    const auto found = index_.find(*op.renamed_from);
    if (found != index_.end()) source = &plan_->ops[found->second].before;
    if (source != nullptr && source->node.kind != op.after.node.kind) source = nullptr;
  }
  if (source == nullptr && op.before.node.kind == op.after.node.kind) source = &op.before;
  op.after.uid = uid_;
  op.after.gid = gid_;
  if (source != nullptr) {
    op.after.uid = source->uid;
    op.after.gid = source->gid;
    op.after.attributes = source->attributes;
    // As write(2) would: new content does not inherit the trust the old one was given.
    std::erase_if(op.after.attributes, [](const auto& a) { return a.name == kCapability; });
    return {};
  }
  GALLEY_ASSIGN(const Hereditary* parent, of_parent(op.path));
  if (parent->gid) op.after.gid = *parent->gid;
  if (op.after.node.kind == FileKind::kSymlink) return {};
  for (ExtendedAttribute acl : parent->acl) {
    if (op.after.node.kind == FileKind::kDirectory) op.after.attributes.push_back(acl);
    acl.name = kAccessAcl;
    op.after.attributes.push_back(std::move(acl));
  }
  return {};
}

bool is_torn_image(const std::string& bytes, const Journal& journal, const JournalOp& op) {
  std::string_view kept = bytes;
  while (!kept.empty() && kept.back() == '\0') kept.remove_suffix(1);
  if (kept.empty()) return true;
  for (const auto* side : {&op.before, &op.after}) {
    const auto image = journal.images.find(side->node.content);
    if (image != journal.images.end() && std::string_view(*image->second).starts_with(kept)) {
      return true;
    }
  }
  return false;
}

}  // namespace galley
