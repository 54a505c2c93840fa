#include "engine/policy/git_directories.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr uint64_t kMaxGitFileBytes = uint64_t{1} << 20U;  // git's own limit for a `.git` file
constexpr uint64_t kMaxCommonDirBytes = uint64_t{64} << 10U;
constexpr uint64_t kMaxModulesBytes = uint64_t{1} << 20U;
constexpr size_t kMaxSubmodules = 1000;
constexpr int kMaxLinksFollowed = 40;  // the kernel's MAXSYMLINKS
constexpr size_t kMaxWalkSteps = 4096;
constexpr std::string_view kLineEnds = "\r\n";

/// The entries that make a directory a repository (git's is_git_directory).
enum Mark : uint8_t { kHead = 1, kObjects = 2, kRefs = 4, kCommonDir = 8 };
constexpr std::pair<std::string_view, Mark> kMarks[] = {
    {"HEAD", kHead}, {"objects", kObjects}, {"refs", kRefs}, {"commondir", kCommonDir}};

uint8_t mark_of(std::string_view name) {
  if (name.size() < 4) return 0;
  const std::string folded = folded_name(name);
  for (const auto& [mark_name, mark] : kMarks) {
    if (folded == to_lower(mark_name)) return mark;
  }
  return 0;
}

std::string folded_path(const RelPath& path) {
  std::string folded;
  for (const auto part : path.components()) {
    folded += (folded.empty() ? "" : "/") + folded_name(part);
  }
  return folded;
}

/// Objects that are absent or can only be reached through a link do not exist for git either.
bool is_nothing(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.kind == ErrorKind::kRefused;
}

}  // namespace

/// Follows one text to its target, a component at a time as the kernel does, in the present or in
/// the proposed tree.
class GitSearch {
 public:
  GitSearch(const ProposedTree& tree, GitDirectories& found) : tree_(tree), found_(found) {}

  Result<void> run() {
    GALLEY_TRY(look_at(RelPath::root()));
    GALLEY_TRY(look_at_submodules());
    for (const Change& change : tree_.proposal().changes()) {
      if (!change.path.is_protected()) note_above(change);
    }
    peek();
    for (const auto& [directory, above] : above_) {
      if (!directory.is_root() && !above.has_no_git) GALLEY_TRY(look_at(directory));
      if (above.has_no_head) continue;
      GALLEY_ASSIGN(const bool is_like_one, looks_like_one(directory, above.marks));
      if (is_like_one) found_.lookalikes_.push_back(directory);
    }
    return {};
  }

 private:
  enum class View : uint8_t { kNow, kProposed };
  static constexpr View kViews[] = {View::kNow, View::kProposed};

  /// A directory above a changed path.
  struct Above {
    uint8_t marks = 0;  ///< those that the proposal puts there
    bool has_no_git = false;
    bool has_no_head = false;  ///< neither in the present nor in the proposed tree
  };

  void note_above(const Change& change) {
    const bool is_there = change.after.kind != FileKind::kAbsent;
    for (RelPath child = change.path; !child.is_root();) {
      RelPath parent = child.parent();
      const auto [at, is_new] = above_.try_emplace(parent);
      if (is_there) at->second.marks |= mark_of(child.name());
      if (!is_new) return;
      child = std::move(parent);
    }
  }

