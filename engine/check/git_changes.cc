#include "engine/check/git_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/limits.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "staging/git/git_program.h"
#include "staging/overlay/overlay.h"

namespace galley {
namespace {

constexpr size_t kHashedTogether = 64;
constexpr size_t kShownPaths = 5;

bool is_nothing(const std::string& id) { return id.find_first_not_of('0') == std::string::npos; }

bool is_link_to_commit(uint32_t mode) { return (mode & kGitTypeMask) == kGitLinkMode; }

bool has_blob(uint32_t mode, const std::string& id) {
  return mode != 0 && !is_link_to_commit(mode) && !is_nothing(id);
}

Error missing(const std::string& path, const std::string& id) {
  return {ErrorKind::kRefused, "git.object_missing",
          "'" + path + "': its content " + id +
              " is missing in this clone or may not be read, and nothing is fetched while a change "
              "is judged; fetch it first, or look at: git fsck",
          path, 0};
}

Finding odd_path(const std::string& path, const Error& why) {
  Finding finding;
  finding.rule = "check.path";
  finding.path = path;
  finding.message = "cannot be judged: " + printable_line(why.message);
  finding.remedy = "give the file another name";
  return finding;
}

Error unreadable(const std::string& path, const std::string& blob, Error why) {
  if (why.reason == "git.no_such_object") return missing(path, blob);
  why.path = path;
  if (why.reason == "git.object_damaged") why.message = "'" + path + "': " + why.message;
  if (why.reason != "limit.file_size") return why;
  why.message = "'" + path + "' is too large to be judged: " + why.message +
                "; keep it out of git, or under Git LFS";
  return why;
}

/// Hashes every blob of the diff in parallel.
Result<void> hash_blobs(const std::vector<GitRawChange>& diff, GitBlobStore& store) {
  std::vector<GitBlobStore::Wanted> wanted;
  std::vector<const std::string*> paths;
  std::set<std::pair<std::string_view, uint64_t>> known;
  const auto want = [&](const GitRawChange& change, const std::string& blob, uint64_t max_bytes) {
    if (!known.emplace(blob, max_bytes).second) return;
    wanted.push_back({blob, max_bytes});
    paths.push_back(&change.path);
  };
  for (const GitRawChange& change : diff) {
    if (has_blob(change.new_mode, change.new_id)) {
      want(change, change.new_id, limits::kMaxFileBytes);
    }
    // Removed and shrunk contents may have any size.
    if (has_blob(change.old_mode, change.old_id)) want(change, change.old_id, UINT64_MAX);
  }
  std::vector<std::optional<Error>> errors(wanted.size());
  for_each_block(wanted.size(), kHashedTogether, [&](size_t begin, size_t end) {
    const auto block = std::span(wanted).subspan(begin, end - begin);
    for (size_t i = begin + store.add_each(block); i < end; ++i) {
      const auto added = store.add(wanted[i].blob, wanted[i].max_bytes);
      if (!added) errors[i] = added.error();
    }
  });
  for (size_t i = 0; i < errors.size(); ++i) {
    if (errors[i]) return fail(unreadable(*paths[i], wanted[i].blob, *std::move(errors[i])));
  }
  return {};
}

/// Reads files of the work tree. The proposal keeps it, so it owns or shares what it needs, except
/// for the store, which holds it.
struct FileReader {
  std::shared_ptr<const Directory> work_tree;
  std::shared_ptr<const WorkTreeLineEndings> ends;
  const GitBlobStore* store;

  /// The bytes that git would store: line endings that it would convert are not a change.
  Result<std::string> read(const RelPath& path, const Node& before) const {
    GALLEY_ASSIGN(std::string bytes, read_file(*work_tree, path, limits::kMaxFileBytes));
    if (!ends->may_convert(path.str())) return bytes;
    Content stored = std::make_shared<const std::string>();
    if (before.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(stored, store->get(before.content));
    }
    return ends->as_stored(path.str(), std::move(bytes), *stored);
  }

