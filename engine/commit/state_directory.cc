#include "engine/commit/state_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/file_mode.h"
#include "engine/commit/journal_bytes.h"
#include "engine/commit/journal_format.h"
#include "engine/commit/mutant.h"
#include "engine/commit/state_format.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

constexpr uint64_t kMaxFormatBytes = 4096;
constexpr std::string_view kJournalSuffix = ".j";
constexpr std::string_view kIgnoreFile = ".gitignore";
constexpr std::string_view kIgnoreAll = "*\n";
constexpr uint32_t kOthersBits = 077;
constexpr uint32_t kOthersWriteBits = 022;
constexpr uint32_t kOthersEnterBits = 011;
constexpr size_t kMostClosedEntries = 20'000;

Result<void> write_new_file(const WritableDirectory& directory, const RelPath& name,
                            std::string_view content) {
  GALLEY_ASSIGN(const auto file,
                directory.open_writable_file(name, OpenMode::kCreateNew, kPrivateFile));
  GALLEY_TRY(file->write_at(0, content));
  return file->sync();
}

/// Two processes may create the state at once: both use the first `format` that appears. Until
/// everything is on the disk, `format` has a second name, which shows other processes that it may
/// be unflushed.
Result<void> create_parts(const WritableDirectory& workspace, const WritableDirectory& root) {
  // Every slot made here would inherit a default ACL of the workspace.
  GALLEY_TRY(root.remove_attribute(RelPath::root(), "system.posix_acl_default"));
  for (const auto* name : {"j", "undo", "slot", "wait"}) {
    GALLEY_TRY(make_directories(root, chosen_path(name), kPrivateDirectory));
  }
  GALLEY_ASSIGN(const FileStat folder, root.stat(RelPath::root()));
  StateFormat format{random_workspace_id()};
  GALLEY_TRY(bind_to_folder(format, folder));
  const std::string unique = "." + uuid_text(format.id);
  const RelPath ignore = chosen_path(std::string(kIgnoreFile) + unique);
  GALLEY_TRY(write_new_file(root, ignore, kIgnoreAll));
  GALLEY_TRY(root.rename(ignore, root, chosen_path(kIgnoreFile), RenameMode::kReplace));
  const RelPath second = chosen_path("format" + unique);
  GALLEY_TRY(write_new_file(root, second, format.text()));
  // Unlike a rename, a link never replaces what another process put there first.
  auto linked = root.make_hard_link(second, root, chosen_path("format"));
  if (!linked && linked.error().os_error != EEXIST) return linked;
  if (!linked) return root.remove_file(second);
  GALLEY_TRY(root.sync());
  GALLEY_TRY(workspace.sync());
  auto removed = root.remove_file(second);
  if (!removed && removed.error().kind != ErrorKind::kNotFound) return removed;
  return {};
}

/// The process that made it died, or is still working, between the first name of `format` and the
/// flushes.
Result<void> finish_creation(const WritableDirectory& workspace, const WritableDirectory& root) {
  GALLEY_TRY(root.sync());
  GALLEY_TRY(workspace.sync());
  GALLEY_ASSIGN(const FileStat format, root.stat(chosen_path("format")));
  GALLEY_ASSIGN(const auto entries, root.list());
  for (const auto& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name || !entry.name.starts_with("format.")) continue;
    GALLEY_ASSIGN(const FileStat second, root.stat(*name));
    if (second.inode != format.inode) continue;
    auto removed = root.remove_file(*name);
    if (!removed && removed.error().kind != ErrorKind::kNotFound) return removed;
  }
  return {};
}

/// The object that has the name `.galley`.
struct FoundState {
  std::unique_ptr<WritableDirectory>
      root;                           ///< null: nothing has the name, or it is not a directory
  std::optional<StateFormat> format;  ///< of a state that is complete
  bool is_flushed = true;             ///< false: see finish_creation
  bool has_ignore_file = true;        ///< false: deleted, or lost in a power cut
  std::string doubt;                  ///< why it is not believed; empty if it is
  std::string obstacle;               ///< why it cannot be adopted in its present state
};

