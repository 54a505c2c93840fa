#include "engine/commit/slots.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/file_mode.h"
#include "engine/commit/acl.h"
#include "engine/commit/mutant.h"
#include "staging/fs/holes.h"

namespace galley {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20U;
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

/// What could not be given to a new object as its side has it.
struct Unkept {
  bool group = false;
  bool acl = false;
};

/// `given` has the owner and group of what is made here, and then those that the object has.
Result<void> set_owner(const Location& at, const JournalSide& side, Slots::Given& given) {
  if (given.uid == side.uid && given.gid == side.gid) return {};
  // EINVAL: an id that this user namespace does not know.
  const auto is_refusal = [](const Error& error) {
    return error.os_error == EPERM || error.os_error == EINVAL;
  };
  const auto set = at.directory->set_owner(at.name, side.uid, side.gid);
  if (!set && !is_refusal(set.error())) return set.error();
  // The group alone may be allowed; a file that nobody asked to give away stays ours otherwise.
  const auto group = set ? set : at.directory->set_owner(at.name, kKeepOwner, side.gid);
  if (!group && !is_refusal(group.error())) return group.error();
  if (set) given.uid = side.uid;
  if (group) given.gid = side.gid;
  return {};
}

bool is_acl_attribute(const ExtendedAttribute& attribute) {
  return attribute.name == kAccessAcl || attribute.name == kDefaultAcl;
}

Result<void> set_attribute(const Location& at, const ExtendedAttribute& attribute, Unkept& unkept,
                           std::vector<std::string>& names) {
  const auto set = at.directory->set_attribute(at.name, attribute);
  if (set) return {};
  const int code = set.error().os_error;
  if (code != EPERM && code != EOPNOTSUPP && code != EACCES && code != EINVAL) return set.error();
  unkept.acl = unkept.acl || attribute.name == kAccessAcl;
  names.push_back(attribute.name);
  return {};
}

/// ACLs come last: they rewrite the mode, and the others need the right to write. An ACL speaks of
/// the owning group, so it is not given with another one.
Result<void> set_attributes(const Location& at, const JournalSide& side, Unkept& unkept,
                            std::vector<std::string>& names) {
  for (const auto& attribute : side.attributes) {
    if (!is_acl_attribute(attribute)) GALLEY_TRY(set_attribute(at, attribute, unkept, names));
  }
  for (const auto& attribute : side.attributes) {
    if (!is_acl_attribute(attribute)) continue;
    if (!unkept.group) {
      GALLEY_TRY(set_attribute(at, attribute, unkept, names));
      continue;
    }
    unkept.acl = unkept.acl || attribute.name == kAccessAcl;
    names.push_back(attribute.name);
  }
  return {};
}

/// The mode without its group or its ACL: who was in the group is one of the others now, and who
/// was one of the others may be in the group now.
uint32_t narrowed_mode(const JournalSide& side, const Unkept& unkept) {
  uint32_t mode = side.node.mode;
  if (unkept.acl) {
    for (const auto& attribute : side.attributes) {
      if (attribute.name != kAccessAcl) continue;
      mode &= ~kGroupRights | owning_group_rights(attribute.value).value_or(0) << kGroupShift;
    }
  }
  if (!unkept.group) return mode;
  const uint32_t shared = (mode >> kGroupShift) & mode & kOtherRights;
  return (mode & kOwnerAll) | shared << kGroupShift | shared;
}

/// Of the special bits a directory gets those that protect it back: sticky, and setgid with its
/// group. A new file never gets any: it would run as somebody else.
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

/// Owner, attributes and the mode to set, with a warning for what could not be kept.
Result<Slots::Given> give(const Location& at, const FileStat& ours, const RelPath& path,
                          const JournalSide& side, std::vector<std::string>& warnings) {
  Slots::Given given{ours.uid, ours.gid, side.node.mode, 0};
  GALLEY_TRY(set_owner(at, side, given));
  Unkept unkept;
  unkept.group = given.gid != side.gid;
  std::vector<std::string> names;
  if (side.node.kind != FileKind::kSymlink) {
    GALLEY_TRY(set_attributes(at, side, unkept, names));
    given.mode = narrowed_mode(side, unkept);
  }
  std::string lost;
  const auto add = [&](const std::string& what) { lost += (lost.empty() ? "" : ", ") + what; };
  if (given.uid != side.uid) add("owner " + std::to_string(side.uid));
  if (unkept.group) add("group " + std::to_string(side.gid));
  for (const auto& name : names) add("attribute " + name);
  given.special = special_for(side, !unkept.group);
  if (given.special != side.special) add(special_in_words(side.special & ~given.special));
  if (lost.empty()) return given;
  std::string warning = "'" + path.str() + "' could not be given its " + lost;
  if (given.mode != side.node.mode) {
    warning += "; its mode is " + in_octal(given.mode) + " instead of " + in_octal(side.node.mode) +
               ", so that nobody may do more than before";
  }
  warnings.push_back(std::move(warning));
  return given;
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
  GALLEY_ASSIGN(auto directory, state.slots().open_writable_directory(path));
  GALLEY_ASSIGN(const FileStat ours, directory->stat(RelPath::root()));
  return Slots(std::move(directory), ours);
}

Result<Slots> Slots::open_or_create(const StateDirectory& state, TxId id) {
  const RelPath path = slot_path(id);
  GALLEY_TRY(make_directories(state.slots(), path, kPrivateDirectory));
  GALLEY_ASSIGN(auto directory, state.slots().open_writable_directory(path));
  GALLEY_ASSIGN(const FileStat ours, directory->stat(RelPath::root()));
  return Slots(std::move(directory), ours);
}

Result<RelPath> Slots::write_whole(size_t op, const RelPath& path, const JournalSide& side,
                                   const Content& content, bool has_set_group_id) const {
  const RelPath writing = name(op, kWritingSuffix);
  GALLEY_TRY(remove_tree(*directory_, writing));
  WriteOptions how;
  // Its bytes must be there before its name is: the next run would not know a torn one as ours,
  // because it is newer than the journal.
  how.is_synced = !is_mutant(Mutant::kSlotNotSynced);
  how.has_set_group_id = has_set_group_id;
  std::vector<std::string> unkept;
  GALLEY_TRY(write(writing, path, side, content, how, unkept));
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
    if (node == side.node) return std::optional<RelPath>(slot);
  }
  return none;
}

