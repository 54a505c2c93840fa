#include "staging/placing/mend.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/read_edits.h"
#include "staging/placing/anchors.h"
#include "staging/placing/correction.h"
#include "staging/placing/damage.h"
#include "staging/placing/doubtful_place.h"
#include "staging/placing/hunk_search.h"
#include "staging/placing/hunk_text.h"

// Why a hunk with mistakes may be accepted:
//
// A model writes a diff from memory. It is careful with the lines to remove and to add, but makes
// mistakes in counts, numbers, blank lines and context. So a hunk that does not fit is read again,
// each time without one kind of mistake. The result decides: exactly the removed and added lines of
// the hunk must change, and no other place may be similar.
//
//   1. The lines without a mistake that affects all of them: line numbers, HTML, signs.
//   2. The same without blank lines, which are most often missing or added.
//   3. The parts between "..." separately, in order.
//   4. A hunk that joins several hunks, split at its own context.
//   5. Line by line, if some context lines are different.
//   6. The changes alone, each at the place of its removed lines and their context (correction.h).
//
// Wrong lines are used only for the search. The file's own lines are removed, and the new lines of
// the hunk are added. If the new lines may be damaged, too, the hunk is not accepted.

namespace galley {
namespace {

constexpr size_t kMostElisions = 20;
constexpr size_t kMostLines = 5000;

}  // namespace

/// Reads the hunks of one file in different ways.
class HunkMender::Work {
 public:
  Work(FileIndex& index, const MatchOptions& options)
      : index_(index), file_(index.lines()), options_(options) {
    options_.choices.clear();
  }

  /// One line that the file has only without entities shows that all entities stand for characters.
  std::optional<bool> are_escaped(const std::vector<Hunk>& hunks) {
    bool is_open = false;
    for (const Hunk& hunk : hunks) {
      for (const HunkLine& line : hunk.lines) {
        if (line.role == LineRole::kAdded || line.text.find('&') == std::string_view::npos)
          continue;
        const std::string text = without_entities(line.text);
        if (text == line.text) continue;
        if (!index_.lines_like(line.text, LineFolding::kBlanks).empty()) return false;
        if (!index_.lines_like(text, LineFolding::kBlanks).empty()) return true;
        is_open = true;
      }
    }
    return is_open ? std::nullopt : std::optional(false);
  }

  std::optional<MendedHunk> unescaped(const Hunk& hunk) {
    MendedHunk out{hunk, {}, {}};
    bool is_any = false;
    for (HunkLine& line : out.hunk.lines) {
      std::string text = without_entities(line.text);
      if (text == line.text) continue;
      is_any = true;
      line.text = keep(std::move(text));
    }
    if (!is_any) return std::nullopt;
    out.leniencies.push_back({"escaped_markup",
                              "'<', '>' and '&' are escaped as in HTML; they were read as signs",
                              "", 0});
    return out;
  }

  std::optional<MendedHunk> mend(const Hunk& hunk, bool only_exact) {
    if (hunk.lines.size() > kMostLines) return std::nullopt;
    const std::vector<Reading> readings =
        readings_of_hunk(has_removed_lines(hunk) ? with_kept_lines(hunk) : hunk);
    for (const Attempt& attempt : kAttempts) {
      for (const Reading& reading : readings) {
        // If blanks were added or removed, the indentation must be that of the file.
        options_.last_step = reading.is_shifted || only_exact || options_.is_strict("white_space")
                                 ? MatchStep::kLineEnds
                                 : MatchStep::kMended;
        if (only_exact && reading.rule.empty()) continue;
        auto found = (this->*attempt.find)(reading.hunk);
        // The numbers that were pasted with the lines may be off by one.
        if (found && attempt.rule.empty() && !hunk.has_numbers && reading.hunk.has_numbers) {
          found->old_start = static_cast<uint32_t>(places_of(*found).starts.front() + 1);
        }
        if (!found || may_mean_an_equal_line(file_, *found, reading.hunk)) continue;
        if (reading.is_shifted && options_.indentation_is_syntax &&
            has_lost_indents(file_, hunk, reading.hunk)) {
          continue;
        }
        if (reading.rule == kBareContext &&
            (fits_with_a_blank_less(hunk) || lacks_a_blank(hunk, *found))) {
          continue;
        }
        if (is_elsewhere(*found, hunk) || is_elsewhere(*found, reading.hunk)) continue;
        if (!hunk.has_numbers && contradicts_number(*found, reading.hunk)) continue;
        MendedHunk out{*std::move(found), {}, pre_image(reading.hunk), attempt.rule.empty()};
        for (const auto& [rule, message] :
             {std::pair(reading.rule, reading.message), std::pair(attempt.rule, attempt.message)}) {
          if (!rule.empty()) {
            out.leniencies.push_back({std::string(rule), std::string(message), "", 0});
          }
        }
        return out;
      }
      if (only_exact) break;
    }
    return std::nullopt;
  }