/// Why the folder itself cannot be Galley's: a person must fix it by hand.
Result<std::string> obstacle_of(const Directory& workspace, const FileStat& folder) {
  if (!is_own_user(folder.uid)) {
    return "it belongs to another user (id " + std::to_string(folder.uid) + ")";
  }
  GALLEY_ASSIGN(const FileStat top, workspace.stat(RelPath::root()));
  if (top.mount != folder.mount || top.device != folder.device) {
    return std::string("it is on another mount than the workspace");
  }
  return std::string();
}

/// Whether this is the leftover of a creation that was interrupted before there was a `format`.
Result<bool> is_begun(const Directory& root) {
  GALLEY_ASSIGN(const auto entries, root.list());
  for (const auto& entry : entries) {
    const bool is_note = entry.kind == FileKind::kRegular &&
                         (entry.name.starts_with(".gitignore") || entry.name.starts_with("format"));
    if (is_note) continue;
    const bool is_part =
        entry.kind == FileKind::kDirectory &&
        (entry.name == "j" || entry.name == "undo" || entry.name == "slot" || entry.name == "wait");
    if (!is_part) return false;
    GALLEY_ASSIGN(const auto part, root.open_directory(chosen_path(entry.name)));
    GALLEY_ASSIGN(const auto below, part->list());
    if (!below.empty()) return false;
  }
  return true;
}

/// Reads `format`; returns false when it does not exist.
Result<bool> read_format(FoundState& found, const FileStat& folder) {
  auto file = found.root->open_file(chosen_path("format"));
  if (!file && file.error().kind == ErrorKind::kNotFound) return false;
  if (!file && file.error().kind == ErrorKind::kRefused) {
    found.doubt = "its 'format' is not a regular file";
    return true;
  }
  if (!file) return file.error();
  GALLEY_ASSIGN(const FileStat stat, (*file)->stat());
  GALLEY_ASSIGN(const std::string text, (*file)->read_at(0, kMaxFormatBytes));
  found.is_flushed = stat.nlink == 1;
  found.format = StateFormat::parse(text);
  if (is_newer_format(text)) {
    found.doubt = found.obstacle = "it is from a newer version of Galley";
  } else if (!found.format) {
    found.doubt = "its 'format' is damaged";
  } else if (found.format->inode == 0) {
    found.doubt = "it is from an earlier version of Galley, which did not note where it was made";
  } else {
    GALLEY_ASSIGN(const bool is_ours, was_created_for(*found.format, folder));
    if (!is_ours) found.doubt = "it was not made here: it is a copy, or came with the files";
  }
  return true;
}

/// Does not believe a state with another `.gitignore`: a pull can bring one, and the next `git add
/// -A` would publish the workspace's id, to which all state is bound.
Result<void> read_ignore_file(FoundState& found) {
  const auto text = read_file(*found.root, chosen_path(kIgnoreFile), kMaxFormatBytes);
  if (text && *text == kIgnoreAll) return {};
  const ErrorKind kind = text ? ErrorKind::kRefused : text.error().kind;
  if (kind == ErrorKind::kNotFound) {
    found.has_ignore_file = false;
    return {};
  }
  if (kind != ErrorKind::kRefused && kind != ErrorKind::kQuota) return text.error();
  found.doubt = "its '.gitignore' is not the one that Galley wrote, so git may carry it on";
  return {};
}

/// Closes a state that others could enter but not change, as `chmod -R a+rX` leaves it, and returns
/// true. Checks each folder that they could enter, because a layer has folders of any mode. With
/// too many entries it returns false, and a person must decide.
Result<bool> close_to_others(const WritableDirectory& root, const FileStat& folder) {
  if ((folder.mode & kOthersWriteBits) != 0) return false;
  std::vector<RelPath> todo = {RelPath::root()};
  for (size_t looked = 0; !todo.empty();) {
    const RelPath place = std::move(todo.back());
    todo.pop_back();
    const auto opened = place.is_root() ? nullptr : root.open_directory(place).value_or(nullptr);
    if (opened == nullptr && !place.is_root()) return false;
    GALLEY_ASSIGN(const auto entries, opened != nullptr ? opened->list() : root.list());
    for (const DirectoryEntry& entry : entries) {
      const auto name = RelPath::parse(entry.name);
      const auto path = name && !place.is_root() ? place.join(*name) : name;
      if (!path || ++looked > kMostClosedEntries) return false;
      GALLEY_ASSIGN(const FileStat part, root.stat(*path));
      if (part.kind == FileKind::kAbsent || part.kind == FileKind::kSymlink) continue;
      if (!is_own_user(part.uid) || (part.mode & kOthersWriteBits) != 0) return false;
      const bool is_open = part.kind == FileKind::kDirectory && (part.mode & kOthersEnterBits) != 0;
      if (is_open) todo.push_back(*path);
    }
  }
  return root.set_mode(RelPath::root(), kPrivateDirectory).has_value();
}