  /// As read(), but large contents that git stores as they are get only their id.
  Result<FileOnDisk> look(const RelPath& path, const Node& before) const {
    if (!ends->may_convert(path.str())) return read_from_disk(*work_tree, path, 0);
    GALLEY_ASSIGN(std::string bytes, read(path, before));
    FileOnDisk file;
    file.stat.size = bytes.size();
    file.id = ContentId::of(bytes);
    file.content = std::make_shared<const std::string>(std::move(bytes));
    return file;
  }
};

class ChangeSetBuilder {
 public:
  explicit ChangeSetBuilder(const GitSides& sides) : sides_(sides) {}

  Result<GitChanges> build(const std::vector<GitRawChange>& diff) {
    GALLEY_TRY(hash_blobs(diff, sides_.store));
    for (const GitRawChange& change : diff) GALLEY_TRY(add(change));
    GALLEY_TRY(add_made_directories());
    GALLEY_TRY(add_gone_directories());
    if (changes_.size() > limits::kMaxChanges) {
      return fail(too_many_changes());
    }
    for (auto& [path, change] : changes_) {
      if (change.renamed_from && at(*change.renamed_from).after.kind != FileKind::kAbsent) {
        change.renamed_from.reset();
      }
      if (change.before != change.after) made_.changes.push_back(std::move(change));
    }
    return std::move(made_);
  }

 private:
  using Changes = std::map<RelPath, Change>;

  Change& at(const RelPath& path) {
    Change& change = changes_.try_emplace(path).first->second;
    change.path = path;
    return change;
  }

  Result<void> add(const GitRawChange& raw) {
    const auto path = RelPath::parse(raw.path);
    if (!path) {
      made_.findings.push_back(odd_path(raw.path, path.error()));
      return {};
    }
    GALLEY_ASSIGN(const Node before, node(raw.old_mode, raw.old_id, *path, {}));
    GALLEY_ASSIGN(Node after, node(raw.new_mode, raw.new_id, *path, before));
    const auto from = RelPath::parse(raw.from);
    const bool is_move = raw.status == 'R' || raw.status == 'C';
    Change& change = at(*path);
    change.after = after;
    if (!is_move) {
      // A path that left the index is listed again, as untracked.
      if (change.before.kind == FileKind::kAbsent) change.before = before;
    } else if (from) {
      (raw.status == 'R' ? change.renamed_from : change.copied_from) = *from;
      if (raw.status == 'R') at(*from).before = before;
    }
    return {};
  }

  Result<Node> node(uint32_t mode, const std::string& id, const RelPath& path, const Node& before) {
    Node node;
    if (mode == 0) return node;
    if (is_nothing(id) && sides_.work_tree != nullptr) return node_on_disk(mode, path, before);
    node.kind = kind_of_git_mode(mode);
    node.mode = permissions_of_git_mode(mode);
    if (is_link_to_commit(mode)) {
      const std::string line = "Subproject commit " + id + "\n";
      GALLEY_ASSIGN(node.content, sides_.store.put(line));
      node.size = line.size();
      return node;
    }
    GALLEY_ASSIGN(const GitBlobStore::Blob blob, sides_.store.add(id));
    node.content = blob.content;
    node.size = blob.size;
    return node;
  }

  Result<Node> node_on_disk(uint32_t mode, const RelPath& path, const Node& before) {
    GALLEY_ASSIGN(const FileStat stat, sides_.work_tree->stat(path));
    Node node;
    node.kind = stat.kind;
    if (stat.kind == FileKind::kRegular && kind_of_git_mode(mode) == FileKind::kSymlink) {
      // With core.symlinks=false, the file has the target of the link that git stores.
      GALLEY_ASSIGN(std::string target, read_file(*sides_.work_tree, path, limits::kMaxFileBytes));
      node.kind = FileKind::kSymlink;
      node.size = target.size();
      GALLEY_ASSIGN(node.content, sides_.store.put(std::move(target)));
    } else if (stat.kind == FileKind::kRegular) {
      const FileReader reader{sides_.work_tree, sides_.ends, &sides_.store};
      GALLEY_ASSIGN(const FileOnDisk file, reader.look(path, before));
      sides_.store.keep_file(
          file.id, file.content, [=] { return reader.read(path, before); }, path.str());
      node.mode = permissions_of_git_mode(mode);
      node.size = file.stat.size;
      node.content = file.id;
    } else if (stat.kind == FileKind::kSymlink) {
      GALLEY_ASSIGN(std::string target, sides_.work_tree->read_link(path));
      node.size = target.size();
      GALLEY_ASSIGN(node.content, sides_.store.put(std::move(target)));
    } else {
      node.mode = stat.mode & 0777U;
    }
    return node;
  }

