#include "engine/check/index_fix.h"

#include <fmt/core.h>

#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/hex.h"
#include "base/limits.h"
#include "engine/check/work_tree_ends.h"
#include "engine/check/work_tree_form.h"
#include "staging/fs/disk_directory.h"
#include "staging/git/git_raw_diff.h"

namespace galley {
namespace {

constexpr uint32_t kExecutableBit = 0100;
constexpr uint64_t kMaxIndexBytes = uint64_t{2} << 30U;
constexpr size_t kRandomDigits = 12;

/// A new content of a path of the index.
struct FixedFile {
  RelPath path;
  std::string mode;    ///< as the index has it
  std::string old_id;  ///< what was judged
  std::string new_id;
  std::string before;  ///< the bytes of both
  std::string after;
};

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// git's index.lock, held by us: gone when this goes, unless the index was replaced by it.
class IndexLock {
 public:
  static Result<IndexLock> take(const std::string& index_path) {
    IndexLock lock;
    lock.index_ = index_path;
    GALLEY_ASSIGN(lock.directory_,
                  open_writable_disk_directory(index_path.substr(0, index_path.rfind('/'))));
    GALLEY_ASSIGN(lock.lock_, RelPath::parse(name_of(index_path) + ".lock"));
    GALLEY_ASSIGN(lock.copy_,
                  RelPath::parse(name_of(index_path) + ".galley-" + random_hex(kRandomDigits)));
    const auto made = lock.directory_->open_writable_file(lock.lock_, OpenMode::kCreateNew, 0644);
    if (!made && made.error().os_error == EEXIST) {
      return fail(ErrorKind::kRefused, "git.index_locked",
                  "'" + index_path +
                      ".lock' is there: another git command is at work, or one was killed. Wait "
                      "for it, or remove that file if none runs. Nothing was changed.");
    }
    if (!made) return fail(made.error());
    lock.is_held_ = true;
    GALLEY_TRY(lock.copy_index());
    return lock;
  }

  IndexLock(IndexLock&& other) noexcept
      : index_(std::move(other.index_)),
        directory_(std::move(other.directory_)),
        lock_(std::move(other.lock_)),
        copy_(std::move(other.copy_)),
        is_held_(std::exchange(other.is_held_, false)) {}
  IndexLock& operator=(IndexLock&&) = delete;
  ~IndexLock() {
    if (!is_held_) return;
    (void)directory_->remove_file(copy_);
    (void)directory_->remove_file(lock_);
  }

  /// The copy that is changed instead of the index.
  [[nodiscard]] std::string copy_path() const {
    return index_.substr(0, index_.rfind('/') + 1) + copy_.str();
  }

  /// Makes the copy the index.
  Result<void> publish() {
    GALLEY_TRY(directory_->rename(copy_, *directory_, lock_, RenameMode::kReplace));
    GALLEY_ASSIGN(const RelPath index, RelPath::parse(name_of(index_)));
    GALLEY_TRY(directory_->rename(lock_, *directory_, index, RenameMode::kReplace));
    is_held_ = false;
    return {};
  }

 private:
  IndexLock() = default;

  Result<void> copy_index() {
    GALLEY_ASSIGN(const RelPath index, RelPath::parse(name_of(index_)));
    GALLEY_ASSIGN(const FileRead bytes, read_file_and_stat(*directory_, index, kMaxIndexBytes));
    GALLEY_ASSIGN(const auto copy,
                  directory_->open_writable_file(copy_, OpenMode::kCreateNew, bytes.stat.mode));
    GALLEY_TRY(copy->write_at(0, bytes.bytes));
    return copy->set_mode(bytes.stat.mode);
  }

