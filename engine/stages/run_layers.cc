#include "engine/stages/run_layers.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "engine/stages/run_folder.h"
#include "engine/stages/scratch_home.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/open_directories.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {
namespace {

/// Numbers of the layers that are there, sorted.
Result<std::vector<uint32_t>> numbers(const Directory& stage) {
  std::vector<uint32_t> all;
  const auto layers = stage.open_directory(chosen_path("layers"));
  if (!layers && layers.error().kind == ErrorKind::kNotFound) return all;
  if (!layers) return fail(layers.error());
  GALLEY_ASSIGN(const auto entries, (*layers)->list());
  for (const DirectoryEntry& entry : entries) {
    uint32_t number = 0;
    const char* const end = entry.name.data() + entry.name.size();
    if (std::from_chars(entry.name.data(), end, number).ptr == end) all.push_back(number);
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool is_directory(const Directory& directory, const RelPath& path) {
  const auto stat = directory.stat(path);
  return stat && stat->kind == FileKind::kDirectory;
}

/// How many paths a program wrote, of the first limits::kMaxChanges that are looked at.
uint64_t count_written(const WritableDirectory& upper, const std::string& path) {
  const auto host = open_disk_directory(path);  // it may be gone
  OpenDirectories open(upper);
  std::vector<RelPath> waiting = {RelPath::root()};
  uint64_t count = 0;
  uint64_t seen = 0;
  while (!waiting.empty() && seen < limits::kMaxChanges) {
    const RelPath folder = std::move(waiting.back());
    waiting.pop_back();
    const auto entries = open.list(folder);
    if (!entries) continue;  // the program shut it
    seen += entries->size();
    for (const DirectoryEntry& entry : *entries) {
      const auto name = RelPath::parse(entry.name);
      const auto child = name ? folder.join(*name) : name;
      const bool is_folder = child && entry.kind == FileKind::kDirectory;
      const bool is_old = is_folder && host && is_directory(**host, *child);
      if (!is_old) ++count;
      if (is_folder) waiting.push_back(*child);
    }
  }
  return count;
}

}  // namespace

Result<std::vector<RunLayer>> run_layers(const Directory& stage) {
  std::vector<RunLayer> layers;
  GALLEY_ASSIGN(const auto all, numbers(stage));
  for (const uint32_t number : all) {
    const std::string home = "layers/" + std::to_string(number);
    auto path = read_file(stage, chosen_path(home + "/path"), kMaxHostPathBytes);
    // Whoever made it was killed before it was used.
    if (!path && path.error().kind == ErrorKind::kNotFound) continue;
    if (!path) return fail(path.error());
    const bool is_over_nothing = is_directory(stage, chosen_path(home + "/below"));
    if (!path->empty()) layers.push_back({*std::move(path), home, is_over_nothing});
  }
  return layers;
}

Result<std::vector<RunLayer>> need_run_layers(const WritableDirectory& stage,
                                              const std::vector<std::string>& paths) {
  GALLEY_ASSIGN(std::vector<RunLayer> layers, run_layers(stage));
  GALLEY_ASSIGN(const auto all, numbers(stage));
  uint32_t next = all.empty() ? 1 : all.back() + 1;
  for (const std::string& path : paths) {
    const bool is_there = std::any_of(layers.begin(), layers.end(),
                                      [&](const RunLayer& layer) { return layer.path == path; });
    if (is_there) continue;
    const std::string home = "layers/" + std::to_string(next++);
    GALLEY_TRY(make_directories(stage, chosen_path(home), kPrivateDirectory));
    const bool is_over_nothing = !open_disk_directory(path);
    if (is_over_nothing) {
      GALLEY_TRY(stage.make_directory(chosen_path(home + "/below"), kPrivateDirectory));
    }
    GALLEY_ASSIGN(const auto file, stage.open_writable_file(chosen_path(home + "/path"),
                                                            OpenMode::kOpenOrCreate, kPrivateFile));
    GALLEY_TRY(file->write_at(0, path));
    layers.push_back({path, home, is_over_nothing});
  }
  return layers;
}

Result<void> drop_layers(const WritableDirectory& stage) {
  GALLEY_TRY(drop_scratch_home(stage));
  return erase_layer(stage, chosen_path("layers"));
}

Result<std::vector<WrittenLayer>> written_layers(const StateDirectory& state,
                                                 const std::string& tx) {
  std::vector<WrittenLayer> written;
  const RelPath place = state.own("stage/" + tx);
  GALLEY_ASSIGN(const auto stage, state.root().open_writable_directory(place));
  GALLEY_ASSIGN(const auto layers, run_layers(*stage));
  for (const RunLayer& layer : layers) {
    const std::string upper = layer.home + "/upper";
    const auto opened = stage->open_writable_directory(chosen_path(upper));
    if (!opened && opened.error().kind == ErrorKind::kNotFound) continue;
    if (!opened) return fail(opened.error());
    const uint64_t count = count_written(**opened, layer.path);
    if (count > 0) written.push_back({layer.path, place.str() + "/" + upper, count});
  }
  return written;
}

}  // namespace galley
