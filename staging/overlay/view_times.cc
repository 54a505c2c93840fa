#include "staging/overlay/view_times.h"

#include <utility>

#include "base/file_mode.h"
#include "staging/fs/directory.h"

namespace galley {
namespace {

/// Whether a view shows the entry instead of the file on disk.
bool is_in_view(const Overlay::Entry& entry) {
  return entry.before != entry.now || entry.written.ns != 0;
}

}  // namespace

Result<ChangeSet> restored_files(const Overlay& overlay) {
  ChangeSet restored;
  for (const auto& [path, entry] : overlay.entries()) {
    const Node& read = entry.before;
    if (read != entry.now || entry.written.ns == 0 || read.kind != FileKind::kRegular) continue;
    GALLEY_ASSIGN(const FileStat stat, reachable_stat(overlay.workspace(), path));
    const bool may_be_base = stat.kind == FileKind::kRegular && stat.size == read.size &&
                             (stat.mode & kPermissionBits) == read.mode;
    if (!may_be_base || stat.mtime_ns >= entry.written.ns) continue;
    if (!is_signature_of(entry.base, read.size, stat)) {
      const auto file = read_from_disk(overlay.workspace(), path, 0);
      if (!file || file->id != read.content) continue;
    }
    restored.push_back({path, read, read, entry.base, {}, {}, entry.written});
  }
  return restored;
}

Result<Overlay::Entries> shown_entries(const Overlay& overlay) {
  GALLEY_ASSIGN(const ChangeSet restored, restored_files(overlay));
  Overlay::Entries shown;
  for (const auto& [path, entry] : overlay.entries()) {
    const bool is_shown = entry.before != entry.now || find_change(restored, path) != nullptr;
    if (is_shown) shown.emplace(path, entry);
  }
  return shown;
}

bool is_shown_alike(const Overlay::Entries& a, const Overlay::Entries& b) {
  bool is_alike = true;
  const auto compare = [&](const RelPath&, const Overlay::Entry* one, const Overlay::Entry* other) {
    const bool has_one = one != nullptr && is_in_view(*one);
    const bool has_other = other != nullptr && is_in_view(*other);
    if (has_one != has_other) is_alike = false;
    if (!has_one || !has_other) return;
    is_alike = is_alike && one->now == other->now && one->written.ns == other->written.ns;
  };
  Overlay::Entries::differences(a, b, compare, Overlay::EqualWithTimes());
  return is_alike;
}

void roll_back(Overlay& overlay, const Overlay::Entries& entries, bool are_written) {
  const Overlay::Entries held_before = overlay.entries();
  Overlay::Entries back_to = entries;
  const int64_t now_ns = overlay.clock().wall_ns();
  const auto date = [&](const RelPath& path, const Overlay::Entry* held,
                        const Overlay::Entry* next) {
    if (held == nullptr || !is_in_view(*held)) return;
    if (are_written && next != nullptr && next->before != next->now) return;
    // The content is in the store. If the file is saved meanwhile, the next reader sees the save.
    const BaseStamp base = held->before == held->now ? held->base : kReadAgainStamp;
    Overlay::Entry back{held->before, base, held->before, {}, {}, {}, {}};
    if (next != nullptr) back = *next;
    const bool is_same = back.now == held->now;
    const bool has_newer_time =
        back.written.ns > held->written.ns || (is_same && back.written.ns == held->written.ns);
    if (has_newer_time || back.now.kind != FileKind::kRegular) return;
    back.written = is_same ? held->written : Change::WriteTime{now_ns, false};
    back_to.insert_or_assign(path, std::move(back));
  };
  Overlay::Entries::differences(held_before, entries, date, Overlay::EqualWithTimes());
  overlay.restore(std::move(back_to));
}

void note_rewritten(Overlay& overlay, const RelPath& path, int64_t mtime_ns) {
  const auto known = overlay.entries().find(path);
  if (known == overlay.entries().end() || !is_in_view(known->second)) return;
  if (known->second.written.ns == mtime_ns) return;
  Overlay::Entries entries = overlay.entries();
  entries.change(path).written = {mtime_ns, true};
  overlay.restore(std::move(entries));
}

}  // namespace galley
