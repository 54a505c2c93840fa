#include "engine/commit/slots.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/file_mode.h"
#include "base/result.h"
#include "engine/commit/inheritance.h"
#include "engine/commit/mutant.h"
#include "engine/commit/retire.h"
#include "staging/fs/directory.h"
#include "staging/fs/posix_acl.h"
#include "staging/overlay/change_set.h"

namespace galley {

namespace {

constexpr int kMaxLeftovers = 1000;
constexpr uint32_t kKeepOwner = UINT32_MAX;
constexpr uint32_t kGroupRights = 0070;
constexpr uint32_t kOtherRights = 0007;

std::string in_octal(uint32_t mode) {
  std::string text = "000";
  for (size_t digit = text.size(); digit > 0; --digit, mode >>= 3U) {
    text[digit - 1] = static_cast<char>('0' + (mode & 7U));
  }
  return text;
}

RelPath slot_path(TxId id) {
  auto path = RelPath::parse(id.file_name());
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

/// The properties of a side that a new object could not get.
struct LostProperties {
  bool group = false;
  bool acl = false;
};

/// On entry, `given` has the owner and group of objects made here; on return, those of this object.
Result<void> set_owner(const Location& at, const JournalSide& side, Slots::ObjectMetadata& given) {
  if (given.uid == side.uid && given.gid == side.gid) return {};
  // EINVAL: this user namespace does not know the id.
  const auto is_refusal = [](const Error& error) {
    return error.os_error == EPERM || error.os_error == EINVAL;
  };
  const auto set = at.directory->set_owner(at.name, side.uid, side.gid);
  if (!set && !is_refusal(set.error())) return set.error();
  // Setting only the group may be allowed. Otherwise the object stays ours, which gives no rights
  // away.
  const auto group = set ? set : at.directory->set_owner(at.name, kKeepOwner, side.gid);
  if (!group && !is_refusal(group.error())) return group.error();
  if (set) given.uid = side.uid;
  if (group) given.gid = side.gid;
  return {};
}

bool is_acl_attribute(const ExtendedAttribute& attribute) {
  return attribute.name == kAccessAcl || attribute.name == kDefaultAcl;
}

Result<void> set_attribute(const Location& at, const ExtendedAttribute& attribute,
                           LostProperties& lost_properties, std::vector<std::string>& names) {
  const auto set = at.directory->set_attribute(at.name, attribute);
  if (set) return {};
  const int code = set.error().os_error;
  if (code != EPERM && code != EOPNOTSUPP && code != EACCES && code != EINVAL) return set.error();
  lost_properties.acl = lost_properties.acl || attribute.name == kAccessAcl;
  names.push_back(attribute.name);
  return {};
}

/// ACLs come last: they rewrite the mode, and the other attributes need write permission. An ACL
/// refers to the owning group, so it is not set together with another group.
Result<void> set_attributes(const Location& at, const JournalSide& side,
                            LostProperties& lost_properties, std::vector<std::string>& names) {
  for (const auto& attribute : side.attributes) {
    if (!is_acl_attribute(attribute))
      GALLEY_TRY(set_attribute(at, attribute, lost_properties, names));
  }
  for (const auto& attribute : side.attributes) {
    if (!is_acl_attribute(attribute)) continue;
    if (!lost_properties.group) {
      GALLEY_TRY(set_attribute(at, attribute, lost_properties, names));
      continue;
    }
    lost_properties.acl = lost_properties.acl || attribute.name == kAccessAcl;
    names.push_back(attribute.name);
  }
  return {};
}

/// The mode without its group or its ACL: a member of the old group is one of the others now, and
/// one of the others may be in the new group.
uint32_t narrowed_mode(const JournalSide& side, const LostProperties& lost_properties) {
  uint32_t mode = side.node.mode;
  if (lost_properties.acl) {
    for (const auto& attribute : side.attributes) {
      if (attribute.name != kAccessAcl) continue;
      mode &= ~kGroupRights | owning_group_rights(attribute.value).value_or(0) << kGroupShift;
    }
  }
  if (!lost_properties.group) return mode;
  const uint32_t shared = (mode >> kGroupShift) & mode & kOtherRights;
  return (mode & kOwnerAll) | shared << kGroupShift | shared;
}

/// Of the special bits a directory gets those that restrict: sticky, and setgid with its group. A
/// new file never gets any, because it would run with another user's rights.
uint32_t special_for(const JournalSide& side, bool has_group) {
  if (side.node.kind != FileKind::kDirectory) return 0;
  return side.special & (kSticky | (has_group ? kSetGroupId : 0));
}

std::string special_in_words(uint32_t bits) {
  std::string words;
  const auto add = [&](uint32_t bit, const char* word) {
    if ((bits & bit) != 0) words += (words.empty() ? "" : ", ") + std::string(word);
  };
  add(kSetUserId, "setuid bit");
  add(kSetGroupId, "setgid bit");
  add(kSticky, "sticky bit");
  return words;
}

/// Sets owner and attributes, returns the mode to set, and adds a warning for what could not be
/// kept.
Result<Slots::ObjectMetadata> give(const Location& at, const FileStat& ours, const RelPath& path,
                                   const JournalSide& side, std::vector<std::string>& warnings) {
  Slots::ObjectMetadata given{ours.uid, ours.gid, side.node.mode, 0};
  GALLEY_TRY(set_owner(at, side, given));
  LostProperties lost_properties;
  lost_properties.group = given.gid != side.gid;
  std::vector<std::string> names;
  if (side.node.kind != FileKind::kSymlink) {
    GALLEY_TRY(set_attributes(at, side, lost_properties, names));
    given.mode = narrowed_mode(side, lost_properties);
  }
  std::string lost;
  const auto add = [&](const std::string& what) { lost += (lost.empty() ? "" : ", ") + what; };
  if (given.uid != side.uid) add("owner " + std::to_string(side.uid));
  if (lost_properties.group) add("group " + std::to_string(side.gid));
  for (const auto& name : names) add("attribute " + name);
  given.special = special_for(side, !lost_properties.group);
  if (given.special != side.special) add(special_in_words(side.special & ~given.special));
  if (lost.empty()) return given;
  std::string warning = "'" + path.str() + "' could not be given its " + lost;
  if (given.mode != side.node.mode) {
    warning += "; its mode is " + in_octal(given.mode) + " instead of " + in_octal(side.node.mode) +
               ", so that no user may do more than before";
  }
  warnings.push_back(std::move(warning));
  return given;
}

}  // namespace

bool gets_only_owner(const JournalOp& op) {
  return op.after.node.kind == FileKind::kRegular &&
         op.after.node.content == op.before.node.content &&
         changes_owner(op.before.node, op.after.node);
}

Error owner_not_recovered(const RelPath& path, const Owner& owner, int os_error) {
  return Error{ErrorKind::kRefused, "owner.not_permitted",
               "recovery may not give '" + path.str() + "' to " + owner_text(owner) +
                   "; run `galley recover` as a user who may, for example as root",
               path.str(), os_error};
}

RelPath Slots::name(size_t op, std::string_view suffix) {
  auto path = RelPath::parse(std::to_string(op) + std::string(suffix));
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

Result<Slots> Slots::create(const StateDirectory& state, TxId id) {
  const RelPath path = slot_path(id);
  GALLEY_TRY(state.slots().make_directory(path, kPrivateDirectory));
  GALLEY_ASSIGN(auto directory, state.slots().open_writable_directory(path));
  return in_folder(std::move(directory));
}

Result<Slots> Slots::in_folder(std::unique_ptr<WritableDirectory> folder) {
  GALLEY_ASSIGN(const FileStat ours, folder->stat(RelPath::root()));
  return Slots(std::move(folder), ours);
}

Result<Slots> Slots::open_or_create(const StateDirectory& state, TxId id) {
  const RelPath path = slot_path(id);
  GALLEY_TRY(make_directories(state.slots(), path, kPrivateDirectory));
  GALLEY_ASSIGN(auto directory, state.slots().open_writable_directory(path));
  return in_folder(std::move(directory));
}

Result<RelPath> Slots::write_complete(size_t op, const RelPath& path, const JournalSide& side,
                                      const Content& content, WriteOptions how) const {
  const RelPath writing = name(op, kWritingSuffix);
  GALLEY_TRY(remove_tree(*directory_, writing));
  // Its bytes must be durable before its name is: the next run would not recognise a torn file as
  // ours, because it is newer than the journal.
  how.is_synced = !is_mutant(Mutant::kSlotNotSynced);
  std::vector<std::string> lost_properties;
  GALLEY_ASSIGN(const ObjectMetadata given,
                write(writing, path, side, content, how, lost_properties));
  if (side.node.owner && *side.node.owner != Owner{given.uid, given.gid}) {
    return owner_not_recovered(path, *side.node.owner, 0);
  }
  GALLEY_ASSIGN(RelPath slot, free_name(op, path));
  GALLEY_TRY(directory_->rename(writing, *directory_, slot, RenameMode::kReplace));
  return slot;
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

Result<std::optional<RelPath>> Slots::caught(size_t op, const JournalSide& side) const {
  const std::optional<RelPath> none;
  const bool is_foreign = side.uid != ours_.uid || side.gid != ours_.gid;
  if (!is_foreign || side.node.kind != FileKind::kRegular) return none;
  for (const std::string_view suffix : {std::string_view(), kOldSuffix}) {
    const RelPath slot = name(op, suffix);
    GALLEY_ASSIGN(const FileStat stat, directory_->stat(slot));
    if (stat.kind != FileKind::kRegular || stat.uid != side.uid || stat.gid != side.gid) continue;
    GALLEY_ASSIGN(const Node node, observe_slot(Location{directory_.get(), slot}));
    const bool is_it = with_owner_like(node, side.node, stat) == side.node;
    if (is_it) return std::optional<RelPath>(slot);
  }
  return none;
}

Result<void> Slots::replace_by_copy(const WritableDirectory& directory, const RelPath& name) const {
  GALLEY_ASSIGN(const RelPath writing, RelPath::parse(name.str() + std::string(kWritingSuffix)));
  GALLEY_TRY(remove_tree(*directory_, writing));
  GALLEY_ASSIGN(const auto from, directory.open_file(name));
  GALLEY_ASSIGN(const auto copy,
                directory_->open_writable_file(writing, OpenMode::kCreateNew, kPrivateFile));
  GALLEY_TRY(read_in_pieces(*from, 0, UINT64_MAX, [&](uint64_t at, std::string_view bytes) {
    return write_with_holes(*copy, bytes, at);
  }));
  GALLEY_TRY(copy->sync());
  return directory_->rename(writing, directory, name, RenameMode::kReplace);
}

/// Whether a new file gets the requested mode, which a umask or a default ACL may narrow. Checked
/// once per mode.
Result<bool> Slots::is_made_with(File& file, uint32_t mode) const {
  const auto known = made_with_.find(mode);
  if (known != made_with_.end()) return known->second;
  GALLEY_ASSIGN(const FileStat stat, file.stat());
  return made_with_[mode] = stat.mode == mode;
}

Result<Slots::ObjectMetadata> Slots::write_file(const RelPath& name, const RelPath& path,
                                                const JournalSide& side, const Content& content,
                                                const WriteOptions& options,
                                                std::vector<std::string>& warnings) const {
  // Only we use this directory, so a file without other metadata is created with its final mode.
  const bool is_plain = side.attributes.empty() && side.uid == ours_.uid && side.gid == ours_.gid;
  const uint32_t mode = is_plain ? side.node.mode : kPrivateFile;
  GALLEY_ASSIGN(const auto file, directory_->open_writable_file(name, OpenMode::kCreateNew, mode));
  GALLEY_TRY(options.fill ? options.fill(*file) : write_with_holes(*file, *content));
  GALLEY_ASSIGN(const ObjectMetadata given,
                give(Location{directory_.get(), name}, ours_, path, side, warnings));
  GALLEY_ASSIGN(const bool has_mode, is_plain ? is_made_with(*file, mode) : Result<bool>(false));
  // Last, because an ACL rewrites the group bits and a change of owner clears bits.
  if (!has_mode) GALLEY_TRY(file->set_mode(given.mode));
  if (options.mtime_ns) GALLEY_TRY(file->set_modified(*options.mtime_ns));
  // Through this descriptor, because the new mode may not allow another open.
  if (options.is_synced) GALLEY_TRY(file->sync());
  return given;
}

Result<Slots::ObjectMetadata> Slots::write(const RelPath& name, const RelPath& path,
                                           const JournalSide& side, const Content& content,
                                           const WriteOptions& options,
                                           std::vector<std::string>& warnings) const {
  const Location at{directory_.get(), name};
  switch (side.node.kind) {
    case FileKind::kRegular:
      return write_file(name, path, side, content, options, warnings);
    case FileKind::kSymlink:
      GALLEY_TRY(directory_->make_symlink(name, *content));
      return give(at, ours_, path, side, warnings);
    case FileKind::kDirectory: {
      GALLEY_TRY(directory_->make_directory(name, kPrivateDirectory));
      GALLEY_ASSIGN(const ObjectMetadata given, give(at, ours_, path, side, warnings));
      // It stays open for us until it is filled; the plan closes it afterwards.
      const uint32_t special = given.special | (options.has_set_group_id ? kSetGroupId : 0);
      GALLEY_TRY(directory_->set_mode(name, given.mode | kOwnerAll | special));
      return given;
    }
    default:
      GALLEY_CHECK(false);
  }
  return ObjectMetadata();
}

namespace {

/// Reads a slot again, with permission to read, if the first read was refused.
template <class Look>
auto look_again(const Location& at, const Look& look) -> decltype(look()) {
  auto seen = look();
  if (seen || seen.error().os_error != EACCES) return seen;
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  const auto opened = at.directory->set_mode(at.name, stat.mode | kOwnerRead);
  // Owned by another user: the first result stays.
  if (!opened && opened.error().os_error == EPERM) return seen;
  if (!opened) return opened.error();
  seen = look();
  GALLEY_TRY(at.directory->set_mode(at.name, stat.mode));
  return seen;
}

}  // namespace

Result<Node> observe_slot(const Location& at) {
  return look_again(at, [&] { return observe_opened(at); });
}

Result<std::string> read_slot(const Location& at) {
  return look_again(at, [&] { return read_file(*at.directory, at.name, kMaxImageBytes); });
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

namespace {

constexpr int kMaxRescueNames = 10'000;
constexpr uint32_t kOwnerWrite = 0200;

/// The operation that a slot belongs to: "12", "12.old"; null for a foreign name.
const JournalOp* op_of(const Journal& journal, std::string_view name) {
  size_t index = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool has_end = end == name.data() + name.size() || *end == '.';
  if (code != std::errc() || !has_end || index >= journal.ops.size()) return nullptr;
  return &journal.ops[index];
}

bool is_image(const Journal& journal, const Node& node) {
  return std::any_of(journal.ops.begin(), journal.ops.end(), [&](const JournalOp& op) {
    for (const auto* side : {&op.before.node, &op.after.node}) {
      if (side->kind == node.kind && side->content == node.content) return true;
    }
    return false;
  });
}

class SlotSweep {
 public:
  SlotSweep(const StateDirectory& state, const Journal& journal, bool may_be_torn,
            std::vector<JournalNote>& notes)
      : state_(state), journal_(journal), may_be_torn_(may_be_torn), notes_(notes) {}

  Result<void> run() {
    const RelPath name = chosen_path(journal_.id.file_name());
    auto directory = state_.slots().open_writable_directory(name);
    if (!directory && directory.error().kind == ErrorKind::kNotFound) return {};
    if (!directory) return directory.error();
    GALLEY_ASSIGN(const auto entries, (*directory)->list());
    for (const auto& entry : entries) GALLEY_TRY(sweep(**directory, entry));
    return state_.slots().remove_directory(name);
  }

 private:
  Result<void> sweep(const WritableDirectory& directory, const DirectoryEntry& entry) {
    const RelPath name = chosen_path(entry.name);
    if (entry.name.ends_with(Slots::kWritingSuffix)) return remove_tree(directory, name);
    const JournalOp* op = op_of(journal_, entry.name);
    bool is_ours = false;
    if (!entry.name.ends_with(Slots::kKeepSuffix)) {
      GALLEY_ASSIGN(is_ours, is_known(directory, name, op));
    }
    if (!is_ours && !is_mutant(Mutant::kSweepWithoutLook)) {
      const RelPath path = op != nullptr ? op->path : chosen_path("slot-" + entry.name);
      return rescue(state_, journal_.id, directory, name, path, notes_);
    }
    if (entry.kind == FileKind::kDirectory) {
      GALLEY_ASSIGN(const RemovedDirectories removed_directories, RemovedDirectories::find(state_));
      if (removed_directories.is_there() && removed_directories.remove(directory, name)) return {};
    }
    return remove_tree(directory, name);
  }

  Result<bool> is_known(const WritableDirectory& directory, const RelPath& name,
                        const JournalOp* op) {
    GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
    GALLEY_TRY(open_up(directory, name, stat));
    const auto looked = observe(Location{&directory, name}, stat);
    // An unreadable object was saved by another user. It may be removed only if its bytes have
    // another name.
    if (!looked && looked.error().os_error == EACCES) return stat.nlink > 1;
    if (!looked) return looked.error();
    const Node& node = *looked;
    if (node.kind == FileKind::kDirectory) return holds_only_known(directory, name);
    // Try the slot's own operation first: the search through all operations is for moved inodes.
    if (op != nullptr && (is_side(op->before.node, node) || is_side(op->after.node, node))) {
      return true;
    }
    if (is_image(journal_, node)) return true;
    const bool can_be_torn =
        may_be_torn_ && node.kind == FileKind::kRegular && node.size <= kMaxImageBytes;
    if (!can_be_torn) return false;
    GALLEY_ASSIGN(const std::string bytes, read_file(directory, name, kMaxImageBytes));
    if (op != nullptr) return is_torn_image(bytes, journal_, *op);
    return std::any_of(journal_.ops.begin(), journal_.ops.end(),
                       [&](const JournalOp& any) { return is_torn_image(bytes, journal_, any); });
  }

  /// A power cut may keep objects that were placed in a directory and lose the placing of the
  /// directory.
  Result<bool> holds_only_known(const WritableDirectory& directory, const RelPath& name) {
    GALLEY_ASSIGN(const auto opened, directory.open_writable_directory(name));
    GALLEY_ASSIGN(const auto entries, opened->list());
    for (const auto& entry : entries) {
      const auto child = RelPath::parse(entry.name);
      if (!child || !may_be_torn_) return false;
      GALLEY_ASSIGN(const bool is_ours, is_known(*opened, *child, nullptr));
      if (!is_ours) return false;
    }
    return true;
  }

  /// A caught object may have any mode. It is removed or moved to rescue/ afterwards.
  static Result<void> open_up(const WritableDirectory& directory, const RelPath& name,
                              const FileStat& stat) {
    uint32_t rights = 0;
    // The other name of a file may be in the workspace, whose modes must not change.
    if (stat.kind == FileKind::kRegular && stat.nlink == 1) rights = kOwnerRead;
    if (stat.kind == FileKind::kDirectory) rights = kOwnerAll;
    if ((stat.mode & rights) == rights) return {};
    const auto set = directory.set_mode(name, stat.mode | rights);
    // Owned by another user: the look that follows reports it.
    return set || set.error().os_error == EPERM ? Result<void>() : set;
  }

  static bool is_side(const Node& side, const Node& node) {
    return side.kind == node.kind && side.content == node.content;
  }

  const StateDirectory& state_;
  const Journal& journal_;
  bool may_be_torn_;
  std::vector<JournalNote>& notes_;
};

}  // namespace

Result<void> sweep_slots(const StateDirectory& state, const Journal& journal, bool may_be_torn,
                         std::vector<JournalNote>& notes) {
  return SlotSweep(state, journal, may_be_torn, notes).run();
}

Result<void> rescue(const StateDirectory& state, TxId id, const WritableDirectory& from,
                    const RelPath& name, const RelPath& path, std::vector<JournalNote>& notes) {
  GALLEY_ASSIGN(const RelPath place, state.own("rescue/" + id.str()).join(path));
  GALLEY_TRY(make_directories(state.root(), place.parent(), kPrivateDirectory));
  for (int attempt = 0; attempt < kMaxRescueNames; ++attempt) {
    const std::string text = place.str() + (attempt == 0 ? "" : "." + std::to_string(attempt));
    GALLEY_ASSIGN(const RelPath target, RelPath::parse(text));
    GALLEY_ASSIGN(const FileStat there, state.root().stat(target));
    if (there.kind != FileKind::kAbsent) continue;
    GALLEY_ASSIGN(const FileStat stat, from.stat(name));
    // Moving a directory writes to it, because its `..` changes.
    const bool is_closed = stat.kind == FileKind::kDirectory && (stat.mode & kOwnerWrite) == 0;
    if (is_closed) static_cast<void>(from.set_mode(name, stat.mode | kOwnerWrite));
    GALLEY_TRY(from.rename(name, state.root(), target, RenameMode::kNoReplace));
    notes.push_back({path.str(), "bytes that Galley did not write were moved to .galley/" + text});
    return {};
  }
  return fail(ErrorKind::kQuota, "limit.rescue",
              "there are too many rescued versions of '" + path.str() +
                  "'; look at them with `galley rescue list`",
              path.str());
}

}  // namespace galley
