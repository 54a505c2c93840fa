#include "staging/placing/place.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <span>

#include "base/result.h"
#include "base/text.h"
#include "staging/placing/anchors.h"
#include "staging/placing/doubtful_place.h"
#include "staging/placing/explain.h"
#include "staging/placing/file_index.h"
#include "staging/placing/hunk_search.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/mend.h"
#include "staging/placing/repeated_hunks.h"

// Why hunks are placed together, and why a place that fits can be refused:
//
// A hunk describes its place by its lines, its line number and its order among the hunks. Git and
// GNU patch take, for each hunk, the matching place nearest to the number. That is often the wrong
// place if the file has repeated lines and has changed since. A wrong place is worse than a
// refusal, because a patch that applied is not checked again. So all three are considered, for all
// hunks.
//
// 1. Most patches fit as stated. That is tried first, without an index of the file.
// 2. Otherwise HunkSearch lists the places of each hunk. Two passes remove places that leave no
//    room for the hunks before (earliest end) or after (latest start). A hunk with one remaining
//    place is decided. That can leave only one place for another hunk, so this is repeated.
//    If every place of a hunk is removed, hunks may share lines that only one of them changes.
// 3. Between equal places the number decides as long as it is reliable. The drift of a hunk is the
//    distance of its place from its number. If a hunk has drifted, or the index line names another
//    content, numbers are not reliable. Then the number decides only for a hunk between two hunks
//    of the same drift.
// 4. A single place may still be a copy of the intended one, whose lines have changed. The doubt_
//    functions look for signs of that: unexplained missing context, a changed version of the hunk
//    at the stated place, another place with nearly as many telling lines. A doubtful place is a
//    candidate that the caller may choose by its id.
//
// The tests WrongPlace (thousands of random edits) and scripts/differential check that no place is
// wrong.

namespace galley {
namespace {

constexpr int kMaxRounds = 8;
constexpr const char* kSharedContext = "shared_context";
/// A place is doubtful if another place has almost as many telling lines: at most this many fewer.
/// The first margin is for a place at its stated line, the second for any other place.
constexpr uint32_t kMarginAtStated = 1;
constexpr uint32_t kMarginElsewhere = 2;

/// Context lines on each side in a diff by a program.
constexpr size_t kUsualContext = 3;

/// The search for the place of one hunk.
struct Search {
  HunkSearch search;
  HunkPlaces places;
  std::vector<int64_t> feasible;
  int64_t start = -1;  ///< decided
  bool is_decided = false;
};

/// Places the hunks of one file together.
///
///     every hunk fits at its stated place --------------------------------------> done
///     else: the places of each hunk (the first step that finds any)
///       -> remove places that break the order -> one left: decided
///       -> the caller's choice, or a reliable line number -> remove places again
///       -> several left: ambiguous. None left: out of order.
class HunkPlacer {
 public:
  HunkPlacer(FileIndex& index, const FileEdit& edit, const MatchOptions& options,
             const EndQuestion& is_over)
      : edit_(edit), options_(options), is_over_(is_over), index_(index), ids_(edit_ids(edit)) {}

  PlacedEdits run() {
    const bool is_placed = place_as_stated();
    if (!is_placed && !search_all()) return {};
    if (!is_placed) {
      if (auto once = place_repeated_hunks_once(index_, edit_, options_, only_places())) {
        return *std::move(once);
      }
      decide();
    }
    PlacedEdits out = finish();
    if (edit_.doubt && out.failures.empty() && !shows_wrong_counts(*edit_.doubt)) {
      out = {};
      out.cut_off = edit_.doubt->message;
    }
    return out;
  }

 private:
  [[nodiscard]] int64_t length(size_t i) const {
    return static_cast<int64_t>(searches_[i].search.pattern().size());
  }

  /// The place of each hunk; -1 if it has none or several.
  [[nodiscard]] std::vector<int64_t> only_places() const {
    std::vector<int64_t> out;
    for (const Search& search : searches_) {
      out.push_back(search.places.starts.size() == 1 ? search.places.starts.front() : -1);
    }
    return out;
  }

  /// Handles the common case without an index: every hunk fits at its stated place.
  bool place_as_stated() {
    searches_.reserve(edit_.hunks.size());
    bool all_fit = options_.base_is_proven.value_or(true);
    for (const Hunk& hunk : edit_.hunks) {
      if (is_over()) return false;
      searches_.push_back({HunkSearch(index_, hunk, options_), {}, {}, -1, false});
      Search& search = searches_.back();
      const int64_t start = search.search.stated();
      // If the counts are wrong, the line number may be wrong, too. So it may not choose between
      // equal places.
      if (!all_fit || !hunk.counts_agree || start < 0 || !search.search.matches_at_stated_line() ||
          (!options_.base_is_proven && contradicts_section(index_.lines(), hunk, start))) {
        all_fit = false;
        continue;
      }
      search.places.starts = {start};
    }
    if (!all_fit || !are_apart_as_stated()) return false;
    for (Search& search : searches_) settle(search, search.places.starts.front());
    return true;
  }