 private:
  static constexpr const char* kBareContext = "bare_context";

  struct Reading {
    std::string_view rule;
    std::string_view message;
    Hunk hunk;
    bool is_shifted = false;  ///< its lines must have the indentation of the file
  };

  /// True if the line number does not confirm the place where the hunk was found, and either the
  /// hunk must end at the end of the file and does not, or a context line of it, as it was written
  /// or read, is not around the place.
  bool is_elsewhere(const Hunk& found, const Hunk& hunk) {
    const HunkPlaces places = places_of(found);
    if (places.starts.empty()) return false;
    const int64_t start = places.starts.front();
    const auto count = static_cast<int64_t>(pre_image(found).size());
    const int64_t change = start + static_cast<int64_t>(context_counts(found).leading);
    const auto leading = static_cast<int64_t>(context_counts(hunk).leading);
    const bool is_stated = hunk.has_numbers && hunk.counts_agree &&
                           change == static_cast<int64_t>(hunk.old_start) - 1 + leading;
    return !is_stated && (leaves_end_of_file(file_, hunk, start + count) ||
                          points_elsewhere(index_, hunk, start, start + count, change));
  }

  /// True if the number that was read with the lines is that of another place. It may be off by
  /// one, because a listing may count from 0. As in a text to replace, many telling lines prove the
  /// place without it.
  bool contradicts_number(const Hunk& found, const Hunk& reading) {
    if (!reading.has_numbers) return false;
    const std::vector<int64_t> starts = places_of(found).starts;
    const auto stated = static_cast<int64_t>(reading.old_start) - 1;
    if (starts.empty() || std::abs(starts.front() - stated) <= 1) return false;
    const auto old_lines = pre_image(reading);
    return std::count_if(old_lines.begin(), old_lines.end(), is_telling_line) <
           static_cast<int64_t>(kNumberOutweighed);
  }

  /// A way to find the hunk, and its name in the report.
  struct Attempt {
    std::optional<Hunk> (Work::*find)(const Hunk& hunk);
    std::string_view rule;
    std::string_view message;
  };
  static const std::array<Attempt, 6> kAttempts;

  std::optional<Hunk> as_it_is(const Hunk& hunk) {
    return places_of(hunk).starts.size() == 1 ? std::optional(hunk) : std::nullopt;
  }

  /// True if the file has all lines that the hunk removes.
  bool has_removed_lines(const Hunk& hunk) {
    return std::all_of(hunk.lines.begin(), hunk.lines.end(), [&](const HunkLine& line) {
      return line.role != LineRole::kRemoved ||
             !index_.lines_like(line.text, LineFolding::kBlanks).empty();
    });
  }

  std::string_view keep(std::string text) { return kept_.emplace_back(std::move(text)); }

  HunkPlaces places_of(const Hunk& hunk) {
    HunkPlaces places = HunkSearch(index_, hunk, options_).find();
    const bool is_sure = places.starts.size() == 1 && !places.is_doubtful && places.doubt.empty() &&
                         !places.is_unexplained && !places.anchor_against && places.fuzz == 0 &&
                         places.fold != LineFolding::kTypography;
    return is_sure ? places : HunkPlaces();
  }

  // --- mistakes that affect all lines ------------------------------------------------------------

  std::vector<Reading> readings_of_hunk(const Hunk& hunk) {
    std::vector<Reading> out;
    // A mistake that explains all blanks is better evidence than lines that differ in blanks.
    out.push_back({"", "", hunk, true});
    const auto add = [&](const char* rule, const char* message, std::optional<Hunk> made,
                         bool is_shifted = true) {
      if (made) out.push_back({rule, message, *std::move(made), is_shifted});
    };
    add(kBareContext, "context lines without their leading blank were taken as they are",
        with_bare_context(hunk));
    for (const std::string_view separator : kNumberSeparators) {
      add("numbered_lines", "the lines have line numbers before them; they were read without",
          without_numbers(hunk, separator));
    }
    add("numbered_lines", "the lines have line numbers before their signs; they were read without",
        with_signs_behind_numbers(hunk));
    add("sign_blank", "a blank follows the sign of each line; it was taken off",
        without_sign_blank(hunk, true));
    add("sign_blank", "a blank follows the sign of changed lines; it was taken off",
        without_sign_blank(hunk, false));
    add("sign_blank", "the context lines have a blank more than the changed ones; it was taken off",
        without_context_blank(hunk));
    if (out.size() == 1) out.clear();
    out.push_back({"", "", hunk});
    add("lost_markup", "context lines have lost '<', '>' or '&'; they were found without",
        with_markup(hunk), false);
    return out;
  }

