#include "engine/pipeline/custom_tools.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/contains.h"
#include "base/file_mode.h"
#include "base/printable.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/fs/replace_file.h"
#include "tools/custom_tool.h"
#include "tools/json_input.h"

namespace galley {
namespace {

// Modes of the files that a program sees. The folders above them are private.
constexpr uint32_t kShownFolderMode = 0755;
constexpr uint32_t kShownFileMode = 0644;
constexpr uint32_t kShownProgramMode = 0755;
constexpr uint64_t kMaxRecordBytes = uint64_t{256} << 10U;
constexpr const char* kRecordFormat = "galley.tools/1";
constexpr const char* kRecordName = "record.json";
constexpr const char* kFilesName = "files";
constexpr std::chrono::milliseconds kToolsLockWait{5'000};
constexpr int kReadsOfTools = 8;

bool is_gone(const Error& error) { return error.kind == ErrorKind::kNotFound; }

tl::unexpected<Error> bad_folder(const std::string& path, const std::string& what) {
  return fail(ErrorKind::kInvalid, "tool.folder",
              "the folder of tools '" + printable_line(path) + "' " + what);
}

// --- reading a folder -----------------------------------------------------------------------

/// Reads files into a ToolFolder. It visits subfolders without recursion.
class FolderReader {
 public:
  FolderReader(const Directory& top, ToolFolder& folder) : top_(top), folder_(folder) {}

  Result<void> run() {
    std::vector<RelPath> todo = {RelPath::root()};
    while (!todo.empty()) {
      const RelPath at = todo.back();
      todo.pop_back();
      GALLEY_TRY(read_one(at, todo));
    }
    std::ranges::sort(folder_.items, {}, &ToolFolder::Item::path);
    return {};
  }

 private:
  Result<void> read_one(const RelPath& at, std::vector<RelPath>& todo) {
    std::unique_ptr<Directory> below;
    if (!at.is_root()) {
      GALLEY_ASSIGN(below, top_.open_directory(at));
    }
    GALLEY_ASSIGN(const auto entries, (below != nullptr ? *below : top_).list());
    for (const DirectoryEntry& entry : entries) {
      if (entry.name == "__pycache__" || entry.name == ".git") continue;
      const auto name = RelPath::parse(entry.name);
      const auto path = name ? at.join(*name) : name;
      if (!path) return bad_folder(folder_.path, "has a name that cannot be kept");
      if (entry.kind == FileKind::kDirectory) {
        todo.push_back(*path);
        continue;
      }
      GALLEY_TRY(read_item(*path, entry.kind));
    }
    return {};
  }

  Result<void> read_item(const RelPath& path, FileKind kind) {
    if (kind != FileKind::kRegular) {
      return bad_folder(folder_.path, "has '" + printable_line(path.str()) +
                                          "', which is not a regular file; only those are kept");
    }
    if (folder_.items.size() >= ToolFolder::kMaxToolFiles) return too_much();
    auto read = read_file_and_stat(top_, path, ToolFolder::kMaxToolBytes - bytes_);
    if (!read && read.error().reason == "limit.file_size") return too_much();
    if (!read) return fail(read.error());
    bytes_ += read->bytes.size();
    folder_.items.push_back(
        {path.str(), (read->stat.mode & kAnyExecute) != 0, std::move(read->bytes)});
    return {};
  }

  [[nodiscard]] tl::unexpected<Error> too_much() const {
    return fail(ErrorKind::kQuota, "limit.tool_folder",
                "the folder of tools '" + printable_line(folder_.path) + "' holds more than " +
                    std::to_string(ToolFolder::kMaxToolFiles) + " files or " +
                    std::to_string(ToolFolder::kMaxToolBytes) + " bytes");
  }

  const Directory& top_;
  ToolFolder& folder_;
  uint64_t bytes_ = 0;
};

ContentId hash_of(const std::vector<ToolFolder::Item>& items) {
  ContentHasher hasher;
  for (const ToolFolder::Item& item : items) {
    hasher.update(item.path);
    hasher.update(item.is_program ? std::string_view("\0x", 2) : std::string_view("\0-", 2));
    hasher.update(std::to_string(item.bytes.size()));
    hasher.update(std::string_view("\0", 1));
    hasher.update(item.bytes);
  }
  return hasher.finish();
}

/// Reads the files of a folder and their hash, and does not parse the manifests.
Result<ToolFolder> read_items(const std::string& path) {
  ToolFolder folder;
  folder.path = path;
  GALLEY_ASSIGN(const auto top, open_disk_directory(path));
  GALLEY_TRY(FolderReader(*top, folder).run());
  folder.hash = hash_of(folder.items);
  return folder;
}

bool is_manifest(const std::string& path) {
  return path == "manifest.json" ||
         (path.ends_with(".tool.json") && path.find('/') == std::string::npos);
}

Result<void> check_program(const ToolFolder& folder, const CustomManifest& manifest) {
  if (manifest.executable.empty()) return {};
  const auto found = std::ranges::find(folder.items, manifest.executable, &ToolFolder::Item::path);
  if (found == folder.items.end()) {
    return bad_folder(folder.path, "has no file '" + printable_line(manifest.executable) +
                                       "', which is the executable of the tool '" +
                                       printable_line(manifest.info.name) + "'");
  }
  if (found->is_program) return {};
  return bad_folder(folder.path, "has '" + printable_line(manifest.executable) +
                                     "' without the right to execute it; chmod +x it");
}

Result<void> read_manifests(ToolFolder& folder) {
  for (const ToolFolder::Item& item : folder.items) {
    if (!is_manifest(item.path)) continue;
    GALLEY_ASSIGN(CustomManifest manifest,
                  CustomManifest::parse(item.bytes, folder.path + "/" + item.path));
    const auto same = std::ranges::find_if(folder.manifests, [&](const CustomManifest& other) {
      return other.info.name == manifest.info.name;
    });
    if (same != folder.manifests.end()) {
      return fail(ErrorKind::kInvalid, "tool.exists",
                  "the folder of tools '" + printable_line(folder.path) +
                      "' has two tools named '" + printable_line(manifest.info.name) + "'");
    }
    GALLEY_TRY(check_program(folder, manifest));
    folder.manifests.push_back(std::move(manifest));
  }
  if (!folder.manifests.empty()) return {};
  return bad_folder(folder.path, "has neither a manifest.json nor a file that ends in .tool.json");
}

// --- stored records -------------------------------------------------------------------------

nlohmann::ordered_json to_json(const TrustedTools& tools, const std::string& root) {
  return {{"format", kRecordFormat},  {"root", root},         {"source", tools.source},
          {"hash", tools.hash.hex()}, {"tools", tools.names}, {"given_ns", tools.given_ns}};
}

std::optional<TrustedTools> parse_tools_record(const std::string& text, const std::string& root) {
  try {
    const auto document = nlohmann::json::parse(text);
    if (document.at("format") != kRecordFormat || document.at("root") != root) return {};
    const auto hash = ContentId::from_hex(document.at("hash").get<std::string>());
    if (!hash) return {};
    return TrustedTools{document.at("source").get<std::string>(), *hash,
                        document.at("tools").get<std::vector<std::string>>(),
                        document.at("given_ns").get<int64_t>(), ""};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

/// Returns nothing if the record is missing, unreadable, owned by another user or for another
/// workspace. Then no tool is trusted.
Result<std::optional<TrustedTools>> read_tools_record(const Directory& folder,
                                                      const std::string& root) {
  GALLEY_ASSIGN(const auto text, read_own_file(folder, chosen_path(kRecordName), kMaxRecordBytes));
  return text ? parse_tools_record(*text, root) : std::nullopt;
}

Result<void> write_file(const WritableDirectory& folder, const RelPath& path,
                        std::string_view bytes, uint32_t mode) {
  GALLEY_ASSIGN(const auto file, folder.open_writable_file(path, OpenMode::kOpenOrCreate, mode));
  GALLEY_TRY(file->truncate(0));
  GALLEY_TRY(file->write_at(0, bytes));
  return file->set_mode(mode);
}

Result<void> write_record(const WritableDirectory& folder, const TrustedTools& tools,
                          const std::string& root) {
  return replace_shared_file(folder, kRecordName, json_text(to_json(tools, root)) + "\n");
}

/// Of the processes that add or remove tools of a workspace, one does so at a time.
Result<std::unique_ptr<WritableFile>> lock_tools(const WritableDirectory& home) {
  GALLEY_ASSIGN(auto file, home.open_writable_file(chosen_path("lock"), OpenMode::kOpenOrCreate,
                                                   kPrivateFile));
  GALLEY_ASSIGN(const bool is_ours, take_lock(*file, kToolsLockWait));
  if (is_ours) return file;
  return fail(ErrorKind::kTimeout, "tool.locked",
              "another process has changed the tools of this workspace for 5 seconds; try again");
}

/// Creates every folder with a fixed mode, whatever the umask is.
Result<void> copy_items(const WritableDirectory& files, const ToolFolder& folder) {
  for (const ToolFolder::Item& item : folder.items) {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(item.path));
    if (!path.parent().is_root()) {
      GALLEY_TRY(make_directories(files, path.parent(), kShownFolderMode));
      for (RelPath at = path.parent(); !at.is_root(); at = at.parent()) {
        GALLEY_TRY(files.set_mode(at, kShownFolderMode));
      }
    }
    GALLEY_TRY(
        write_file(files, path, item.bytes, item.is_program ? kShownProgramMode : kShownFileMode));
  }
  return {};
}

/// Readers see the whole copy or none.
Result<void> remove_copy(const WritableDirectory& home, const RelPath& place) {
  const RelPath aside = chosen_path(place.str() + ".new");
  GALLEY_TRY(remove_tree(home, aside));
  const auto moved = home.rename(place, home, aside, RenameMode::kReplace);
  if (!moved && is_gone(moved.error())) return {};
  GALLEY_TRY(moved);
  return remove_tree(home, aside);
}

/// Puts a copy of the folder at `place`. Readers see the whole copy or none.
Result<void> write_copy(const WritableDirectory& home, const RelPath& place,
                        const ToolFolder& folder, const TrustedTools& tools,
                        const std::string& root) {
  const RelPath fresh = chosen_path(place.str() + ".new");
  GALLEY_TRY(remove_tree(home, fresh));
  GALLEY_TRY(home.make_directory(fresh, kPrivateDirectory));
  GALLEY_ASSIGN(const auto made, home.open_writable_directory(fresh));
  GALLEY_TRY(made->make_directory(chosen_path(kFilesName), kShownFolderMode));
  GALLEY_TRY(made->set_mode(chosen_path(kFilesName), kShownFolderMode));
  GALLEY_ASSIGN(const auto files, made->open_writable_directory(chosen_path(kFilesName)));
  GALLEY_TRY(copy_items(*files, folder));
  GALLEY_TRY(write_record(*made, tools, root));
  GALLEY_TRY(remove_tree(home, place));  // a damaged copy
  return home.rename(fresh, home, place, RenameMode::kReplace);
}

/// Checks that the files are still the trusted ones, both in the copy and in the original folder.
Result<void> check_unchanged(const TrustedTools& tools, const std::string& name) {
  const auto changed = [&](const std::string& what) {
    return fail(ErrorKind::kRefused, "tool.changed",
                "the tool '" + name + "' is not run: " + what +
                    "; look at it and add it again with: galley tools add " +
                    printable_line(tools.source));
  };
  const auto now = read_items(tools.source);
  if (!now) return changed("its folder cannot be read (" + now.error().message + ")");
  if (now->hash != tools.hash) {
    return changed("the files in '" + printable_line(tools.source) +
                   "' are others than those that were trusted");
  }
  const auto copy = read_items(tools.files);
  if (!copy || copy->hash != tools.hash) {
    return changed("the copy of its files in '" + printable_line(tools.files) +
                   "' is not what was trusted");
  }
  return {};
}

Error not_trusted() {
  return {ErrorKind::kRefused, "tool.changed", "no person has trusted this tool yet"};
}

Error with_remedy(Error error, const std::string& name) {
  error.message += "; take the tool away with: galley tools remove " + name;
  return error;
}

/// Returns the records of all copies, oldest first. A folder has two of them while it is added
/// again, and after a process was killed in the middle of that.
Result<std::vector<TrustedTools>> stored_records(const UserSettings& settings,
                                                 const std::string& root) {
  std::vector<TrustedTools> all;
  if (!is_tools_folder_outside(settings, root)) return all;
  const std::string place = tools_folder(settings, root);
  const auto home = open_disk_directory(place);
  if (!home && (is_gone(home.error()) || home.error().os_error == EACCES)) return all;
  if (!home) return fail(home.error());
  GALLEY_ASSIGN(const auto entries, (*home)->list());
  for (const DirectoryEntry& entry : entries) {
    const auto hash = ContentId::from_hex(entry.name);
    if (!hash || entry.kind != FileKind::kDirectory) continue;
    const auto folder = (*home)->open_directory(chosen_path(entry.name));
    if (!folder && is_gone(folder.error())) continue;  // removed meanwhile
    if (!folder) return fail(folder.error());
    GALLEY_ASSIGN(auto record, read_tools_record(**folder, root));
    if (!record || record->hash != *hash) continue;
    record->files = place + "/" + entry.name + "/" + kFilesName;
    all.push_back(*std::move(record));
  }
  std::ranges::stable_sort(all, {}, &TrustedTools::given_ns);
  return all;
}

}  // namespace

Result<ToolFolder> ToolFolder::read(const std::string& path) {
  GALLEY_ASSIGN(const std::string absolute, absolute_path(path));
  GALLEY_ASSIGN(ToolFolder folder, read_items(absolute));
  GALLEY_TRY(read_manifests(folder));
  return folder;
}

std::string tools_folder(const UserSettings& settings, const std::string& root) {
  return settings.tools_path + "/" + ContentId::of(root).hex();
}

bool is_tools_folder_outside(const UserSettings& settings, const std::string& root) {
  return !settings.tools_path.empty() && !is_at_or_below(settings.tools_path, root);
}

Result<void> check_tools_have_a_place(const UserSettings& settings, const std::string& root) {
  if (is_tools_folder_outside(settings, root)) return {};
  return fail(ErrorKind::kRefused, "trust.no_place",
              "there is no place outside the workspace to keep the tools in: set XDG_STATE_HOME "
              "to a folder outside of it");
}

Result<void> trust_tools(const UserSettings& settings, const std::string& root,
                         const ToolFolder& folder, int64_t now_ns) {
  GALLEY_TRY(check_tools_have_a_place(settings, root));
  const std::string home_path = tools_folder(settings, root);
  GALLEY_ASSIGN(const auto home, make_disk_directory(home_path, kPrivateDirectory));
  GALLEY_ASSIGN(const auto lock, lock_tools(*home));
  GALLEY_ASSIGN(const auto kept, stored_records(settings, root));
  const RelPath place = chosen_path(folder.hash.hex());
  TrustedTools tools{folder.path, folder.hash, {}, now_ns, ""};
  for (const CustomManifest& manifest : folder.manifests) tools.names.push_back(manifest.info.name);
  // An intact copy stays, since another process may be reading it.
  const auto copy = read_items(home_path + "/" + place.str() + "/" + kFilesName);
  if (copy && copy->hash == folder.hash) {
    GALLEY_ASSIGN(const auto made, home->open_writable_directory(place));
    GALLEY_TRY(write_record(*made, tools, root));
  } else {
    GALLEY_TRY(write_copy(*home, place, folder, tools, root));
  }
  for (const TrustedTools& old : kept) {
    if (old.source != folder.path || old.hash == folder.hash) continue;
    GALLEY_TRY(remove_copy(*home, chosen_path(old.hash.hex())));
  }
  return {};
}

Result<std::vector<TrustedTools>> trusted_tools(const UserSettings& settings,
                                                const std::string& root) {
  GALLEY_ASSIGN(auto all, stored_records(settings, root));
  // The newest comes first here, so of two copies of one folder it is the one that stays.
  std::vector<TrustedTools> kept;
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    const bool is_replaced = contains(kept, at->source, &TrustedTools::source);
    if (!is_replaced) kept.push_back(std::move(*at));
  }
  std::ranges::reverse(kept);
  return kept;
}

Result<bool> forget_tool(const UserSettings& settings, const std::string& root,
                         std::string_view name) {
  if (!is_tools_folder_outside(settings, root)) return false;
  const auto opened = open_writable_disk_directory(tools_folder(settings, root));
  if (!opened && (is_gone(opened.error()) || opened.error().os_error == EACCES)) return false;
  if (!opened) return fail(opened.error());
  const WritableDirectory* home = opened->get();
  GALLEY_ASSIGN(const auto lock, lock_tools(*home));
  GALLEY_ASSIGN(const auto kept, trusted_tools(settings, root));
  const auto found = std::ranges::find_if(
      kept, [&](const TrustedTools& tools) { return contains(tools.names, name); });
  if (found == kept.end()) return false;
  GALLEY_ASSIGN(const auto all, stored_records(settings, root));
  for (TrustedTools tools : all) {  // a replaced copy would come back without the newer one
    if (tools.source != found->source) continue;
    std::erase(tools.names, name);
    const RelPath place = chosen_path(tools.hash.hex());
    if (tools.names.empty() || tools.hash != found->hash) {
      GALLEY_TRY(remove_copy(*home, place));
      continue;
    }
    GALLEY_ASSIGN(const auto folder, home->open_writable_directory(place));
    GALLEY_TRY(write_record(*folder, tools, root));
  }
  return true;
}

Result<void> add_tools_of(ToolRegistry& registry, const ToolFolder& folder) {
  for (const CustomManifest& manifest : folder.manifests) {
    GALLEY_TRY(registry.check_distinct(manifest.info.name));
    GALLEY_TRY(registry.add(
        make_custom_tool(manifest, {folder.path, [] { return Result<void>(not_trusted()); }})));
  }
  return {};
}

namespace {

struct ReadTools {
  TrustedTools tools;
  ToolFolder folder;
};

/// Reads the folders of all trusted tools. Looks again if another process changed them meanwhile.
Result<std::vector<ReadTools>> read_trusted(const UserSettings& settings, const std::string& root) {
  for (int look = 1;; ++look) {
    GALLEY_ASSIGN(const auto kept, trusted_tools(settings, root));
    std::vector<ReadTools> all;
    std::optional<Error> unread;
    for (const TrustedTools& tools : kept) {
      auto folder = ToolFolder::read(tools.files);
      if (folder) {
        all.push_back({tools, *std::move(folder)});
      } else {
        unread = with_remedy(folder.error(), tools.names.empty() ? "" : tools.names.front());
      }
    }
    if (!unread) return all;
    GALLEY_ASSIGN(const auto now, trusted_tools(settings, root));
    if (now == kept || look == kReadsOfTools) return fail(*unread);
  }
}

}  // namespace

Result<std::vector<std::string>> add_custom_tools(ToolRegistry& registry,
                                                  const UserSettings& settings,
                                                  const std::string& root) {
  GALLEY_ASSIGN(const auto all, read_trusted(settings, root));
  std::vector<std::string> left_out;
  for (const auto& [tools, folder] : all) {
    for (const CustomManifest& manifest : folder.manifests) {
      const std::string& name = manifest.info.name;
      if (!contains(tools.names, name)) continue;
      const auto unchanged = [tools = tools, name] { return check_unchanged(tools, name); };
      auto added = registry.check_distinct(name);
      if (added) added = registry.add(make_custom_tool(manifest, {tools.files, unchanged}));
      if (added) continue;
      const Error why = with_remedy(added.error(), name);
      if (why.reason != "tool.exists") return fail(why);
      left_out.push_back("a custom tool is left out: " + why.message);
    }
  }
  return left_out;
}

}  // namespace galley