/// Inspects `.galley` without trusting anything in it.
Result<FoundState> look_at_state(const WritableDirectory& workspace) {
  FoundState found;
  GALLEY_ASSIGN(const FileStat folder, workspace.stat(chosen_path(StateDirectory::kName)));
  if (folder.kind == FileKind::kAbsent) return found;
  if (folder.kind != FileKind::kDirectory) {
    found.doubt = found.obstacle = "it is not a directory";
    return found;
  }
  GALLEY_ASSIGN(found.obstacle, obstacle_of(workspace, folder));
  found.doubt = found.obstacle;
  if (!found.obstacle.empty()) return found;
  GALLEY_ASSIGN(found.root, workspace.open_writable_directory(chosen_path(StateDirectory::kName)));
  GALLEY_ASSIGN(bool is_complete, read_format(found, folder));
  if (!is_complete) {
    GALLEY_ASSIGN(const bool is_ours, is_begun(*found.root));
    // Another process may have completed it meanwhile.
    if (!is_ours) {
      GALLEY_ASSIGN(is_complete, read_format(found, folder));
    }
    if (!is_ours && !is_complete) found.doubt = "it has no 'format' and yet holds something";
  }
  if (found.doubt.empty() && is_complete) GALLEY_TRY(read_ignore_file(found));
  if (found.doubt.empty() && (folder.mode & kOthersBits) != 0) {
    GALLEY_ASSIGN(const bool is_closed, close_to_others(*found.root, folder));
    if (!is_closed) found.doubt = "others may change what is in it, its mode is not 0700";
  }
  return found;
}

tl::unexpected<Error> untrusted_state(const FoundState& found) {
  return fail(ErrorKind::kRefused, "state.not_believed",
              "'.galley' is not trusted and is ignored: " + found.doubt + "; " +
                  (found.obstacle.empty() ? "`galley doctor` explains it, `galley recover --adopt` "
                                            "shows its contents and adopts it, or move it away"
                                          : "`galley doctor` explains it; move it away"),
              ".galley");
}

/// The workspace that the header of a journal names; nullopt when the header is incomplete.
std::optional<WorkspaceId> workspace_of_journal(const Directory& directory, const RelPath& name) {
  using namespace journal_format;
  constexpr size_t kIdOffset = 32;
  auto file = directory.open_file(name);
  if (!file) return std::nullopt;
  const auto header = (*file)->read_at(0, kHeaderBytes);
  if (!header || header->size() < kHeaderBytes || !header->starts_with(kMagic)) return std::nullopt;
  const std::string_view bytes = *header;
  const std::string_view sum = bytes.substr(kHeaderBytes - sizeof(uint32_t));
  uint32_t stored = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    stored |= uint32_t{static_cast<uint8_t>(sum[i])} << (8 * i);
  }
  if (stored != crc32c(bytes.substr(0, kHeaderBytes - sizeof(uint32_t)))) return std::nullopt;
  WorkspaceId id{};
  std::memcpy(id.data(), bytes.data() + kIdOffset, id.size());
  return id;
}

/// Finds the id of a damaged `format` in the journals: each of them names its workspace.
Result<WorkspaceId> workspace_of_journals(const Directory& root) {
  for (const auto* name : {"j", "undo"}) {
    const auto directory = root.open_directory(chosen_path(name));
    if (!directory) continue;
    GALLEY_ASSIGN(const auto ids, journal_ids(**directory));
    for (auto tx = ids.rbegin(); tx != ids.rend(); ++tx) {
      if (auto id = workspace_of_journal(**directory, journal_name(*tx))) return *id;
    }
  }
  return random_workspace_id();
}

}  // namespace