  /// Takes the blank before a context line as a part of the line. Its sign may be missing, as in
  /// other context lines.
  std::optional<Hunk> with_bare_context(const Hunk& hunk) {
    Hunk out = hunk;
    bool is_any = false;
    for (HunkLine& line : out.lines) {
      if (line.role != LineRole::kContext || is_blank_text(line.text)) continue;
      // Lines that were read without a sign stay as they are. The byte before the text shows the
      // sign, because the text is a view of the document.
      if (hunk.has_bare_context && *(line.text.data() - 1) != ' ') continue;
      line.text = keep(" " + std::string(line.text));
      is_any = is_any || !index_.lines_like(line.text, LineFolding::kLineEnds).empty();
    }
    return is_any ? std::optional(std::move(out)) : std::nullopt;
  }

  /// True if the file has the old lines of the hunk with a blank taken off: off the context lines,
  /// or off the removed lines also. Then nothing tells whether a blank is missing or is too many.
  bool fits_with_a_blank_less(const Hunk& hunk) {
    options_.last_step = MatchStep::kLineEnds;
    for (const bool everywhere : {false, true}) {
      Hunk less = hunk;
      bool is_any = false;
      bool has_blanks = true;
      for (HunkLine& line : less.lines) {
        if (line.role != LineRole::kContext && !everywhere) continue;
        const bool has_blank = line.text.starts_with(' ');
        if (has_blank) line.text.remove_prefix(1);
        has_blanks = has_blanks && (has_blank || is_blank_text(line.text));
        is_any = is_any || (has_blank && line.role != LineRole::kAdded);
      }
      if (is_any && has_blanks && !HunkSearch(index_, less, options_).find().starts.empty())
        return true;
    }
    return false;
  }

  /// True if new lines may have one blank less than the file, as the context has.
  bool lacks_a_blank(const Hunk& hunk, const Hunk& found) {
    const std::vector<int64_t> starts = places_of(found).starts;
    return !starts.empty() &&
           may_lack_blank(file_, hunk, starts.front(), options_.indentation_is_syntax);
  }

  /// Reads lines that have a number, one blank or a separator, and then their sign.
  static std::optional<Hunk> with_signs_behind_numbers(const Hunk& hunk) {
    Hunk out = hunk;
    uint64_t last = 0;
    for (HunkLine& line : out.lines) {
      uint64_t number = 0;
      size_t end = number_length(line.text, number);
      if (end == 0) {
        end = line.text.find_first_not_of("0123456789", line.text.find_first_of("0123456789"));
        const std::string digits(trimmed(line.text.substr(0, std::min(end, line.text.size()))));
        const bool is_number = end < line.text.size() && line.text[end] == ' ' &&
                               number_length(digits, number) == digits.size();
        if (!is_number) return std::nullopt;
        ++end;
      }
      if (line.role != LineRole::kContext || number < last) return std::nullopt;
      if (last == 0 && number < UINT32_MAX && !hunk.has_numbers) {
        out.has_numbers = true;
        out.old_start = static_cast<uint32_t>(number);
      }
      last = number;
      line.text.remove_prefix(std::min(end, without_terminator(line.text).size()));
      if (is_blank_text(line.text)) {
        line.text.remove_prefix(without_terminator(line.text).size());
        continue;
      }
      const char sign = line.text.front();
      if (sign != ' ' && sign != '+' && sign != '-') return std::nullopt;
      if (sign != ' ') line.role = sign == '+' ? LineRole::kAdded : LineRole::kRemoved;
      line.text.remove_prefix(1);
    }
    return has_change(out) ? std::optional(std::move(out)) : std::nullopt;
  }

  /// Removes a blank after the signs: of all lines, or only of changed lines. Perhaps only the old
  /// lines have such a blank. So no new line may have the indentation of an old line with the blank
  /// taken off already. If the hunk removes nothing, a new line must have the indentation of some
  /// context line.
  static std::optional<Hunk> without_sign_blank(const Hunk& hunk, bool everywhere) {
    Hunk out = hunk;
    size_t count = 0;
    bool removes = false;
    std::set<size_t> indents;  // of the old lines, without the blank
    for (HunkLine& line : out.lines) {
      removes = removes || (line.role == LineRole::kRemoved && !is_blank_text(line.text));
      if (!everywhere && line.role == LineRole::kContext) continue;
      if (!line.text.starts_with(' ')) {
        if (is_blank_text(line.text)) continue;
        return std::nullopt;
      }
      line.text.remove_prefix(1);
      if (line.role != LineRole::kAdded && !is_blank_text(line.text)) {
        indents.insert(indent_of(line.text).size());
      }
      ++count;
    }
    bool is_told = removes;
    for (const HunkLine& line : out.lines) {
      if (line.role != LineRole::kAdded || is_blank_text(line.text)) continue;
      const size_t indent = indent_of(line.text).size();
      const bool is_known = removes && indents.contains(indent);
      if (indents.contains(indent + 1) && !is_known) return std::nullopt;
      is_told = is_told || indents.contains(indent);
    }
    return count > 0 && is_told ? std::optional(std::move(out)) : std::nullopt;
  }

