#include "engine/check/index_fix.h"

#include <fmt/core.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "base/file_mode.h"
#include "base/limits.h"
#include "base/printable.h"
#include "engine/check/fix_journal.h"
#include "engine/check/work_tree_ends.h"
#include "engine/commit/inheritance.h"
#include "engine/commit/slots.h"
#include "engine/commit/writer_lock.h"
#include "staging/git/git_program.h"
#include "staging/text/merge.h"

namespace galley {
namespace {

constexpr uint32_t kExecutableBit = 0100;
constexpr uint64_t kMaxIndexBytes = uint64_t{2} << 30U;
constexpr uint64_t kMaxLockBytes = uint64_t{4} << 10U;
constexpr size_t kRandomDigits = 12;
constexpr std::chrono::milliseconds kMaxFixWait{10'000};

/// New content for a path of the index.
struct FixedFile {
  RelPath path;
  std::string mode;    ///< its mode in the index
  std::string old_id;  ///< the content that was judged
  std::string new_id;
  std::string before;  ///< the bytes of both
  std::string after;
};

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

RelPath beside(const std::string& index, std::string_view ending) {
  return chosen_path(name_of(index) + std::string(ending));
}

std::string folder_of(const std::string& index) { return index.substr(0, index.rfind('/')); }

// In the folder of the index, so that a rename can replace it.
constexpr std::string_view kLock = ".lock";
constexpr std::string_view kNewLock = ".galley-lock";
constexpr std::string_view kCopy = ".galley-fix";
constexpr std::string_view kLockOfCopy = ".galley-fix.lock";  // git's own lock while it writes the
                                                              // copy of the index

std::string lock_text(const std::string& nonce) { return "galley fix " + nonce + "\n"; }

/// Removes the files of a fix next to an index; removes index.lock only if it is ours.
void clear_beside(const WritableDirectory& directory, const std::string& index,
                  const std::string& nonce) {
  for (const std::string_view ending : {kNewLock, kCopy, kLockOfCopy}) {
    (void)directory.remove_file(beside(index, ending));
  }
  const RelPath lock = beside(index, kLock);
  const auto text = read_file(directory, lock, kMaxLockBytes);
  if (text && *text == lock_text(nonce)) (void)directory.remove_file(lock);
}

/// git's index.lock, held by us; the destructor removes it.
class IndexLock {
 public:
  static Result<IndexLock> take(const FixPlaces& places, const std::string& index,
                                const std::string& nonce) {
    IndexLock lock(index, nonce);
    GALLEY_ASSIGN(lock.directory_, places.open(folder_of(index)));
    const RelPath fresh = beside(index, kNewLock);
    {
      GALLEY_ASSIGN(const auto file,
                    lock.directory_->open_writable_file(fresh, OpenMode::kOpenOrCreate, 0644));
      GALLEY_TRY(file->truncate(0));
      GALLEY_TRY(file->write_at(0, lock_text(nonce)));
    }
    // The lock has its text from the beginning, so recovery always recognises it.
    const auto made =
        lock.directory_->make_hard_link(fresh, *lock.directory_, beside(index, kLock));
    (void)lock.directory_->remove_file(fresh);
    if (!made && made.error().os_error == EEXIST) {
      return fail(ErrorKind::kRefused, "git.index_locked",
                  "'" + index +
                      ".lock' is there: another git command is at work, or one was killed. Wait "
                      "for it, or remove that file if none runs. Nothing was changed.");
    }
    if (!made) return fail(made.error());
    GALLEY_TRY(lock.copy_index());
    return lock;
  }

  IndexLock(IndexLock&&) noexcept = default;
  IndexLock& operator=(IndexLock&&) = delete;
  ~IndexLock() {
    if (directory_ != nullptr) clear_beside(*directory_, index_, nonce_);
  }

  /// The path of the copy that is changed instead of the index.
  [[nodiscard]] std::string copy_path() const { return index_ + std::string(kCopy); }

  /// Renames the copy to the index.
  Result<void> publish() {
    return directory_->rename(beside(index_, kCopy), *directory_, beside(index_, ""),
                              RenameMode::kReplace);
  }

 private:
  IndexLock(std::string index, std::string nonce)
      : index_(std::move(index)), nonce_(std::move(nonce)) {}

  Result<void> copy_index() {
    GALLEY_ASSIGN(const FileRead bytes,
                  read_file_and_stat(*directory_, beside(index_, ""), kMaxIndexBytes));
    const RelPath name = beside(index_, kCopy);
    (void)directory_->remove_file(name);
    GALLEY_ASSIGN(const auto copy,
                  directory_->open_writable_file(name, OpenMode::kCreateNew, bytes.stat.mode));
    GALLEY_TRY(copy->write_at(0, bytes.bytes));
    return copy->set_mode(bytes.stat.mode);
  }

  std::string index_;
  std::string nonce_;
  std::unique_ptr<WritableDirectory> directory_;
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

/// The indexes that must get a fix. For `git commit PATH` (builtin/commit.c, COMMIT_PARTIAL),
/// `next-index-<pid>.lock` is the index to commit. The index.lock next to it is already written and
/// closed, and becomes the index after the commit.
std::vector<std::string> indexes_to_fix(const std::string& index) {
  const std::string name = name_of(index);
  if (!name.starts_with("next-index-") || !name.ends_with(".lock")) return {index};
  return {index, index.substr(0, index.size() - name.size()) + "index.lock"};
}

struct IndexEntry {
  std::string id;
  bool is_assumed_unchanged = false;
  bool is_skipped = false;  ///< its skip-worktree flag
};

/// The entries of an index for these paths, which are relative to the root of the work tree.
Result<std::map<std::string, IndexEntry>> entries_of_index(const GitProgram& git,
                                                           const std::vector<std::string>& paths) {
  // Without --full-name, names are relative to the directory where git runs.
  std::vector<std::string> words = {"ls-files", "--stage", "-v", "--full-name", "-z", "--"};
  for (const std::string& path : paths) words.push_back(":(top,literal)" + path);
  GALLEY_ASSIGN(const std::string said, git.run(words));
  std::map<std::string, IndexEntry> entries;
  // `<letter> <mode> <id> <stage> TAB <path>`
  for (const std::string& line : split_at_nul(said)) {
    const size_t tab = line.find('\t');
    const size_t mode = line.find(' ') + 1;
    const size_t id = line.find(' ', mode) + 1;
    if (tab == std::string::npos || mode == 0 || id == 0) continue;
    const char letter = line.front();
    entries[line.substr(tab + 1)] = {line.substr(id, line.find(' ', id) - id),
                                     letter >= 'a' && letter <= 'z',
                                     letter == 'S' || letter == 's'};
  }
  return entries;
}

/// Returns the entries of the files, or an error if they differ from the judged contents.
Result<std::map<std::string, IndexEntry>> judged_entries(const GitProgram& git,
                                                         const std::vector<FixedFile>& files) {
  std::vector<std::string> paths;
  for (const FixedFile& file : files) paths.push_back(file.path.str());
  GALLEY_ASSIGN(auto entries, entries_of_index(git, paths));
  for (const FixedFile& file : files) {
    if (entries[file.path.str()].id == file.old_id) continue;
    return fail(ErrorKind::kConflict, "check.index_changed",
                "'" + file.path.str() +
                    "' was staged anew while it was judged, so nothing was fixed; run it again",
                file.path.str());
  }
  return entries;
}

/// Sets the flags that the entries had. A new content clears them, and then git would report a
/// file that the user left out of a sparse checkout as deleted.
Result<void> restore_flags(const GitProgram& git, const std::string& work_tree,
                           const std::map<std::string, IndexEntry>& entries) {
  std::string assumed;
  std::string skipped;
  for (const auto& [path, entry] : entries) {
    if (entry.is_assumed_unchanged) assumed += path + '\0';
    if (entry.is_skipped) skipped += path + '\0';
  }
  const auto set = [&](const char* flag, const std::string& paths) -> Result<void> {
    if (paths.empty()) return {};
    GALLEY_TRY(git.run({"-C", work_tree, "update-index", flag, "-z", "--stdin"}, paths));
    return {};
  };
  GALLEY_TRY(set("--assume-unchanged", assumed));
  return set("--skip-worktree", skipped);
}

/// Bytes that another program wrote are never removed.
Error kept_beside(const RelPath& path, const RelPath& beside) {
  return {ErrorKind::kConflict, "check.file_changed",
          "'" + path.str() +
              "' was written twice while it was fixed; what it held in between is '" +
              beside.str() + "'. The fixes are in the index",
          path.str(), 0};
}

/// Why a file could not be exchanged. The error names only its slot.
std::string cause_of(const Error& error) {
  if (error.kind == ErrorKind::kNotFound) return "it is not there";
  if (error.os_error == EXDEV) return "it is on another mount than .galley";
  return "it cannot be replaced here (" + std::generic_category().message(error.os_error) + ")";
}

/// The properties of a file that one with new content keeps, as in a commit.
Result<JournalSide> kept_properties(const WritableDirectory& work_tree, const RelPath& path,
                                    const FileStat& stat) {
  JournalSide side;
  side.node.kind = FileKind::kRegular;
  side.node.mode = stat.mode & kPermissionBits;
  side.special = stat.mode & kSpecialBits;
  side.uid = stat.uid;
  side.gid = stat.gid;
  GALLEY_ASSIGN(side.attributes, work_tree.attributes(path));
  drop_capabilities(side);
  return side;
}

/// Returns how the fix changes the file; nullopt if the file does not exist or git sees other
/// changes in it.
Result<std::optional<FileFix>> file_fix(const WritableDirectory& work_tree,
                                        const WorkTreeConverter& form, const FixedFile& file) {
  const auto held = read_file_and_stat(work_tree, file.path, limits::kMaxFileBytes);
  if (!held) return std::optional<FileFix>();
  FileFix fix{file.path, held->bytes, "", {}, held->stat.nlink > 1};
  GALLEY_ASSIGN(fix.kept, kept_properties(work_tree, file.path, held->stat));
  if (held->bytes == file.before) {
    fix.fixed = file.after;
    return fix;
  }
  GALLEY_ASSIGN(const std::string id, form.stored_id(file.path.str(), held->bytes));
  if (id != file.old_id) return std::optional<FileFix>();
  GALLEY_ASSIGN(fix.fixed, form.file_of(file.path.str(), file.new_id));
  return fix;
}

/// Merges the fix into a file that has other changes; nullopt if it cannot be merged, with the
/// cause.
Result<std::optional<FileFix>> merged_fix(const GitProgram& git, const FixPlaces& places,
                                          const WorkTreeConverter& form, const FixedFile& file,
                                          std::string& cause) {
  const auto held = read_file_and_stat(places.work_tree, file.path, limits::kMaxFileBytes);
  if (!held) {
    cause = held.error().kind == ErrorKind::kNotFound ? "it is not there" : held.error().message;
    return std::optional<FileFix>();
  }
  GALLEY_ASSIGN(const std::string stored, form.stored_id(file.path.str(), held->bytes));
  GALLEY_ASSIGN(const std::string as_it_is, store_blob(git, held->bytes, {}));
  if (stored != as_it_is) {
    cause = "it has other changes and git stores it in another form";
    return std::optional<FileFix>();
  }
  const Lines base(file.before);
  const Lines ours(held->bytes);
  const Lines theirs(file.after);
  const Merge merge = merge_lines(base, ours, theirs);
  if (!merge.is_clean()) {
    cause = "it has other changes of the same lines";
    return std::optional<FileFix>();
  }
  GALLEY_ASSIGN(JournalSide kept, kept_properties(places.work_tree, file.path, held->stat));
  return FileFix{file.path, held->bytes, merged_text(merge, base, ours, theirs), std::move(kept),
                 held->stat.nlink > 1};
}

/// The files of a fix, and its journal.
struct FixPlan {
  std::vector<FixedFile> files;
  std::vector<FileFix> following;
  FixJournal journal;
};

/// Locks the indexes of the fix and changes a copy of each. After that only the copies must be
/// published.
Result<std::vector<IndexLock>> changed_indexes(const GitProgram& git, const GitLayout& layout,
                                               const FixPlaces& places, const FixPlan& plan) {
  std::string lines;
  for (const FixedFile& file : plan.files) {
    lines += fmt::format("{} {}\t{}", file.mode, file.new_id, file.path.str());
    lines += '\0';
  }
  std::vector<IndexLock> locks;
  for (const std::string& path : plan.journal.indexes) {
    GALLEY_ASSIGN(IndexLock lock, IndexLock::take(places, path, plan.journal.nonce));
    const GitProgram on_copy = git.with_index(lock.copy_path());
    GALLEY_ASSIGN(const auto entries, judged_entries(on_copy, plan.files));
    GALLEY_TRY(on_copy.run({"update-index", "-z", "--index-info"}, lines));
    GALLEY_TRY(restore_flags(on_copy, layout.work_tree, entries));
    locks.push_back(std::move(lock));
  }
  return locks;
}

Result<std::string> index_of(const GitProgram& git) {
  GALLEY_ASSIGN(std::string index,
                git.run({"rev-parse", "--path-format=absolute", "--git-path", "index"}));
  while (index.ends_with('\n')) index.pop_back();
  return index;
}

/// Writes the new files durably to the slots, for the exchange.
Result<void> write_slots(const Slots& slots, const std::vector<FileFix>& following,
                         std::vector<std::string>& warnings) {
  Slots::WriteOptions how;
  how.is_synced = true;
  for (size_t i = 0; i < following.size(); ++i) {
    const FileFix& fix = following[i];
    const auto content = std::make_shared<const std::string>(fix.fixed);
    GALLEY_TRY(slots.write(fix_slot(i), fix.path, fix.kept, content, how, warnings));
  }
  return slots.directory().sync();
}

Result<FixPlan> plan_fix(const GitProgram& git, const GitLayout& layout, const Proposal& change,
                         const FixPlaces& places, IndexFix& put) {
  FixPlan plan;
  GALLEY_ASSIGN(plan.files, fixed_files(git, change));
  if (plan.files.empty()) return plan;
  plan.journal.nonce = random_hex(kRandomDigits);
  GALLEY_ASSIGN(const std::string index, index_of(git));
  plan.journal.indexes = indexes_to_fix(index);
  const WorkTreeConverter form(git, layout.work_tree);
  for (const FixedFile& file : plan.files) {
    GALLEY_ASSIGN(auto fix, file_fix(places.work_tree, form, file));
    if (!fix) {
      GALLEY_ASSIGN(const std::string filter, filter_of(git, layout.work_tree, file.path.str()));
      if (!filter.empty()) {
        put.filtered.push_back(file.path);
        put.unreplaced[file.path] = "a filter makes it, which is not run";
        continue;
      }
      GALLEY_ASSIGN(fix, merged_fix(git, places, form, file, put.unreplaced[file.path]));
      if (!fix) continue;
      put.unreplaced.erase(file.path);
    }
    plan.journal.files.push_back(
        {file.path, file.old_id, file.new_id, ContentId::of(fix->held), ContentId::of(fix->fixed)});
    plan.following.push_back(*std::move(fix));
  }
  return plan;
}

/// Moves what another program wrote to a new file next to its own; returns that file.
Result<RelPath> keep_beside(const WritableDirectory& work_tree, const RelPath& path,
                            const WritableDirectory& slots, const RelPath& slot) {
  const std::string folder = path.parent().is_root() ? "" : path.parent().str() + "/";
  GALLEY_ASSIGN(RelPath kept, RelPath::parse(folder + ".galley-fix-" + random_hex(kRandomDigits)));
  GALLEY_TRY(slots.rename(slot, work_tree, kept, RenameMode::kNoReplace));
  return kept;
}

/// Makes each file that the fix had reached follow the index. Its slot shows whether it was
/// exchanged. Returns what a person must know of single files.
Result<std::vector<std::string>> settle_files(const GitProgram& git, const FixPlaces& places,
                                              const FixJournal& journal,
                                              const WritableDirectory& slots) {
  std::vector<std::string> notes;
  std::vector<std::string> paths;
  for (const FollowingFile& file : journal.files) paths.push_back(file.path.str());
  std::map<std::string, IndexEntry> entries;
  if (!paths.empty()) {
    GALLEY_ASSIGN(entries, entries_of_index(git, paths));
  }
  for (size_t i = 0; i < journal.files.size(); ++i) {
    const FollowingFile& file = journal.files[i];
    const bool is_fixed = entries[file.path.str()].id == file.new_id;
    const ContentId& wanted = is_fixed ? file.fixed : file.held;
    const ContentId& other = is_fixed ? file.held : file.fixed;
    auto now = read_file_and_stat(places.work_tree, file.path, limits::kMaxFileBytes);
    auto kept = read_file(slots, fix_slot(i), limits::kMaxFileBytes);
    if (!kept && kept.error().kind == ErrorKind::kNotFound) continue;
    if (!kept) {  // the fix writes files of its own only: another program's link or huge file
      GALLEY_TRY(keep_beside(places.work_tree, file.path, slots, fix_slot(i)));
      continue;
    }
    const ContentId caught = ContentId::of(*kept);
    if (caught != file.held && caught != file.fixed) {
      // Another program wrote these bytes just before the exchange, which never went back.
      if (!now || ContentId::of(now->bytes) != file.fixed) {
        GALLEY_TRY(keep_beside(places.work_tree, file.path, slots, fix_slot(i)));
        continue;
      }
    } else if (!now || ContentId::of(now->bytes) != other || caught != wanted) {
      continue;
    }
    const bool has_links = now->stat.nlink > 1;
    const FileFix back{file.path, std::move(now->bytes), *std::move(kept), {}, has_links};
    GALLEY_ASSIGN(const std::string why, follow_index(places.work_tree, back, slots, fix_slot(i)));
    const auto left = read_file(slots, fix_slot(i), limits::kMaxFileBytes);
    // A file that cannot follow keeps its bytes. In the slot, only bytes of other programs are
    // lost.
    if (!why.empty() && caught != file.fixed && left && ContentId::of(*left) == caught) {
      return fail(ErrorKind::kIo, "check.fix_not_finished",
                  "an interrupted check --fix cannot be finished, because '" +
                      printable_line(file.path.str()) + "' cannot be replaced: " + why +
                      "; mend that and repeat the command");
    }
    if (!why.empty()) {
      notes.push_back("'" + file.path.str() + "' differs from the index: " + why);
    } else if (has_links) {
      notes.push_back(broken_links(file.path, "the old content"));
    }
  }
  return notes;
}

/// Replaces the indexes, and lets the files of the work tree follow. Once the first index is
/// replaced, the fix is done: every later failure is a warning.
Result<void> publish_fix(std::vector<IndexLock> locks, const FixPlaces& places, const FixPlan& plan,
                         const WritableDirectory& slots, IndexFix& put) {
  GALLEY_TRY(locks.front().publish());
  for (const FixedFile& file : plan.files) put.staged.push_back(file.path);
  for (size_t i = 1; i < locks.size(); ++i) {
    const auto published = locks[i].publish();
    if (published) continue;
    put.warnings.push_back("'" + plan.journal.indexes[i] +
                           "' does not have the fix: " + published.error().message);
  }
  for (size_t i = 0; i < plan.following.size(); ++i) {
    const auto followed = follow_index(places.work_tree, plan.following[i], slots, fix_slot(i));
    if (!followed) put.warnings.push_back(followed.error().message);
    const RelPath& path = plan.following[i].path;
    if (followed && followed->empty()) {
      put.followed.push_back(path);
      const bool has_links = plan.following[i].has_links;
      if (has_links) put.warnings.push_back(broken_links(path, "the old content"));
    } else {
      put.unreplaced[path] = followed ? *followed : "it could not be replaced";
    }
  }
  return {};
}

/// The caller holds the writer lock, so no other fix is running.
Result<std::optional<std::string>> finish_under_lock(const GitProgram& git,
                                                     const FixPlaces& places) {
  const RelPath folder = fix_folder(places.state);
  auto slots = places.state.root().open_writable_directory(folder);
  if (!slots && slots.error().kind == ErrorKind::kNotFound) return std::optional<std::string>();
  if (!slots) return fail(slots.error());
  GALLEY_ASSIGN(const auto journal, read_fix_journal(**slots));
  std::string notice = "a fix of the index that was ended halfway is finished";
  if (journal) {
    // The environment of a hook may name another index than the journal does.
    const std::string& first = journal->indexes.front();
    const auto directory = places.open(folder_of(first));
    const auto is_there = directory ? (*directory)->stat(beside(first, "")) : FileStat();
    const bool is_meant =
        journal->indexes.size() == 1 && is_there && is_there->kind != FileKind::kAbsent;
    const GitProgram its_git = is_meant ? git.with_index(first) : git;
    GALLEY_ASSIGN(const auto notes, settle_files(its_git, places, *journal, **slots));
    for (const std::string& note : notes) notice += "; " + note;
    for (const std::string& index : journal->indexes) {
      const auto folder_of_it = places.open(folder_of(index));
      if (folder_of_it) clear_beside(**folder_of_it, index, journal->nonce);
    }
  }
  GALLEY_TRY(remove_tree(places.state.root(), folder.parent()));
  return journal ? std::optional(notice) : std::nullopt;
}

}  // namespace

Result<std::string> follow_index(const WritableDirectory& work_tree, const FileFix& fix,
                                 const WritableDirectory& slots, const RelPath& slot) {
  const auto exchanged = slots.rename(slot, work_tree, fix.path, RenameMode::kExchange);
  if (!exchanged) return cause_of(exchanged.error());
  const auto caught = read_file(slots, slot, limits::kMaxFileBytes);
  if (caught && *caught == fix.held) return std::string();
  // Another program wrote meanwhile: its bytes go back.
  GALLEY_TRY(slots.rename(slot, work_tree, fix.path, RenameMode::kExchange));
  const auto ours = read_file(slots, slot, limits::kMaxFileBytes);
  if (ours && *ours == fix.fixed) return std::string("another program wrote it meanwhile");
  GALLEY_ASSIGN(const RelPath kept, keep_beside(work_tree, fix.path, slots, slot));
  return kept_beside(fix.path, kept);
}

Result<std::optional<std::string>> finish_index_fix(const GitProgram& git,
                                                    const FixPlaces& places) {
  const RelPath folder = fix_folder(places.state);
  GALLEY_ASSIGN(const FileStat there, places.state.root().stat(folder));
  if (there.kind == FileKind::kAbsent) return std::optional<std::string>();
  GALLEY_ASSIGN(const WriterLock lock, WriterLock::take(places.state, places.clock, kMaxFixWait));
  return finish_under_lock(git, places);
}

Result<std::optional<std::string>> finish_interrupted_fix(const std::string& work_tree,
                                                          const StateDirectory& state,
                                                          const Clock& clock) {
  GALLEY_ASSIGN(const FileStat there, state.root().stat(fix_folder(state)));
  if (there.kind == FileKind::kAbsent) return std::optional<std::string>();
  GALLEY_ASSIGN(const auto directory, open_writable_disk_directory(work_tree));
  return finish_index_fix(GitProgram(work_tree), {*directory, state, clock});
}

Result<IndexFix> put_into_index(const GitProgram& git, const GitLayout& layout,
                                const Proposal& change, const FixPlaces& places) {
  GALLEY_ASSIGN(const WriterLock lock, WriterLock::take(places.state, places.clock, kMaxFixWait));
  GALLEY_TRY(finish_under_lock(git, places));
  IndexFix put;
  GALLEY_ASSIGN(const FixPlan plan, plan_fix(git, layout, change, places, put));
  if (plan.files.empty()) return put;
  const RelPath folder = fix_folder(places.state);
  GALLEY_TRY(make_directories(places.state.root(), folder, kPrivateDirectory));
  GALLEY_ASSIGN(auto opened, places.state.root().open_writable_directory(folder));
  GALLEY_ASSIGN(const Slots slots, Slots::in_folder(std::move(opened)));
  GALLEY_TRY(write_slots(slots, plan.following, put.warnings));
  GALLEY_TRY(write_fix_journal(slots.directory(), plan.journal));
  const auto done = [&]() -> Result<void> {
    GALLEY_ASSIGN(auto locks, changed_indexes(git, layout, places, plan));
    return publish_fix(std::move(locks), places, plan, slots.directory(), put);
  }();
  // This runs after an error too: the index decides, and nothing of the fix is left.
  const auto finished = finish_under_lock(git, places);
  GALLEY_TRY(done);
  if (!finished) {
    put.warnings.push_back(finished.error().message +
                           "; the next command of Galley finishes the fix");
  }
  return put;
}

}  // namespace galley
