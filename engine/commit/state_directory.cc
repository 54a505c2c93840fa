#include "engine/commit/state_directory.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/check.h"
#include "base/hex.h"
#include "engine/commit/crc32c.h"
#include "engine/commit/journal_format.h"
#include "engine/commit/leftovers.h"
#include "engine/commit/mutant.h"
#include "staging/fs/disk_directory.h"

namespace galley {
namespace {

constexpr uint32_t kPrivateDirectory = 0700;
constexpr uint32_t kPrivateFile = 0600;
constexpr uint64_t kMaxFormatBytes = 4096;
constexpr std::string_view kFormatPrefix = "galley 1 ";
constexpr std::string_view kJournalSuffix = ".j";
constexpr size_t kUuidText = 36;

RelPath known(std::string_view text) {
  auto path = RelPath::parse(text);
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

/// RFC 4122 version 4.
WorkspaceId random_workspace_id() {
  WorkspaceId id{};
  std::random_device random;
  for (auto& byte : id) byte = static_cast<uint8_t>(random());
  constexpr uint8_t kLow = 0x0f;
  constexpr uint8_t kVersion = 0x40;
  constexpr uint8_t kVariantLow = 0x3f;
  constexpr uint8_t kVariant = 0x80;
  id[6] = static_cast<uint8_t>((id[6] & kLow) | kVersion);
  id[8] = static_cast<uint8_t>((id[8] & kVariantLow) | kVariant);
  return id;
}

bool has_dash_before(size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

std::string uuid_text(const WorkspaceId& id) {
  std::string text;
  for (size_t i = 0; i < id.size(); ++i) {
    if (has_dash_before(i)) text.push_back('-');
    append_hex(text, id[i]);
  }
  return text;
}

std::optional<WorkspaceId> parse_uuid(std::string_view text) {
  if (text.size() != kUuidText) return {};
  WorkspaceId id{};
  size_t at = 0;
  for (size_t i = 0; i < id.size(); ++i) {
    if (has_dash_before(i) && text[at++] != '-') return {};
    unsigned value = 0;
    for (int digit = 0; digit < 2; ++digit) {
      const size_t found = kHexDigits.find(text[at++]);
      if (found == std::string_view::npos) return {};
      value = value << 4U | static_cast<unsigned>(found);
    }
    id[i] = static_cast<uint8_t>(value);
  }
  return id;
}

Result<void> write_new_file(const Directory& directory, const RelPath& name,
                            std::string_view content) {
  GALLEY_ASSIGN(const auto file, directory.open_file(name, OpenMode::kCreateNew, kPrivateFile));
  GALLEY_TRY(file->write_at(0, content));
  return file->sync();
}

/// Two processes may do this at once: the first `format` to appear is everybody's.
Result<void> create_parts(const Directory& workspace, const Directory& root) {
  // A default ACL of the workspace would leak into every slot made here.
  GALLEY_TRY(root.remove_attribute(RelPath::root(), "system.posix_acl_default"));
  for (const auto* name : {"j", "undo", "slot", "wait"}) {
    GALLEY_TRY(make_directories(root, known(name), kPrivateDirectory));
  }
  const std::string unique = uuid_text(random_workspace_id());
  const auto put = [&](std::string_view name, std::string_view content) -> Result<void> {
    const RelPath temporary = known(std::string(name) + "." + unique);
    GALLEY_TRY(write_new_file(root, temporary, content));
    // A link, unlike a rename, never replaces what another process put there first.
    auto linked = root.make_hard_link(temporary, root, known(name));
    GALLEY_TRY(root.remove_file(temporary));
    if (!linked && linked.error().os_error != EEXIST) return linked;
    return {};
  };
  GALLEY_TRY(put(".gitignore", "*\n"));
  GALLEY_TRY(put("format", std::string(kFormatPrefix) + unique + "\n"));
  GALLEY_TRY(root.sync());
  return workspace.sync();
}

Result<std::unique_ptr<Directory>> open_root(const Directory& workspace) {
  auto root = workspace.open_directory(known(StateDirectory::kName));
  if (root || root.error().kind == ErrorKind::kNotFound) return root;
  if (root.error().os_error != ENOTDIR && root.error().os_error != ELOOP) return root;
  return fail(ErrorKind::kRefused, "state.not_a_directory",
              "'.galley' is there but is not a directory; move it away, Galley keeps its state in "
              "that place",
              ".galley");
}

Result<std::optional<std::string>> read_format(const Directory& root) {
  auto format = read_file(root, known("format"), kMaxFormatBytes);
  if (format) return std::optional<std::string>(std::move(*format));
  if (format.error().kind == ErrorKind::kNotFound) return std::optional<std::string>();
  return format.error();
}

std::optional<WorkspaceId> parse_format(std::string_view format) {
  if (!format.starts_with(kFormatPrefix) || !format.ends_with('\n')) return std::nullopt;
  format.remove_prefix(kFormatPrefix.size());
  format.remove_suffix(1);
  return parse_uuid(format);
}

tl::unexpected<Error> version_error() {
  return fail(ErrorKind::kRefused, "state.version",
              "'.galley/format' is damaged or from a newer Galley; a damaged one is mended by: "
              "galley doctor --repair",
              ".galley/format");
}

}  // namespace

Result<StateDirectory> StateDirectory::open_parts(std::unique_ptr<Directory> root,
                                                  std::string_view format) {
  StateDirectory state;
  const auto id = parse_format(format);
  if (!id) return version_error();
  state.workspace_id_ = *id;
  state.root_ = std::move(root);
  GALLEY_ASSIGN(const FileStat stat, state.root_->stat(RelPath::root()));
  state.mount_ = stat.mount;
  // Their absence means that something removed them: an empty one has nothing to recover.
  const auto open_or_make = [&](std::string_view name) -> Result<std::unique_ptr<Directory>> {
    auto opened = state.root_->open_directory(known(name));
    if (opened || opened.error().kind != ErrorKind::kNotFound) return opened;
    GALLEY_TRY(make_directories(*state.root_, known(name), kPrivateDirectory));
    return state.root_->open_directory(known(name));
  };
  GALLEY_ASSIGN(state.journals_, open_or_make("j"));
  GALLEY_ASSIGN(state.undo_, open_or_make("undo"));
  GALLEY_ASSIGN(state.slots_, open_or_make("slot"));
  return state;
}

Result<std::optional<StateDirectory>> StateDirectory::open(const Directory& workspace) {
  auto root = open_root(workspace);
  if (!root && root.error().kind == ErrorKind::kNotFound) return std::optional<StateDirectory>();
  if (!root) return root.error();
  GALLEY_ASSIGN(const auto format, read_format(**root));
  if (!format) return std::optional<StateDirectory>();
  GALLEY_ASSIGN(auto state, open_parts(std::move(*root), *format));
  return std::optional<StateDirectory>(std::move(state));
}

Result<StateDirectory> StateDirectory::open_or_create(const Directory& workspace) {
  auto made = workspace.make_directory(known(kName), kPrivateDirectory);
  if (!made && made.error().os_error != EEXIST) return made.error();
  GALLEY_ASSIGN(auto root, open_root(workspace));
  GALLEY_ASSIGN(auto format, read_format(*root));
  if (!format) {
    GALLEY_TRY(create_parts(workspace, *root));
    GALLEY_ASSIGN(format, read_format(*root));
    if (!format) return os_error(ENOENT, "cannot make", ".galley/format");
  }
  return open_parts(std::move(root), *format);
}

namespace {

/// The workspace that the header of a journal names; none when the header is not whole.
std::optional<WorkspaceId> workspace_of_journal(const Directory& directory, const RelPath& name) {
  using namespace journal_format;
  constexpr size_t kIdOffset = 32;
  auto file = directory.open_file(name, OpenMode::kRead);
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

/// Every journal names its workspace: the id that was in a damaged `format`.
Result<std::optional<WorkspaceId>> workspace_of_journals(const Directory& root) {
  for (const auto* name : {"j", "undo"}) {
    const auto directory = root.open_directory(known(name));
    if (!directory) continue;
    GALLEY_ASSIGN(const auto ids, journal_ids(**directory));
    for (auto tx = ids.rbegin(); tx != ids.rend(); ++tx) {
      if (auto id = workspace_of_journal(**directory, journal_name(*tx))) return id;
    }
  }
  return std::optional<WorkspaceId>();
}

}  // namespace

Result<bool> repair_format(const Directory& workspace) {
  auto root = open_root(workspace);
  if (!root && root.error().kind == ErrorKind::kNotFound) return false;
  if (!root) return root.error();
  GALLEY_ASSIGN(const auto format, read_format(**root));
  if (!format || parse_format(*format)) return false;
  constexpr std::string_view kAnyFormat = "galley ";
  const bool is_newer = format->starts_with(kAnyFormat) && !format->starts_with(kFormatPrefix) &&
                        format->size() > kAnyFormat.size() && (*format)[kAnyFormat.size()] >= '2' &&
                        (*format)[kAnyFormat.size()] <= '9';
  if (is_newer) return version_error();
  GALLEY_ASSIGN(auto id, workspace_of_journals(**root));
  if (!id) id = random_workspace_id();
  const RelPath fresh = known("format.new");
  GALLEY_ASSIGN(const auto file, (*root)->open_file(fresh, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  GALLEY_TRY(file->write_at(0, std::string(kFormatPrefix) + uuid_text(*id) + "\n"));
  GALLEY_TRY(file->sync());
  GALLEY_TRY((*root)->rename(fresh, **root, known("format"), RenameMode::kReplace));
  GALLEY_TRY((*root)->sync());
  return true;
}

RelPath journal_name(TxId id) { return known(id.hex() + std::string(kJournalSuffix)); }

Result<std::vector<TxId>> journal_ids(const Directory& directory) {
  GALLEY_ASSIGN(const auto entries, directory.list());
  std::vector<TxId> ids;
  for (const auto& entry : entries) {
    std::string_view name = entry.name;
    if (entry.kind != FileKind::kRegular || !name.ends_with(kJournalSuffix)) continue;
    name.remove_suffix(kJournalSuffix.size());
    const auto id = TxId::from_hex(name);
    if (id && id->hex() == name) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

Result<JournalVerdict> read_journal(const StateDirectory& state, const Directory& directory,
                                    TxId id, ImageUse use) {
  GALLEY_ASSIGN(const auto file, directory.open_file(journal_name(id), OpenMode::kRead));
  GALLEY_ASSIGN(const FileStat stat, file->stat());
  if (stat.size > kMaxJournalBytes) {
    return fail(ErrorKind::kQuota, "limit.file_size",
                "the journal of transaction " + id.hex() + " is larger than " +
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
    auto text = read_file(**directory, known("boot_id"), kMaxBytes);
    if (!text) return std::string();
    while (text->ends_with('\n')) text->pop_back();
    return std::move(*text);
  }();
  return boot;
}

namespace {

constexpr char kSessionSeparator = '@';

/// Empty where the system does not tell.
const std::string& mount_namespace() {
  static const std::string name = [] {
    const auto directory = open_disk_directory("/proc/self/ns");
    if (!directory) return std::string();
    return (*directory)->read_link(known("mnt")).value_or(std::string());
  }();
  return name;
}

struct SessionParts {
  std::string_view boot;
  std::string_view mount;
  std::string_view name_space;
};

/// A boot id alone is what an older Galley noted.
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