Result<void> Slots::replace_by_copy(const WritableDirectory& directory, const RelPath& name) const {
  GALLEY_ASSIGN(const RelPath writing, RelPath::parse(name.str() + std::string(kWritingSuffix)));
  GALLEY_TRY(remove_tree(*directory_, writing));
  GALLEY_ASSIGN(const auto from, directory.open_file(name));
  GALLEY_ASSIGN(const auto copy,
                directory_->open_writable_file(writing, OpenMode::kCreateNew, kPrivateFile));
  for (uint64_t at = 0;;) {
    GALLEY_ASSIGN(const std::string bytes, from->read_at(at, kCopyBytes));
    if (bytes.empty()) break;
    GALLEY_TRY(copy->write_at(at, bytes));
    at += bytes.size();
  }
  GALLEY_TRY(copy->sync());
  return directory_->rename(writing, directory, name, RenameMode::kReplace);
}

/// Whether what is made here has the mode it was asked for, which a umask or a default ACL may
/// narrow: asked once of each mode.
Result<bool> Slots::is_made_with(File& file, uint32_t mode) const {
  const auto known = made_with_.find(mode);
  if (known != made_with_.end()) return known->second;
  GALLEY_ASSIGN(const FileStat stat, file.stat());
  return made_with_[mode] = stat.mode == mode;
}

Result<Slots::Given> Slots::write_file(const RelPath& name, const RelPath& path,
                                       const JournalSide& side, const Content& content,
                                       const WriteOptions& options,
                                       std::vector<std::string>& warnings) const {
  // Nobody else comes into this directory, so a file that needs nothing else is made with its mode.
  const bool is_plain = side.attributes.empty() && side.uid == ours_.uid && side.gid == ours_.gid;
  const uint32_t mode = is_plain ? side.node.mode : kPrivateFile;
  GALLEY_ASSIGN(const auto file, directory_->open_writable_file(name, OpenMode::kCreateNew, mode));
  GALLEY_TRY(write_with_holes(*file, *content));
  GALLEY_ASSIGN(const Given given,
                give(Location{directory_.get(), name}, ours_, path, side, warnings));
  GALLEY_ASSIGN(const bool has_mode, is_plain ? is_made_with(*file, mode) : Result<bool>(false));
  // Last: an ACL rewrites the group bits, a change of owner clears bits.
  if (!has_mode) GALLEY_TRY(file->set_mode(given.mode));
  if (options.mtime_ns) GALLEY_TRY(file->set_modified(*options.mtime_ns));
  // By this descriptor: from now on the mode may let nobody open it.
  if (options.is_synced) GALLEY_TRY(file->sync());
  return given;
}

Result<Slots::Given> Slots::write(const RelPath& name, const RelPath& path, const JournalSide& side,
                                  const Content& content, const WriteOptions& options,
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
      GALLEY_ASSIGN(const Given given, give(at, ours_, path, side, warnings));
      // Open to us until it is filled; the plan closes it afterwards.
      const uint32_t special = given.special | (options.has_set_group_id ? kSetGroupId : 0);
      GALLEY_TRY(directory_->set_mode(name, given.mode | kOwnerAll | special));
      return given;
    }
    default:
      GALLEY_CHECK(false);
  }
  return Given();
}

namespace {

/// Looks once more, with the right to read, where a look at a slot was refused.
template <class Look>
auto look_again(const Location& at, const Look& look) -> decltype(look()) {
  auto seen = look();
  if (seen || seen.error().os_error != EACCES) return seen;
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  const auto opened = at.directory->set_mode(at.name, stat.mode | kOwnerRead);
  // Of another owner: the first answer stands.
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

}  // namespace galley