  /// Checks the directories in parallel, since most have neither. A failed check counts as present,
  /// so that the later check reports the reason.
  void peek() {
    constexpr size_t kBlock = 16;
    std::vector<std::pair<const RelPath, Above>*> all;
    all.reserve(above_.size());
    for (auto& entry : above_) all.push_back(&entry);
    for_each_block(all.size(), kBlock, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        Above& above = all[i]->second;
        above.has_no_git = is_missing(all[i]->first, ".git");
        above.has_no_head = (above.marks & kHead) == 0 && is_missing(all[i]->first, "HEAD");
      }
    });
  }
  [[nodiscard]] bool is_missing(const RelPath& directory, std::string_view name) const {
    const auto path = directory.join(chosen_path(name));
    if (!path) return true;
    const auto stat = tree_.workspace().stat(*path);
    return stat ? stat->kind == FileKind::kAbsent : is_nothing(stat.error());
  }

  Result<void> look_at_submodules() {
    auto text = read_file(tree_.workspace(), chosen_path(".gitmodules"), kMaxModulesBytes);
    if (!text && is_nothing(text.error())) return {};
    if (!text) return fail(text.error());
    size_t count = 0;
    for (std::string_view rest = *text; !rest.empty() && count < kMaxSubmodules;) {
      const std::string_view line = take_line(rest);
      const size_t equals = line.find('=');
      if (equals == line.npos) continue;
      constexpr std::string_view kAround = " \t\r\"";
      if (trim(line.substr(0, equals), kAround) != "path") continue;
      ++count;
      const auto path = RelPath::parse(trim(line.substr(equals + 1), kAround));
      if (path) GALLEY_TRY(look_at(*path));
    }
    return {};
  }

  /// Follows the `.git` of a directory, if it has one.
  Result<void> look_at(const RelPath& directory) {
    const auto dot_git = directory.join(chosen_path(".git"));
    if (!dot_git) return {};
    GALLEY_ASSIGN(const FileKind kind, kind_of(*dot_git, View::kNow));
    if (kind == FileKind::kDirectory) return follow_common(*dot_git);
    if (kind == FileKind::kRegular) return follow_file(*dot_git, directory);
    if (kind != FileKind::kSymlink) return {};
    GALLEY_ASSIGN(const std::string target, tree_.workspace().read_link(*dot_git));
    for (const View view : kViews) {
      GALLEY_ASSIGN(const auto end, walk(directory, target, view));
      if (!end) continue;
      note(*end);
      GALLEY_ASSIGN(const FileKind end_kind, kind_of(*end, View::kNow));
      if (end_kind == FileKind::kRegular) GALLEY_TRY(follow_file(*end, directory));
      if (end_kind == FileKind::kDirectory) GALLEY_TRY(follow_common(*end));
    }
    return {};
  }

  /// A file with `gitdir: PATH`, seen from `directory`.
  Result<void> follow_file(const RelPath& file, const RelPath& directory) {
    constexpr std::string_view kPrefix = "gitdir: ";
    const auto read = read_file(tree_.workspace(), file, kMaxGitFileBytes);
    if (!read && (is_nothing(read.error()) || read.error().kind == ErrorKind::kQuota)) return {};
    if (!read) return fail(read.error());
    const std::string text(trim_end(*read, kLineEnds));
    if (!text.starts_with(kPrefix) || text.size() == kPrefix.size()) return {};
    for (const View view : kViews) {
      GALLEY_ASSIGN(const auto end, walk(directory, text.substr(kPrefix.size()), view));
      if (!end) continue;
      note(*end);
      GALLEY_TRY(follow_common(*end));
    }
    return {};
  }

  Result<void> follow_common(const RelPath& git_directory) {
    const auto file = git_directory.join(chosen_path("commondir"));
    if (!file) return {};
    GALLEY_ASSIGN(const FileKind kind, kind_of(*file, View::kNow));
    if (kind != FileKind::kRegular) return {};
    GALLEY_ASSIGN(std::string text, read_file(tree_.workspace(), *file, kMaxCommonDirBytes));
    text = trim_end(text, kLineEnds);
    for (const View view : kViews) {
      GALLEY_ASSIGN(const auto end, walk(git_directory, text, view));
      if (end) note(*end);
    }
    return {};
  }

  void note(const RelPath& path) {
    if (!path.is_protected()) found_.directories_.insert(folded_path(path));
  }

  // --- walking ------------------------------------------------------------------------------

  /// The target of `text` from `start`; nullopt when it is outside the workspace.
  Result<std::optional<RelPath>> walk(const RelPath& start, const std::string& text, View view) {
    std::vector<std::string> here;
    for (const auto part : start.components()) here.emplace_back(part);
    std::deque<std::string> todo;
    if (!enter(text, here, todo)) return std::nullopt;
    int links = 0;
    for (size_t steps = 0; !todo.empty(); ++steps) {
      if (steps > kMaxWalkSteps || links > kMaxLinksFollowed) return std::nullopt;
      const std::string part = std::move(todo.front());
      todo.pop_front();
      if (part.empty() || part == ".") continue;
      if (part == ".." && here.empty()) {
        const std::string& root = tree_.root_path();
        const std::string above = root.substr(0, root.rfind('/')) + "/" + joined(todo);
        todo.clear();
        if (root.empty() || !enter(above, here, todo)) return std::nullopt;
        continue;
      }
      if (part == "..") {
        here.pop_back();
        continue;
      }
      here.push_back(part);
      const auto path = RelPath::parse(joined(here));
      if (!path) return std::nullopt;
      GALLEY_ASSIGN(const FileKind kind, kind_of(*path, view));
      if (kind != FileKind::kSymlink) continue;
      ++links;
      found_.links_.insert(*path);
      GALLEY_ASSIGN(const std::string target, link_at(*path, view));
      here.pop_back();
      if (!enter(target, here, todo)) return std::nullopt;
    }
    if (here.empty()) return std::optional(RelPath::root());
    GALLEY_ASSIGN(const RelPath end, RelPath::parse(joined(here)));
    return std::optional(end);
  }

  /// Puts the components of `text` before those still to be walked; an absolute text begins at the
  /// root again. Returns false when it leads outside the workspace.
  bool enter(const std::string& text, std::vector<std::string>& here,
             std::deque<std::string>& todo) const {
    std::string_view rest = text;
    std::string real;
    if (text.starts_with('/')) {
      const std::string& root = tree_.root_path();
      if (root.empty()) return false;
      const auto below = [&root](std::string_view path) {
        return path == root || (path.starts_with(root) && path[root.size()] == '/');
      };
      if (!below(rest)) {
        const auto resolved = absolute_path(text);
        if (!resolved || !below(*resolved)) return false;
        real = *resolved;
        rest = real;
      }
      rest.remove_prefix(root.size());
      here.clear();
    }
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= rest.size();) {
      const size_t end = std::min(rest.find('/', begin), rest.size());
      parts.emplace_back(rest.substr(begin, end - begin));
      begin = end + 1;
    }
    todo.insert(todo.begin(), parts.begin(), parts.end());
    return true;
  }

  template <class Parts>
  static std::string joined(const Parts& parts) {
    std::string text;
    for (const auto& part : parts) text += (text.empty() ? "" : "/") + part;
    return text;
  }

  Result<FileKind> kind_of(const RelPath& path, View view) const {
    if (path.is_root()) return FileKind::kDirectory;
    if (view == View::kProposed && !path.is_protected()) {
      const auto node = tree_.node(path);
      if (!node && !is_nothing(node.error())) return fail(node.error());
      return node ? node->kind : FileKind::kAbsent;
    }
    const auto stat = tree_.workspace().stat(path);
    if (!stat && !is_nothing(stat.error())) return fail(stat.error());
    return stat ? stat->kind : FileKind::kAbsent;
  }

  Result<std::string> link_at(const RelPath& path, View view) const {
    if (view == View::kProposed && !path.is_protected()) return tree_.read_link(path);
    return tree_.workspace().read_link(path);
  }

  // --- lookalikes ---------------------------------------------------------------------------

  Result<bool> looks_like_one(const RelPath& directory, uint8_t marks) const {
    for (const auto& [name, mark] : kMarks) {
      if ((marks & mark) != 0) continue;
      const auto path = directory.join(chosen_path(name));
      if (!path) return false;
      GALLEY_ASSIGN(const FileKind kind, kind_of(*path, View::kProposed));
      if (kind != FileKind::kAbsent) marks |= mark;
      if (mark == kHead && (marks & kHead) == 0) return false;
    }
    constexpr uint8_t kStore = kObjects | kRefs;
    return (marks & kStore) == kStore || (marks & kCommonDir) != 0;
  }

  const ProposedTree& tree_;
  GitDirectories& found_;
  std::map<RelPath, Above> above_;
};

Result<GitDirectories> GitDirectories::of(const ProposedTree& tree) {
  GitDirectories found;
  GALLEY_TRY(GitSearch(tree, found).run());
  return found;
}

std::string GitDirectories::protection_reason(const Change& change) const {
  const bool is_link =
      change.before.kind == FileKind::kSymlink || change.after.kind == FileKind::kSymlink;
  if (is_link && links_.contains(change.path)) return "git finds its directory through this link";
  if (directories_.empty()) return {};
  const std::string folded = folded_path(change.path);
  for (const std::string& directory : directories_) {
    if (!directory.empty() && !is_at_or_below(folded, directory)) continue;
    return directory.empty() ? "the workspace's root is a git directory"
                             : "it belongs to the git directory " + directory;
  }
  return {};
}

}  // namespace galley
