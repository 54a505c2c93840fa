#include "staging/text/intern.h"

#include <xxhash.h>

#include <array>
#include <cstring>

#include "base/text.h"
#include "staging/text/lines.h"

namespace galley {

namespace {

constexpr size_t kMinSlots = 64;
constexpr size_t kAhead = 8;

uint32_t hash_of(std::string_view key) {
  return static_cast<uint32_t>(XXH3_64bits(key.data(), key.size()));
}

std::string_view without_trailing_space(std::string_view line) {
  while (!line.empty() && is_plain_space(line.back())) line.remove_suffix(1);
  return line;
}

}  // namespace

std::string_view reduce_white_space(std::string_view line, WhiteSpace white_space,
                                    std::string& storage) {
  switch (white_space) {
    case WhiteSpace::kExact:
      return line;
    case WhiteSpace::kIgnoreAtEol:
      return without_trailing_space(line);
    case WhiteSpace::kIgnoreCrAtEol:
      return without_terminator(line);  // as in git, not the CR of a last line without "\n"
    case WhiteSpace::kIgnoreChange:
    case WhiteSpace::kIgnoreAll:
      break;
  }
  line = without_trailing_space(line);
  storage.clear();
  for (size_t i = 0; i < line.size(); ++i) {
    if (!is_plain_space(line[i])) {
      storage.push_back(line[i]);
    } else if (white_space == WhiteSpace::kIgnoreChange && !is_plain_space(line[i + 1])) {
      storage.push_back(' ');  // line[i + 1] exists: trailing space was removed
    }
  }
  return storage;
}

LineTable::LineTable(size_t expected_lines, WhiteSpace white_space) : white_space_(white_space) {
  size_t slots = kMinSlots;
  while (slots * 3 < expected_lines * 4) slots *= 2;
  slots_.resize(slots);
  entries_.reserve(expected_lines / 2);
}

size_t LineTable::probe(std::string_view key, uint32_t hash) const {
  const size_t mask = slots_.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.id == kNone) return at;
    if (slot.hash == hash && entries_[slot.id] == key) return at;
  }
}

LineId LineTable::find(std::string_view line) const {
  std::string storage;
  const auto key = reduce_white_space(line, white_space_, storage);
  return slots_[probe(key, hash_of(key))].id;
}

LineId LineTable::intern(std::string_view line) {
  if (white_space_ == WhiteSpace::kExact) return intern_key(line, hash_of(line), nullptr);
  std::string storage;
  const auto key = reduce_white_space(line, white_space_, storage);
  return intern_key(key, hash_of(key), &storage);
}

LineId LineTable::intern_key(std::string_view key, uint32_t hash, const std::string* storage) {
  const size_t at = probe(key, hash);
  if (slots_[at].id != kNone) return slots_[at].id;
  // Reduced text is in the caller's buffer, so it must be copied.
  if (storage != nullptr && key.data() == storage->data()) key = reduced_.emplace_back(key);
  const auto id = static_cast<LineId>(entries_.size());
  entries_.push_back(key);
  slots_[at] = {hash, id};
  if (entries_.size() * 4 > slots_.size() * 3) grow();
  return id;
}

void LineTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNone) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id != kNone) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::vector<LineId> LineTable::intern_all(const Lines& lines, size_t begin, size_t end) {
  std::vector<LineId> ids(end - begin);
  if (white_space_ != WhiteSpace::kExact) {
    for (size_t i = begin; i < end; ++i) ids[i - begin] = intern(lines[i]);
    return ids;
  }
  // Hashes are computed ahead of the look-ups, so that the slots are loaded in time.
  std::array<uint32_t, kAhead> hashes{};
  for (size_t i = begin; i < end + kAhead; ++i) {
    uint32_t& hash = hashes[i % kAhead];
    if (i >= begin + kAhead) ids[i - kAhead - begin] = intern_key(lines[i - kAhead], hash, nullptr);
    if (i >= end) continue;
    hash = hash_of(lines[i]);
    __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  return ids;
}

std::vector<LineId> LineTable::intern_like(const Lines& lines, size_t begin, size_t end,
                                           const KnownLines& like) {
  // The first occurrence of each line of `like`. Ids increase in order of the first occurrence.
  std::vector<uint32_t> first;
  const LineId old_ids = static_cast<LineId>(size());
  for (size_t i = 0; i < like.ids.size(); ++i) {
    if (like.ids[i] == first.size()) first.push_back(static_cast<uint32_t>(i));
  }
  std::vector<LineId> ids;
  ids.reserve(end - begin);
  size_t guess = 0;  // the line of `like` that is probably next
  for (size_t i = begin; i < end; ++i) {
    const auto line = lines[i];
    if (guess < like.ids.size() && like.lines[like.begin + guess] == line) {
      ids.push_back(like.ids[guess++]);
      continue;
    }
    const LineId id = intern(line);
    ids.push_back(id);
    // A line that first occurs later in `like` shows where the texts match again.
    if (id < old_ids && id < first.size() && first[id] >= guess) guess = size_t{first[id]} + 1;
  }
  return ids;
}

}  // namespace galley