  /// True if no two hunks overlap at their stated places, in the order of the document or in
  /// another one that is allowed.
  bool are_apart_as_stated() {
    int64_t free_from = 0;
    std::vector<std::pair<int64_t, int64_t>> places;  // starts and ends
    bool is_in_order = true;
    for (size_t i = 0; i < searches_.size(); ++i) {
      const int64_t start = searches_[i].places.starts.front();
      is_in_order = is_in_order && start >= free_from;
      free_from = start + length(i);
      places.emplace_back(start, free_from);
    }
    if (is_in_order) return true;
    if (options_.is_strict("hunk_order")) return false;
    std::sort(places.begin(), places.end());
    for (size_t k = 0; k < places.size(); ++k) {
      const auto [start, end] = places[k];
      if (start == end || (k > 0 && start < places[k - 1].second)) return false;
    }
    is_in_other_order_ = true;
    return true;
  }

  /// Returns false if the caller asked to stop.
  bool search_all() {
    unescape();
    for (size_t i = 0; i < searches_.size(); ++i) {
      if (is_over()) return false;
      searches_[i].places = searches_[i].search.find();
      leave_out_new_lines(i);
      const HunkPlaces& places = searches_[i].places;
      const bool is_folded = !places.starts.empty() && places.fold > LineFolding::kLineEnds;
      if (needs_mending(i) || (is_folded && may_mend())) mend(i, is_folded);
      const auto adds_entity = [](const HunkLine& line) {
        return line.role == LineRole::kAdded && has_entity(line);
      };
      const std::vector<HunkLine>& lines = hunk(i).lines;
      if (may_be_escaped_ && std::any_of(lines.begin(), lines.end(), adds_entity)) {
        searches_[i].places.doubt =
            "lines of the edit are escaped as in HTML, or are about such; no line of the file "
            "tells";
      }
    }
    for (Search& search : searches_) search.feasible = search.places.starts;
    return !is_over();
  }

  /// The hunk as it is placed, perhaps repaired.
  [[nodiscard]] const Hunk& hunk(size_t i) const {
    const auto found = mended_.find(i);
    return found == mended_.end() ? edit_.hunks[i] : found->second->hunk;
  }

  /// A hunk may show its context as it is after the hunk before it. Leaves the lines out that only
  /// that hunk makes.
  void leave_out_new_lines(size_t i) {
    const HunkPlaces& places = searches_[i].places;
    const bool fits = !places.starts.empty() && places.step <= MatchStep::kLineEnds;
    if (i == 0 || fits || !may_mend() || options_.is_strict(kSharedContext)) return;
    const std::vector<std::string_view> made = post_image(hunk(i - 1));
    const std::vector<std::string_view> wanted = pre_image(hunk(i));
    const size_t kept = context_counts(hunk(i - 1)).trailing;
    const auto is_same = [](std::string_view one, std::string_view other) {
      return without_terminator(one) == without_terminator(other);
    };
    size_t shared = std::min(made.size(), wanted.size());
    while (shared > kept && !std::equal(made.end() - static_cast<int64_t>(shared), made.end(),
                                        wanted.begin(), is_same)) {
      --shared;
    }
    if (shared <= kept || shared - kept > context_counts(hunk(i)).leading) return;
    MendedHunk mended{hunk(i), {}, {}};
    auto& rest = mended.hunk.lines;
    rest.erase(rest.begin(), rest.begin() + static_cast<int64_t>(shared - kept));
    mended.hunk.old_start += static_cast<uint32_t>(shared - kept);
    mended.old_lines = pre_image(mended.hunk);
    mended.leniencies.push_back({kSharedContext,
                                 "context of the hunk repeats lines that the hunk before it adds; "
                                 "it was found without them",
                                 {},
                                 0});
    HunkPlaces found = HunkSearch(index_, mended.hunk, options_).find();
    if (found.starts.size() != 1 || found.step > MatchStep::kLineEnds || found.is_doubtful) return;
    found.step = MatchStep::kMended;
    replace(i, std::move(mended));
    searches_[i].places = std::move(found);
    follows_[i] = static_cast<int64_t>(kept);
  }

