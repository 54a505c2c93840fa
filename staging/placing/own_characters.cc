#include "staging/placing/own_characters.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/text/diff.h"
#include "staging/text/fold.h"

// How a line keeps the file's quotes and blanks:
//
// Suppose that the file has “Hello”, and the edit replaces "Hello" by "Hi". Lines are divided into
// units: words, runs of blanks, single signs, and the end of the line with the blanks before it.
// The removed lines of the hunk and the file's lines have the same units, but some are spelled
// differently. A diff of the removed and the added units shows which ones stay. These are written
// as in the file. Blanks at the start of a line are not units: IndentMap carries them.
//
// If units repeat, there are several such diffs. So it is computed forwards and backwards, and both
// must result in the same lines. Blanks repeat most: outside quotes, one stays only next to a unit
// that stays. An end of a line that could be that of several new lines is written as in the edit.

namespace galley {
namespace {

using Texts = std::vector<std::string_view>;

struct Unit {
  std::string_view text;
  bool is_end = false;     ///< the blanks at the end of a line
  bool is_quoted = false;  ///< after an odd number of equal quotes in its line

  bool operator==(const Unit& other) const { return text == other.text && is_end == other.is_end; }
};
using Units = std::vector<Unit>;

bool is_blank_sign(std::string_view text) {
  const auto [kin, length] = ascii_equivalent(text);
  return length > 0 ? kin == ' '
                    : std::string_view(" \t\f\r").find(text.front()) != std::string::npos;
}

bool has_high(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
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

void append_units(std::string_view line, Units& out) {
  std::string_view text = without_terminator(line);
  const size_t begin = out.size();
  std::array<bool, 3> is_open = {};
  while (!text.empty()) {
    const size_t length = unit_length(text);
    const bool is_quoted = is_open[0] || is_open[1] || is_open[2];
    const size_t quote = std::string_view("\"'`").find(text.front());
    if (quote < is_open.size()) is_open[quote] = !is_open[quote];
    if (out.size() > begin || !is_blank_sign(text)) {
      out.push_back({text.substr(0, length), false, is_quoted});
    }
    text.remove_prefix(length);
  }
  if (out.size() > begin && is_blank_sign(out.back().text)) {
    out.back().is_end = true;
  } else {
    out.push_back({text, true, false});
  }
}

/// For each added unit, the index of the removed unit that it keeps; npos for a new unit.
std::vector<size_t> shared_units(const Units& removed, const Units& added, bool is_backwards) {
  std::map<std::pair<bool, std::string_view>, LineId> ids;
  const auto ids_of = [&](const Units& units) {
    std::vector<LineId> out;
    for (const Unit& unit : units) {
      const auto next = static_cast<LineId>(ids.size());
      out.push_back(ids.emplace(std::pair(unit.is_end, unit.text), next).first->second);
    }
    if (is_backwards) std::reverse(out.begin(), out.end());
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
  Units removed;
  Units own;
  Units added;
};

/// A unit; a run of blanks with both its neighbours. The first unit of a line is no run of blanks.
using Neighbourhood = std::array<std::string_view, 3>;
Neighbourhood neighbourhood(const Units& units, size_t at) {
  if (!is_blank_sign(units[at].text)) return {units[at].text};
  return {units[at].text, units[at - 1].text, units[at + 1].text};
}

/// True if a unit that the file spells differently is removed and added elsewhere.
bool moves_unit(const Respelling& run, const std::vector<size_t>& shared) {
  std::vector<bool> stays(run.removed.size(), false);
  std::set<Neighbourhood> fresh;
  for (size_t k = 0; k < run.added.size(); ++k) {
    if (shared[k] != std::string::npos) {
      stays[shared[k]] = true;
    } else if (!run.added[k].is_end) {
      fresh.insert(neighbourhood(run.added, k));
    }
  }
  for (size_t i = 0; i < run.removed.size(); ++i) {
    if (stays[i] || run.removed[i].is_end || run.removed[i] == run.own[i]) continue;
    if (fresh.contains(neighbourhood(run.removed, i))) return true;
  }
  return false;
}

/// Added unit `k` as the file spells it.
std::string_view spelled(const Respelling& run, const std::vector<size_t>& shared, size_t k) {
  const size_t from = shared[k];
  const Unit& unit = run.added[k];
  if (from == std::string::npos) return unit.text;
  const std::string_view own = run.own[from].text;
  const bool is_spacing = !unit.is_end && is_blank_sign(unit.text) && !has_high(own);
  if (!is_spacing || unit.is_quoted) return own;
  const bool is_held = shared[k - 1] == from - 1 || shared[k + 1] == from + 1;
  return is_held ? own : unit.text;
}

/// The blanks at the end of a new line that could be that of several removed lines, or of none;
/// nullopt if it is unclear what the file has in their place.
std::optional<std::string_view> spelled_end(const Respelling& run, const Unit& end) {
  std::optional<std::string_view> own;
  for (size_t i = 0; has_high(end.text) && i < run.removed.size(); ++i) {
    if (!(run.removed[i] == end)) continue;
    if (own && *own != run.own[i].text) return std::nullopt;
    own = run.own[i].text;
  }
  return own ? own : end.text;
}

/// The added units in the file's spelling; nullopt if it is uncertain.
std::optional<Texts> rewritten(const Respelling& run) {
  if (run.removed.size() != run.own.size()) return std::nullopt;
  const std::vector<size_t> forwards = shared_units(run.removed, run.added, false);
  const std::vector<size_t> backwards = shared_units(run.removed, run.added, true);
  if (moves_unit(run, forwards) || moves_unit(run, backwards)) return std::nullopt;
  Texts out;
  for (size_t k = 0; k < run.added.size(); ++k) {
    const Unit& unit = run.added[k];
    const bool is_new = forwards[k] == std::string::npos && backwards[k] == std::string::npos;
    std::optional<std::string_view> text = spelled(run, forwards, k);
    if (unit.is_end && (is_new || *text != spelled(run, backwards, k))) {
      text = spelled_end(run, unit);
    } else if (*text != spelled(run, backwards, k)) {
      return std::nullopt;
    }
    if (!text) return std::nullopt;
    out.push_back(*text);
  }
  return out;
}

/// `line` with `texts` from `at` in the place of its units.
std::string with_units(std::string_view line, const Units& units, const Texts& texts, size_t& at) {
  std::string out;
  for (bool is_over = false; !is_over; ++at) {
    // Only blanks at the start of the line are between units.
    const auto gap = static_cast<size_t>(units[at].text.data() - line.data());
    out += line.substr(0, gap);
    out += texts[at];
    line.remove_prefix(gap + units[at].text.size());
    is_over = units[at].is_end;
  }
  return out + std::string(line);
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
      append_units(out.lines[i].text, is_removed ? run.removed : run.added);
      if (is_removed) append_units(file[line++], run.own);
    }
    if (run.added.empty() || run.removed == run.own) continue;
    const auto texts = rewritten(run);
    if (!texts) return std::nullopt;
    for (size_t k = begin, unit = 0; k < i; ++k) {
      if (out.lines[k].role != LineRole::kAdded) continue;
      out.lines[k].text = kept.emplace_back(with_units(out.lines[k].text, run.added, *texts, unit));
    }
  }
  return out;
}

}  // namespace galley
