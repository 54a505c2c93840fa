#include "staging/placing/hunk_search.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <tuple>

#include "staging/placing/anchors.h"
#include "staging/placing/damage.h"
#include "staging/placing/doubtful_place.h"
#include "staging/placing/hunk_text.h"

// Why there are steps, and why a place found by fuzz is weighed:
//
// Each step (docs/edits.md, "Steps") treats more lines as equal than the step before. The first
// step that finds a place decides. So an exact place always wins over a similar one, and the places
// of different steps are not mixed. If one step finds several places, the caller decides. Folding
// is only for the search: the file keeps its own bytes.
//
// Fuzz is different: it ignores outer context lines, and each ignored line is lost evidence. The
// other lines may occur elsewhere by chance. So a single place is accepted only under these
// conditions:
//   (1) Every ignored telling line is explained: it moved by a few lines, or it has more or fewer
//       words now (is_explained), and the file does not have it elsewhere (points_elsewhere).
//   (2) No other place has as many of the hunk's lines (FileIndex::nearest counts them as votes).
//   (3) The file does not have any of the new lines yet. They could be added twice otherwise.
//   (4) Inserted lines still have context on both sides. Otherwise the side could be wrong.
//   (5) No ignored line is in the file as its negation (may_be_opposite).
// Otherwise the place is doubtful. If only an ignored line is unexplained, the line number can
// confirm the place (place_hunks.cc). Only telling lines count, because braces and blanks match
// anywhere.
//
// White space is ignored after fuzz, as a second opinion. All lines without regard to white space
// are better evidence than only some lines. So if both steps find different places, those with all
// lines are reported, and none is taken.

