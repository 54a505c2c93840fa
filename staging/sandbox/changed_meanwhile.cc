#include "staging/sandbox/changed_meanwhile.h"

#include <string>
#include <utility>

namespace galley {
namespace {

/// When the command first wrote a path, or what it made of the directories above it; 0 where the
/// file system does not tell.
Result<int64_t> first_written_ns(const WritableDirectory& upper, RelPath path) {
  for (; !path.is_root(); path = path.parent()) {
    GALLEY_ASSIGN(const FileStat layer, upper.stat(path));
    if (layer.kind != FileKind::kAbsent) return layer.birth_ns;
  }
  return 0;
}

}  // namespace

Result<void> doubt_changed_meanwhile(const Overlay::Entries& before, const WritableDirectory& upper,
                                     Overlay& overlay, const AbsorbRules& rules,
                                     AbsorbReport& report) {
  // Reading back takes time too; a stamp from farther ahead is from a clock that was set back.
  constexpr int64_t kReadingBackNs = 60'000'000'000;
  Overlay::Entries forgotten;
  for (const auto& [path, entry] : overlay.entries()) {
    const bool is_file =
        entry.before.kind == FileKind::kRegular || entry.before.kind == FileKind::kSymlink;
    if (!is_file || entry.before == entry.now || before.contains(path)) continue;
    const int64_t changed = entry.base.ctime_ns;
    if (changed <= rules.began_ns || changed > rules.ended_ns + kReadingBackNs) continue;
    if (!rules.forgets_bases) {
      report.refused.push_back({path.str(), "changed on disk while the command ran; run it again"});
      continue;
    }
    GALLEY_ASSIGN(const int64_t written, first_written_ns(upper, path));
    // Both stamps are of a clock that stands still for some milliseconds.
    if (written <= changed) forgotten.emplace(path, entry);
  }
  if (forgotten.empty()) return {};
  GALLEY_ASSIGN(const ContentId nothing, overlay.store()->put(std::string()));
  Overlay::Entries entries = overlay.entries();
  for (const auto& [path, known] : forgotten) {
    Overlay::Entry entry = known;
    entry.before = Node{FileKind::kRegular, entry.before.mode, nothing, 0};
    entry.base = {};
    entries.insert_or_assign(path, std::move(entry));
  }
  overlay.restore(std::move(entries));
  return {};
}

}  // namespace galley