  static Node directory() {
    Node node;
    node.kind = FileKind::kDirectory;
    node.mode = permissions_of_git_mode(kGitTreeMode);
    return node;
  }

  /// The parents of new paths that were not directories before.
  Result<void> add_made_directories() {
    std::set<RelPath> made;
    std::set<RelPath> known;
    for (const auto& [path, change] : changes_) {
      if (change.after.kind == FileKind::kAbsent) continue;
      for (RelPath parent = path.parent(); !parent.is_root() && known.insert(parent).second;
           parent = parent.parent()) {
        const auto entry = sides_.base.entry(parent);
        // The parent is a link, which is removed in the same change.
        if (!entry && entry.error().kind != ErrorKind::kRefused) return fail(entry.error());
        if (entry && (entry->mode & kGitTypeMask) == kGitTreeMode) continue;
        made.insert(parent);
      }
    }
    for (const RelPath& path : made) at(path).after = directory();
    return {};
  }

  /// The directories of the base that become empty.
  Result<void> add_gone_directories() {
    std::set<RelPath> candidates;
    for (const auto& [path, change] : changes_) {
      const bool is_gone =
          change.before.kind != FileKind::kAbsent && change.after.kind == FileKind::kAbsent;
      for (RelPath parent = path.parent();
           is_gone && !parent.is_root() && candidates.insert(parent).second;) {
        parent = parent.parent();
      }
    }
    std::vector<RelPath> gone;
    for (auto it = candidates.rbegin(); it != candidates.rend(); ++it) {
      GALLEY_ASSIGN(const bool is_empty, is_emptied(*it));
      if (is_empty) gone.push_back(*it);
    }
    for (const RelPath& path : gone) at(path).before = directory();
    return {};
  }

  /// Must be called for the deepest directories first.
  Result<bool> is_emptied(const RelPath& path) {
    const std::string prefix = path.str() + "/";
    for (auto below = changes_.upper_bound(path);
         below != changes_.end() && below->first.str().starts_with(prefix); ++below) {
      if (below->second.after.kind != FileKind::kAbsent) return false;
    }
    GALLEY_ASSIGN(const auto opened, sides_.base.open_directory(path));
    GALLEY_ASSIGN(const auto entries, opened->list());
    for (const DirectoryEntry& entry : entries) {
      const auto name = RelPath::parse(entry.name);
      if (!name) return false;
      GALLEY_ASSIGN(const RelPath child, path.join(*name));
      if (emptied_.contains(child)) continue;
      const auto change = changes_.find(child);
      const bool is_kept =
          change == changes_.end() || change->second.before.kind == FileKind::kAbsent;
      if (is_kept) return false;
    }
    emptied_.insert(path);
    return true;
  }

  GitSides sides_;
  Changes changes_;
  std::set<RelPath> emptied_;
  GitChanges made_;
};

}  // namespace

Error too_many_changes() {
  return {
      ErrorKind::kQuota, "limit.changes",
      fmt::format("the change has more than the {} paths that are judged at once; make it in parts",
                  limits::kMaxChanges),
      "", 0};
}

Result<GitChanges> change_set_of(const std::vector<GitRawChange>& diff, const GitSides& sides) {
  std::string unmerged;
  size_t count = 0;
  for (const GitRawChange& change : diff) {
    if (change.status != 'U') continue;
    if (count++ < kShownPaths) unmerged += (unmerged.empty() ? "" : ", ") + change.path;
  }
  if (count > 0) {
    return fail(ErrorKind::kRefused, "check.unmerged",
                fmt::format("a merge is not finished, so there is nothing to be judged yet: {}{}; "
                            "resolve it and git add the files",
                            unmerged, count > kShownPaths ? ", …" : ""));
  }
  return ChangeSetBuilder(sides).build(diff);
}

}  // namespace galley
