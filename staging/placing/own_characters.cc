#include "staging/placing/own_characters.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "staging/text/diff.h"
#include "staging/text/fold.h"

// How a line keeps the file's quotes:
//
// Suppose that the file has “Hello”, and the edit replaces "Hello" by "Hi". Lines are divided into
// units: words, runs of blanks, single signs. The removed lines of the hunk and the file's lines
// have the same units, but some are spelled differently. A diff of the removed and the added units
// shows which ones stay. These are written as in the file.
//
// If units repeat, there are several such diffs. So it is computed forwards and backwards, and both
// must result in the same lines.

namespace galley {
namespace {

using Texts = std::vector<std::string_view>;

bool is_blank_sign(std::string_view text) {
  const auto [kin, length] = ascii_equivalent(text);
  return length > 0 ? kin == ' ' : text.front() == ' ' || text.front() == '\t';
}

/// The length of the first unit of `text`.
size_t unit_length(std::string_view text) {
  const auto sign = [](std::string_view rest) {
    return std::max<size_t>(ascii_equivalent(rest).second, 1);
  };
  const auto is_plain = [](std::string_view rest) { return ascii_equivalent(rest).second == 0; };
  const bool is_word = is_plain(text) && is_telling_line(text.substr(0, 1));
  size_t end = sign(text);
  if (is_blank_sign(text)) {
    while (end < text.size() && is_blank_sign(text.substr(end))) end += sign(text.substr(end));
  } else if (is_word) {
    while (end < text.size() && is_plain(text.substr(end)) &&
           is_telling_line(text.substr(end, 1))) {
      ++end;
    }
  }
  return end;
}

/// Appends the units of a line, without blanks at both ends. "\n" is the last unit.
void append_units(std::string_view line, Texts& out) {
  std::string_view text = without_terminator(line);
  const size_t begin = out.size();
  while (!text.empty()) {
    const size_t length = unit_length(text);
    if (out.size() > begin || !is_blank_sign(text)) out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  if (out.size() > begin && is_blank_sign(out.back())) out.pop_back();
  out.emplace_back("\n");
}

Texts units_of(const Texts& lines) {
  Texts out;
  for (const std::string_view line : lines) append_units(line, out);
  return out;
}

/// For each added unit, the index of the removed unit that it keeps; npos for a new unit.
std::vector<size_t> shared_units(const Texts& removed, const Texts& added, bool is_backwards) {
  std::unordered_map<std::string_view, LineId> ids;
  const auto ids_of = [&](Texts texts) {
    if (is_backwards) std::reverse(texts.begin(), texts.end());
    std::vector<LineId> out;
    for (const std::string_view text : texts) {
      out.push_back(ids.emplace(text, static_cast<LineId>(ids.size())).first->second);
    }
    return out;
  };
  const std::vector<LineId> before = ids_of(removed);
  const std::vector<LineId> after = ids_of(added);
  std::vector<size_t> out(added.size(), std::string::npos);
  size_t old_at = 0;
  size_t new_at = 0;
  const auto keep_until = [&](size_t new_end) {
    for (; new_at < new_end; ++new_at, ++old_at) {
      const size_t to = is_backwards ? added.size() - 1 - new_at : new_at;
      out[to] = is_backwards ? removed.size() - 1 - old_at : old_at;
    }
  };
  for (const ChangedRange& range : diff_ids(before, after)) {
    keep_until(range.new_begin);
    old_at = range.old_end;
    new_at = range.new_end;
  }
  keep_until(added.size());
  return out;
}

/// A group of adjacent changed lines, and the file's lines that it removes.
struct Respelling {
  Texts removed;
  Texts own;
  Texts added;
};

/// True if a sign that the file spells differently is removed and added elsewhere.
bool moves_sign(const Texts& removed, const Texts& own, const Texts& added,
                const std::vector<size_t>& shared) {
  std::vector<bool> stays(removed.size(), false);
  for (const size_t unit : shared) {
    if (unit != std::string::npos) stays[unit] = true;
  }
  for (size_t i = 0; i < removed.size(); ++i) {
    if (stays[i] || removed[i] == own[i] || is_blank_sign(removed[i])) continue;
    for (size_t k = 0; k < added.size(); ++k) {
      if (shared[k] == std::string::npos && added[k] == removed[i]) return true;
    }
  }
  return false;
}

/// The added lines in the file's spelling; nullopt if it is uncertain.
std::optional<std::vector<std::string>> rewritten(const Respelling& run) {
  const Texts removed = units_of(run.removed);
  const Texts own = units_of(run.own);
  const Texts added = units_of(run.added);
  if (removed.size() != own.size()) return std::nullopt;
  std::vector<std::string> forwards;
  for (const bool is_backwards : {false, true}) {
    const std::vector<size_t> shared = shared_units(removed, added, is_backwards);
    if (moves_sign(removed, own, added, shared)) return std::nullopt;
    std::vector<std::string> lines;
    size_t unit = 0;
    for (const std::string_view line : run.added) {
      std::string out;
      std::string_view rest = line;
      for (; added[unit] != "\n"; ++unit) {
        // Only blanks at the start of the line are between units.
        const size_t at = static_cast<size_t>(added[unit].data() - rest.data());
        out += rest.substr(0, at);
        rest.remove_prefix(at + added[unit].size());
        out += shared[unit] == std::string::npos ? added[unit] : own[shared[unit]];
      }
      ++unit;
      lines.push_back(out + std::string(rest));
    }
    if (is_backwards && lines != forwards) return std::nullopt;
    forwards = std::move(lines);
  }
  return forwards;
}

}  // namespace

std::optional<Hunk> with_own_characters(const Lines& file, const Hunk& hunk, size_t start,
                                        std::deque<std::string>& kept) {
  Hunk out = hunk;
  size_t line = start;
  for (size_t i = 0; i < out.lines.size();) {
    if (out.lines[i].role == LineRole::kContext) {
      ++line;
      ++i;
      continue;
    }
    Respelling run;
    const size_t begin = i;
    for (; i < out.lines.size() && out.lines[i].role != LineRole::kContext; ++i) {
      const bool is_removed = out.lines[i].role == LineRole::kRemoved;
      (is_removed ? run.removed : run.added).push_back(out.lines[i].text);
      if (is_removed) run.own.push_back(file[line++]);
    }
    if (run.removed.empty() || run.added.empty()) continue;
    auto lines = rewritten(run);
    if (!lines) return std::nullopt;
    for (size_t k = begin, next = 0; k < i; ++k) {
      if (out.lines[k].role != LineRole::kAdded) continue;
      out.lines[k].text = kept.emplace_back(std::move((*lines)[next++]));
    }
  }
  return out;
}

}  // namespace galley
