#include "staging/placing/place_hunks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <span>

#include "base/check.h"
#include "staging/placing/already_there.h"
#include "staging/placing/explain.h"
#include "staging/placing/hunk_search.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/own_characters.h"
#include "staging/placing/place_ids.h"
#include "staging/placing/place_until.h"

// Why hunks are placed together, and why a place that fits can be refused:
//
// A hunk says where it belongs by its lines, by its line number and by its order in the file. Git
// and GNU patch take, hunk by hunk, the fitting place nearest to the number. In a file that repeats
// itself and has changed since, that is often the wrong place, and a wrong place is worse than a
// refusal: nobody looks twice at a patch that applied. So all three are weighed, for all hunks.
//
// 1. Most patches fit as stated. That is tried first and needs no index of the file.
// 2. Else HunkSearch lists the places of each hunk. Two sweeps drop those that leave no room for
//    the hunks before (earliest end) or after (latest start). A hunk with one place left is
//    decided, which can leave another hunk with one; so this is repeated.
// 3. Between equal places the number decides as long as it is credible. The drift of a hunk is how
//    far from its number it was found. Once a hunk has drifted, or the index line names another
//    content, numbers are stale, and only a hunk between two of the same drift is decided by it.
// 4. A single place may still be a copy of the one that was meant, whose lines have changed. The
//    doubt_ functions ask for that: context that is gone without a trace, the stated place with a
//    changed version of the hunk, another place with nearly as many telling lines. A doubtful
//    place is a candidate, which the caller may choose by its id.
//
// WrongPlace (thousands of random edits) and scripts/differential hold this to no wrong place.

namespace galley {
namespace {

constexpr int kMaxRounds = 8;
/// Telling lines that another place must lack so that the one found is not doubtful: where it is at
/// its stated line, and where it has moved.
constexpr uint32_t kMarginAtStated = 1;
constexpr uint32_t kMarginElsewhere = 2;

/// One hunk on its way to a place.
struct Search {
  HunkSearch search;
  HunkPlaces places;
  std::vector<int64_t> feasible;
  int64_t start = -1;  ///< decided
  bool is_decided = false;
};

/// Places the hunks of one file together.
///
///     every hunk at its stated place ---------------------------------> done
///     else places of each hunk (first step that has any)
///       -> prune to those that keep the order -> one left: decided
///       -> choice sent back, or the line number where nothing speaks against it -> prune again
///       -> several left: ambiguous; none: out of order
class HunkPlacer {
 public:
  HunkPlacer(FileIndex& index, const FileEdit& edit, const MatchOptions& options,
             const EndQuestion& is_over)
      : edit_(edit), options_(options), is_over_(is_over), index_(index), ids_(edit_ids(edit)) {}

  PlacedEdits run() {
    const bool is_placed = place_as_stated();
    if (!is_placed && !search_all()) return {};
    if (!is_placed) decide();
    return finish();
  }

 private:
  [[nodiscard]] int64_t length(size_t i) const {
    return static_cast<int64_t>(searches_[i].search.pattern().size());
  }

  /// The common case, without any index: every hunk where it says, one after the other.
  bool place_as_stated() {
    searches_.reserve(edit_.hunks.size());
    int64_t free_from = 0;
    bool all_fit = options_.base_is_proven.value_or(true);
    for (const Hunk& hunk : edit_.hunks) {
      if (is_over()) return false;
      searches_.push_back({HunkSearch(index_, hunk, options_), {}, {}, -1, false});
      Search& search = searches_.back();
      const int64_t start = search.search.stated();
      // Numbers beside wrong counts are a guess: they may not choose between equal places.
      if (!all_fit || !hunk.counts_agree || start < free_from ||
          !search.search.stands_at_stated()) {
        all_fit = false;
        continue;
      }
      search.places.starts = {start};
      free_from = start + length(searches_.size() - 1);
    }
    if (!all_fit) return false;
    for (Search& search : searches_) settle(search, search.places.starts.front());
    return true;
  }

  /// False when somebody asked for an end meanwhile.
  bool search_all() {
    for (Search& search : searches_) {
      if (is_over()) return false;
      search.places = search.search.find();
      search.feasible = search.places.starts;
    }
    return !is_over();
  }

