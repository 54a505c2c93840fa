#include "engine/pipeline/tree_cache.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file_mode.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/parallel.h"
#include "base/printable.h"
#include "base/rel_path.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

constexpr size_t kWrittenTogether = 64;
constexpr size_t kNear = 256;  ///< paths that are rewritten rather than a place is filled
constexpr size_t kDiffBytes = size_t{256} << 10U;  // the bytes of a raw diff that are read before
                                                   // they are applied
constexpr size_t kMaxMarkBytes = 256;

bool is_nothing_there(const Result<void>& removed) {
  return removed || removed.error().kind == ErrorKind::kNotFound;
}

/// The length of the complete part of a raw diff: each path has a head and a name, each ended by a
/// zero byte.
size_t whole_part(std::string_view raw) {
  const auto zeros = static_cast<size_t>(std::count(raw.begin(), raw.end(), '\0'));
  const size_t end = raw.rfind('\0');
  if (zeros < 2) return 0;
  return zeros % 2 == 0 ? end + 1 : raw.rfind('\0', end - 1) + 1;
}

/// Returns a hash of the modes, times and entries of all directories. No file is looked at: a check
/// would take twice as long. A copy that keeps times has the same hash.
Result<std::string> stamp_of(const Directory& files) {
  ContentHasher hasher;
  std::vector<RelPath> todo = {RelPath::root()};
  while (!todo.empty()) {
    const RelPath path = todo.back();
    todo.pop_back();
    GALLEY_ASSIGN(const FileStat stat, files.stat(path));
    hasher.update(fmt::format("{}{}{:o} {} ", path.str(), '\0', stat.mode, stat.mtime_ns));
    GALLEY_ASSIGN(const auto directory, files.open_directory(path));
    GALLEY_ASSIGN(auto entries, directory->list());
    std::ranges::sort(entries, {}, &DirectoryEntry::name);
    for (const DirectoryEntry& entry : entries) {
      hasher.update(fmt::format("{}{}{}", entry.name, '\0', static_cast<int>(entry.kind)));
      const auto name = RelPath::parse(entry.name);
      if (!name || entry.kind != FileKind::kDirectory) continue;
      GALLEY_ASSIGN(RelPath next, path.join(*name));
      todo.push_back(std::move(next));
    }
  }
  return hasher.finish().hex();
}

/// Writes the paths of a diff into a directory without other users: first it removes paths that are
/// gone or changed, then it creates the present ones. It handles some paths at a time, so that the
/// largest tree takes no more memory than a small one.
class TreeWriter {
 public:
  TreeWriter(const WritableDirectory& files, const GitObjects& objects)
      : files_(files), objects_(objects) {}

  Result<void> remove_entry(const std::vector<GitRawChange>& diff) {
    for (const GitRawChange& change : diff) {
      const auto path = named(change);
      if (path && change.old_mode != 0) GALLEY_TRY(remove_entry(Made{*path, change.old_mode, {}}));
    }
    return {};
  }