  /// Removes one blank from each context line, if only context lines have it. A removed line, which
  /// must equal a line of the file, or an added line without a leading blank proves that.
  static std::optional<Hunk> without_context_blank(const Hunk& hunk) {
    Hunk out = hunk;
    bool is_any = false;
    bool is_told = false;
    for (HunkLine& line : out.lines) {
      if (is_blank_text(line.text)) {
        if (line.role == LineRole::kContext && line.text.starts_with(' '))
          line.text.remove_prefix(1);
        continue;
      }
      if (line.role != LineRole::kContext) {
        is_told = is_told || line.role == LineRole::kRemoved || !line.text.starts_with(' ');
        continue;
      }
      if (!line.text.starts_with(' ')) return std::nullopt;
      line.text.remove_prefix(1);
      is_any = true;
    }
    return is_any && is_told ? std::optional(std::move(out)) : std::nullopt;
  }

  /// Repairs context lines that lack characters which HTML removes. In removed and added lines they
  /// cannot be repaired: without such a character, a line may be another line.
  std::optional<Hunk> with_markup(const Hunk& hunk) {
    Hunk out = hunk;
    bool is_any = false;
    for (HunkLine& line : out.lines) {
      const std::string_view text = trimmed(without_terminator(line.text));
      const bool is_damaged_include = text.starts_with("#include") &&
                                      text.find('<') == std::string_view::npos &&
                                      text.find('"') == std::string_view::npos && text.size() > 9;
      if (line.role == LineRole::kAdded) {
        if (is_damaged_include) return std::nullopt;
        continue;
      }
      if (!is_telling_line(text) || !index_.lines_like(text, LineFolding::kBlanks).empty())
        continue;
      const auto found = line_with_markup(text);
      if (found.empty()) continue;
      if (line.role == LineRole::kRemoved) return std::nullopt;
      // The indentation stays that of the hunk, which shows how far it is shifted.
      line.text = keep(std::string(indent_of(line.text)) + std::string(trimmed(found)) +
                       std::string(terminator_of(line.text)));
      is_any = true;
    }
    return is_any ? std::optional(std::move(out)) : std::nullopt;
  }

  /// The line of the file that equals `text` with additional signs; empty if there is none, or if
  /// there are different ones.
  std::string_view line_with_markup(std::string_view text) {
    const Markup wanted = markup_of(text);
    const FileIndex::LinesByRest& lines = index_.lines_with_markup();
    const auto found = lines.find(wanted.rest);
    if (found == lines.end()) return {};
    std::string_view out;
    for (const std::string_view line : found->second) {
      const Markup markup = markup_of(line);
      if (markup.signs.size() == wanted.signs.size()) continue;
      if (!is_subsequence(wanted.signs, markup.signs)) continue;
      if (!out.empty() && trimmed(out) != trimmed(line)) return {};
      out = line;
    }
    return out;
  }

  // --- a matching line of the file for each old line ---------------------------------------------

  /// Returns the hunk with the file's lines, if possible. `partner` has the file's line for each
  /// old line, or -1 for a blank context line that the file does not have.
  /// `firsts` are the first lines of parts behind an elision that show their place by themselves.
  std::optional<Hunk> with_lines_of_file(const Hunk& hunk, const std::vector<int64_t>& partner,
                                         const std::vector<size_t>& firsts = {}) {
    const auto first =
        std::find_if(partner.begin(), partner.end(), [](int64_t p) { return p >= 0; });
    if (first == partner.end() || leaves_a_block(index_, hunk, partner, firsts)) {
      return std::nullopt;
    }
    Hunk out;
    out.document_line = hunk.document_line;
    out.has_numbers = true;
    out.old_start = out.new_start = static_cast<uint32_t>(*first + 1);
    int64_t at = *first;
    size_t old = 0;
    const auto indent = indent_of_partners(hunk, partner);
    if (!indent || !tells_blank_lines(file_, hunk, partner)) return std::nullopt;
    const auto own =
        with_own_characters(Lines(partner_lines(file_, hunk, partner)), hunk, 0, kept_);
    if (!own) return std::nullopt;
    for (size_t i = 0; i < hunk.lines.size(); ++i) {
      const HunkLine& line = hunk.lines[i];
      if (line.role == LineRole::kAdded) {
        const bool is_last = at == static_cast<int64_t>(file_.size());
        if (is_last && !file_.ends_with_newline()) return std::nullopt;
        const size_t like = static_cast<size_t>(at > *first ? at - 1 : at);
        const std::string_view added = without_terminator(own->lines[i].text);
        std::string text =
            (indent->is_uniform() ? *indent : indent->with_shift_of(added)).carry(added);
        text += line_end_near(file_.text(), file_.offset(std::min(like, file_.size())));
        out.lines.push_back({LineRole::kAdded, keep(std::move(text))});
        continue;
      }
      const int64_t to = partner[old++];
      if (to < 0) {
        if (line.role == LineRole::kRemoved) return std::nullopt;
        continue;
      }
      if (to < at) return std::nullopt;
      if (line.role == LineRole::kRemoved && has_equal_line_close(file_, line.text, to))
        return std::nullopt;
      if (to > at && replaces_across(hunk, i)) return std::nullopt;
      while (at < to) put(LineRole::kContext, at++, out);
      put(line.role, at++, out);
    }
    return out;
  }