namespace galley {
namespace {

constexpr size_t kDefaultFuzz = 2;
/// Maximum distance by which inserted lines may have moved an ignored context line.
constexpr int64_t kPushed = 4;

/// Returns the number of lines of the post-image up to and with the first context line after the
/// first added lines. Returns 0 if the outer context is not followed by added lines and then
/// context.
template <typename Iterator>
size_t first_kept_context(Iterator begin, Iterator end, size_t outer_context) {
  size_t count = outer_context;
  auto at = begin + static_cast<std::ptrdiff_t>(outer_context);
  for (; at != end && at->role == LineRole::kAdded; ++at) ++count;
  if (count == outer_context || at == end || at->role != LineRole::kContext) return 0;
  return count + 1;
}

std::set<std::string_view> indents_of(const Lines& file) {
  std::set<std::string_view> out;
  for (size_t i = 0; i < file.size(); ++i) {
    if (!is_blank_text(file[i])) out.insert(indent_of(file[i]));
  }
  return out;
}

/// True if a line has the indentation of the file's line with one blank less.
bool has_blank_less(std::string_view line, std::string_view there) {
  const std::string_view from = indent_of(line);
  const std::string_view to = indent_of(there);
  return to.size() == from.size() + 1 && to.starts_with(' ') && to.substr(1) == from;
}

/// Whether lines that have one blank less than the file lost it as their sign.
enum class LostBlanks : uint8_t { kOfContext, kOfNewLinesToo, kUnclear };

/// If all old lines are context with one blank less than the file, the new lines tell: they have an
/// indentation of the file either as they are or with that blank.
LostBlanks lost_blanks(const Lines& file, const Hunk& hunk, int64_t start) {
  bool is_any = false;
  int64_t at = start;
  for (const HunkLine& part : hunk.lines) {
    if (part.role == LineRole::kAdded) continue;
    const int64_t line = at++;
    if (is_blank_text(part.text) || line < 0 || static_cast<size_t>(line) >= file.size()) continue;
    const bool is_lost = part.role == LineRole::kContext &&
                         has_blank_less(part.text, file[static_cast<size_t>(line)]);
    if (!is_lost) return LostBlanks::kOfContext;
    is_any = true;
  }
  if (!is_any) return LostBlanks::kOfContext;
  const std::set<std::string_view> indents = indents_of(file);
  bool is_as_it_is = true;
  bool is_with_blank = true;
  bool adds = false;
  for (const HunkLine& part : hunk.lines) {
    if (part.role != LineRole::kAdded || is_blank_text(part.text)) continue;
    adds = true;
    is_as_it_is = is_as_it_is && indents.contains(indent_of(part.text));
    is_with_blank = is_with_blank && indents.contains(" " + std::string(indent_of(part.text)));
  }
  if (!adds) return LostBlanks::kOfContext;
  if (is_as_it_is == is_with_blank) return LostBlanks::kUnclear;
  return is_with_blank ? LostBlanks::kOfNewLinesToo : LostBlanks::kOfContext;
}

/// True if all old lines have one blank more than the file's, and it is uncertain whether the new
/// lines have it, too. The blank may have been added only after the signs of the context lines.
bool is_doubtful_shift(const IndentMap& indent, const Hunk& hunk) {
  if (indent.describe() != "- ") return false;
  bool removes = false;
  std::set<size_t> indents;  // of the old lines, as the hunk has them
  for (const HunkLine& line : hunk.lines) {
    if (is_blank_text(line.text)) continue;
    removes = removes || line.role == LineRole::kRemoved;
    if (line.role != LineRole::kAdded) indents.insert(indent_of(line.text).size());
  }
  return !removes || std::any_of(hunk.lines.begin(), hunk.lines.end(), [&](const HunkLine& line) {
    if (line.role != LineRole::kAdded || is_blank_text(line.text)) return false;
    const size_t width = indent_of(line.text).size();
    return !line.text.starts_with(' ') || (indents.contains(width + 1) && !indents.contains(width));
  });
}

/// True if all context lines have one blank more than the file's, and the removed lines, of which
/// there are some, do not.
bool has_only_context_a_blank(const Lines& file, const Hunk& hunk, int64_t start) {
  bool removes = false;
  bool has_blank = false;
  int64_t at = start;
  for (const HunkLine& line : hunk.lines) {
    if (line.role == LineRole::kAdded) continue;
    const int64_t there = at++;
    if (is_blank_text(line.text) || there < 0 || static_cast<size_t>(there) >= file.size())
      continue;
    const std::string_view own = file[static_cast<size_t>(there)];
    const bool is_removed = line.role == LineRole::kRemoved;
    if (is_removed ? indent_of(line.text) != indent_of(own) : !has_blank_less(own, line.text))
      return false;
    (is_removed ? removes : has_blank) = true;
  }
  return removes && has_blank;
}

/// True if the old lines do not show the indentation of an inserted line: those with its
/// indentation are shifted differently, or it is deeper than all of them.
bool has_unclear_insertion(const IndentMap& indent, const Hunk& hunk) {
  if (indent.is_uniform()) return false;
  bool removes = false;
  for (size_t i = 0; i < hunk.lines.size(); ++i) {
    const HunkLine& line = hunk.lines[i];
    const bool goes_on = i > 0 && hunk.lines[i - 1].role != LineRole::kContext;
    removes = (removes && goes_on) || line.role == LineRole::kRemoved;
    if (removes || line.role != LineRole::kAdded || is_blank_text(line.text)) continue;
    if (indent.with_shift_of(line.text).is_of_the_edit(line.text)) continue;
    if (indent.is_of_the_edit(line.text) || indent.carry(line.text) != line.text) return true;
  }
  return false;
}

}  // namespace

IndentMap indent_at(const Lines& file, const Hunk& hunk, int64_t start) {
  IndentMap map;
  const LostBlanks lost = lost_blanks(file, hunk, start);
  int64_t at = start;
  for (const HunkLine& part : hunk.lines) {
    if (part.role == LineRole::kAdded) continue;
    const int64_t line = at++;
    if (line < 0 || static_cast<size_t>(line) >= file.size()) continue;
    const std::string_view there = file[static_cast<size_t>(line)];
    const bool is_lost = part.role == LineRole::kContext && has_blank_less(part.text, there);
    if (!is_lost || lost == LostBlanks::kOfNewLinesToo) map.add(part.text, there);
  }
  return map;
}

std::string_view doubt_of_shift(const Lines& file, const Hunk& hunk, int64_t start,
                                bool is_syntax) {
  if (is_syntax && lost_blanks(file, hunk, start) == LostBlanks::kUnclear) {
    return "its context has one blank less than the file, and its new lines may lack it, too";
  }
  const IndentMap indent = indent_at(file, hunk, start);
  const auto is_shifted = [&](const HunkLine& line) {
    return line.role == LineRole::kAdded &&
           indent.with_shift_of(line.text).carry(line.text) != line.text;
  };
  if (is_doubtful_shift(indent, hunk) ||
      (has_only_context_a_blank(file, hunk, start) &&
       std::any_of(hunk.lines.begin(), hunk.lines.end(), is_shifted))) {
    return "its context has one blank more than the file, and its new lines may have it, too";
  }
  if (indent.is_identity()) return {};
  const std::set<std::string_view> levels =
      is_syntax ? indents_of(file) : std::set<std::string_view>();
  bool is_of_edit = false;
  bool is_of_file = false;
  for (const HunkLine& line : hunk.lines) {
    if (line.role != LineRole::kAdded || is_blank_text(line.text)) continue;
    const std::string carried = indent.carry(line.text);
    is_of_edit = is_of_edit || indent.is_of_the_edit(line.text);
    is_of_file = is_of_file || (carried != line.text && (indent.is_of_the_file(line.text) ||
                                                         (levels.contains(indent_of(line.text)) &&
                                                          !levels.contains(indent_of(carried)))));
  }
  if (is_of_file && !is_of_edit) {
    return "its old lines have another indentation than the file, and its new lines may have that "
           "of the file";
  }
  if (has_unclear_insertion(indent, hunk)) {
    return "its old lines are not all shifted alike, and do not show how deep its new lines are";
  }
  return {};
}

bool has_lost_indents(const Lines& file, const Hunk& before, const Hunk& after) {
  if (before.lines.size() != after.lines.size()) return false;
  const std::set<std::string_view> levels = indents_of(file);
  for (size_t i = 0; i < after.lines.size(); ++i) {
    const HunkLine& line = after.lines[i];
    if (line.role != LineRole::kAdded || is_blank_text(line.text)) continue;
    if (levels.contains(indent_of(before.lines[i].text)) && !levels.contains(indent_of(line.text)))
      return true;
  }
  return false;
}

bool may_lack_blank(const Lines& file, const Hunk& hunk, int64_t start, bool is_syntax) {
  const LostBlanks lost = lost_blanks(file, hunk, start);
  return lost == LostBlanks::kOfNewLinesToo || (is_syntax && lost == LostBlanks::kUnclear);
}

HunkSearch::HunkSearch(FileIndex& index, const Hunk& hunk, const MatchOptions& options)
    : index_(index),
      hunk_(hunk),
      options_(options),
      pattern_(pre_image(hunk)),
      context_(context_counts(hunk)),
      must_end_file_(must_end_file(hunk)),
      changes_line_ends_(changes_line_ends(hunk)) {}

int64_t HunkSearch::stated() const {
  if (!hunk_.has_numbers) return -1;
  // Without old lines, the place is after the stated line.
  if (pattern_.empty()) return hunk_.old_start;
  return hunk_.old_start == 0 ? 0 : static_cast<int64_t>(hunk_.old_start) - 1;
}

bool HunkSearch::fits_ends(int64_t start) const {
  const int64_t end = start + static_cast<int64_t>(pattern_.size());
  if (must_end_file_ && end != static_cast<int64_t>(index_.lines().size())) return false;
  return true;
}

bool HunkSearch::matches_at_stated_line() const {
  const int64_t start = stated();
  if (start < 0 || !hunk_.anchors.empty()) return false;
  if (pattern_.empty()) return false;
  return fits_ends(start) && index_.matches_at(pattern_, start, LineFolding::kBytes) &&
         !is_done_at(start, LineFolding::kBytes);
}

bool HunkSearch::has_tellable_line(size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i) {
    if (is_telling_line(pattern_[i])) return true;
  }
  return false;
}