  /// True if the hunk does not fit anywhere, or only by fuzz at a place that is not certain. If the
  /// index line proves that the file is not the base, hunks are not repaired.
  [[nodiscard]] bool needs_mending(size_t i) {
    if (!may_mend() || searches_[i].search.pattern().empty()) return false;
    const HunkPlaces& places = searches_[i].places;
    if (places.anchor_against) return false;
    const bool is_stated =
        places.starts.size() == 1 && places.starts.front() == searches_[i].search.stated();
    const bool is_sure =
        places.starts.size() == 1 && !places.is_doubtful && (!places.is_unexplained || is_stated);
    const bool is_open = places.step == MatchStep::kFuzz || places.is_doubtful;
    if (!places.starts.empty() && (is_sure || !is_open)) return false;
    return already_there(index_, hunk(i), searches_[i].search.stated()) < 0 &&
           new_lines_at(index_, hunk(i)) < 0;
  }

  [[nodiscard]] bool may_mend() const {
    return options_.last_step >= MatchStep::kMended && !options_.min_context &&
           options_.base_is_proven.value_or(true);
  }

  [[nodiscard]] HunkMender& mender() {
    if (!mender_) mender_ = std::make_unique<HunkMender>(index_, options_);
    return *mender_;
  }

  static bool has_entity(const HunkLine& line) {
    return line.text.find('&') != std::string_view::npos &&
           line.text.find(';') != std::string_view::npos;
  }

  /// Decodes the entities in all hunks, if one hunk shows that characters were escaped.
  void unescape() {
    const bool is_any = std::any_of(edit_.hunks.begin(), edit_.hunks.end(), [&](const Hunk& hunk) {
      return std::any_of(hunk.lines.begin(), hunk.lines.end(), has_entity);
    });
    if (!is_any || !may_mend() || options_.is_strict("escaped_markup")) return;
    const std::optional<bool> are_escaped = mender().are_escaped(edit_.hunks);
    may_be_escaped_ = !are_escaped;
    if (!are_escaped.value_or(false)) return;
    for (size_t i = 0; i < searches_.size(); ++i) {
      if (auto plain = mender().unescaped(edit_.hunks[i])) replace(i, *std::move(plain));
    }
  }

  /// Replaces a hunk by another reading, and keeps the leniencies of the earlier one.
  void replace(size_t i, MendedHunk mended) {
    if (const auto before = mended_.find(i); before != mended_.end()) {
      mended.leniencies.insert(mended.leniencies.begin(), before->second->leniencies.begin(),
                               before->second->leniencies.end());
    }
    // The search refers to the earlier reading until it is replaced below, so replaced_ keeps all
    // readings.
    const Hunk& hunk = replaced_.emplace_back(std::move(mended)).hunk;
    mended_[i] = &replaced_.back();
    // A search has references, so it cannot be assigned.
    std::destroy_at(&searches_[i]);
    std::construct_at(&searches_[i], Search{HunkSearch(index_, hunk, options_), {}, {}, -1, false});
  }

  /// Replaces a hunk by its repaired form, if that is certain. `only_exact`: the hunk fits except
  /// for white space, and an exact repair would explain the difference.
  void mend(size_t i, bool only_exact) {
    auto mended = mender().mend(hunk(i), only_exact);
    if (!mended) return;
    const auto is_off = [&](const Leniency& leniency) { return options_.is_strict(leniency.rule); };
    if (std::any_of(mended->leniencies.begin(), mended->leniencies.end(), is_off)) return;
    HunkPlaces places = HunkSearch(index_, mended->hunk, options_).find();
    if (places.starts.size() != 1 || places.is_doubtful || !places.doubt.empty()) return;
    if (!mended->is_whole &&
        adds_what_is_near(index_.lines(), mended->hunk, mended->old_lines, places.starts.front())) {
      return;
    }
    places.step = MatchStep::kMended;
    replace(i, *std::move(mended));
    searches_[i].places = std::move(places);
  }

  // --- a document that may have been cut off -----------------------------------------------------