  Result<void> make(const std::vector<GitRawChange>& diff) {
    std::set<RelPath> directories;
    std::vector<Made> made;
    for (const GitRawChange& change : diff) {
      if (change.new_mode == 0) continue;
      GALLEY_TRY(check_length(change.path));
      const auto path = named(change);
      if (!path) continue;
      const bool is_submodule = kind_of_git_mode(change.new_mode) == FileKind::kDirectory;
      if (is_submodule) directories.insert(*path);
      if (!is_submodule) made.push_back({*path, change.new_mode, change.new_id});
      if (!path->parent().is_root()) directories.insert(path->parent());
    }
    for (const RelPath& directory : directories) {
      GALLEY_TRY(make_directories(files_, directory, 0755));
    }
    std::vector<std::optional<Error>> errors(made.size());
    for_each_block(made.size(), kWrittenTogether, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const auto written = make(made[i]);
        if (!written) errors[i] = written.error();
      }
    });
    for (const auto& error : errors) {
      if (error) return fail(*error);
    }
    return {};
  }

 private:
  struct Made {
    RelPath path;
    uint32_t mode;
    std::string id;
  };

  /// Leaves out names that Galley's paths cannot have, because no command of ours names them.
  static std::optional<RelPath> named(const GitRawChange& change) {
    auto path = RelPath::parse(change.path);
    if (!path || path->is_protected()) return std::nullopt;
    return *std::move(path);
  }

  /// A file that only a command could miss must not be left out in silence.
  static Result<void> check_length(std::string_view path) {
    size_t names = 0;
    size_t longest = 0;
    for (std::string_view rest = path; !rest.empty(); ++names) {
      const size_t name = std::min(rest.find('/'), rest.size());
      rest.remove_prefix(std::min(name + 1, rest.size()));
      longest = std::max(longest, name);
    }
    if (longest <= RelPath::kMaxComponentBytes && names <= RelPath::kMaxComponents &&
        path.size() <= RelPath::kMaxBytes) {
      return {};
    }
    return fail(ErrorKind::kRefused, "check.path",
                fmt::format("the tree has '{}', but a path has at most {} names of {} bytes and {} "
                            "bytes in all, so commands cannot see this file; rename it with git "
                            "first",
                            printable_line(path), RelPath::kMaxComponents,
                            RelPath::kMaxComponentBytes, RelPath::kMaxBytes));
  }

  Result<void> remove_entry(const Made& gone) {
    const bool is_submodule = kind_of_git_mode(gone.mode) == FileKind::kDirectory;
    const auto removed =
        is_submodule ? files_.remove_directory(gone.path) : files_.remove_file(gone.path);
    if (!is_nothing_there(removed)) return fail(removed.error());
    for (RelPath parent = gone.path.parent(); !parent.is_root(); parent = parent.parent()) {
      if (!files_.remove_directory(parent)) break;  // it is not empty
    }
    return {};
  }

  Result<void> make(const Made& made) {
    if (kind_of_git_mode(made.mode) == FileKind::kSymlink) {
      GALLEY_ASSIGN(const std::string target,
                    objects_.content(made.id, "blob", limits::kMaxSymlinkBytes));
      return files_.make_symlink(made.path, target);
    }
    GALLEY_ASSIGN(const auto file,
                  files_.open_writable_file(made.path, OpenMode::kCreateNew, kPrivateFile));
    uint64_t offset = 0;
    std::optional<Error> broken;
    const auto take = [&](std::string_view some) {
      if (broken) return;
      const auto written = file->write_at(offset, some);
      if (!written) broken = written.error();
      offset += some.size();
    };
    GALLEY_TRY(objects_.read(made.id, take));
    if (broken) return fail(*broken);
    if ((bytes_ += offset) > TreeCache::kMaxTreeBytes) {
      return fail(ErrorKind::kQuota, "limit.laid_out_bytes",
                  fmt::format("the tree has more than the {} bytes that are laid out for commands; "
                              "use built-in validators for this repository",
                              TreeCache::kMaxTreeBytes));
    }
    return file->set_mode(permissions_of_git_mode(made.mode));
  }

  const WritableDirectory& files_;
  const GitObjects& objects_;
  std::atomic<uint64_t> bytes_ = 0;
};

}  // namespace

enum class TreeCache::Fit : uint8_t { kNear, kUnused, kFar, kInUse };

/// A place and how well it fits.
struct TreeCache::Choice {
  size_t number = 0;
  Fit fit = Fit::kUnused;
  int64_t order = 0;  ///< among those that fit alike
  std::string held;   ///< the tree that it had; empty: none, or in use
  std::optional<std::vector<GitRawChange>> changes;  ///< from that tree; none: many, or not known
};

struct TreeCache::Place {
  std::string path;
  std::unique_ptr<WritableDirectory> directory;
  std::unique_ptr<WritableFile> lock;

  /// The id of the tree that is laid out; empty when it is missing or incomplete.
  [[nodiscard]] std::string tree() const {
    const std::string text = mark();
    return text.substr(0, text.find(' '));
  }