/// Removes the places that an anchor contradicts.
void HunkSearch::narrow_by_anchors(HunkPlaces& places) {
  if (hunk_.anchors.empty() || places.starts.empty()) return;
  const HunkPlaces all = places;
  std::optional<size_t> against;
  std::erase_if(places.starts, [&](int64_t start) {
    const auto anchor = anchor_against(index_, hunk_, start);
    if (anchor) against = anchor;
    return anchor.has_value();
  });
  if (!places.starts.empty() || !contradicted_.starts.empty()) return;
  contradicted_ = all;
  const auto missing = missing_anchor(index_, hunk_);
  contradicted_.anchor_against = missing ? missing : against;
}

bool HunkSearch::accepts_indent(int64_t start) const {
  if (!options_.indentation_is_syntax || options_.ignore_white_space) return true;
  return indent_at(index_.lines(), hunk_, start).is_uniform();
}

/// True if the hunk was already applied at `start`. A hunk that adds lines where it lacks context
/// would fit there again.
bool HunkSearch::is_done_at(int64_t start, LineFolding fold) const {
  const std::vector<std::string_view> after = post_image(hunk_);
  if (hunk_.minimal_context || after.size() <= pattern_.size()) return false;
  const auto ends_in_context = [](const HunkLine& line) { return line.role == LineRole::kContext; };
  if (ends_in_context(hunk_.lines.front()) && ends_in_context(hunk_.lines.back())) return false;
  const Hunk plain = with_kept_lines(hunk_);
  const ContextCounts context = context_counts(plain);
  const bool adds_last = context.trailing == 0 && context.leading > 0;
  const bool adds_first = context.leading == 0 && context.trailing > 0;
  if (!(adds_last || adds_first)) return false;
  if (!hunk_.has_numbers && !can_prove_applied(plain)) return false;
  if (context.leading + context.trailing != pattern_.size()) return false;
  const auto added = static_cast<int64_t>(after.size() - pattern_.size());
  return index_.matches_at(after, adds_last ? start : start - added, fold);
}