  /// True if the file shows that the last hunk is complete (docs/edits.md, "Cut off").
  [[nodiscard]] bool shows_wrong_counts(const PossibleTruncation& doubt) const {
    const size_t i = searches_.size() - 1;
    const Hunk& hunk = edit_.hunks[i];
    const ContextCounts context = context_counts(hunk);
    const auto lines = static_cast<int64_t>(index_.lines().size());
    const int64_t end = searches_[i].start + length(i);
    const bool ends_in_context = context.trailing > 0;
    // An added line without a line end may be incomplete.
    if (!doubt.is_ended && hunk.lines.back().role == LineRole::kAdded) return false;
    if (ends_in_context && doubt.missing_old == 0 && doubt.missing_new == 0) {
      const std::string_view last = trim_end(index_.lines()[static_cast<size_t>(end - 1)]);
      const std::string_view stated = trim_end(hunk.lines.back().text);
      return !last.starts_with(stated) || last.size() == stated.size();
    }
    // The file has fewer lines after the hunk than the hunk lacks.
    if (end + doubt.missing_old > lines) return true;
    if (!ends_in_context) return false;
    // A hunk that was cut off in its context lacks lines on both sides, except at the end of the
    // file.
    if ((doubt.missing_old == 0 || doubt.missing_new == 0) && end != lines) return true;
    // The numbers of the hunk contradict the changes of the hunks before it.
    int64_t grown = 0;
    for (size_t k = 0; k < i; ++k) {
      grown += static_cast<int64_t>(post_image(edit_.hunks[k]).size()) -
               static_cast<int64_t>(pre_image(edit_.hunks[k]).size());
    }
    const int64_t stated_growth =
        static_cast<int64_t>(hunk.new_start) - static_cast<int64_t>(hunk.old_start);
    if (stated_growth != grown) return true;
    if (edit_.is_by_program) return false;
    if (doubt.is_likely) return false;
    // A program would have written other context. (A line number that differs from the place proves
    // nothing, because the file may have changed above it since.)
    return hunk.old_start > 1 ? context.leading != kUsualContext : context.leading > kUsualContext;
  }

  [[nodiscard]] bool is_over() const { return is_over_ && is_over_(); }

  static void settle(Search& search, int64_t start) {
    search.start = start;
    search.is_decided = true;
    search.feasible = {start};
  }

  /// Removes places that leave no room for the hunks before or after.
  void prune() {
    const size_t n = searches_.size();
    std::vector<int64_t> earliest_end(n + 1, 0);
    for (size_t i = 0; i < n; ++i) {
      earliest_end[i + 1] = earliest_end[i];
      for (const int64_t start : searches_[i].feasible) {
        if (start < earliest_end[i]) continue;
        earliest_end[i + 1] = start + length(i) - shareable(i);
        break;
      }
    }
    std::vector<int64_t> latest_start(n + 1, INT64_MAX);
    for (size_t i = n; i-- > 0;) {
      latest_start[i] = latest_start[i + 1];
      for (auto it = searches_[i].feasible.rbegin(); it != searches_[i].feasible.rend(); ++it) {
        if (*it + length(i) - shareable(i) > latest_start[i + 1]) continue;
        latest_start[i] = *it;
        break;
      }
    }
    for (size_t i = 0; i < n; ++i) {
      std::erase_if(searches_[i].feasible, [&](int64_t start) {
        return start < earliest_end[i] || start + length(i) - shareable(i) > latest_start[i + 1];
      });
    }
  }

  /// The number of lines that hunk i may share with the next one: between the changes of both one
  /// line is left at least.
  [[nodiscard]] int64_t shareable(size_t i) const {
    if (!shares_context_ || i + 1 == searches_.size()) return 0;
    if (searches_[i].places.fuzz > 0 || searches_[i + 1].places.fuzz > 0) return 0;
    const size_t context = context_counts(hunk(i)).trailing + context_counts(hunk(i + 1)).leading;
    return std::max<int64_t>(static_cast<int64_t>(context) - 1, 0);
  }

  void decide() {
    take_choices();
    if (!settle_in_other_order()) {
      settle_in_order();
      if (!has_room() && !options_.is_strict(kSharedContext)) settle_with_shared_context();
    }
    const bool ascend = numbers_ascend();
    for (size_t i = 0; i < searches_.size(); ++i) {
      Search& search = searches_[i];
      const bool is_one_of_several = search.is_decided && search.places.starts.size() > 1 &&
                                     search.places.drops.contains(search.start);
      if (is_one_of_several) search.search.weigh_fuzz(search.places, search.start);
      if (is_chosen(i)) search.places.is_doubtful = false;
      // If the numbers contradict the order of the hunks, the order does not choose a place.
      if (!ascend && search.places.starts.size() > 1 && search.start != search.search.stated())
        search.places.is_doubtful = !is_chosen(i);
      doubt_unexplained(i);
      doubt_rival_of_stated(i);
      doubt_near_duplicate(i);
    }
  }

  /// False when each place of some hunk is before or inside another hunk.
  [[nodiscard]] bool has_room() const {
    return std::none_of(searches_.begin(), searches_.end(), [](const Search& search) {
      return search.feasible.empty() && !search.places.starts.empty();
    });
  }

  void settle_with_shared_context() {
    for (const bool shares : {true, false}) {
      shares_context_ = shares;
      for (size_t i = 0; i < searches_.size(); ++i) {
        if (is_chosen(i)) continue;
        searches_[i].is_decided = false;
        searches_[i].feasible = searches_[i].places.starts;
      }
      settle_in_order();
      if (has_room() && follow_each_other()) return;
    }
  }