  std::string index_;
  std::unique_ptr<WritableDirectory> directory_;
  RelPath lock_ = RelPath::root();
  RelPath copy_ = RelPath::root();
  bool is_held_ = false;
};

Result<std::string> store_blob(const GitProgram& git, std::string_view bytes,
                               const std::vector<std::string>& options) {
  std::vector<std::string> words = {"hash-object", "--no-filters", "--stdin"};
  words.insert(words.end(), options.begin(), options.end());
  GALLEY_ASSIGN(std::string id, git.run(words, bytes));
  while (id.ends_with('\n')) id.pop_back();
  return id;
}

Result<std::vector<FixedFile>> fixed_files(const GitProgram& git, const Proposal& change) {
  std::vector<FixedFile> files;
  for (const Change& one : change.changes()) {
    if (one.after.kind != FileKind::kRegular || one.before.kind != FileKind::kRegular) continue;
    if (one.after.content == one.before.content) continue;
    GALLEY_ASSIGN(const Content before, change.content(one.before));
    GALLEY_ASSIGN(const Content after, change.content(one.after));
    FixedFile file{one.path, (one.after.mode & kExecutableBit) != 0 ? "100755" : "100644",
                   "",       "",
                   *before,  *after};
    GALLEY_ASSIGN(file.old_id, store_blob(git, *before, {}));
    GALLEY_ASSIGN(file.new_id, store_blob(git, *after, {"-w"}));
    files.push_back(std::move(file));
  }
  return files;
}

/// The indexes that have to hold a fix. To `git commit PATH` (builtin/commit.c, COMMIT_PARTIAL)
/// `next-index-<pid>.lock` is what it commits, and index.lock beside it, which has been written and
/// is closed, becomes the index once the commit is made.
std::vector<std::string> indexes_to_fix(const std::string& index) {
  const std::string name = name_of(index);
  if (!name.starts_with("next-index-") || !name.ends_with(".lock")) return {index};
  return {index, index.substr(0, index.size() - name.size()) + "index.lock"};
}

/// Refuses when the index holds something else than what was judged.
Result<void> check_unchanged(const GitProgram& git, const std::vector<FixedFile>& files) {
  std::vector<std::string> words = {"ls-files", "--stage", "-z", "--"};
  for (const FixedFile& file : files) words.push_back(":(top,literal)" + file.path.str());
  GALLEY_ASSIGN(const std::string said, git.run(words));
  std::map<std::string, std::string> ids;
  for (const std::string& line : zero_ended(said)) {
    const size_t tab = line.find('\t');
    const size_t id = line.find(' ') + 1;
    if (tab == std::string::npos || id == 0) continue;
    ids[line.substr(tab + 1)] = line.substr(id, line.find(' ', id) - id);
  }
  for (const FixedFile& file : files) {
    if (ids[file.path.str()] == file.old_id) continue;
    return fail(ErrorKind::kConflict, "check.index_changed",
                "'" + file.path.str() +
                    "' was staged anew while it was judged, so nothing was fixed; run it again",
                file.path.str());
  }
  return {};
}

/// Nothing that somebody wrote is removed.
Error kept_beside(const RelPath& path, const RelPath& beside) {
  return {ErrorKind::kConflict, "check.file_changed",
          "'" + path.str() +
              "' was written twice while it was fixed; what it held in between is '" +
              beside.str() + "'. The fixes are in the index",
          path.str(), 0};
}

/// What of a file the fix would change; nothing where git sees other changes in it, and where there
/// is no such file.
Result<std::optional<FileFix>> file_fix(const WritableDirectory& work_tree,
                                        const WorkTreeForm& form, const FixedFile& file) {
  const auto held = read_file_and_stat(work_tree, file.path, limits::kMaxFileBytes);
  if (!held) return std::optional<FileFix>();
  FileFix fix{file.path, held->bytes, "", held->stat.mode};
  if (held->bytes == file.before) {
    fix.fixed = file.after;
    return fix;
  }
  GALLEY_ASSIGN(const std::string id, form.stored_id(file.path.str(), held->bytes));
  if (id != file.old_id) return std::optional<FileFix>();
  GALLEY_ASSIGN(fix.fixed, form.file_of(file.path.str(), file.new_id));
  return fix;
}

/// Changes a copy of each index, so that publishing them is all that is left.
Result<std::vector<IndexLock>> changed_indexes(const GitProgram& git,
                                               const std::vector<FixedFile>& files) {
  GALLEY_ASSIGN(std::string index,
                git.run({"rev-parse", "--path-format=absolute", "--git-path", "index"}));
  while (index.ends_with('\n')) index.pop_back();
  std::string lines;
  for (const FixedFile& file : files) {
    lines += fmt::format("{} {}\t{}", file.mode, file.new_id, file.path.str());
    lines += '\0';
  }
  std::vector<IndexLock> locks;
  for (const std::string& path : indexes_to_fix(index)) {
    GALLEY_ASSIGN(IndexLock lock, IndexLock::take(path));
    const GitProgram on_copy = git.with_index(lock.copy_path());
    GALLEY_TRY(check_unchanged(on_copy, files));
    GALLEY_TRY(on_copy.run({"update-index", "-z", "--index-info"}, lines));
    locks.push_back(std::move(lock));
  }
  return locks;
}

}  // namespace

Result<bool> follow_index(const WritableDirectory& work_tree, const FileFix& fix) {
  const std::string folder = fix.path.parent().is_root() ? "" : fix.path.parent().str() + "/";
  GALLEY_ASSIGN(const RelPath fresh,
                RelPath::parse(folder + ".galley-fix-" + random_hex(kRandomDigits)));
  {
    GALLEY_ASSIGN(const auto file, work_tree.open_writable_file(fresh, OpenMode::kCreateNew, 0600));
    GALLEY_TRY(file->write_at(0, fix.fixed));
    GALLEY_TRY(file->set_mode(fix.mode));
  }
  const auto swapped = work_tree.rename(fresh, work_tree, fix.path, RenameMode::kExchange);
  bool is_followed = bool(swapped);
  if (is_followed) {
    const auto caught = read_file(work_tree, fresh, limits::kMaxFileBytes);
    is_followed = caught && *caught == fix.held;
    // Somebody was faster: theirs goes back.
    if (!is_followed) {
      GALLEY_TRY(work_tree.rename(fresh, work_tree, fix.path, RenameMode::kExchange));
      const auto ours = read_file(work_tree, fresh, limits::kMaxFileBytes);
      if (!ours || *ours != fix.fixed) return kept_beside(fix.path, fresh);
    }
  }
  GALLEY_TRY(work_tree.remove_file(fresh));
  return is_followed;
}

Result<IndexFix> put_into_index(const GitProgram& git, const GitLayout& layout,
                                const Proposal& change) {
  IndexFix put;
  GALLEY_ASSIGN(const auto files, fixed_files(git, change));
  if (files.empty()) return put;
  std::unique_ptr<WritableDirectory> work_tree;
  std::vector<FileFix> following;
  if (!layout.work_tree.empty()) {
    GALLEY_ASSIGN(work_tree, open_writable_disk_directory(layout.work_tree));
    const WorkTreeForm form(git, layout.work_tree);
    for (const FixedFile& file : files) {
      GALLEY_ASSIGN(auto fix, file_fix(*work_tree, form, file));
      if (fix) {
        following.push_back(*std::move(fix));
        continue;
      }
      GALLEY_ASSIGN(const std::string filter, filter_of(git, layout.work_tree, file.path.str()));
      if (!filter.empty()) put.filtered.push_back(file.path);
    }
  }
  {
    GALLEY_ASSIGN(auto locks, changed_indexes(git, files));
    for (IndexLock& lock : locks) GALLEY_TRY(lock.publish());
  }
  for (const FixedFile& file : files) put.staged.push_back(file.path);
  for (const FileFix& fix : following) {
    GALLEY_ASSIGN(const bool is_followed, follow_index(*work_tree, fix));
    if (is_followed) put.followed.push_back(fix.path);
  }
  return put;
}

}  // namespace galley