/// A hunk that changes line ends fits only if the file's lines end as in the hunk.
bool HunkSearch::accepts_line_ends(int64_t start, size_t drop_leading, size_t drop_trailing) const {
  if (!changes_line_ends_) return true;
  const std::vector<std::string_view> core(pattern_.begin() + static_cast<int64_t>(drop_leading),
                                           pattern_.end() - static_cast<int64_t>(drop_trailing));
  return ends_alike(index_.lines(), core, start + static_cast<int64_t>(drop_leading));
}

HunkPlaces HunkSearch::full(LineFolding fold, MatchStep step) {
  HunkPlaces places;
  places.fold = fold;
  places.step = step;
  std::vector<uint32_t> starts;
  if (must_end_file_) {
    const auto last = static_cast<int64_t>(index_.lines().size() - pattern_.size());
    if (pattern_.size() <= index_.lines().size() && index_.matches_at(pattern_, last, fold)) {
      starts.push_back(static_cast<uint32_t>(last));
    }
  } else {
    starts = index_.find(pattern_, fold, kMaxPlaces);
  }
  if (fold != LineFolding::kBytes) {
    std::erase_if(starts, [&](uint32_t start) { return !accepts_line_ends(start, 0, 0); });
  }
  if (fold == LineFolding::kBlanks || fold == LineFolding::kTypography) {
    if (!has_tellable_line(0, pattern_.size())) starts.clear();
    std::erase_if(starts, [&](uint32_t start) { return !accepts_indent(start); });
  }
  places.is_cut = starts.size() >= kMaxPlaces;
  const size_t done =
      std::erase_if(starts, [&](uint32_t start) { return is_done_at(start, fold); });
  // The hunk may have been applied already. Then the other place is not meant.
  places.is_doubtful =
      done > 0 && std::find(starts.begin(), starts.end(), stated()) == starts.end();
  for (const uint32_t start : starts) {
    if (fold < LineFolding::kBlanks || !places.doubt.empty()) break;
    places.doubt = doubt_of_shift(index_.lines(), hunk_, start, options_.indentation_is_syntax);
  }
  places.starts.assign(starts.begin(), starts.end());
  narrow_by_anchors(places);
  return places;
}

