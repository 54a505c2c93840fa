#include "engine/stages/run_basis.h"

#include <optional>
#include <string>
#include <utility>

#include "engine/commit/history_reader.h"
#include "staging/fs/replace_file.h"
#include "staging/overlay/overlay_file.h"

namespace galley {
namespace {

constexpr std::string_view kCheckpointMagic = "galley checkpoint 1 ";
constexpr uint64_t kMaxBasisBytes = uint64_t{256} << 20U;

constexpr std::string_view kBasis = "basis";
constexpr std::string_view kCheckpoint = "checkpoint";

/// Empty when there is none.
Result<std::string> read(const RunFolder& folder, std::string_view name) {
  auto text = read_file(folder.directory(), *RelPath::parse(name), kMaxBasisBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
  return text;
}

tl::unexpected<Error> damaged_basis(const RunFolder& folder) {
  return fail(ErrorKind::kInvalid, "run.damaged",
              "what the run " + folder.tx() + " began with cannot be read; what it wrote lies in " +
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
  // Pruned: it was committed, since an id is given away only once.
  if (committed.error().reason == "history.pruned") return true;
  if (committed.error().kind == ErrorKind::kNotFound) return false;
  return fail(committed.error());
}

}  // namespace

Result<void> write_basis(const RunFolder& folder, const Overlay::Entries& staged) {
  Overlay::Entries basis;
  for (const auto& [path, entry] : staged) {
    if (entry.before != entry.now) basis.emplace(path, entry);
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

}  // namespace galley
