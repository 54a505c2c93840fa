#include <algorithm>
#include <cerrno>
#include <charconv>

#include "base/file_mode.h"
#include "base/limits.h"
#include "engine/commit/graveyard.h"
#include "engine/commit/mutant.h"
#include "engine/commit/slots.h"

namespace galley {
namespace {

constexpr int kMaxRescueNames = 10'000;
constexpr uint32_t kOwnerWrite = 0200;

/// The operation a slot belongs to: "12", "12.old"; null for a foreign name.
const JournalOp* op_of(const Journal& journal, std::string_view name) {
  size_t index = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool has_end = end == name.data() + name.size() || *end == '.';
  if (code != std::errc() || !has_end || index >= journal.ops.size()) return nullptr;
  return &journal.ops[index];
}

bool is_image(const Journal& journal, const Node& node) {
  return std::any_of(journal.ops.begin(), journal.ops.end(), [&](const JournalOp& op) {
    for (const auto* side : {&op.before.node, &op.after.node}) {
      if (side->kind == node.kind && side->content == node.content) return true;
    }
    return false;
  });
}

class SlotSweep {
 public:
  SlotSweep(const StateDirectory& state, const Journal& journal, bool may_be_torn,
            std::vector<JournalNote>& notes)
      : state_(state), journal_(journal), may_be_torn_(may_be_torn), notes_(notes) {}

  Result<void> run() {
    const RelPath name = chosen_path(journal_.id.file_name());
    auto directory = state_.slots().open_writable_directory(name);
    if (!directory && directory.error().kind == ErrorKind::kNotFound) return {};
    if (!directory) return directory.error();
    GALLEY_ASSIGN(const auto entries, (*directory)->list());
    for (const auto& entry : entries) GALLEY_TRY(sweep(**directory, entry));
    return state_.slots().remove_directory(name);
  }

 private:
  Result<void> sweep(const WritableDirectory& directory, const DirectoryEntry& entry) {
    const RelPath name = chosen_path(entry.name);
    if (entry.name.ends_with(Slots::kWritingSuffix)) return remove_tree(directory, name);
    const JournalOp* op = op_of(journal_, entry.name);
    bool is_ours = false;
    if (!entry.name.ends_with(Slots::kKeepSuffix)) {
      GALLEY_ASSIGN(is_ours, is_known(directory, name, op));
    }
    if (!is_ours && !is_mutant(Mutant::kSweepWithoutLook)) {
      const RelPath path = op != nullptr ? op->path : chosen_path("slot-" + entry.name);
      return rescue(state_, journal_.id, directory, name, path, notes_);
    }
    if (entry.kind == FileKind::kDirectory) {
      GALLEY_ASSIGN(const Graveyard graveyard, Graveyard::find(state_));
      if (graveyard.is_there() && graveyard.remove(directory, name)) return {};
    }
    return remove_tree(directory, name);
  }

  Result<bool> is_known(const WritableDirectory& directory, const RelPath& name,
                        const JournalOp* op) {
    GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
    GALLEY_TRY(open_up(directory, name, stat));
    const auto looked = observe(Location{&directory, name}, stat);
    // Another user's save, unless its bytes have another name.
    if (!looked && looked.error().os_error == EACCES) return stat.nlink > 1;
    if (!looked) return looked.error();
    const Node& node = *looked;
    if (node.kind == FileKind::kDirectory) return holds_only_known(directory, name);
    // The slot's own operation first: the search through all of them is for moved inodes.
    if (op != nullptr && (is_side(op->before.node, node) || is_side(op->after.node, node))) {
      return true;
    }
    if (is_image(journal_, node)) return true;
    const bool can_be_torn =
        may_be_torn_ && node.kind == FileKind::kRegular && node.size <= kMaxImageBytes;
    if (!can_be_torn) return false;
    GALLEY_ASSIGN(const std::string bytes, read_file(directory, name, kMaxImageBytes));
    if (op != nullptr) return is_torn_image(bytes, journal_, *op);
    return std::any_of(journal_.ops.begin(), journal_.ops.end(),
                       [&](const JournalOp& any) { return is_torn_image(bytes, journal_, any); });
  }

  /// A power cut may keep what was placed in a directory and not the placing of the directory.
  Result<bool> holds_only_known(const WritableDirectory& directory, const RelPath& name) {
    GALLEY_ASSIGN(const auto opened, directory.open_writable_directory(name));
    GALLEY_ASSIGN(const auto entries, opened->list());
    for (const auto& entry : entries) {
      const auto child = RelPath::parse(entry.name);
      if (!child || !may_be_torn_) return false;
      GALLEY_ASSIGN(const bool is_ours, is_known(*opened, *child, nullptr));
      if (!is_ours) return false;
    }
    return true;
  }

  /// What was caught may be of any mode. Afterwards it is gone, or in rescue/.
  static Result<void> open_up(const WritableDirectory& directory, const RelPath& name,
                              const FileStat& stat) {
    uint32_t rights = 0;
    // The other name of a file may be in the workspace, where no system call swaps two.
    if (stat.kind == FileKind::kRegular && stat.nlink == 1) rights = kOwnerRead;
    if (stat.kind == FileKind::kDirectory) rights = kOwnerAll;
    if ((stat.mode & rights) == rights) return {};
    const auto set = directory.set_mode(name, stat.mode | rights);
    // Of another owner: the look that follows tells.
    return set || set.error().os_error == EPERM ? Result<void>() : set;
  }

  static bool is_side(const Node& side, const Node& node) {
    return side.kind == node.kind && side.content == node.content;
  }

  const StateDirectory& state_;
  const Journal& journal_;
  bool may_be_torn_;
  std::vector<JournalNote>& notes_;
};

}  // namespace

Result<void> sweep_slots(const StateDirectory& state, const Journal& journal, bool may_be_torn,
                         std::vector<JournalNote>& notes) {
  return SlotSweep(state, journal, may_be_torn, notes).run();
}

Result<void> rescue(const StateDirectory& state, TxId id, const WritableDirectory& from,
                    const RelPath& name, const RelPath& path, std::vector<JournalNote>& notes) {
  GALLEY_ASSIGN(const RelPath place, state.own("rescue/" + id.str()).join(path));
  GALLEY_TRY(make_directories(state.root(), place.parent(), kPrivateDirectory));
  for (int attempt = 0; attempt < kMaxRescueNames; ++attempt) {
    const std::string text = place.str() + (attempt == 0 ? "" : "." + std::to_string(attempt));
    GALLEY_ASSIGN(const RelPath target, RelPath::parse(text));
    GALLEY_ASSIGN(const FileStat there, state.root().stat(target));
    if (there.kind != FileKind::kAbsent) continue;
    GALLEY_ASSIGN(const FileStat stat, from.stat(name));
    // A directory is written to when it moves: its `..` changes.
    const bool is_closed = stat.kind == FileKind::kDirectory && (stat.mode & kOwnerWrite) == 0;
    if (is_closed) static_cast<void>(from.set_mode(name, stat.mode | kOwnerWrite));
    GALLEY_TRY(from.rename(name, state.root(), target, RenameMode::kNoReplace));
    notes.push_back({path.str(), "bytes that Galley did not know were moved to .galley/" + text});
    return {};
  }
  return fail(ErrorKind::kQuota, "limit.rescue",
              "there are too many rescued versions of '" + path.str() +
                  "'; look at them with `galley rescue list`",
              path.str());
}

}  // namespace galley