/// True if an ignored context line is not a telling line, was moved by inserted lines, or is still
/// there with words added or removed. Otherwise the place may only look similar, unless the line
/// number confirms it.
bool HunkSearch::is_explained(size_t pattern_line, int64_t file_line) const {
  const Lines& lines = index_.lines();
  const std::string_view wanted = without_terminator(pattern_[pattern_line]);
  if (!is_telling_line(wanted)) return true;
  const auto size = static_cast<int64_t>(lines.size());
  for (int64_t line = std::max<int64_t>(file_line - kPushed, 0);
       line < std::min(file_line + kPushed + 1, size); ++line) {
    if (without_terminator(lines[static_cast<size_t>(line)]) == wanted) return true;
  }
  if (file_line < 0 || file_line >= size) return false;
  const auto words = words_of(wanted);
  const auto found = words_of(lines[static_cast<size_t>(file_line)]);
  if (found.empty()) return false;
  return holds_all(found, words) || holds_all(words, found);
}

/// The maximum number of context lines that may be ignored at one side.
size_t HunkSearch::max_fuzz() const {
  const size_t widest = std::max(context_.leading, context_.trailing);
  if (!options_.min_context) return std::min(kDefaultFuzz, widest);
  return widest > *options_.min_context ? widest - *options_.min_context : 0;
}

/// Adds the places of the hunk without its first `lead` and last `trail` context lines to `places`
/// and `starts`.
void HunkSearch::find_reduced(size_t lead, size_t trail, HunkPlaces& places,
                              std::set<int64_t>& starts) {
  const size_t end = pattern_.size() - trail;
  if (lead >= end || !has_tellable_line(lead, end)) return;
  const std::vector<std::string_view> core(pattern_.begin() + static_cast<int64_t>(lead),
                                           pattern_.begin() + static_cast<int64_t>(end));
  const std::vector<uint32_t> found_at = index_.find(core, LineFolding::kLineEnds, kMaxPlaces);
  places.is_cut = places.is_cut || found_at.size() >= kMaxPlaces;
  for (const uint32_t found : found_at) {
    const int64_t start = static_cast<int64_t>(found) - static_cast<int64_t>(lead);
    if (start < 0 || (trail == 0 && !fits_ends(start))) continue;
    const int64_t end_of_hunk = start + static_cast<int64_t>(pattern_.size());
    if (start != stated() && leaves_end_of_file(index_.lines(), hunk_, end_of_hunk)) continue;
    if (!accepts_line_ends(start, lead, trail)) continue;
    if (anchor_against(index_, hunk_, start)) continue;
    if (!starts.insert(start).second) continue;
    places.drops[start] = {lead, trail};
    places.drop_leading = lead;
    places.drop_trailing = trail;
  }
}

HunkPlaces HunkSearch::fuzzy() {
  HunkPlaces places;
  places.step = MatchStep::kFuzz;
  places.fold = LineFolding::kLineEnds;
  const bool is_all_context = context_.leading == hunk_.lines.size();
  if (is_all_context) return places;
  for (size_t fuzz = 1; fuzz <= max_fuzz() && places.starts.empty(); ++fuzz) {
    std::set<int64_t> starts;
    for (size_t lead = 0; lead <= std::min(fuzz, context_.leading); ++lead) {
      for (size_t trail = 0; trail <= std::min(fuzz, context_.trailing); ++trail) {
        if (std::max(lead, trail) == fuzz) find_reduced(lead, trail, places, starts);
      }
    }
    places.fuzz = starts.empty() ? 0 : static_cast<uint32_t>(fuzz);
    places.starts.assign(starts.begin(), starts.end());
  }
  // With -C the caller accepts less context. Then only a second place is a reason to refuse.
  if (places.starts.size() == 1 && !options_.min_context) weigh_fuzz(places, places.starts.front());
  return places;
}