  /// How the indentation of the lines is shifted. Returns nothing if that is not certain for all
  /// new lines.
  [[nodiscard]] std::optional<IndentMap> indent_of_partners(
      const Hunk& hunk, const std::vector<int64_t>& partner) const {
    Hunk found;
    std::string lines;
    size_t old = 0;
    for (const HunkLine& line : hunk.lines) {
      if (line.role == LineRole::kAdded) {
        found.lines.push_back(line);
        continue;
      }
      const int64_t to = partner[old++];
      std::string one;
      std::string other;
      if (to < 0 || folded(line.text, LineFolding::kBlanks, one) !=
                        folded(file_[static_cast<size_t>(to)], LineFolding::kBlanks, other)) {
        continue;
      }
      found.lines.push_back(line);
      lines += file_[static_cast<size_t>(to)];
      if (!lines.ends_with('\n')) lines += '\n';
    }
    const bool is_syntax = options_.indentation_is_syntax && !options_.ignore_white_space;
    IndentMap indent = indent_at(Lines(lines), found, 0);
    if (!doubt_of_shift(Lines(lines), found, 0, is_syntax).empty()) return std::nullopt;
    const auto is_certain = [&](const HunkLine& line) {
      return line.role != LineRole::kAdded || is_blank_text(line.text) || indent.keeps(line.text);
    };
    if (is_syntax && !indent.is_uniform() &&
        !std::all_of(hunk.lines.begin(), hunk.lines.end(), is_certain)) {
      return std::nullopt;
    }
    return indent;
  }

  void put(LineRole role, int64_t line, Hunk& out) const {
    out.lines.push_back({role, file_[static_cast<size_t>(line)]});
  }

  /// How much a removed line may differ from the file's line. Blanks may differ, unless the
  /// indentation has meaning or an exact match is required.
  [[nodiscard]] LineFolding coarsest() const {
    const bool is_exact = options_.last_step == MatchStep::kLineEnds ||
                          (options_.indentation_is_syntax && !options_.ignore_white_space);
    return is_exact ? LineFolding::kLineEnds : LineFolding::kBlanks;
  }

  /// The file's line for each old line, if all old lines match at one place when blank lines are
  /// ignored.
  std::vector<int64_t> partners_without_blank_lines(const Hunk& hunk) {
    std::vector<std::string_view> pattern;
    bool tells = false;
    for (const HunkLine& line : hunk.lines) {
      if (line.role == LineRole::kAdded || is_blank_text(line.text)) continue;
      pattern.push_back(line.text);
      tells = tells || is_telling_line(line.text);
    }
    if (!tells) return {};
    const FileIndex::Squeezed squeezed = index_.squeezed();
    std::vector<uint32_t> starts = squeezed.index.find(pattern, LineFolding::kLineEnds, 2);
    if (starts.empty()) starts = squeezed.index.find(pattern, coarsest(), 2);
    if (starts.size() != 1) return {};
    // A place with nearly the same lines may be the intended one, whose lines have changed since.
    const auto near = squeezed.index.nearest(pattern, LineFolding::kBlanks, starts.front());
    if (2 * std::max(near.rival_votes, near.torn_rival_votes) + 1 > near.votes) return {};
    std::vector<int64_t> out;
    size_t at = starts.front();
    int64_t last = -1;
    for (const HunkLine& line : hunk.lines) {
      if (line.role == LineRole::kAdded) continue;
      if (!is_blank_text(line.text)) {
        last = squeezed.lines[at++];
        out.push_back(last);
        continue;
      }
      const bool is_there = last >= 0 && last + 1 < static_cast<int64_t>(file_.size()) &&
                            is_blank_text(file_[static_cast<size_t>(last + 1)]);
      if (is_there) ++last;
      out.push_back(is_there ? last : -1);
    }
    return out;
  }

  static bool has_change(const Hunk& hunk) {
    return std::any_of(hunk.lines.begin(), hunk.lines.end(),
                       [](const HunkLine& line) { return line.role != LineRole::kContext; });
  }