  /// True when the hunks that lines were left out of are right behind the hunks that make them.
  [[nodiscard]] bool follow_each_other() const {
    return std::all_of(follows_.begin(), follows_.end(), [this](const auto& one) {
      const auto [i, kept] = one;
      return searches_[i].start == searches_[i - 1].start + length(i - 1) - kept;
    });
  }

  void settle_in_order() {
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
  }

  /// Accepts hunks that are not in the order of the file. Each must fit as a whole at exactly one
  /// place, if need be mended, and their line numbers must not contradict that.
  bool settle_in_other_order() {
    if (options_.is_strict("hunk_order")) return false;
    std::vector<std::pair<int64_t, size_t>> places;
    for (size_t i = 0; i < searches_.size(); ++i) {
      const HunkPlaces& found = searches_[i].places;
      const bool is_sure = found.starts.size() == 1 && found.step != MatchStep::kFuzz &&
                           !found.is_doubtful && !found.anchor_against && length(i) > 0;
      if (!is_sure && !is_chosen(i)) return false;
      places.emplace_back(is_chosen(i) ? searches_[i].start : found.starts.front(), i);
    }
    if (std::is_sorted(places.begin(), places.end())) return false;
    std::sort(places.begin(), places.end());
    for (size_t k = 1; k < places.size(); ++k) {
      const auto [start, i] = places[k - 1];
      const auto [next, j] = places[k];
      const bool contradicts = searches_[i].search.stated() >= 0 &&
                               searches_[j].search.stated() >= 0 &&
                               searches_[i].search.stated() >= searches_[j].search.stated();
      if (start + length(i) > next || contradicts) return false;
    }
    for (const auto& [start, i] : places) settle(searches_[i], start);
    is_in_other_order_ = true;
    return true;
  }

  const std::string& file_key() {
    if (file_key_.empty()) file_key_ = content_key(index_.lines().text());
    return file_key_;
  }

  void take_choices() {
    if (options_.choices.empty()) return;
    for (size_t i = 0; i < searches_.size(); ++i) {
      HunkPlaces& places = searches_[i].places;
      std::vector<int64_t> starts = places.starts;
      if (places.rival) starts.push_back(*places.rival);
      for (const int64_t start : starts) {
        const std::string id = candidate_id(ids_[i], file_key(), index_.lines(), start, length(i));
        if (std::find(options_.choices.begin(), options_.choices.end(), id) ==
            options_.choices.end()) {
          continue;
        }
        settle(searches_[i], start);
        places.is_doubtful = false;
        places.anchor_against.reset();
        if (places.rival == start) {
          places.step = MatchStep::kWhiteSpace;
          places.fold = LineFolding::kBlanks;
        }
        chosen_[i] = id;
        break;
      }
    }
  }

  [[nodiscard]] std::optional<int64_t> drift_of(size_t i) const {
    const Search& search = searches_[i];
    if (!search.is_decided || search.search.stated() < 0) return std::nullopt;
    return search.start - search.search.stated();
  }

  /// True if the text after the second `@@` heads another of the equal places, and not this one.
  [[nodiscard]] bool is_headed_elsewhere(size_t i, int64_t place) const {
    const auto is_against = [&](int64_t at) {
      return contradicts_section(index_.lines(), hunk(i), at);
    };
    const std::vector<int64_t>& places = searches_[i].feasible;
    return is_against(place) && !std::all_of(places.begin(), places.end(), is_against);
  }

  /// Decides between equal places by line number, if no hunk has drifted and the file is not known
  /// to have changed. Otherwise only if the decided hunks before and after have the same drift.
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
      if (!hunk(i).counts_agree || search.places.step == MatchStep::kFuzz) continue;
      const bool is_bracketed = after[i + 1] && *after[i + 1] == before;
      if (has_drift && !is_bracketed) continue;
      const int64_t wanted = search.search.stated() + (has_drift ? before : 0);
      const bool stands =
          std::binary_search(search.feasible.begin(), search.feasible.end(), wanted) ||
          (search.places.is_cut &&
           index_.matches_at(search.search.pattern(), wanted, search.places.fold));
      if (!stands || is_headed_elsewhere(i, wanted)) continue;
      settle(search, wanted);
      changed = true;
    }
    return changed;
  }

  /// True if no hunk has a lower number than a hunk before it.
  [[nodiscard]] bool numbers_ascend() const {
    int64_t before = 0;
    for (const Search& search : searches_) {
      const int64_t stated = search.search.stated();
      if (stated < 0) continue;
      if (stated < before) return false;
      before = stated;
    }
    return true;
  }