void HunkSearch::weigh_fuzz(HunkPlaces& places, int64_t start) {
  std::tie(places.drop_leading, places.drop_trailing) = places.drops.at(start);
  if (options_.min_context) return;
  // If the context on one side was ignored, new lines at that side could belong before or after
  // lines that the file has there now.
  const bool lost_a_side =
      (places.drop_leading > 0 && places.drop_leading == context_.leading &&
       first_kept_context(hunk_.lines.begin(), hunk_.lines.end(), context_.leading) > 0) ||
      (places.drop_trailing > 0 && places.drop_trailing == context_.trailing &&
       first_kept_context(hunk_.lines.rbegin(), hunk_.lines.rend(), context_.trailing) > 0);
  bool is_damaged = false;  // then the new lines may be, too
  bool is_opposite = false;
  for (size_t i = 0; i < pattern_.size(); ++i) {
    const bool is_left_out = i < places.drop_leading || i >= pattern_.size() - places.drop_trailing;
    const auto line = static_cast<size_t>(start) + i;
    if (!is_left_out) continue;
    places.is_unexplained = places.is_unexplained || !is_explained(i, static_cast<int64_t>(line));
    if (line >= index_.lines().size()) continue;
    is_damaged = is_damaged || is_damaged_copy(pattern_[i], index_.lines()[line]);
    is_opposite = is_opposite || may_be_opposite(pattern_[i], index_.lines()[line]);
  }
  const int64_t end = start + static_cast<int64_t>(pattern_.size());
  places.is_unexplained =
      places.is_unexplained ||
      points_elsewhere(index_, hunk_, start + static_cast<int64_t>(places.drop_leading),
                       end - static_cast<int64_t>(places.drop_trailing),
                       start + static_cast<int64_t>(context_.leading));
  const auto nearest = index_.nearest(pattern_, LineFolding::kLineEnds, start);
  const uint32_t rival = std::max(nearest.rival_votes, nearest.torn_rival_votes);
  // The line number decides between places that have as many of the lines.
  const uint32_t equal = start == stated() ? nearest.rival_votes : rival;
  const bool is_best = nearest.votes == 0 || (nearest.start == start && equal < nearest.votes);
  const bool is_far_best = nearest.start == start && rival + 1 < nearest.votes;
  std::vector<int64_t> lines(pattern_.size());
  std::iota(lines.begin(), lines.end(), start);
  places.is_doubtful = lost_a_side || !is_best || is_damaged || is_opposite ||
                       leaves_a_block(index_, hunk_, lines) ||
                       is_of_other_block(index_, hunk_, lines) ||
                       adds_what_is_there(places, start) || (places.is_unexplained && !is_far_best);
}

/// True if a part of the change is already at the place, which explains the missing context. Either
/// the file has a telling line that the hunk adds, or the added lines next to ignored context.
bool HunkSearch::adds_what_is_there(const HunkPlaces& places, int64_t start) const {
  const Lines& lines = index_.lines();
  const int64_t begin = std::max<int64_t>(start - kPushed, 0);
  const int64_t end = std::min(start + static_cast<int64_t>(pattern_.size()) + kPushed,
                               static_cast<int64_t>(lines.size()));
  for (const HunkLine& line : hunk_.lines) {
    if (line.role != LineRole::kAdded || !is_telling_line(line.text)) continue;
    const std::string_view added = without_terminator(line.text);
    const auto is_it = [&](std::string_view other) { return without_terminator(other) == added; };
    if (std::any_of(pattern_.begin(), pattern_.end(), is_it)) continue;
    for (int64_t at = begin; at < end; ++at) {
      if (is_it(lines[static_cast<size_t>(at)])) return true;
    }
  }
  const auto stands_near = [&](const std::vector<std::string_view>& run) {
    for (int64_t at = begin; at < end; ++at) {
      if (index_.matches_at(run, at, LineFolding::kLineEnds)) return true;
    }
    return false;
  };
  const std::vector<std::string_view> after = post_image(hunk_);
  const auto head = static_cast<int64_t>(
      first_kept_context(hunk_.lines.begin(), hunk_.lines.end(), context_.leading));
  const auto tail = static_cast<int64_t>(
      first_kept_context(hunk_.lines.rbegin(), hunk_.lines.rend(), context_.trailing));
  return (places.drop_leading > 0 && places.drop_leading == context_.leading && head > 0 &&
          stands_near({after.begin(), after.begin() + head})) ||
         (places.drop_trailing > 0 && places.drop_trailing == context_.trailing && tail > 0 &&
          stands_near({after.end() - tail, after.end()}));
}

