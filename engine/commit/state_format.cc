#include "engine/commit/state_format.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "base/encoding.h"
#include "base/file_mode.h"
#include "base/result.h"
#include "staging/fs/user_state.h"

namespace galley {

namespace {

constexpr std::string_view kPrefix = "galley ";
constexpr size_t kUuidText = 36;
constexpr uint64_t kMaxRecordBytes = 64;

bool has_dash_before(size_t byte) { return byte == 4 || byte == 6 || byte == 8 || byte == 10; }

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

/// Takes ` <number>` from the front; returns false when there is none.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  if (!text.starts_with(' ')) return false;
  const auto [end, code] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (code != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

RelPath known_record(const WorkspaceId& id) {
  auto path = RelPath::parse("workspaces/" + uuid_text(id));
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

std::string record_text(const FileStat& folder) { return std::to_string(folder.inode) + "\n"; }

Result<void> write_record(const WorkspaceId& id, const FileStat& folder) {
  GALLEY_ASSIGN(const auto home, open_user_state(UserState::kMake));
  const RelPath place = known_record(id);
  GALLEY_TRY(make_directories(*home, place.parent(), kPrivateDirectory));
  GALLEY_ASSIGN(const auto file,
                home->open_writable_file(place, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  GALLEY_TRY(file->write_at(0, record_text(folder)));
  GALLEY_TRY(file->sync());
  GALLEY_ASSIGN(const auto parent, home->open_writable_directory(place.parent()));
  GALLEY_TRY(parent->sync());
  return home->sync();
}

}  // namespace

WorkspaceId random_workspace_id() {
  WorkspaceId id{};
  fill_random(id);
  constexpr uint8_t kLow = 0x0f;
  constexpr uint8_t kVersion = 0x40;
  constexpr uint8_t kVariantLow = 0x3f;
  constexpr uint8_t kVariant = 0x80;
  id[6] = static_cast<uint8_t>((id[6] & kLow) | kVersion);
  id[8] = static_cast<uint8_t>((id[8] & kVariantLow) | kVariant);
  return id;
}

std::string uuid_text(const WorkspaceId& id) {
  std::string text;
  for (size_t i = 0; i < id.size(); ++i) {
    if (has_dash_before(i)) text.push_back('-');
    append_hex(text, id[i]);
  }
  return text;
}

std::string StateFormat::text() const {
  return std::string(kPrefix) + "2 " + uuid_text(id) + " " + std::to_string(inode) + " " +
         std::to_string(birth_ns) + "\n";
}

std::optional<StateFormat> StateFormat::parse(std::string_view text) {
  if (!text.starts_with(kPrefix) || !text.ends_with('\n')) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  text.remove_suffix(1);
  const bool is_first = text.starts_with("1 ");
  if (!is_first && !text.starts_with("2 ")) return std::nullopt;
  text.remove_prefix(2);
  const auto id = parse_uuid(text.substr(0, kUuidText));
  if (!id) return std::nullopt;
  text.remove_prefix(kUuidText);
  StateFormat format{*id};
  if (!is_first && (!take_number(text, format.inode) || !take_number(text, format.birth_ns))) {
    return std::nullopt;
  }
  if (!text.empty() || (!is_first && format.inode == 0)) return std::nullopt;
  return format;
}

bool is_newer_format(std::string_view text) {
  unsigned version = 0;
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size() - 1);
  return take_number(text, version) && version > 2;
}

Result<bool> was_created_for(const StateFormat& format, const FileStat& folder) {
  if (format.inode == 0 || format.inode != folder.inode) return false;
  if (format.birth_ns != 0) return format.birth_ns == folder.birth_ns;
  const auto home = open_user_state(UserState::kExisting);
  if (!home && home.error().kind == ErrorKind::kNotFound) return false;
  if (!home) return home.error();
  const auto record = read_file(**home, known_record(format.id), kMaxRecordBytes);
  if (!record && record.error().kind == ErrorKind::kNotFound) return false;
  if (!record) return record.error();
  return *record == record_text(folder);
}

Result<void> bind_to_folder(StateFormat& format, const FileStat& folder) {
  format.inode = folder.inode;
  format.birth_ns = folder.birth_ns;
  if (format.birth_ns != 0) return {};
  auto written = write_record(format.id, folder);
  if (written) return {};
  return fail(ErrorKind::kRefused, "state.no_record",
              "this file system does not record when a folder was made, and what would vouch for "
              "'.galley' cannot be recorded outside the workspace (" +
                  written.error().message + "); set XDG_STATE_HOME to a folder of yours",
              ".galley");
}

namespace {

/// Kinds whose unbound files could be mistaken for the workspace's own. Derived state is left out,
/// because it is made again.
constexpr std::string_view kKinds[] = {"approvals",  "confirmations", "contents", "grants", "links",
                                       "quarantine", "rescue",        "runs",     "stage"};
/// Old places of an earlier Galley's files, and their present places.
constexpr std::string_view kEarlierLinks = "git-commits";
constexpr std::string_view kLinks = "links/git-commits";

}  // namespace

Result<std::vector<UnboundState>> unbound_state(const StateDirectory& state) {
  std::vector<UnboundState> unbound;
  const Directory& root = state.root();
  for (const std::string_view kind : kKinds) {
    const auto folder = root.open_directory(chosen_path(kind));
    if (!folder && folder.error().kind == ErrorKind::kNotFound) continue;
    if (!folder) {  // a file or a link
      unbound.push_back({std::string(kind), std::string(kind)});
      continue;
    }
    GALLEY_ASSIGN(const auto entries, (*folder)->list());
    const std::string own = state.own(kind).str().substr(kind.size() + 1);
    for (const DirectoryEntry& entry : entries) {
      if (entry.name == own) continue;
      unbound.push_back({std::string(kind), std::string(kind) + "/" + entry.name});
    }
  }
  GALLEY_ASSIGN(const FileStat links, root.stat(chosen_path(kEarlierLinks)));
  if (links.kind != FileKind::kAbsent) {
    unbound.push_back({std::string(kEarlierLinks), std::string(kEarlierLinks)});
  }
  std::ranges::sort(unbound, {}, &UnboundState::place);
  return unbound;
}

std::string describe_unbound(const std::vector<UnboundState>& unbound) {
  if (unbound.empty()) return {};
  std::string text = "ignoring .galley/" + unbound.front().place;
  if (unbound.size() > 1) text += " and " + std::to_string(unbound.size() - 1) + " more like it";
  return text +
         ": not bound to this workspace, so it came with a pull or a copy, or is of an earlier "
         "Galley; `galley recover --adopt` shows it and adopts it, or delete it";
}

Result<void> bind_state(const StateDirectory& state, const UnboundState& unbound) {
  const WritableDirectory& root = state.root();
  GALLEY_ASSIGN(const RelPath from, RelPath::parse(unbound.place));
  const RelPath place = state.own(unbound.kind == kEarlierLinks ? kLinks : from.str());
  GALLEY_TRY(make_directories(root, place.parent(), kPrivateDirectory));
  auto moved = root.rename(from, root, place, RenameMode::kNoReplace);
  if (moved || moved.error().os_error != EEXIST) return moved;
  return fail(
      ErrorKind::kConflict, "state.changed",
      "'.galley/" + place.str() + "' is there already; move .galley/" + unbound.place + " away",
      ".galley/" + unbound.place);
}

}  // namespace galley