  /// Missing context without an explanation is accepted only if the line number confirms the place.
  void doubt_unexplained(size_t i) {
    Search& search = searches_[i];
    if (!search.is_decided || !search.places.is_unexplained || is_chosen(i)) return;
    if (!is_where_expected(i)) search.places.is_doubtful = true;
  }

  /// A place elsewhere is doubtful if the stated place has a changed version of the hunk's lines.
  /// Then the edit was probably meant for the stated place.
  void doubt_rival_of_stated(size_t i) {
    Search& search = searches_[i];
    const int64_t stated = search.search.stated();
    if (!search.is_decided || stated < 0 || search.start == stated || is_chosen(i)) return;
    int64_t expected = stated;
    for (size_t k = i; k-- > 0;) {
      if (const auto drift = drift_of(k)) {
        expected = stated + *drift;
        break;
      }
    }
    if (expected == search.start) return;
    // If the counts are wrong, the number may be, too. Only the very lines there support it.
    const bool is_number_sure = hunk(i).counts_agree;
    const auto is_rival = [&](int64_t place) {
      if (has_place(i, place)) return true;
      return is_number_sure && (resembles(index_.lines(), hunk(i), place) ||
                                has_lines_near(index_.lines(), hunk(i), place, search.start));
    };
    if (search.places.rival || is_rival(expected) || is_rival(stated) ||
        is_changed_near(index_, hunk(i), stated, search.start) ||
        is_below_another_header(index_, hunk(i), search.start)) {
      search.places.is_doubtful = true;
    }
  }

  /// Whether the hunk fits byte for byte at a place, with a line that tells something.
  [[nodiscard]] bool has_place(size_t i, int64_t place) const {
    const HunkPlaces& places = searches_[i].places;
    const std::vector<std::string_view>& pattern = searches_[i].search.pattern();
    return places.fold == LineFolding::kBytes && places.fuzz == 0 &&
           std::binary_search(places.starts.begin(), places.starts.end(), place) &&
           std::any_of(pattern.begin(), pattern.end(), is_telling_line);
  }

  /// In a file that is known to have changed, the only place may be a copy of the intended one,
  /// whose lines have changed. So it is doubtful if another place has at least half as many of the
  /// hunk's telling lines, and at most one or two fewer. It is not doubtful if the hunks before and
  /// after have the same drift.
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

  /// A hunk without leading context belongs to the start of the file, one without trailing context
  /// to the end (git requires that). True if such a hunk was found elsewhere, where its context
  /// proves less.
  [[nodiscard]] bool left_its_end(size_t i) const {
    const Search& search = searches_[i];
    const ContextCounts context = context_counts(hunk(i));
    if (search.search.stated() < 0 || hunk(i).minimal_context) return false;
    const auto size = static_cast<int64_t>(index_.lines().size());
    if (context.leading == 0 && search.search.stated() == 0 && search.start != 0) return true;
    return context.trailing == 0 && context.leading > 0 && search.start + length(i) != size;
  }

  /// True if the hunk is at its stated line, or has the same drift as the hunk before or after it.
  [[nodiscard]] bool is_where_expected(size_t i) const {
    const auto drift = drift_of(i);
    if (!drift || !hunk(i).counts_agree) return false;
    return *drift == 0 || (i > 0 && drift_of(i - 1) == drift) ||
           (i + 1 < searches_.size() && drift_of(i + 1) == drift);
  }

  [[nodiscard]] bool is_bracketed(size_t i) const {
    const auto drift = drift_of(i);
    return drift && i > 0 && i + 1 < searches_.size() && drift_of(i - 1) == drift &&
           drift_of(i + 1) == drift;
  }

  [[nodiscard]] bool is_chosen(size_t i) const { return chosen_.contains(i); }

  PlacedEdits finish() {
    PlacedEdits out;
    std::vector<Splice> splices;
    for (size_t i = 0; i < searches_.size(); ++i) {
      Search& search = searches_[i];
      if (!search.is_decided || search.places.is_doubtful || search.places.anchor_against ||
          !search.places.doubt.empty() || step_of(i) > options_.last_step) {
        out.failures.push_back(explain(i));
        // If the hunk was cut off, a correction would make a part of its change.
        if (edit_.doubt && i + 1 == edit_.hunks.size()) out.failures.back().rebased.clear();
        continue;
      }
      if (search.places.fold >= LineFolding::kBlanks && !take_own_characters(i)) {
        out.failures.push_back(explain_characters(index_.lines(), failed_hunk(i), search.start));
        continue;
      }
      out.placements.push_back(placement(i));
      const size_t before = splices.size();
      splice(i, splices);
      report_leniencies(i, out);
      report_same_lines(i, std::span(splices).subspan(before), out);
    }
    if (is_in_other_order_) {
      out.leniencies.push_back({"hunk_order",
                                "the hunks are not in the order of the file; each fits at one "
                                "place",
                                edit_.path, edit_.document_line});
    }
    auto joined = Splices::from(index_.lines().text().size(), std::move(splices));
    if (!joined && !chosen_.empty()) return without_choices();
    GALLEY_CHECK(joined.has_value());  // places of hunks do not overlap
    out.splices = std::move(*joined);
    return out;
  }

