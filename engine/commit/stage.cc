#include "engine/commit/stage.h"

#include <algorithm>
#include <cerrno>
#include <random>

#include "base/check.h"

namespace galley {
namespace {

constexpr uint32_t kPrivateDirectory = 0700;
constexpr uint32_t kPrivateFile = 0600;
constexpr size_t kIdDigits = 12;
constexpr int kMaxTries = 16;

RelPath known(std::string_view text) {
  auto path = RelPath::parse(text);
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

bool is_stage_id(std::string_view text) {
  return text.size() == kIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string random_id() {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string id;
  for (size_t i = 0; i < kIdDigits; ++i) id.push_back(kDigits[random() % kDigits.size()]);
  return id;
}

Error not_found(const std::string& id) {
  return Error{ErrorKind::kNotFound, "stage.not_found",
               "there is no open transaction '" + id + "'; `galley status --all` lists them", "",
               0};
}

}  // namespace

Result<Stage> Stage::hold(const StateDirectory& state, const std::string& id) {
  auto directory = state.root().open_directory(known("stage/" + id));
  if (!directory && directory.error().kind == ErrorKind::kNotFound) return not_found(id);
  if (!directory) return directory.error();
  GALLEY_ASSIGN(auto owner,
                (*directory)->open_file(known("owner"), OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_ASSIGN(const bool is_ours, owner->try_lock(LockMode::kExclusive));
  if (!is_ours) {
    return fail(ErrorKind::kTimeout, "stage.busy",
                "another process works on transaction '" + id + "'; wait for it to end");
  }
  return Stage(id, std::move(*directory), std::move(owner));
}

Result<Stage> Stage::create(const StateDirectory& state) {
  GALLEY_TRY(make_directories(state.root(), known("stage"), kPrivateDirectory));
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    const std::string id = random_id();
    auto made = state.root().make_directory(known("stage/" + id), kPrivateDirectory);
    if (made) return hold(state, id);
    if (made.error().os_error != EEXIST) return made.error();
  }
  return os_error(EEXIST, "cannot make a stage", ".galley/stage");
}

Result<Stage> Stage::adopt(const StateDirectory& state, const std::string& id) {
  if (!is_stage_id(id)) return not_found(id);
  return hold(state, id);
}

Result<void> Stage::remove(const StateDirectory& state, Stage stage) {
  return remove_tree(state.root(), known("stage/" + stage.id_));
}

Result<uint64_t> tree_bytes(const Directory& directory) {
  GALLEY_ASSIGN(const auto entries, directory.list());
  uint64_t bytes = 0;
  for (const auto& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (!name) continue;
    if (entry.kind == FileKind::kDirectory) {
      const auto child = directory.open_directory(*name);
      if (!child) continue;  // went away, or not ours to read
      GALLEY_ASSIGN(const uint64_t below, tree_bytes(**child));
      bytes += below;
    } else {
      GALLEY_ASSIGN(const FileStat stat, directory.stat(*name));
      bytes += stat.size;
    }
  }
  return bytes;
}

Result<std::vector<StageInfo>> list_stages(const StateDirectory& state) {
  std::vector<StageInfo> stages;
  const auto parent = state.root().open_directory(known("stage"));
  if (!parent && parent.error().kind == ErrorKind::kNotFound) return stages;
  if (!parent) return parent.error();
  GALLEY_ASSIGN(const auto entries, (*parent)->list());
  for (const auto& entry : entries) {
    if (entry.kind != FileKind::kDirectory || !is_stage_id(entry.name)) continue;
    const auto directory = (*parent)->open_directory(known(entry.name));
    if (!directory) continue;
    StageInfo info;
    info.id = entry.name;
    GALLEY_ASSIGN(const FileStat stat, (*directory)->stat(RelPath::root()));
    info.mtime_ns = stat.mtime_ns;
    GALLEY_ASSIGN(info.bytes, tree_bytes(**directory));
    const auto owner = (*directory)->open_file(known("owner"), OpenMode::kReadWrite);
    if (owner) {
      GALLEY_ASSIGN(const bool is_free, (*owner)->try_lock(LockMode::kShared));
      info.is_held = !is_free;
    }
    stages.push_back(std::move(info));
  }
  std::sort(stages.begin(), stages.end(),
            [](const auto& a, const auto& b) { return a.mtime_ns > b.mtime_ns; });
  return stages;
}

}  // namespace galley
