#include "engine/stages/scratch_home.h"

#include "base/file_mode.h"
#include "staging/sandbox/layer_home.h"

namespace galley {
namespace {

RelPath note() { return *RelPath::parse("scratch-home"); }

/// Empty when there is none.
Result<std::string> noted(const Directory& stage) {
  auto path = read_file(stage, note(), kMaxHostPathBytes);
  if (path) return path;
  if (path.error().kind == ErrorKind::kNotFound) return std::string();
  return fail(path.error());
}

}  // namespace

Result<std::string> need_scratch_home(const WritableDirectory& stage) {
  GALLEY_ASSIGN(const std::string known, noted(stage));
  if (is_layer_home(known)) return known;
  GALLEY_ASSIGN(const std::string path, LayerHome::make_lasting());
  GALLEY_ASSIGN(const auto file,
                stage.open_writable_file(note(), OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  GALLEY_TRY(file->write_at(0, path));
  return path;
}

Result<void> drop_scratch_home(const Directory& stage) {
  GALLEY_ASSIGN(const std::string path, noted(stage));
  return path.empty() ? Result<void>() : remove_layer_home(path);
}

Result<std::map<std::string, std::string>> scratch_homes(const StateDirectory& state) {
  std::map<std::string, std::string> homes;
  const auto stages = state.root().open_directory(state.own("stage"));
  if (!stages) return homes;  // no transaction was ever stored
  GALLEY_ASSIGN(const auto entries, (*stages)->list());
  for (const DirectoryEntry& entry : entries) {
    const auto id = RelPath::parse(entry.name);
    if (!id || entry.kind != FileKind::kDirectory) continue;
    const auto stage = (*stages)->open_directory(*id);
    const auto path = stage ? noted(**stage) : Result<std::string>(std::string());
    if (path && !path->empty()) homes.emplace(entry.name, *path);
  }
  return homes;
}

}  // namespace galley