  /// The caller chose one place for two hunks: then none of the choices counts.
  [[nodiscard]] PlacedEdits without_choices() const {
    MatchOptions options = options_;
    options.choices.clear();
    return HunkPlacer(index_, edit_, options, is_over_).run();
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
    const int64_t stated = HunkSearch(index_, edit_.hunks[i], options_).stated();
    if (stated >= 0) out.offset = search.start - stated;
    out.line = static_cast<uint32_t>(search.start + 1);
    out.count = static_cast<uint32_t>(length(i));
    if (search.places.fold >= LineFolding::kBlanks) {
      out.indent = indent_at(index_.lines(), hunk(i), search.start).describe();
    }
    if (is_chosen(i)) out.choices.push_back(chosen_.at(i));
    return out;
  }

  /// Returns false if the new lines cannot keep the file's quotes, dashes and blanks.
  bool take_own_characters(size_t i) {
    const auto start = static_cast<size_t>(searches_[i].start);
    if (searches_[i].places.fold == LineFolding::kTypography) {
      const IndentMap indent = indent_at(index_.lines(), hunk(i), searches_[i].start);
      const std::vector<HunkLine>& lines = hunk(i).lines;
      const bool is_known = std::all_of(lines.begin(), lines.end(), [&](const HunkLine& line) {
        return line.role != LineRole::kAdded || indent.can_carry(line.text);
      });
      if (!is_known) return false;
    }
    auto own = with_own_characters(index_.lines(), hunk(i), start, kept_);
    if (!own) return false;
    rewritten_.emplace(i, *std::move(own));
    return true;
  }

  [[nodiscard]] const Hunk& hunk_to_splice(size_t i) const {
    const auto found = rewritten_.find(i);
    return found == rewritten_.end() ? hunk(i) : found->second;
  }

  void splice(size_t i, std::vector<Splice>& splices) const {
    const Search& search = searches_[i];
    IndentMap indent;
    if (search.places.fold >= LineFolding::kBlanks) {
      indent = indent_at(index_.lines(), hunk(i), search.start);
    }
    const size_t lead = search.places.drop_leading;
    const size_t trail = search.places.drop_trailing;
    if (lead == 0 && trail == 0) {
      splice_hunk(index_.lines(), hunk_to_splice(i), static_cast<size_t>(search.start),
                  search.places.fold, indent, splices);
      return;
    }
    Hunk core = hunk(i);
    core.lines.erase(core.lines.end() - static_cast<int64_t>(trail), core.lines.end());
    core.lines.erase(core.lines.begin(), core.lines.begin() + static_cast<int64_t>(lead));
    splice_hunk(index_.lines(), core, static_cast<size_t>(search.start) + lead, search.places.fold,
                indent, splices);
  }

  void report_leniencies(size_t i, PlacedEdits& out) const {
    const auto line = edit_.hunks[i].document_line;
    if (const auto mended = mended_.find(i); mended != mended_.end()) {
      for (Leniency leniency : mended->second->leniencies) {
        leniency.path = edit_.path;
        leniency.line = line;
        out.leniencies.push_back(std::move(leniency));
      }
    }
    if (shares_context_ && i > 0 && searches_[i].start < searches_[i - 1].start + length(i - 1)) {
      out.leniencies.push_back({kSharedContext,
                                "the hunk and the one before it have lines in common, which only "
                                "one of them changes",
                                edit_.path, line});
    }
    const Search& search = searches_[i];
    if (search.places.fold >= LineFolding::kBlanks &&
        !indent_at(index_.lines(), hunk(i), search.start).is_identity() &&
        index_.long_texts().is_added_to(hunk(i), search.start)) {
      out.leniencies.push_back({"shifted_text",
                                "new lines in a text of several lines got the indentation of the "
                                "place, which is a part of that text",
                                edit_.path, line});
    }
    if (step_of(i) == MatchStep::kLineEnds) {
      out.leniencies.push_back({"line_ends",
                                "the hunk's line ends are not the file's; new lines got the file's",
                                edit_.path, line});
    }
    if (search.places.fold == LineFolding::kTypography) {
      out.leniencies.push_back({"typography",
                                "the edit's quotes, dashes or blanks are not the file's; what its "
                                "old and new lines share stays as the file has it",
                                edit_.path, line});
    }
  }

