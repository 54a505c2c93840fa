#include "engine/stages/run_basis.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "engine/commit/history_reader.h"
#include "engine/stages/run_folder.h"
#include "engine/stages/stored_stage.h"
#include "staging/fs/directory.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/replace_file.h"
#include "staging/overlay/overlay_file.h"
#include "staging/sandbox/layer_objects.h"
#include "staging/sandbox/live_run.h"

namespace galley {

namespace {

constexpr std::string_view kCheckpointMagic = "galley checkpoint 1 ";
constexpr uint64_t kMaxBasisBytes = uint64_t{256} << 20U;

constexpr std::string_view kBasis = "basis";
constexpr std::string_view kCheckpoint = "checkpoint";
constexpr std::string_view kLook = "look";
constexpr std::string_view kUnchanged = "unchanged";

/// Returns an empty text when there is none.
Result<std::string> read(const RunFolder& folder, std::string_view name) {
  auto text = read_file(folder.directory(), *RelPath::parse(name), kMaxBasisBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
  return text;
}

tl::unexpected<Error> damaged_basis(const RunFolder& folder) {
  return fail(ErrorKind::kInvalid, "run.damaged",
              "what the run " + folder.tx() + " began with cannot be read; what it wrote is in " +
                  folder.shown_place() + "/upper");
}

Result<Overlay::Entries> entries_of(const RunFolder& folder, std::string_view text) {
  if (text.empty()) return Overlay::Entries();
  auto entries = decode_entries(text);
  if (!entries) return damaged_basis(folder);
  return entries;
}

/// A checkpoint that was noted.
struct Checkpoint {
  TxId transaction;
  std::string proposal;  ///< hexadecimal
  Overlay::Entries basis;
};

Result<std::optional<Checkpoint>> read_checkpoint(const RunFolder& folder) {
  GALLEY_ASSIGN(const std::string text, read(folder, kCheckpoint));
  if (text.empty()) return std::optional<Checkpoint>();
  std::string_view rest = text;
  const size_t line = rest.find('\n');
  if (!rest.starts_with(kCheckpointMagic) || line == std::string_view::npos) {
    return damaged_basis(folder);
  }
  const std::string_view words =
      rest.substr(kCheckpointMagic.size(), line - kCheckpointMagic.size());
  const size_t space = words.find(' ');
  const auto transaction = TxId::parse(words.substr(0, space));
  if (!transaction || space == std::string_view::npos) return damaged_basis(folder);
  Checkpoint checkpoint{*transaction, std::string(words.substr(space + 1)), {}};
  GALLEY_ASSIGN(checkpoint.basis, entries_of(folder, rest.substr(line + 1)));
  return std::optional(std::move(checkpoint));
}

Result<bool> is_committed(const StateDirectory& state, const Checkpoint& checkpoint) {
  const auto committed = load_committed(state, checkpoint.transaction, ImageUse::kSkip);
  if (committed) return committed->journal.proposal.hex() == checkpoint.proposal;
  // It was pruned, so it was committed. (An aborted commit gives its id to the next one, and the
  // next capture of this run drops its checkpoint.)
  if (committed.error().reason == "history.pruned") return true;
  if (committed.error().kind == ErrorKind::kNotFound) return false;
  return fail(committed.error());
}

}  // namespace

Result<void> write_basis(const RunFolder& folder, const Overlay::Entries& staged) {
  Overlay::Entries basis;
  for (const auto& [path, entry] : staged) {
    const bool is_restored = entry.written.ns != 0;  // a view shows it, too
    if (entry.before != entry.now || is_restored) basis.emplace(path, entry);
  }
  return replace_basis(folder, basis);
}

Result<void> replace_basis(const RunFolder& folder, const Overlay::Entries& entries) {
  const WritableDirectory& place = folder.directory();
  if (!entries.empty()) return replace_file(place, kBasis, encode_entries(entries));
  const auto gone = place.remove_file(*RelPath::parse(kBasis));
  return gone || gone.error().kind == ErrorKind::kNotFound ? Result<void>() : gone;
}

Result<Overlay::Entries> settled_basis(const RunFolder& folder, const StateDirectory& state) {
  GALLEY_ASSIGN(auto checkpoint, read_checkpoint(folder));
  if (checkpoint) {
    GALLEY_ASSIGN(const bool holds, is_committed(state, *checkpoint));
    if (holds) GALLEY_TRY(replace_basis(folder, checkpoint->basis));
    GALLEY_TRY(folder.directory().remove_file(*RelPath::parse(kCheckpoint)));
  }
  GALLEY_ASSIGN(const std::string text, read(folder, kBasis));
  return entries_of(folder, text);
}

Result<void> set_base(const RunFolder& folder, const StateDirectory& state, const RelPath& path,
                      const Node& seen) {
  Overlay::Entry held;
  held.before = held.now = seen;
  Overlay::Entries one;
  one.emplace(path, std::move(held));
  return set_bases(folder, state, one);
}

Result<void> set_bases(const RunFolder& folder, const StateDirectory& state,
                       const Overlay::Entries& bases) {
  GALLEY_ASSIGN(Overlay::Entries basis, settled_basis(folder, state));
  for (const auto& [path, entry] : bases) basis.insert_or_assign(path, entry);
  return replace_basis(folder, basis);
}

Result<void> note_checkpoint(const RunFolder& folder, TxId transaction, const ContentId& proposal,
                             const Overlay::Entries& captured) {
  GALLEY_ASSIGN(const std::string text, read(folder, kBasis));
  GALLEY_ASSIGN(Overlay::Entries basis, entries_of(folder, text));
  for (const auto& [path, entry] : captured) {
    if (entry.before == entry.now) continue;
    Overlay::Entry held;
    held.before = held.now = entry.now;
    basis.insert_or_assign(path, std::move(held));
  }
  return replace_file(folder.directory(), kCheckpoint,
                      std::string(kCheckpointMagic) + transaction.str() + " " + proposal.hex() +
                          "\n" + encode_entries(basis));
}

Result<void> begin_look(const RunFolder& folder) {
  GALLEY_ASSIGN(const auto file, folder.directory().open_writable_file(
                                     chosen_path(kLook), OpenMode::kOpenOrCreate, kPrivateFile));
  return file->truncate(0);  // sets the time, also of an empty file
}

Result<void> end_unchanged_look(const RunFolder& folder) {
  const WritableDirectory& place = folder.directory();
  return place.rename(chosen_path(kLook), place, chosen_path(kUnchanged), RenameMode::kReplace);
}

namespace {

Result<int64_t> time_of(const RunFolder& folder, std::string_view stamp) {
  GALLEY_ASSIGN(const FileStat found, folder.directory().stat(chosen_path(stamp)));
  return found.kind == FileKind::kRegular ? found.mtime_ns : 0;
}

}  // namespace

Result<int64_t> unchanged_ns(const RunFolder& folder) { return time_of(folder, kUnchanged); }
Result<int64_t> refreshed_ns(const RunFolder& folder) { return time_of(folder, kRefreshed); }

namespace {

/// Numbers of the existing layers, sorted.
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

/// The number of paths that a program wrote, among the first limits::kMaxChanges.
uint64_t count_written(const WritableDirectory& upper, const std::string& path) {
  const auto host = open_disk_directory(path);  // it may have been deleted
  OpenDirectories open(upper);
  std::vector<RelPath> waiting = {RelPath::root()};
  uint64_t count = 0;
  uint64_t seen = 0;
  while (!waiting.empty() && seen < limits::kMaxChanges) {
    const RelPath folder = std::move(waiting.back());
    waiting.pop_back();
    const auto entries = open.list(folder);
    if (!entries) continue;  // the program made it unreadable
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
    // The process that made it was killed before it was used.
    if (!path && path.error().kind == ErrorKind::kNotFound) continue;
    if (!path) return fail(path.error());
    const bool is_over_nothing = is_directory(stage, chosen_path(home + "/below"));
    if (!path->empty()) layers.push_back({*std::move(path), home, is_over_nothing});
  }
  return layers;
}

Result<std::vector<RunLayer>> ensure_run_layers(const WritableDirectory& stage,
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