  /// Whether a found line precedes the first new lines. With `at_end`, also whether the last new
  /// lines are followed by a found line, or replace a line.
  static bool says_where(const Hunk& hunk, const std::vector<int64_t>& partner, bool at_end) {
    bool is_found = false;
    bool adds = false;
    size_t old = 0;
    for (const HunkLine& line : hunk.lines) {
      if (line.role == LineRole::kAdded) {
        if (!is_found) return false;
        adds = true;
        continue;
      }
      const bool is_there = partner[old++] >= 0;
      is_found = is_found || is_there;
      if (is_there) adds = false;
    }
    const bool replaces = adds && std::any_of(hunk.lines.rbegin(), hunk.lines.rend(),
                                              [&, ends = true](const HunkLine& line) mutable {
                                                ends = ends && line.role != LineRole::kContext;
                                                return ends && line.role == LineRole::kRemoved;
                                              });
    return !at_end || !adds || replaces;
  }

  /// True if inserted lines have context on both sides.
  static bool frames_insertions(const Hunk& hunk) {
    const ContextCounts context = context_counts(hunk);
    const bool only_adds = std::none_of(hunk.lines.begin(), hunk.lines.end(), [](const auto& line) {
      return line.role == LineRole::kRemoved;
    });
    return !only_adds || (context.leading > 0 && context.trailing > 0);
  }

  /// Returns true if a change only inserts blank lines, which may already be in the file.
  static bool adds_only_blank(const Hunk& hunk) {
    bool adds = false;
    bool tells = false;
    for (const HunkLine& line : hunk.lines) {
      if (line.role == LineRole::kContext) {
        if (adds && !tells) return true;
        adds = tells = false;
        continue;
      }
      adds = adds || line.role == LineRole::kAdded;
      tells = tells || !is_blank_text(line.text);
    }
    return adds && !tells;
  }

  std::optional<Hunk> without_blank_lines(const Hunk& hunk) {
    if (!has_change(hunk) || !frames_insertions(hunk) || !hunk.anchors.empty()) return std::nullopt;
    if (adds_only_blank(hunk)) return std::nullopt;
    const auto partner = partners_without_blank_lines(hunk);
    if (partner.empty() || !says_where(hunk, partner, true)) return std::nullopt;
    return with_lines_of_file(hunk, partner);
  }

  // --- the parts between elisions ----------------------------------------------------------------

  std::optional<Hunk> by_segments(const Hunk& hunk) {
    if (!hunk.anchors.empty()) return std::nullopt;
    std::vector<Hunk> segments(1);
    std::vector<std::string_view> marks(1);  // the elision before each segment
    Hunk without_marks = hunk;
    without_marks.lines.clear();
    for (const HunkLine& line : hunk.lines) {
      const bool is_mark = line.role == LineRole::kContext && is_elision(line.text) &&
                           index_.lines_like(line.text, LineFolding::kBlanks).empty();
      if (is_mark) {
        if (segments.size() > kMostElisions) return std::nullopt;
        segments.emplace_back();
        marks.push_back(line.text);
        continue;
      }
      segments.back().lines.push_back(line);
      without_marks.lines.push_back(line);
    }
    if (segments.size() < 2) return std::nullopt;
    std::vector<int64_t> partner;
    int64_t last = -1;
    size_t begin = 0;  // of the segment among all lines
    std::vector<size_t> firsts;
    for (size_t i = 0; i < segments.size(); ++i) {
      Hunk& segment = segments[i];
      const size_t end = begin + segment.lines.size();
      if (begin > 0) segment.anchors = anchors_of_part(without_marks.lines, begin, end, marks[i]);
      if (segment.anchors.empty()) firsts.push_back(begin);
      begin += segment.lines.size();
      std::vector<int64_t> lines = partners_of(segment);
      if (!lines.empty() && !says_where(segment, lines, false)) return std::nullopt;
      if (lines.empty()) {
        // Without its first part, the hunk could mean another block.
        const auto old = pre_image(segment);
        const bool tells = std::any_of(old.begin(), old.end(), is_telling_line);
        if (has_change(segment) || (tells && begin == old.size())) return std::nullopt;
        lines.assign(segment.lines.size(), -1);
      }
      if (!append_ascending(lines, partner, last)) return std::nullopt;
    }
    return with_lines_of_file(without_marks, partner, firsts);
  }

  /// Appends the lines of a part. Returns false if one is not behind `last`, the last one so far.
  static bool append_ascending(const std::vector<int64_t>& lines, std::vector<int64_t>& partner,
                               int64_t& last) {
    for (const int64_t line : lines) {
      if (line >= 0 && line <= last) return false;
      if (line >= 0) last = line;
      partner.push_back(line);
    }
    return true;
  }