Result<StateDirectory> StateDirectory::open_parts(std::unique_ptr<WritableDirectory> root,
                                                  const WorkspaceId& id, MissingPart missing) {
  StateDirectory state;
  state.workspace_id_ = id;
  state.root_ = std::move(root);
  GALLEY_ASSIGN(const FileStat stat, state.root_->stat(RelPath::root()));
  state.mount_ = stat.mount;
  const auto open = [&](std::string_view name) -> Result<std::unique_ptr<WritableDirectory>> {
    auto opened = state.root_->open_writable_directory(chosen_path(name));
    if (opened || opened.error().kind != ErrorKind::kNotFound) return opened;
    // git does not store empty folders, so after a `git stash pop` only the journals must be there.
    if (missing == MissingPart::kRefuse && name == "j") {
      return fail(ErrorKind::kRefused, "state.not_adoptable",
                  "'.galley' has no '" + std::string(name) +
                      "', so it is incomplete and cannot be adopted; move it away",
                  ".galley");
    }
    // The folder was removed: an empty one contains nothing to recover.
    GALLEY_TRY(make_directories(*state.root_, chosen_path(name), kPrivateDirectory));
    return state.root_->open_writable_directory(chosen_path(name));
  };
  GALLEY_ASSIGN(state.journals_, open("j"));
  GALLEY_ASSIGN(state.undo_, open("undo"));
  GALLEY_ASSIGN(state.slots_, open("slot"));
  return state;
}

Result<std::optional<StateDirectory>> StateDirectory::open(const WritableDirectory& workspace) {
  GALLEY_ASSIGN(FoundState found, look_at_state(workspace));
  if (!found.doubt.empty()) return untrusted_state(found);
  if (!found.format) return std::optional<StateDirectory>();
  if (!found.is_flushed) GALLEY_TRY(finish_creation(workspace, *found.root));
  // If it cannot be written, nothing else can be written either.
  if (!found.has_ignore_file) (void)replace_shared_file(*found.root, kIgnoreFile, kIgnoreAll);
  GALLEY_ASSIGN(auto state,
                open_parts(std::move(found.root), found.format->id, MissingPart::kMake));
  return std::optional<StateDirectory>(std::move(state));
}

Result<StateDirectory> StateDirectory::open_or_create(const WritableDirectory& workspace) {
  GALLEY_ASSIGN(auto there, open(workspace));
  if (there) return std::move(*there);
  auto made = workspace.make_directory(chosen_path(kName), kPrivateDirectory);
  if (!made && made.error().os_error != EEXIST) return made.error();
  GALLEY_ASSIGN(const FoundState begun, look_at_state(workspace));
  if (!begun.doubt.empty()) return untrusted_state(begun);
  if (begun.root != nullptr && !begun.format) GALLEY_TRY(create_parts(workspace, *begun.root));
  GALLEY_ASSIGN(there, open(workspace));
  if (!there) return os_error(ENOENT, "cannot make", ".galley/format");
  return std::move(*there);
}

Result<StateDirectory> StateDirectory::open_foreign(const WritableDirectory& workspace) {
  GALLEY_ASSIGN(FoundState found, look_at_state(workspace));
  if (!found.obstacle.empty()) {
    return fail(ErrorKind::kRefused, "state.not_adoptable",
                "'.galley' cannot be adopted: " + found.obstacle + "; fix that, or move it away",
                ".galley");
  }
  if (found.doubt.empty()) {
    return fail(ErrorKind::kNotFound, "state.nothing_to_adopt",
                "there is no untrusted '.galley' here", ".galley");
  }
  WorkspaceId id{};
  if (found.format) {
    id = found.format->id;
  } else {
    GALLEY_ASSIGN(id, workspace_of_journals(*found.root));
  }
  return open_parts(std::move(found.root), id, MissingPart::kRefuse);
}

Result<void> StateDirectory::adopt(const WritableDirectory& workspace) {
  GALLEY_TRY(root_->set_mode(RelPath::root(), kPrivateDirectory));
  GALLEY_ASSIGN(const FileStat folder, root_->stat(RelPath::root()));
  StateFormat format{workspace_id_};
  GALLEY_TRY(bind_to_folder(format, folder));
  const RelPath fresh = chosen_path("format.new");
  auto removed = root_->remove_file(fresh);
  if (!removed && removed.error().kind != ErrorKind::kNotFound) return removed;
  GALLEY_TRY(replace_file(*root_, kIgnoreFile, kIgnoreAll));
  GALLEY_TRY(write_new_file(*root_, fresh, format.text()));
  GALLEY_TRY(root_->rename(fresh, *root_, chosen_path("format"), RenameMode::kReplace));
  GALLEY_TRY(root_->sync());
  return workspace.sync();
}