  /// Whether `files` is as it was written.
  [[nodiscard]] bool is_undamaged() const {
    const auto files = directory->open_directory(chosen_path("files"));
    const auto stamp = files ? stamp_of(**files) : fail(files.error());
    return stamp && mark() == tree() + ' ' + *stamp;
  }

 private:
  [[nodiscard]] std::string mark() const {
    auto text = read_file(*directory, chosen_path("tree"), kMaxMarkBytes);
    return text ? *std::move(text) : std::string();
  }
};

Result<TreeCache::Place> TreeCache::open_place(size_t number) const {
  Place place;
  place.path = fmt::format("{}/tree{}", home_, number);
  GALLEY_ASSIGN(place.directory, make_disk_directory(place.path, kPrivateDirectory));
  GALLEY_ASSIGN(place.lock, place.directory->open_writable_file(
                                chosen_path("lock"), OpenMode::kOpenOrCreate, kPrivateFile));
  return place;
}

Result<CheckedOutTree> TreeCache::lay_out(const std::string& tree) const {
  for (size_t number = 0; number < kMaxTrees; ++number) {
    GALLEY_ASSIGN(Place place, open_place(number));
    GALLEY_ASSIGN(const bool is_readable, place.lock->try_lock(LockMode::kShared));
    if (!is_readable) continue;  // it is being changed
    const std::string held = place.tree();
    if (held.empty()) break;  // later places were never used
    if (held != tree || !place.is_undamaged()) continue;
    return CheckedOutTree{place.path + "/files", std::move(place.lock)};
  }
  GALLEY_ASSIGN(const auto choices, places_for(tree));
  for (const Choice& choice : choices) {
    GALLEY_ASSIGN(Place place, open_place(choice.number));
    GALLEY_ASSIGN(const bool is_free, place.lock->try_lock(LockMode::kExclusive));
    if (!is_free) continue;
    // Another process may have written it first.
    if (place.tree() != tree || !place.is_undamaged()) GALLEY_TRY(change(place, choice, tree));
    GALLEY_TRY(place.lock->try_lock(LockMode::kShared));
    return CheckedOutTree{place.path + "/files", std::move(place.lock)};
  }
  return fail(ErrorKind::kQuota, "check.trees_in_use",
              fmt::format("commands run on {} other trees of this repository; wait for one of them",
                          kMaxTrees));
}

/// All places, the best one for a tree first: those with few differences, an unused one, the
/// oldest. So a row of checks changes one place, and two branches in turn keep two.
Result<std::vector<TreeCache::Choice>> TreeCache::places_for(const std::string& tree) const {
  std::vector<Choice> choices;
  bool is_unused = false;  // later places were never used
  for (size_t number = 0; number < kMaxTrees; ++number) {
    Choice choice;
    choice.number = number;
    if (!is_unused) {
      GALLEY_ASSIGN(const Place place, open_place(number));
      GALLEY_ASSIGN(const bool is_readable, place.lock->try_lock(LockMode::kShared));
      if (is_readable) choice.held = place.tree();
      is_unused = is_readable && choice.held.empty();
      if (!is_readable) choice.fit = Fit::kInUse;
      if (!choice.held.empty()) choice.changes = few_differences(choice.held, tree);
      if (choice.changes) {
        choice.fit = Fit::kNear;
        choice.order = static_cast<int64_t>(choice.changes->size());
      } else if (!choice.held.empty()) {
        GALLEY_ASSIGN(const FileStat mark, place.directory->stat(chosen_path("tree")));
        choice.fit = Fit::kFar;
        choice.order = mark.mtime_ns;
      }
    }
    choices.push_back(std::move(choice));
  }
  std::ranges::sort(choices, {}, [](const Choice& choice) {
    return std::tuple(choice.fit, choice.order, choice.number);
  });
  return choices;
}

/// The paths in which two trees differ; none: more than kNear, or not known.
std::optional<std::vector<GitRawChange>> TreeCache::few_differences(const std::string& from,
                                                                    const std::string& to) const {
  std::vector<GitRawChange> all;
  const auto collected = for_each_change(from, to, [&](const auto& diff) -> Result<void> {
    all.insert(all.end(), diff.begin(), diff.end());
    if (all.size() <= kNear) return {};
    return fail(ErrorKind::kNotFound, "check.no_tree", "");
  });
  if (!collected) return std::nullopt;
  return all;
}