/// Places a hunk without old lines: in an empty file, at the end, or where the numbers of a -U0
/// diff say.
HunkPlaces HunkSearch::without_pattern() const {
  HunkPlaces places;
  const auto size = static_cast<int64_t>(index_.lines().size());
  if (size == 0) {
    places.starts = {0};
  } else if (hunk_.at_end) {
    places.starts = {size};
  } else if (hunk_.has_numbers && hunk_.minimal_context && stated() <= size) {
    places.starts = {stated()};
  }
  return places;
}

HunkPlaces HunkSearch::find() {
  HunkPlaces places = find_by_steps();
  if (!places.starts.empty() || contradicted_.starts.empty()) return places;
  return already_there(index_, hunk_, stated()) >= 0 ? places : contradicted_;
}

HunkPlaces HunkSearch::find_by_steps() {
  if (pattern_.empty()) return without_pattern();
  HunkPlaces places = full(LineFolding::kBytes, MatchStep::kOffset);
  const int64_t at = stated();
  const bool is_at_stated = places.starts.size() == 1 && (at < 0 || places.starts.front() == at);
  if (is_at_stated || (places.starts.size() > 1 && at < 0)) places.step = MatchStep::kExact;
  if (!places.starts.empty()) {
    places.rival = rival_near_stated_line(places);
    return places;
  }
  if (options_.last_step >= MatchStep::kLineEnds) {
    places = full(LineFolding::kLineEnds, MatchStep::kLineEnds);
    if (!places.starts.empty()) return places;
  }
  if (options_.last_step >= MatchStep::kFuzz) {
    // With less context, a change that was already applied could be applied again.
    if (already_there(index_, hunk_, at) >= 0) return {};
    if (!changes_to_what_is_there()) places = fuzzy();
  }
  HunkPlaces later = folded_steps();
  if (places.starts.empty()) return later;
  if (later.starts.empty()) return places;
  const auto has = [](const HunkPlaces& all, int64_t start) {
    return std::binary_search(all.starts.begin(), all.starts.end(), start);
  };
  const bool is_sure = places.starts.size() == 1 && !places.is_doubtful;
  if (is_sure && has(later, places.starts.front())) return places;
  // All lines without regard to white space are better evidence than some lines. Both must not
  // disagree.
  if (later.starts.size() == 1 && !has(places, later.starts.front())) later.is_doubtful = true;
  return later;
}

/// The place next to the stated line that has the old lines except for white space, if no exact
/// place is as near. Then the number contradicts the bytes.
std::optional<int64_t> HunkSearch::rival_near_stated_line(const HunkPlaces& exact) {
  constexpr int64_t kNear = 3;
  if (stated() < 0 || exact.is_cut || !hunk_.anchors.empty()) return {};
  if (options_.last_step < MatchStep::kWhiteSpace || !has_tellable_line(0, pattern_.size()))
    return {};
  for (int64_t distance = 0; distance <= kNear; ++distance) {
    for (const int64_t at : {stated() - distance, stated() + distance}) {
      if (at < 0) continue;
      if (std::binary_search(exact.starts.begin(), exact.starts.end(), at)) return {};
      if (fits_ends(at) && index_.matches_at(pattern_, at, LineFolding::kBlanks) &&
          accepts_indent(at) && !is_done_at(at, LineFolding::kBlanks)) {
        return at;
      }
    }
  }
  return {};
}

HunkPlaces HunkSearch::folded_steps() {
  HunkPlaces places;
  if (options_.last_step >= MatchStep::kWhiteSpace) {
    places = full(LineFolding::kBlanks, MatchStep::kWhiteSpace);
    if (!places.starts.empty()) return places;
  }
  if (options_.last_step >= MatchStep::kUnicode) {
    places = full(LineFolding::kTypography, MatchStep::kUnicode);
  }
  return places;
}

bool HunkSearch::changes_to_what_is_there() {
  return context_.leading < hunk_.lines.size() && new_lines_at(index_, hunk_) >= 0;
}

}  // namespace galley