  [[nodiscard]] FailedHunk failed_hunk(size_t i) const {
    const HunkSearch& search = searches_[i].search;
    return {hunk(i), i, ids_[i], search.pattern(), search.stated()};
  }

  /// Reports equal lines next to inserted ones, unless context on both sides excludes that the hunk
  /// was applied before.
  void report_same_lines(size_t i, std::span<const Splice> splices, PlacedEdits& out) const {
    const ContextCounts context = context_counts(with_kept_lines(hunk(i)));
    if (context.leading > 0 && context.trailing > 0) return;
    for (const Splice& splice : splices) {
      const std::string_view file = index_.lines().text();
      const std::string_view old_text = file.substr(splice.offset, splice.length);
      const auto same = equal_lines_next_to(file, splice.offset, old_text, splice.text);
      if (!same) continue;
      out.leniencies.push_back(same_lines_note(edit_.path, index_.lines().line_at(*same) + 1,
                                               edit_.hunks[i].document_line));
    }
  }

  EditFailure explain(size_t i) {
    const Search& search = searches_[i];
    const FailedHunk failed = failed_hunk(i);
    if (!search.places.doubt.empty() && !search.places.starts.empty()) {
      return explain_new_lines(failed, search.places.doubt);
    }
    const bool is_only_late =
        search.is_decided && !search.places.is_doubtful && !search.places.anchor_against;
    if (is_only_late) return explain_step(failed, step_of(i));
    if (search.places.starts.empty()) {
      EditFailure out = explain_missing(index_, failed, edit_.path);
      // A text to replace is explained as a whole.
      const bool is_text = options_.min_context == UINT32_MAX;
      if (out.reason == "patch.context_not_found" && out.rebased.empty() && !is_text)
        name_escapes(index_, failed, out);
      return out;
    }
    const bool is_ambiguous =
        search.feasible.size() > 1 || search.places.is_doubtful || search.places.starts.size() > 1;
    std::vector<int64_t> shown = search.feasible.empty() ? search.places.starts : search.feasible;
    std::vector<int64_t> rivals;
    if (search.places.rival) rivals.push_back(*search.places.rival);
    if (has_place(i, search.search.stated())) rivals.push_back(search.search.stated());
    for (const int64_t rival : rivals) {
      const auto at = std::lower_bound(shown.begin(), shown.end(), rival);
      if (search.places.is_doubtful && (at == shown.end() || *at != rival)) shown.insert(at, rival);
    }
    EditFailure out = search.places.anchor_against
                          ? explain_anchor(index_, failed, *search.places.anchor_against)
                      : is_ambiguous ? explain_ambiguous(failed, search.places.is_doubtful)
                                     : explain_out_of_order(failed, shown.front());
    for (const int64_t start : shown) {
      if (out.candidates.size() == kListedCandidates) break;
      out.candidates.push_back(candidate_at(ids_[i], file_key(), index_.lines(), start, length(i)));
    }
    out.more_candidates = shown.size() - out.candidates.size();
    return out;
  }

  const FileEdit& edit_;
  const MatchOptions& options_;
  const EndQuestion& is_over_;
  FileIndex& index_;
  std::vector<std::string> ids_;
  std::string file_key_;  // empty until an id of a candidate is needed
  std::vector<Search> searches_;
  std::map<size_t, std::string> chosen_;  ///< ids of the chosen places, by hunk
  bool is_in_other_order_ = false;
  bool shares_context_ = false;
  std::map<size_t, int64_t> follows_;  ///< context shared with the hunk before, by hunk
  bool may_be_escaped_ = false;        ///< entities such as `&lt;` may stand for characters
  std::unique_ptr<HunkMender> mender_;
  std::deque<MendedHunk> replaced_;             // all readings that were searched for
  std::map<size_t, const MendedHunk*> mended_;  // the current reading of each repaired hunk
  std::map<size_t, Hunk> rewritten_;            // with the file's own characters
  std::deque<std::string> kept_;                // the lines of rewritten_
};

}  // namespace

PlacedEdits place_hunks(FileIndex& index, const FileEdit& edit, const MatchOptions& options) {
  return HunkPlacer(index, edit, options, {}).run();
}

PlacedEdits place_hunks(std::string_view content, const FileEdit& edit,
                        const MatchOptions& options) {
  return place_hunks_until({}, content, edit, options);
}

PlacedEdits place_hunks_until(const EndQuestion& is_over, std::string_view content,
                              const FileEdit& edit, const MatchOptions& options) {
  FileIndex index(content, options.indentation_is_syntax);
  return HunkPlacer(index, edit, options, is_over).run();
}

}  // namespace galley
