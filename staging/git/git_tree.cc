#include "staging/git/git_tree.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <utility>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/printable.h"
#include "base/text.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

constexpr uint32_t kGitFileMode = 0100000;
constexpr uint32_t kGitSymlinkMode = 0120000;
constexpr uint32_t kExecutable = 0100;
constexpr uint64_t kMaxTreeBytes = uint64_t{256} << 20U;
constexpr size_t kKeptTrees = 20'000;  // a branch that moves again and again has ever more

Error damaged(const std::string& tree) {
  return {ErrorKind::kIo, "git.object_damaged",
          "the tree " + tree + " is damaged; look at: git fsck"};
}

Error no_such_path(const RelPath& path) {
  return {ErrorKind::kNotFound, "path.not_found", "'" + path.str() + "' is not in the tree of git",
          path.str(), ENOENT};
}

/// Returns 16 hexadecimal digits of an id as a number.
uint64_t digits_at(const std::string& id, size_t at) {
  uint64_t number = 0;
  const char* begin = id.data() + std::min(at, id.size());
  std::from_chars(begin, std::min(begin + 16, id.data() + id.size()), number, 16);
  return number;
}

FileStat stat_of(const GitTreeEntry& entry, uint64_t size) {
  FileStat stat;
  stat.kind = kind_of_git_mode(entry.mode);
  stat.mode = stat.kind == FileKind::kSymlink ? 0777 : permissions_of_git_mode(entry.mode);
  stat.uid = effective_user();
  stat.nlink = 1;
  stat.size = size;
  stat.inode = digits_at(entry.id, 0);
  stat.mtime_ns = static_cast<int64_t>(digits_at(entry.id, 16) >> 2U);
  return stat;
}

/// A blob that was read completely.
class GitBlobFile final : public File {
 public:
  GitBlobFile(std::string bytes, FileStat stat) : bytes_(std::move(bytes)), stat_(stat) {}
  Result<std::string> read_at(uint64_t offset, size_t count) override {
    if (offset >= bytes_.size()) return std::string();
    return bytes_.substr(offset, count);
  }
  Result<FileStat> stat() override { return stat_; }
  Result<std::vector<ExtendedAttribute>> attributes() override {
    return std::vector<ExtendedAttribute>();
  }
  Result<bool> try_lock(LockMode /*mode*/) override { return false; }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  std::string bytes_;
  FileStat stat_;
};

/// Reads `<mode in octal> <name>\0<raw id>`, repeated (git's format of tree objects).
Result<std::vector<GitTreeEntry>> parse_tree(std::string_view bytes, const std::string& tree) {
  const size_t id_bytes = tree.size() / 2;
  std::vector<GitTreeEntry> entries;
  while (!bytes.empty()) {
    const size_t space = bytes.find(' ');
    const size_t zero = bytes.find('\0');
    if (space == bytes.npos || zero == bytes.npos || space > zero ||
        bytes.size() - zero - 1 < id_bytes) {
      return fail(damaged(tree));
    }
    GitTreeEntry entry;
    const auto mode = number_of<uint32_t>(bytes.substr(0, space), 8);
    if (!mode) return fail(damaged(tree));
    entry.mode = *mode;
    entry.name = bytes.substr(space + 1, zero - space - 1);
    const auto* raw = reinterpret_cast<const uint8_t*>(bytes.data()) + zero + 1;
    entry.id = to_hex({raw, id_bytes});
    bytes.remove_prefix(zero + 1 + id_bytes);
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, &GitTreeEntry::name);
  const auto twice = std::ranges::adjacent_find(entries, {}, &GitTreeEntry::name);
  if (twice == entries.end()) return entries;
  return fail(ErrorKind::kInvalid, "git.duplicate_entries",
              "the tree " + tree + " has two entries named '" + printable_line(twice->name) +
                  "', so a change could drop one of them; look at: git fsck");
}

}  // namespace

FileKind kind_of_git_mode(uint32_t mode) {
  switch (mode & kGitTypeMask) {
    case kGitFileMode:
      return FileKind::kRegular;
    case kGitSymlinkMode:
      return FileKind::kSymlink;
    case kGitTreeMode:
    case kGitLinkMode:
      return FileKind::kDirectory;
    case 0:
      return FileKind::kAbsent;
    default:
      return FileKind::kOther;
  }
}

uint32_t permissions_of_git_mode(uint32_t mode) {
  switch (kind_of_git_mode(mode)) {
    case FileKind::kRegular:
      return (mode & kExecutable) != 0 ? 0755 : 0644;
    case FileKind::kDirectory:
      return 0755;
    default:
      return 0;
  }
}

Result<GitTrees::Entries> GitTrees::entries(const std::string& tree) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(tree);
    if (found != known_.end()) return found->second;
  }
  GALLEY_ASSIGN(const std::string bytes, objects_->content(tree, "tree", kMaxTreeBytes));
  GALLEY_ASSIGN(auto parsed, parse_tree(bytes, tree));
  auto entries = std::make_shared<const std::vector<GitTreeEntry>>(std::move(parsed));
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kKeptTrees) known_.clear();
  return known_.emplace(tree, std::move(entries)).first->second;
}