  std::vector<int64_t> partners_of(const Hunk& segment) {
    const std::vector<std::string_view> pattern = pre_image(segment);
    const auto places = pattern.empty() ? HunkPlaces() : places_of(segment);
    if (places.starts.size() != 1) return partners_without_blank_lines(segment);
    if (places.fold > coarsest()) return {};
    std::vector<int64_t> out;
    for (size_t i = 0; i < pattern.size(); ++i) {
      out.push_back(places.starts.front() + static_cast<int64_t>(i));
    }
    return out;
  }

  // --- the parts of a hunk that joins several ----------------------------------------------------

  /// Splits the hunk at the context between two changes. The first part gets as much of that
  /// context as the file has after its change.
  std::optional<Hunk> by_parts(const Hunk& hunk) {
    if (!hunk.anchors.empty()) return std::nullopt;
    std::vector<int64_t> partner;
    int64_t last = -1;
    size_t begin = 0;
    size_t parts = 0;
    while (begin < hunk.lines.size()) {
      if (++parts > kMostElisions) return std::nullopt;
      const auto is_context = [&](size_t i) { return hunk.lines[i].role == LineRole::kContext; };
      size_t change = begin;
      while (change < hunk.lines.size() && is_context(change)) ++change;
      while (change < hunk.lines.size() && !is_context(change)) ++change;
      size_t end = change;
      while (end < hunk.lines.size() && is_context(end)) ++end;
      const bool is_last = end == hunk.lines.size();
      std::vector<int64_t> lines;
      for (; end + 1 > change && lines.empty(); --end) {
        Hunk part;
        part.lines.assign(hunk.lines.begin() + static_cast<int64_t>(begin),
                          hunk.lines.begin() + static_cast<int64_t>(end));
        if (!has_change(part)) return std::nullopt;
        lines = partners_of(part);
        if (!lines.empty() && !says_where(part, lines, true)) lines.clear();
        if (!lines.empty() || is_last) break;
      }
      if (lines.empty()) return std::nullopt;
      // If a change is next to the split, its line must not be ambiguous.
      const bool is_changed_there = begin > 0 && !(is_context(begin - 1) && is_context(begin));
      if (is_changed_there && is_split_ambiguous(file_, last, lines.front())) return std::nullopt;
      if (!append_ascending(lines, partner, last)) return std::nullopt;
      begin = end;
    }
    return parts > 1 ? with_lines_of_file(hunk, partner) : std::nullopt;
  }

  // --- line by line, with some different context lines -------------------------------------------

  /// True if a context line is a line of the file apart from a damage that the new lines may have,
  /// too.
  bool has_damaged_context(const Hunk& hunk) {
    return std::any_of(hunk.lines.begin(), hunk.lines.end(), [this](const HunkLine& line) {
      const auto is_there = [this](std::string_view text, LineFolding fold) {
        return !index_.lines_like(text, fold).empty();
      };
      const bool is_open = line.role == LineRole::kContext && is_telling_line(line.text);
      if (!is_open || is_there(line.text, LineFolding::kBlanks)) return false;
      uint64_t number = 0;
      const size_t length = number_length(line.text, number);
      return is_there(line.text, LineFolding::kTypography) ||
             is_there(without_entities(line.text), LineFolding::kBlanks) ||
             (length > 0 && is_there(line.text.substr(length), LineFolding::kBlanks));
    });
  }

  /// Returns the hunk at the only place that has all of its old lines in the same positions, except
  /// for some context lines. Inserted lines must have telling lines on both sides.
  std::optional<Hunk> by_positions(const Hunk& hunk) {
    const std::vector<std::string_view> pattern = pre_image(hunk);
    if (!hunk.anchors.empty() || pattern.empty() || !has_change(hunk)) return std::nullopt;
    if (has_damaged_context(hunk)) return std::nullopt;
    const auto near =
        index_.nearest(pattern, coarsest(), hunk.has_numbers ? hunk.old_start - 1 : 0);
    const uint32_t rival = std::max(near.rival_votes, near.torn_rival_votes);
    const auto end = near.start + static_cast<int64_t>(pattern.size());
    if (near.votes < 2 || 2 * rival + 1 > near.votes || near.start < 0) return std::nullopt;
    if (end > static_cast<int64_t>(file_.size())) return std::nullopt;
    std::vector<int64_t> partner;
    std::vector<bool> fits;
    std::vector<bool> is_alike;
    size_t telling = 0;
    size_t wrong = 0;
    std::string one;
    std::string other;
    for (size_t i = 0; i < pattern.size(); ++i) {
      const int64_t line = near.start + static_cast<int64_t>(i);
      partner.push_back(line);
      fits.push_back(folded(pattern[i], coarsest(), one) ==
                     folded(file_[static_cast<size_t>(line)], coarsest(), other));
      is_alike.push_back(fits.back() ||
                         has_same_words(pattern[i], file_[static_cast<size_t>(line)]));
      if (may_be_opposite(pattern[i], file_[static_cast<size_t>(line)])) return std::nullopt;
      telling += fits.back() && is_telling_line(pattern[i]) ? 1 : 0;
      wrong += fits.back() ? 0 : 1;
    }
    if (wrong == 0 || 2 * wrong > telling + 1) return std::nullopt;
    // The document ends inside its last line, so more may be missing.
    const std::string_view last = trim_end(pattern.back());
    if (!fits.back() && trim_end(file_[static_cast<size_t>(partner.back())]).starts_with(last)) {
      return std::nullopt;
    }
    size_t old = 0;
    for (size_t i = 0; i < hunk.lines.size(); ++i) {
      if (hunk.lines[i].role == LineRole::kRemoved && !fits[old]) return std::nullopt;
      if (hunk.lines[i].role != LineRole::kAdded) {
        ++old;
        continue;
      }
      const bool replaces = i > 0 && hunk.lines[i - 1].role == LineRole::kRemoved;
      const bool begins = i == 0 || hunk.lines[i - 1].role == LineRole::kContext;
      if (begins && !replaces && !is_framed(pattern, fits, is_alike, old)) {
        return std::nullopt;
      }
    }
    if (is_of_other_block(index_, hunk, partner) || names_missing_item(index_, hunk)) return {};
    return with_lines_of_file(hunk, partner);
  }

