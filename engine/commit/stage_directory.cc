#include "engine/commit/stage_directory.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>

#include "base/encoding.h"
#include "base/file_mode.h"
#include "base/result.h"

namespace galley {
namespace {

constexpr size_t kIdDigits = 12;
constexpr int kMaxTries = 16;

bool is_stage_id(std::string_view text) {
  return text.size() == kIdDigits && text.find_first_not_of(kHexDigits) == std::string_view::npos;
}

Error not_found(const std::string& id) {
  return Error{ErrorKind::kNotFound, "stage.not_found",
               "there is no open transaction '" + id + "'; `galley status --all` lists them"};
}

/// Replaces an error if another program, such as git-clean(1), removed the open `.galley`.
Error explained(const StateDirectory& state, Error error) {
  const auto stat = state.root().stat(RelPath::root());
  if (error.kind != ErrorKind::kNotFound || !stat || stat->nlink != 0) return error;
  return {ErrorKind::kNotFound, "state.removed",
          "`.galley` was removed while it was in use, with all that was staged: restart this "
          "process (for an agent: galley mcp)"};
}

constexpr std::string_view kPoolFile = "pool";
constexpr std::string_view kPools = "contents";
constexpr uint64_t kMaxPoolFileBytes = 64;

/// The pool that a stage refers to.
Result<std::string> pool_of(const Directory& stage, const std::string& id) {
  auto text = read_file(stage, chosen_path(kPoolFile), kMaxPoolFileBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return id;
  if (!text) return text.error();
  if (text->ends_with('\n')) text->pop_back();
  if (is_stage_id(*text)) return text;
  return fail(ErrorKind::kInvalid, "stage.damaged",
              "the transaction " + id + " is damaged; drop it with: galley rollback --tx " + id);
}

using PoolCounts = std::map<std::string, int>;

Result<std::vector<std::string>> stage_names(const Directory& stages) {
  GALLEY_ASSIGN(const auto entries, stages.list());
  std::vector<std::string> names;
  for (const auto& entry : entries) {
    if (entry.kind == FileKind::kDirectory && is_stage_id(entry.name)) names.push_back(entry.name);
  }
  return names;
}

/// The number of these stages that refer to each pool. Returns nullopt when one is damaged: its
/// pool is unknown and could be any pool.
Result<std::optional<PoolCounts>> count_pools(const Directory& stages,
                                              const std::vector<std::string>& ids) {
  PoolCounts counts;
  for (const std::string& id : ids) {
    const auto stage = stages.open_directory(chosen_path(id));
    if (!stage && stage.error().kind == ErrorKind::kNotFound) continue;
    if (!stage) return stage.error();
    auto pool = pool_of(**stage, id);
    if (!pool && pool.error().reason == "stage.damaged") return std::optional<PoolCounts>();
    if (!pool) return pool.error();
    ++counts[*pool];
  }
  return std::optional<PoolCounts>(std::move(counts));
}

/// The number of stages that refer to each pool. Returns nullopt when the list of stages keeps
/// changing during the reads.
Result<std::optional<PoolCounts>> references(const StateDirectory& state) {
  const auto stages = state.root().open_directory(state.own("stage"));
  if (!stages && stages.error().kind == ErrorKind::kNotFound)
    return std::optional<PoolCounts>(PoolCounts());
  if (!stages) return stages.error();
  GALLEY_ASSIGN(auto before, stage_names(**stages));
  for (int look = 0; look < kStageLooks; ++look) {
    GALLEY_ASSIGN(auto counts, count_pools(**stages, before));
    if (!counts) return counts;
    // A fork could be missed when its parent is removed meanwhile, but then the list has changed.
    GALLEY_ASSIGN(auto after, stage_names(**stages));
    if (after == before) return counts;
    before = std::move(after);
  }
  return std::optional<PoolCounts>();
}

RelPath pool_path(const StateDirectory& state, const std::string& pool) {
  return state.own(std::string(kPools) + "/" + pool);
}

}  // namespace

Result<std::unique_ptr<WritableDirectory>> StageDirectory::open_contents(
    const StateDirectory& state) const {
  GALLEY_ASSIGN(const std::string pool, pool_of(*directory_, id_));
  auto opened = state.root().open_writable_directory(pool_path(state, pool));
  if (opened || opened.error().kind != ErrorKind::kNotFound) return opened;
  GALLEY_TRY(make_directories(state.root(), pool_path(state, pool), kPrivateDirectory));
  return state.root().open_writable_directory(pool_path(state, pool));
}

Result<void> StageDirectory::share_contents(const StageDirectory& parent) const {
  GALLEY_ASSIGN(const std::string pool, pool_of(*parent.directory_, parent.id_));
  const RelPath fresh = chosen_path(std::string(kPoolFile) + ".new");
  {
    GALLEY_ASSIGN(const auto file,
                  directory_->open_writable_file(fresh, OpenMode::kCreateNew, kPrivateFile));
    GALLEY_TRY(file->write_at(0, pool + "\n"));
  }
  return directory_->rename(fresh, *directory_, chosen_path(kPoolFile), RenameMode::kReplace);
}

Result<std::vector<std::string>> unused_contents(const StateDirectory& state) {
  std::vector<std::string> unused;
  const auto pools = state.root().open_directory(state.own(kPools));
  if (!pools && pools.error().kind == ErrorKind::kNotFound) return unused;
  if (!pools) return pools.error();
  // Read the pools first, then the references: a stage exists before its pool does.
  GALLEY_ASSIGN(const auto entries, (*pools)->list());
  if (entries.empty()) return unused;
  GALLEY_ASSIGN(const auto counts, references(state));
  if (!counts) return unused;
  for (const auto& entry : entries) {
    if (is_stage_id(entry.name) && !counts->contains(entry.name)) unused.push_back(entry.name);
  }
  return unused;
}

Error stage_has_ended(const std::string& id) {
  return Error{
      ErrorKind::kNotFound, "stage.not_found",
      "the transaction '" + id + "' has just ended; `galley status --all` lists the open ones"};
}

namespace {

/// Opens the file whose lock holds a stage. A creation that was interrupted before it made the file
/// is adopted, too. On a read-only file system, the file as it is can be locked for a reader.
Result<std::unique_ptr<File>> open_owner(const WritableDirectory& stage) {
  const RelPath name = chosen_path("owner");
  auto owner = stage.open_writable_file(name, OpenMode::kOpenOrCreate, kPrivateFile);
  if (owner) return std::unique_ptr<File>(*std::move(owner));
  if (owner.error().os_error == EROFS) return stage.open_file(name);
  return fail(owner.error());
}

}  // namespace

Result<StageDirectory> StageDirectory::hold(const StateDirectory& state, const std::string& id) {
  auto directory = state.root().open_writable_directory(state.own("stage/" + id));
  if (!directory && directory.error().kind == ErrorKind::kNotFound) {
    return explained(state, not_found(id));
  }
  if (!directory) return directory.error();
  auto owner = open_owner(**directory);
  if (!owner && owner.error().kind == ErrorKind::kNotFound) return stage_has_ended(id);
  if (!owner) return owner.error();
  GALLEY_ASSIGN(const bool is_ours, (*owner)->try_lock(LockMode::kExclusive));
  if (!is_ours) {
    return fail(ErrorKind::kTimeout, "stage.busy",
                "another process works on transaction '" + id + "'; wait for it to end");
  }
  return StageDirectory(id, std::move(*directory), std::move(*owner));
}

/// A process that lists stages locks each `owner` briefly, so a new one gets that name only after
/// it is locked.
Result<StageDirectory> StageDirectory::hold_new(const StateDirectory& state,
                                                const std::string& id) {
  GALLEY_ASSIGN(auto directory, state.root().open_writable_directory(state.own("stage/" + id)));
  const RelPath fresh = chosen_path("owner.new");
  GALLEY_ASSIGN(auto owner,
                directory->open_writable_file(fresh, OpenMode::kCreateNew, kPrivateFile));
  GALLEY_ASSIGN(const bool is_ours, owner->try_lock(LockMode::kExclusive));
  GALLEY_CHECK(is_ours);
  GALLEY_TRY(directory->rename(fresh, *directory, chosen_path("owner"), RenameMode::kReplace));
  return StageDirectory(id, std::move(directory), std::move(owner));
}

Result<StageDirectory> StageDirectory::create(const StateDirectory& state) {
  const auto parent = make_directories(state.root(), state.own("stage"), kPrivateDirectory);
  if (!parent) return explained(state, parent.error());
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    const std::string id = random_hex(kIdDigits);
    auto made = state.root().make_directory(state.own("stage/" + id), kPrivateDirectory);
    if (made) return hold_new(state, id);
    if (made.error().os_error != EEXIST) return made.error();
  }
  return os_error(EEXIST, "cannot make a stage", ".galley/stage");
}

Result<StageDirectory> StageDirectory::adopt(const StateDirectory& state, const std::string& id) {
  if (!is_stage_id(id)) return not_found(id);
  for (int look = 0; look < kStageLooks; ++look) {
    GALLEY_ASSIGN(StageDirectory stage, hold(state, id));
    // Before it was locked, its creator may have replaced it, or its holder removed it.
    GALLEY_ASSIGN(const FileStat owner, stage.owner_->stat());
    if (owner.nlink > 0) return stage;
  }
  return stage_has_ended(id);
}

Result<void> StageDirectory::remove(const StateDirectory& state, StageDirectory stage) {
  auto pool = pool_of(*stage.directory_, stage.id_);
  static_cast<void>(stage.directory_->remove_file(chosen_path("about")));
  GALLEY_TRY(remove_tree(state.root(), state.own("stage/" + stage.id_)));
  // The transaction is over. Contents that cannot be removed now, or whose references cannot be
  // counted, do not make it fail: `galley gc` removes them.
  if (!pool) return {};
  const auto counts = references(state);
  if (!counts || !*counts || (*counts)->contains(*pool)) return {};
  static_cast<void>(remove_tree(state.root(), pool_path(state, *pool)));
  return {};
}

TreeUse tree_use(const Directory& directory) {
  TreeUse use;
  std::vector<RelPath> waiting = {RelPath::root()};
  while (!waiting.empty()) {
    const RelPath folder = std::move(waiting.back());
    waiting.pop_back();
    std::unique_ptr<Directory> owned;
    if (!folder.is_root()) {
      auto opened = directory.open_directory(folder);
      if (!opened) continue;  // removed meanwhile, or not readable for us
      owned = std::move(*opened);
    }
    const Directory& at = owned ? *owned : directory;
    const auto entries = at.list();
    if (!entries) continue;
    for (const auto& entry : *entries) {
      const auto name = RelPath::parse(entry.name);
      const auto path = name ? folder.join(*name) : name;
      if (!path) continue;  // deeper than any path that Galley makes
      const bool is_directory = entry.kind == FileKind::kDirectory;
      if (is_directory) waiting.push_back(*path);
      const auto stat = at.stat(*name);
      if (!stat) continue;
      if (!is_directory) use.bytes += stat->size;
      use.changed_ns = std::max(use.changed_ns, stat->ctime_ns);
    }
  }
  return use;
}

Result<std::vector<std::string>> stage_ids(const StateDirectory& state,
                                           std::string_view beginning) {
  std::vector<std::string> ids;
  const auto parent = state.root().open_directory(state.own("stage"));
  if (!parent && parent.error().kind == ErrorKind::kNotFound) return ids;
  if (!parent) return parent.error();
  GALLEY_ASSIGN(const auto entries, (*parent)->list());
  for (const auto& entry : entries) {
    const bool is_meant = entry.kind == FileKind::kDirectory && is_stage_id(entry.name) &&
                          entry.name.starts_with(beginning);
    if (is_meant) ids.push_back(entry.name);
  }
  std::ranges::sort(ids);
  return ids;
}

Result<int64_t> stage_changed_ns(const Directory& stage) {
  GALLEY_ASSIGN(const FileStat stat, stage.stat(RelPath::root()));
  // A save that appends to the file does not change the time of its directory.
  GALLEY_ASSIGN(const FileStat staged, stage.stat(chosen_path("overlay")));
  return std::max(stat.mtime_ns, staged.mtime_ns);
}

Result<std::vector<StageInfo>> list_stages(const StateDirectory& state) {
  std::vector<StageInfo> stages;
  const auto parent = state.root().open_writable_directory(state.own("stage"));
  if (!parent && parent.error().kind == ErrorKind::kNotFound) return stages;
  if (!parent) return parent.error();
  GALLEY_ASSIGN(const auto counts, references(state));
  GALLEY_ASSIGN(const auto entries, (*parent)->list());
  for (const auto& entry : entries) {
    if (entry.kind != FileKind::kDirectory || !is_stage_id(entry.name)) continue;
    const auto directory = (*parent)->open_writable_directory(chosen_path(entry.name));
    if (!directory) continue;
    StageInfo info;
    info.id = entry.name;
    GALLEY_ASSIGN(info.mtime_ns, stage_changed_ns(**directory));
    info.bytes = tree_use(**directory).bytes;
    const auto pool = pool_of(**directory, entry.name);
    if (pool && counts && counts->contains(*pool) && counts->at(*pool) == 1) {
      const auto contents = state.root().open_directory(pool_path(state, *pool));
      info.bytes += contents ? tree_use(**contents).bytes : 0;
    }
    const auto owner = (*directory)->open_writable_file(chosen_path("owner"), OpenMode::kReadWrite);
    if (owner) {
      GALLEY_ASSIGN(const bool is_free, (*owner)->try_lock(LockMode::kShared));
      info.is_held = !is_free;
    }
    stages.push_back(std::move(info));
  }
  std::ranges::sort(stages, std::greater(), &StageInfo::mtime_ns);
  return stages;
}

}  // namespace galley