RelPath StateDirectory::own(std::string_view place) const {
  const size_t kind = std::min(place.find('/'), place.size());
  return chosen_path(std::string(place.substr(0, kind)) + "/" + uuid_text(workspace_id_) +
                     std::string(place.substr(kind)));
}

RelPath journal_name(TxId id) { return chosen_path(id.file_name() + std::string(kJournalSuffix)); }

Result<std::vector<TxId>> journal_ids(const Directory& directory) {
  GALLEY_ASSIGN(const auto entries, directory.list());
  std::vector<TxId> ids;
  for (const auto& entry : entries) {
    std::string_view name = entry.name;
    if (entry.kind != FileKind::kRegular || !name.ends_with(kJournalSuffix)) continue;
    name.remove_suffix(kJournalSuffix.size());
    const auto id = TxId::from_file_name(name);
    if (id && id->file_name() == name) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<JournalVerdict> read_journal(const StateDirectory& state, const Directory& directory,
                                    TxId id, ImageUse use) {
  GALLEY_ASSIGN(const auto file, directory.open_file(journal_name(id)));
  GALLEY_ASSIGN(const FileStat stat, file->stat());
  if (stat.size > kMaxJournalBytes) {
    return fail(ErrorKind::kQuota, "limit.file_size",
                "the journal of transaction " + id.str() + " is larger than " +
                    std::to_string(kMaxJournalBytes) + " bytes",
                journal_name(id).str());
  }
  GALLEY_ASSIGN(JournalVerdict verdict, parse_journal(*file, stat.size, use));
  if (verdict.state != JournalState::kCommitted) return verdict;
  if (verdict.journal.id != id || verdict.journal.workspace != state.workspace_id()) {
    verdict.state = JournalState::kDamaged;
    verdict.problem = "it belongs to another transaction or workspace";
  }
  return verdict;
}

std::string current_boot_id() {
  if (const char* set = std::getenv("GALLEY_BOOT_ID"); set != nullptr) return set;
  static const std::string boot = [] {
    constexpr uint64_t kMaxBytes = 256;
    const auto directory = open_disk_directory("/proc/sys/kernel/random");
    if (!directory) return std::string();
    auto text = read_file(**directory, chosen_path("boot_id"), kMaxBytes);
    if (!text) return std::string();
    while (text->ends_with('\n')) text->pop_back();
    return std::move(*text);
  }();
  return boot;
}

namespace {

constexpr char kSessionSeparator = '@';

/// Empty when the system does not provide it.
const std::string& mount_namespace() {
  static const std::string name = [] {
    const auto directory = open_disk_directory("/proc/self/ns");
    if (!directory) return std::string();
    return (*directory)->read_link(chosen_path("mnt")).value_or(std::string());
  }();
  return name;
}

struct SessionParts {
  std::string_view boot;
  std::string_view mount;
  std::string_view name_space;
};

/// An older Galley noted only a boot id.
SessionParts parts_of(std::string_view session) {
  const size_t last = session.rfind(kSessionSeparator);
  const size_t middle = last == 0 ? last : session.rfind(kSessionSeparator, last - 1);
  if (last == std::string_view::npos || middle == std::string_view::npos) return {session, {}, {}};
  return {session.substr(0, middle), session.substr(middle + 1, last - middle - 1),
          session.substr(last + 1)};
}

}  // namespace

std::string StateDirectory::session(const std::string& boot) const {
  if (boot.empty() || mount_ == 0 || is_mutant(Mutant::kForgetMount)) return boot;
  return boot + kSessionSeparator + std::to_string(mount_) + kSessionSeparator + mount_namespace();
}

bool is_same_session(std::string_view noted, std::string_view now) {
  if (noted.empty() || now.empty()) return false;
  const SessionParts then = parts_of(noted);
  const SessionParts here = parts_of(now);
  if (then.boot != here.boot) return false;
  if (then.mount.empty() || here.mount.empty()) return true;
  return then.mount == here.mount || then.name_space != here.name_space;
}

}  // namespace galley