/// Writes the tree into a place. The choice may be older than the place.
Result<void> TreeCache::change(const Place& place, const Choice& choice,
                               const std::string& tree) const {
  const RelPath mark = chosen_path("tree");
  const RelPath name = chosen_path("files");
  const std::string held = place.is_undamaged() ? place.tree() : std::string();
  if (const auto removed = place.directory->remove_file(mark); !is_nothing_there(removed)) {
    return fail(removed.error());
  }
  // The repository may no longer have the present tree, or the tree may be incomplete.
  Result<void> changed = fail(ErrorKind::kNotFound, "check.no_tree", "");
  if (!held.empty()) {
    GALLEY_ASSIGN(const auto files, place.directory->open_writable_directory(name));
    if (choice.changes && choice.held == held) {
      TreeWriter writer(*files, trees_->objects());
      changed = writer.remove_entry(*choice.changes);
      if (changed) changed = writer.make(*choice.changes);
    } else {
      changed = write_changes(*files, held, tree);
    }
  }
  if (!changed) {
    GALLEY_TRY(remove_tree(*place.directory, name));
    GALLEY_TRY(place.directory->make_directory(name, 0755));
    GALLEY_ASSIGN(const auto files, place.directory->open_writable_directory(name));
    GALLEY_TRY(write_changes(*files, "", tree));
  }
  GALLEY_ASSIGN(const auto files, place.directory->open_directory(name));
  GALLEY_ASSIGN(const std::string stamp, stamp_of(*files));
  GALLEY_ASSIGN(const auto marked,
                place.directory->open_writable_file(mark, OpenMode::kCreateNew, kPrivateFile));
  return marked->write_at(0, tree + ' ' + stamp);
}

Result<void> TreeCache::write_changes(const WritableDirectory& files, const std::string& from,
                                      const std::string& to) const {
  TreeWriter writer(files, trees_->objects());
  if (!from.empty()) {
    GALLEY_TRY(
        for_each_change(from, to, [&](const auto& diff) { return writer.remove_entry(diff); }));
  }
  return for_each_change(from, to, [&](const auto& diff) { return writer.make(diff); });
}

/// Calls `take` repeatedly with some of the paths in which two trees differ.
Result<void> TreeCache::for_each_change(
    const std::string& from, const std::string& to,
    const std::function<Result<void>(const std::vector<GitRawChange>&)>& take) const {
  std::string first = from;
  if (from.empty()) {
    GALLEY_ASSIGN(const GitLayout layout, git_.layout());
    first = layout.empty_tree();
  }
  GALLEY_ASSIGN(const auto git, git_.start({"diff-tree", "-r", "--raw", "-z", "--no-abbrev",
                                            "--no-renames", first, to}));
  git->end_input();
  std::string raw;
  const auto take_whole = [&]() -> Result<void> {
    const size_t whole = whole_part(raw);
    GALLEY_ASSIGN(const auto diff, parse_raw_diff(std::string_view(raw).substr(0, whole)));
    raw.erase(0, whole);
    return take(diff);
  };
  while (true) {
    const auto some = git->read(kDiffBytes);
    if (!some) return fail(GitProgram::unreadable_output(some.error()));
    if (some->empty()) break;
    raw += *some;
    if (raw.size() >= kDiffBytes) GALLEY_TRY(take_whole());
  }
  const auto status = git->wait();
  if (!status) return fail(GitProgram::unreadable_output(status.error()));
  if (*status != 0) return fail(GitProgram::error(git->complaint()));
  return take_whole();
}

std::string repository_cache_path(const std::string& common_directory,
                                  const std::string& work_tree) {
  const std::string cache = user_cache_path();
  if (cache.empty() || (!work_tree.empty() && is_at_or_below(cache, work_tree))) return {};
  constexpr size_t kDigits = 24;
  return cache + "/repository/" + ContentId::of(common_directory).hex().substr(0, kDigits);
}

}  // namespace galley