Result<bool> differ_in_more(const GitTrees& trees, const std::string& from, const std::string& to,
                            size_t max) {
  std::vector<std::pair<std::string, std::string>> waiting = {{from, to}};
  size_t files = 0;
  size_t folders = 0;
  const auto entries_of = [&](const std::string& tree) -> Result<GitTrees::Entries> {
    if (tree.empty()) return std::make_shared<const std::vector<GitTreeEntry>>();
    return trees.entries(tree);
  };
  while (!waiting.empty()) {
    if (files > max || folders++ + waiting.size() > max) return true;
    const auto [old_tree, new_tree] = std::move(waiting.back());
    waiting.pop_back();
    GALLEY_ASSIGN(const GitTrees::Entries before, entries_of(old_tree));
    GALLEY_ASSIGN(const GitTrees::Entries after, entries_of(new_tree));
    for (auto a = before->begin(), b = after->begin(); a != before->end() || b != after->end();) {
      const bool is_old = b == after->end() || (a != before->end() && a->name <= b->name);
      const bool is_new = a == before->end() || (b != after->end() && b->name <= a->name);
      const GitTreeEntry old_entry = is_old ? *a++ : GitTreeEntry();
      const GitTreeEntry new_entry = is_new ? *b++ : GitTreeEntry();
      if (old_entry.mode == new_entry.mode && old_entry.id == new_entry.id) continue;
      const bool was_tree = old_entry.mode == kGitTreeMode;
      const bool is_tree = new_entry.mode == kGitTreeMode;
      if (was_tree || is_tree) {
        waiting.emplace_back(was_tree ? old_entry.id : "", is_tree ? new_entry.id : "");
      }
      if ((is_old && !was_tree) || (is_new && !is_tree)) ++files;
    }
  }
  return files > max;
}

GitTree::GitTree(std::shared_ptr<const GitTrees> trees, std::string tree)
    : trees_(std::move(trees)), tree_(std::move(tree)) {}

Result<GitTreeEntry> GitTree::entry(const RelPath& path) const {
  GitTreeEntry at{"", kGitTreeMode, tree_};
  for (const std::string_view name : path.components()) {
    if (kind_of_git_mode(at.mode) == FileKind::kSymlink) {
      return fail(ErrorKind::kRefused, "path.through_symlink",
                  "'" + path.str() + "' leads through a symbolic link", path.str());
    }
    const bool is_tree = (at.mode & kGitTypeMask) == kGitTreeMode && !at.id.empty();
    if (!is_tree) return GitTreeEntry();
    GALLEY_ASSIGN(const auto entries, trees_->entries(at.id));
    const auto found = std::ranges::lower_bound(*entries, name, {}, &GitTreeEntry::name);
    if (found == entries->end() || found->name != name) return GitTreeEntry();
    at = *found;
  }
  return at;
}

Result<GitTreeEntry> GitTree::existing(const RelPath& path) const {
  GALLEY_ASSIGN(GitTreeEntry found, entry(path));
  if (found.id.empty()) return fail(no_such_path(path));
  return found;
}

Result<std::unique_ptr<Directory>> GitTree::open_directory(const RelPath& path) const {
  GALLEY_ASSIGN(const GitTreeEntry found, existing(path));
  if (kind_of_git_mode(found.mode) != FileKind::kDirectory) {
    return fail(ErrorKind::kInvalid, "path.not_directory",
                "'" + path.str() + "' is not a directory", path.str());
  }
  const bool is_submodule = (found.mode & kGitTypeMask) == kGitLinkMode;
  return std::unique_ptr<Directory>(
      std::make_unique<GitTree>(trees_, is_submodule ? std::string() : found.id));
}

Result<std::unique_ptr<File>> GitTree::open_file(const RelPath& path) const {
  GALLEY_ASSIGN(const GitTreeEntry found, existing(path));
  const FileKind kind = kind_of_git_mode(found.mode);
  if (kind == FileKind::kSymlink) {
    return fail(ErrorKind::kRefused, "path.is_symlink",
                "'" + path.str() + "' is a symbolic link, not a file", path.str());
  }
  if (kind == FileKind::kDirectory) {
    return fail(ErrorKind::kRefused, "path.is_directory", "'" + path.str() + "' is a directory",
                path.str());
  }
  GALLEY_ASSIGN(std::string bytes,
                trees_->objects().content(found.id, "blob", limits::kMaxFileBytes));
  const FileStat stat = stat_of(found, bytes.size());
  return std::unique_ptr<File>(std::make_unique<GitBlobFile>(std::move(bytes), stat));
}

Result<FileStat> GitTree::stat(const RelPath& path) const {
  GALLEY_ASSIGN(const GitTreeEntry found, entry(path));
  if (found.mode == 0) return FileStat();
  if (kind_of_git_mode(found.mode) == FileKind::kDirectory) return stat_of(found, 0);
  GALLEY_ASSIGN(const GitObjectHead head, trees_->objects().look(found.id));
  return stat_of(found, head.size);
}

Result<std::string> GitTree::read_link(const RelPath& path) const {
  GALLEY_ASSIGN(const GitTreeEntry found, existing(path));
  if (kind_of_git_mode(found.mode) != FileKind::kSymlink) {
    return fail(ErrorKind::kInvalid, "path.not_symlink",
                "'" + path.str() + "' is not a symbolic link", path.str());
  }
  return trees_->objects().content(found.id, "blob", limits::kMaxSymlinkBytes);
}

Result<std::vector<DirectoryEntry>> GitTree::list() const {
  std::vector<DirectoryEntry> names;
  if (tree_.empty()) return names;
  GALLEY_ASSIGN(const auto entries, trees_->entries(tree_));
  names.reserve(entries->size());
  for (const GitTreeEntry& one : *entries) names.push_back({one.name, kind_of_git_mode(one.mode)});
  return names;
}

Result<std::vector<ExtendedAttribute>> GitTree::attributes(const RelPath& /*path*/) const {
  return std::vector<ExtendedAttribute>();
}

}  // namespace galley