  /// True if one line has all words of the other.
  static bool has_same_words(std::string_view one, std::string_view other) {
    auto few = words_of(one);
    auto many = words_of(other);
    if (few.size() > many.size()) few.swap(many);
    std::sort(few.begin(), few.end());
    std::sort(many.begin(), many.end());
    return !few.empty() && std::includes(many.begin(), many.end(), few.begin(), few.end());
  }

  /// Whether the file has telling lines before and after the position `at` of the old lines, and
  /// both adjacent lines, at least with similar words.
  static bool is_framed(const std::vector<std::string_view>& pattern, const std::vector<bool>& fits,
                        const std::vector<bool>& is_alike, size_t at) {
    if (at == 0 || at == pattern.size() || !is_alike[at - 1] || !is_alike[at]) return false;
    bool before = false;
    bool behind = false;
    for (size_t i = 0; i < at; ++i) before = before || (fits[i] && is_telling_line(pattern[i]));
    for (size_t i = at; i < pattern.size(); ++i) {
      behind = behind || (fits[i] && is_telling_line(pattern[i]));
    }
    return before && behind;
  }

  // --- the changes alone ------------------------------------------------------------------------

  std::optional<Hunk> by_changes(const Hunk& hunk) {
    if (has_damaged_context(hunk)) return std::nullopt;
    Hunk without_marks = hunk;
    std::erase_if(without_marks.lines, [&](const HunkLine& line) {
      return line.role == LineRole::kContext && is_elision(line.text) &&
             index_.lines_like(line.text, LineFolding::kBlanks).empty();
    });
    const std::string text = correction_of(index_, without_marks, true);
    if (text.empty()) return std::nullopt;
    auto set = read_unified("--- a/f\n+++ b/f\n" + text, {});
    if (!set || set->files.size() != 1 || set->files[0].hunks.size() != 1) return std::nullopt;
    Hunk out = std::move(set->files[0].hunks[0]);
    out.document_line = hunk.document_line;
    sets_.push_back(*std::move(set));  // owns the text of the lines
    return out;
  }

  FileIndex& index_;
  const Lines& file_;
  MatchOptions options_;
  std::deque<std::string> kept_;
  std::deque<EditSet> sets_;
};

const std::array<HunkMender::Work::Attempt, 6> HunkMender::Work::kAttempts = {
    {{&Work::as_it_is, "", ""},
     {&Work::without_blank_lines, "blank_lines",
      "blank lines of the hunk are not those of the file"},
     {&Work::by_segments, "elided_context", "the hunk leaves lines out; those of the file stay"},
     {&Work::by_parts, "joined_hunks",
      "the hunk joins places that are apart; each of its parts fits at one place"},
     {&Work::by_positions, "context_differs",
      "context lines of the hunk are not those of the file; all others are there, in their places"},
     {&Work::by_changes, "context_differs",
      "context lines of the hunk are not those of the file; what it removes is there, at one "
      "place"}}};

HunkMender::HunkMender(FileIndex& index, const MatchOptions& options)
    : work_(std::make_unique<Work>(index, options)) {}
HunkMender::~HunkMender() = default;

std::optional<bool> HunkMender::are_escaped(const std::vector<Hunk>& hunks) {
  return work_->are_escaped(hunks);
}

std::optional<MendedHunk> HunkMender::unescaped(const Hunk& hunk) { return work_->unescaped(hunk); }

std::optional<MendedHunk> HunkMender::mend(const Hunk& hunk, bool only_exact) {
  return work_->mend(hunk, only_exact);
}

}  // namespace galley
