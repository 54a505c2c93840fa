#include "engine/commit/graveyard.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "base/file_mode.h"

namespace galley {
namespace {

constexpr int kMaxNames = 1'000'000;

RelPath place(const StateDirectory& state) { return state.own("runs/graveyard"); }

Error not_empty(const RelPath& name) {
  return os_error(ENOTEMPTY, "cannot remove directory", name.str());
}

Result<bool> is_empty(const WritableDirectory& directory, const RelPath& name) {
  GALLEY_ASSIGN(const auto opened, directory.open_directory(name));
  GALLEY_ASSIGN(const auto entries, opened->list());
  return entries.empty();
}

/// Moves it under a name that nothing has yet. Nothing when the system does not let it be moved.
Result<std::optional<RelPath>> move(const WritableDirectory& from, const RelPath& name,
                                    const WritableDirectory& to) {
  GALLEY_ASSIGN(const FileStat stat, from.stat(name));
  for (int attempt = 0; attempt < kMaxNames; ++attempt) {
    GALLEY_ASSIGN(RelPath target,
                  RelPath::parse(std::to_string(stat.inode) + "." + std::to_string(attempt)));
    const auto moved = from.rename(name, to, target, RenameMode::kNoReplace);
    if (moved) return std::optional<RelPath>(std::move(target));
    const int code = moved.error().os_error;
    if (code == ENOENT || code == ENOTDIR) return fail(moved.error());
    if (code != EEXIST) return std::optional<RelPath>();
  }
  return std::optional<RelPath>();
}

}  // namespace

Result<Graveyard> Graveyard::need(const StateDirectory& state, const WriterLock& /*lock*/) {
  GALLEY_TRY(make_directories(state.root(), place(state), kPrivateDirectory));
  return find(state);
}

Result<Graveyard> Graveyard::find(const StateDirectory& state) {
  auto opened = state.root().open_writable_directory(place(state));
  if (opened) return Graveyard(std::move(*opened));
  if (opened.error().kind == ErrorKind::kNotFound) return Graveyard();
  return fail(opened.error());
}

Result<void> Graveyard::clear(const StateDirectory& state, const WriterLock& /*lock*/) {
  return remove_tree(state.root(), place(state));
}

Result<void> Graveyard::remove(const WritableDirectory& from, const RelPath& name) const {
  if (place_ == nullptr) return from.remove_directory(name);
  const auto was_empty = is_empty(from, name);
  if (!was_empty) return from.remove_directory(name);  // its mode may forbid the look
  if (!*was_empty) return not_empty(name);
  GALLEY_ASSIGN(const auto buried, move(from, name, *place_));
  // Where it cannot be moved (a workspace of several mounts) a view may show it as empty.
  if (!buried) return from.remove_directory(name);
  GALLEY_ASSIGN(const bool is_still_empty, is_empty(*place_, *buried));
  if (is_still_empty) return {};
  // Somebody saved a file in the last instant.
  GALLEY_TRY(place_->rename(*buried, from, name, RenameMode::kNoReplace));
  return not_empty(name);
}

}  // namespace galley