  [[nodiscard]] bool is_over() const { return is_over_ && is_over_(); }

  static void settle(Search& search, int64_t start) {
    search.start = start;
    search.is_decided = true;
    search.feasible = {start};
  }

  /// Drops places that leave no room for the hunks before or after.
  void prune() {
    const size_t n = searches_.size();
    std::vector<int64_t> earliest_end(n + 1, 0);
    for (size_t i = 0; i < n; ++i) {
      earliest_end[i + 1] = earliest_end[i];
      for (const int64_t start : searches_[i].feasible) {
        if (start < earliest_end[i]) continue;
        earliest_end[i + 1] = start + length(i);
        break;
      }
    }
    std::vector<int64_t> latest_start(n + 1, INT64_MAX);
    for (size_t i = n; i-- > 0;) {
      latest_start[i] = latest_start[i + 1];
      for (auto it = searches_[i].feasible.rbegin(); it != searches_[i].feasible.rend(); ++it) {
        if (*it + length(i) > latest_start[i + 1]) continue;
        latest_start[i] = *it;
        break;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      std::erase_if(searches_[i].feasible, [&](int64_t start) {
        return start < earliest_end[i] || start + length(i) > latest_start[i + 1];
      });
    }
  }

  void decide() {
    take_choices();
    bool changed = true;
    for (int round = 0; changed && round < kMaxRounds; ++round) {
      changed = false;
      prune();
      for (Search& search : searches_) {
        if (search.is_decided || search.feasible.size() != 1 || search.places.is_cut) continue;
        settle(search, search.feasible.front());
        changed = true;
      }
      if (!changed) changed = decide_by_numbers();
    }
    for (size_t i = 0; i < searches_.size(); ++i) {
      doubt_unexplained(i);
      doubt_rival_of_stated(i);
      doubt_near_duplicate(i);
    }
  }

  void take_choices() {
    if (options_.choices.empty()) return;
    for (size_t i = 0; i < searches_.size(); ++i) {
      for (const int64_t start : searches_[i].places.starts) {
        const std::string id = candidate_id(ids_[i], index_.lines(), start, length(i));
        if (std::find(options_.choices.begin(), options_.choices.end(), id) ==
            options_.choices.end()) {
          continue;
        }
        settle(searches_[i], start);
        searches_[i].places.is_doubtful = false;
        searches_[i].places.anchor_against.reset();
        chosen_.push_back(i);
        break;
      }
    }
  }

  [[nodiscard]] std::optional<int64_t> drift_of(size_t i) const {
    const Search& search = searches_[i];
    if (!search.is_decided || search.search.stated() < 0) return std::nullopt;
    return search.start - search.search.stated();
  }

  /// A line number decides between equal places while nothing speaks against it: the file is not
  /// known to have changed, and the hunks around were found as far from their numbers.
  bool decide_by_numbers() {
    const size_t n = searches_.size();
    bool has_drift = options_.base_is_proven.has_value() && !*options_.base_is_proven;
    for (size_t i = 0; i < n; ++i) has_drift = has_drift || drift_of(i).value_or(0) != 0;
    std::vector<std::optional<int64_t>> after(n + 1);
    for (size_t i = n; i-- > 0;) after[i] = drift_of(i) ? drift_of(i) : after[i + 1];
    int64_t before = 0;
    bool changed = false;
    for (size_t i = 0; i < n; ++i) {
      Search& search = searches_[i];
      if (const auto drift = drift_of(i)) before = *drift;
      if (search.is_decided || search.feasible.empty() || search.search.stated() < 0) continue;
      if (!edit_.hunks[i].counts_agree || search.places.step == MatchStep::kFuzz) continue;
      const bool is_bracketed = after[i + 1] && *after[i + 1] == before;
      if (has_drift && !is_bracketed) continue;
      const int64_t wanted = search.search.stated() + (has_drift ? before : 0);
      const bool stands =
          std::binary_search(search.feasible.begin(), search.feasible.end(), wanted) ||
          (search.places.is_cut &&
           index_.stands_at(search.search.pattern(), wanted, search.places.fold));
      if (!stands) continue;
      settle(search, wanted);
      changed = true;
    }
    return changed;
  }

  /// Context that is gone without a trace is let pass only where the line number says.
  void doubt_unexplained(size_t i) {
    Search& search = searches_[i];
    if (!search.is_decided || !search.places.is_unexplained || is_chosen(i)) return;
    if (!is_where_expected(i)) search.places.is_doubtful = true;
  }

  /// An exact place elsewhere is doubtful when the stated place itself holds a changed version of
  /// what is looked for: then the edit was probably meant for that.
  void doubt_rival_of_stated(size_t i) {
    Search& search = searches_[i];
    const int64_t stated = search.search.stated();
    if (!search.is_decided || stated < 0 || search.start == stated || is_chosen(i)) return;
    if (!edit_.hunks[i].counts_agree) return;
    int64_t expected = stated;
    for (size_t k = i; k-- > 0;) {
      if (const auto drift = drift_of(k)) {
        expected = stated + *drift;
        break;
      }
    }
    if (expected == search.start) return;
    if (resembles(edit_.hunks[i], expected) || resembles(edit_.hunks[i], stated)) {
      search.places.is_doubtful = true;
    }
  }

  /// In a file that is known to have changed, the only exact place may be a copy of the one that
  /// was meant, whose lines were changed: no other place may share half of the hunk's telling
  /// lines and lack but one or two, unless the hunks before and after moved by as much.
  void doubt_near_duplicate(size_t i) {
    Search& search = searches_[i];
    if (options_.base_is_proven.value_or(true) || !search.is_decided || is_chosen(i)) return;
    if (search.places.is_doubtful || is_bracketed(i)) return;
    if (left_its_end(i)) {
      search.places.is_doubtful = true;
      return;
    }
    const auto nearest =
        index_.nearest(search.search.pattern(), LineFolding::kLineEnds, search.start);
    const uint32_t rival = std::max(nearest.rival_votes, nearest.torn_rival_votes);
    const bool has_moved = !is_where_expected(i);
    const uint32_t margin = has_moved ? kMarginElsewhere : kMarginAtStated;
    if (nearest.start != search.start || (has_moved && nearest.votes < 2) ||
        (2 * rival >= nearest.votes && rival + margin >= nearest.votes)) {
      search.places.is_doubtful = true;
    }
  }

  /// A hunk without leading context was at the file's beginning, one without trailing context at
  /// its end (git holds them to that); elsewhere it says less than it should.
  [[nodiscard]] bool left_its_end(size_t i) const {
    const Search& search = searches_[i];
    const ContextCounts context = context_counts(edit_.hunks[i]);
    if (search.search.stated() < 0 || edit_.hunks[i].minimal_context) return false;
    const auto size = static_cast<int64_t>(index_.lines().size());
    if (context.leading == 0 && search.search.stated() == 0 && search.start != 0) return true;
    return context.trailing == 0 && context.leading > 0 && search.start + length(i) != size;
  }

  /// At its stated line, or as far from it as the hunk before or after.
  [[nodiscard]] bool is_where_expected(size_t i) const {
    const auto drift = drift_of(i);
    if (!drift || !edit_.hunks[i].counts_agree) return false;
    return *drift == 0 || (i > 0 && drift_of(i - 1) == drift) ||
           (i + 1 < searches_.size() && drift_of(i + 1) == drift);
  }

  [[nodiscard]] bool is_bracketed(size_t i) const {
    const auto drift = drift_of(i);
    return drift && i > 0 && i + 1 < searches_.size() && drift_of(i - 1) == drift &&
           drift_of(i + 1) == drift;
  }

  /// True when all removed lines, or all context, of the hunk stand at `start`.
  [[nodiscard]] bool resembles(const Hunk& hunk, int64_t start) const {
    size_t context_telling = 0;
    size_t removed_telling = 0;
    bool context_fits = true;
    bool removed_fits = true;
    int64_t line = start;
    const Lines& lines = index_.lines();
    for (const HunkLine& part : hunk.lines) {
      if (part.role == LineRole::kAdded) continue;
      const bool fits =
          line >= 0 && static_cast<size_t>(line) < lines.size() &&
          without_terminator(lines[static_cast<size_t>(line)]) == without_terminator(part.text);
      ++line;
      const bool is_context = part.role == LineRole::kContext;
      bool& all_fit = is_context ? context_fits : removed_fits;
      all_fit = all_fit && fits;
      if (bears_identity(part.text)) ++(is_context ? context_telling : removed_telling);
    }
    return (context_fits && context_telling >= 2) || (removed_fits && removed_telling >= 1);
  }

  [[nodiscard]] bool is_chosen(size_t i) const {
    return std::find(chosen_.begin(), chosen_.end(), i) != chosen_.end();
  }

  PlacedEdits finish() {
    PlacedEdits out;
    std::vector<Splice> splices;
    for (size_t i = 0; i < searches_.size(); ++i) {
      Search& search = searches_[i];
      if (!search.is_decided || search.places.is_doubtful || search.places.anchor_against ||
          step_of(i) > options_.last_step) {
        out.failures.push_back(explain(i));
        continue;
      }
      if (search.places.fold == LineFolding::kTypography && !take_own_characters(i)) {
        out.failures.push_back(explain_characters(index_.lines(), failed_hunk(i), search.start));
        continue;
      }
      out.placements.push_back(placement(i));
      const size_t before = splices.size();
      splice(i, splices);
      report_leniencies(i, out);
      report_same_lines(i, std::span(splices).subspan(before), out);
    }
    auto joined = Splices::from(index_.lines().text().size(), std::move(splices));
    GALLEY_CHECK(joined.has_value());  // places of ordered hunks do not overlap
    out.splices = std::move(*joined);
    return out;
  }

  [[nodiscard]] MatchStep step_of(size_t i) const {
    const Search& search = searches_[i];
    if (search.places.step > MatchStep::kOffset) return search.places.step;
    const int64_t stated = search.search.stated();
    return stated < 0 || stated == search.start ? MatchStep::kExact : MatchStep::kOffset;
  }

  Placement placement(size_t i) const {
    const Search& search = searches_[i];
    Placement out;
    out.edit = i;
    out.id = ids_[i];
    out.step = step_of(i);
    out.fuzz = search.places.fuzz;
    const int64_t stated = search.search.stated();
    if (stated >= 0) out.offset = search.start - stated;
    out.line = static_cast<uint32_t>(search.start + 1);
    out.count = static_cast<uint32_t>(length(i));
    if (search.places.fold >= LineFolding::kBlanks) {
      out.indent = indent_at(index_.lines(), search.search.pattern(), search.start).describe();
    }
    return out;
  }

  /// False when the lines cannot keep the file's quotes and dashes.
  bool take_own_characters(size_t i) {
    const auto start = static_cast<size_t>(searches_[i].start);
    auto own = with_own_characters(index_.lines(), edit_.hunks[i], start, kept_);
    if (!own) return false;
    rewritten_.emplace(i, *std::move(own));
    return true;
  }

  [[nodiscard]] const Hunk& hunk_to_splice(size_t i) const {
    const auto found = rewritten_.find(i);
    return found == rewritten_.end() ? edit_.hunks[i] : found->second;
  }

  void splice(size_t i, std::vector<Splice>& splices) const {
    const Search& search = searches_[i];
    IndentMap indent;
    if (search.places.fold >= LineFolding::kBlanks) {
      indent = indent_at(index_.lines(), search.search.pattern(), search.start);
    }
    const size_t lead = search.places.drop_leading;
    const size_t trail = search.places.drop_trailing;
    if (lead == 0 && trail == 0) {
      splice_hunk(index_.lines(), hunk_to_splice(i), static_cast<size_t>(search.start),
                  search.places.fold, indent, splices);
      return;
    }
    Hunk core = edit_.hunks[i];
    core.lines.erase(core.lines.end() - static_cast<int64_t>(trail), core.lines.end());
    core.lines.erase(core.lines.begin(), core.lines.begin() + static_cast<int64_t>(lead));
    splice_hunk(index_.lines(), core, static_cast<size_t>(search.start) + lead, search.places.fold,
                indent, splices);
  }

  void report_leniencies(size_t i, PlacedEdits& out) const {
    const auto line = edit_.hunks[i].document_line;
    if (step_of(i) == MatchStep::kLineEnds) {
      out.leniencies.push_back({"line_ends",
                                "the hunk's line ends are not the file's; new lines got the file's",
                                edit_.path, line});
    }
    if (rewritten_.count(i) > 0) {
      out.leniencies.push_back({"typography",
                                "the edit's quotes, dashes or blanks are not the file's; what its "
                                "old and new lines share stays as the file has it",
                                edit_.path, line});
    }
  }

  [[nodiscard]] FailedHunk failed_hunk(size_t i) const {
    const HunkSearch& search = searches_[i].search;
    return {edit_.hunks[i], i, ids_[i], search.pattern(), search.stated()};
  }

  /// Where context on both sides does not show that the lines were not there before.
  void report_same_lines(size_t i, std::span<const Splice> splices, PlacedEdits& out) const {
    const ContextCounts context = context_counts(edit_.hunks[i]);
    if (context.leading > 0 && context.trailing > 0) return;
    for (const Splice& splice : splices) {
      if (splice.length > 0) continue;
      const std::string_view file = index_.lines().text();
      const auto same = same_lines_beside(file, splice.offset, {}, splice.text);
      if (!same) continue;
      out.leniencies.push_back(same_lines_note(edit_.path, index_.lines().line_at(*same) + 1,
                                               edit_.hunks[i].document_line));
    }
  }

  EditFailure explain(size_t i) {
    const Search& search = searches_[i];
    const FailedHunk failed = failed_hunk(i);
    const bool is_only_late =
        search.is_decided && !search.places.is_doubtful && !search.places.anchor_against;
    if (is_only_late) return explain_step(failed, step_of(i));
    if (search.places.starts.empty()) return explain_missing(index_, failed, edit_.path);
    const bool is_ambiguous =
        search.feasible.size() > 1 || search.places.is_doubtful || search.places.starts.size() > 1;
    const std::vector<int64_t>& shown =
        search.feasible.empty() ? search.places.starts : search.feasible;
    EditFailure out = search.places.anchor_against
                          ? explain_anchor(index_, failed, *search.places.anchor_against)
                      : is_ambiguous ? explain_ambiguous(failed, search.places.is_doubtful)
                                     : explain_out_of_order(failed, shown.front());
    for (const int64_t start : shown) {
      if (out.candidates.size() == kListedCandidates) break;
      out.candidates.push_back(candidate_at(ids_[i], index_.lines(), start, length(i)));
    }
    out.more_candidates = shown.size() - out.candidates.size();
    return out;
  }

  const FileEdit& edit_;
  const MatchOptions& options_;
  const EndQuestion& is_over_;
  FileIndex& index_;
  std::vector<std::string> ids_;
  std::vector<Search> searches_;
  std::vector<size_t> chosen_;
  std::map<size_t, Hunk> rewritten_;  // with the file's own quotes and dashes
  std::deque<std::string> kept_;      // lines of those
};

}  // namespace

std::string_view match_step_name(MatchStep step) {
  switch (step) {
    case MatchStep::kExact:
      return "exact";
    case MatchStep::kOffset:
      return "offset";
    case MatchStep::kLineEnds:
      return "line_ends";
    case MatchStep::kFuzz:
      return "fuzz";
    case MatchStep::kWhiteSpace:
      return "white_space";
    case MatchStep::kUnicode:
      return "unicode";
  }
  GALLEY_CHECK(false);
}

PlacedEdits place_hunks(FileIndex& index, const FileEdit& edit, const MatchOptions& options) {
  return HunkPlacer(index, edit, options, {}).run();
}

PlacedEdits place_hunks(std::string_view content, const FileEdit& edit,
                        const MatchOptions& options) {
  return place_hunks_until({}, content, edit, options);
}

PlacedEdits place_hunks_until(const EndQuestion& is_over, std::string_view content,
                              const FileEdit& edit, const MatchOptions& options) {
  FileIndex index(content, options.indentation_is_meaning);
  return HunkPlacer(index, edit, options, is_over).run();
}

}  // namespace galley
