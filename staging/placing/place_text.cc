#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "staging/formats/dialect_marks.h"
#include "staging/placing/anchors.h"
#include "staging/placing/correction.h"
#include "staging/placing/damage.h"
#include "staging/placing/doubtful_place.h"
#include "staging/placing/edited_text.h"
#include "staging/placing/explain.h"
#include "staging/placing/file_index.h"
#include "staging/placing/hunk_search.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/place.h"
#include "staging/placing/text_readings.h"
#include "staging/text/diff.h"

namespace galley {
namespace {

constexpr size_t kMinHashDigits = 8;
/// Maximum number of places that are counted for an edit of one place.
constexpr size_t kCountedPlaces = 1000;
/// Maximum number of places that all edits of one file may replace.
constexpr size_t kMaxReplacements = size_t{2} << 20U;
/// Maximum work of the searches in one file (EditedText::work): a fixed limit, or one per byte if
/// that is larger.
constexpr uint64_t kMaxSearchWork = uint64_t{512} << 20U;
constexpr uint64_t kMaxSearchWorkByByte = 64;
/// Maximum number of bytes that are indexed for edits that do not fit as written: a fixed limit, or
/// this many times the file if that is larger.
constexpr uint64_t kMaxIndexedBytes = uint64_t{64} << 20U;
constexpr uint64_t kMaxIndexings = 8;

/// Places the text edits of one file, each on the result of the edits before it.
class TextPlacer {
 public:
  TextPlacer(std::string_view content, const FileEdit& edit, const MatchOptions& options,
             const EndQuestion& is_over)
      : edit_(edit),
        options_(options),
        is_over_(is_over),
        ids_(edit_ids(edit)),
        base_(content),
        current_(content, edit.text_edits.size()) {}

  PlacedEdits run() {
    for (size_t i = 0; i < edit_.text_edits.size(); ++i) {
      if (is_over_ && is_over_()) break;
      place(i, edit_.text_edits[i]);
    }
    out_.splices = composed(0, steps_.size());
    GALLEY_CHECK(out_.splices.apply(base_) == current_.text());
    return std::move(out_);
  }

 private:
  EditFailure failure(size_t i, std::string reason, const std::string& message) const {
    EditFailure out;
    out.edit = i;
    out.id = id_of(i);
    out.document_line = edit_.text_edits[i].document_line;
    out.reason = std::move(reason);
    out.message = "edit " + std::to_string(i + 1) + message;
    return out;
  }

  [[nodiscard]] const std::string& id_of(size_t i) const { return ids_[edit_.hunks.size() + i]; }

  void place(size_t i, const TextEdit& edit) {
    ends_differ_ = false;
    place_one(i, edit);
    if (!ends_differ_) return;
    out_.leniencies.push_back({"line_ends",
                               "the edit's line ends are not the file's; new lines got the file's",
                               edit_.path, edit.document_line});
  }

  void place_one(size_t i, const TextEdit& edit) {
    if (edit.kind != TextEdit::Kind::kReplace) {
      place_by_line(i, edit);
      return;
    }
    if (edit.old_text.empty() && current_.text().empty()) {
      TextEdit whole = edit;
      whole.kind = TextEdit::Kind::kInsert;
      whole.first_line = 0;
      place_by_line(i, whole);
      return;
    }
    if (edit.old_text.empty()) {
      out_.failures.push_back(failure(i, "patch.empty_search",
                                      ": the text to look for is empty; give the lines next to "
                                      "which the new ones belong"));
      return;
    }
    if (edit.old_text == edit.new_text) {
      out_.failures.push_back(failure(i, "patch.no_change", ": old and new text are the same"));
      return;
    }
    if (is_over_work()) {
      fail_over_work(i);
      return;
    }
    const std::vector<size_t> places = places_of(edit.old_text, edit);
    if (places.empty()) {
      if (!place_with_crlf(i, edit) && !place_as_meant(i, edit)) {
        place_by_lines_of_text(i, edit);
      }
    } else if (places.size() > 1 && !edit.replace_all && !have_one_result(edit, places)) {
      take_choice_or_fail(i, edit, places);
    } else if (!was_made(i, edit, places)) {
      const size_t at = places.front();
      take(i, edit, edit.replace_all ? places : std::vector{at},
           choices_of(id_of(i), at, edit.old_text));
    }
  }

  /// Whether the places overlap, and the edit makes the same text at each. For example, it removes
  /// one of three blank lines. False for many places, because that takes long to compare.
  [[nodiscard]] bool have_one_result(const TextEdit& edit,
                                     const std::vector<size_t>& places) const {
    constexpr size_t kComparedPlaces = 16;
    if (places.size() > kComparedPlaces) return false;
    const std::string_view file = current_.text();
    const size_t size = edit.old_text.size();
    for (size_t k = 1; k < places.size(); ++k) {
      const size_t shift = places[k] - places[k - 1];
      if (shift >= size) return false;
      const std::string first =
          std::string(edit.new_text) + std::string(file.substr(places[k - 1] + size, shift));
      const std::string second =
          std::string(file.substr(places[k - 1], shift)) + std::string(edit.new_text);
      if (first != second) return false;
    }
    return true;
  }

  /// Refuses an edit, and returns true, if it was already applied. An edit that adds lines next to
  /// its old text still fits after that. It is refused if all places already have these lines and
  /// the old text is telling.
  bool was_made(size_t i, const TextEdit& edit, const std::vector<size_t>& places) {
    const std::string_view file = current_.text();
    const bool takes_ends = takes_line_ends(edit.old_text, edit.new_text);
    std::optional<size_t> same;
    size_t made = 0;
    for (const size_t at : places) {
      const auto here = equal_lines_next_to(
          file, at, edit.old_text,
          takes_ends ? with_line_ends_of(file, at, edit.old_text.size(), edit.new_text)
                     : std::string(edit.new_text));
      if (!here) continue;
      if (!same) same = here;
      ++made;
    }
    if (!same) {
      note_same_text(edit, places);
      return false;
    }
    const size_t line = current_.line_at(*same) + 1;
    if (made < places.size() || !is_telling_line(edit.old_text)) {
      out_.leniencies.push_back(same_lines_note(edit_.path, line, edit.document_line));
      return false;
    }
    EditFailure out = failure(i, "patch.already_applied",
                              ": this change is already there, at line " + std::to_string(line) +
                                  "; leave it out, or name the lines that are there to add more");
    out.nearest_line = static_cast<uint32_t>(line);
    out.nearest_count = count_of(edit.new_text);
    out_.failures.push_back(std::move(out));
    return true;
  }

  /// Reports an edit that inserts text in a line next to the same text.
  void note_same_text(const TextEdit& edit, const std::vector<size_t>& places) {
    for (const size_t at : places) {
      if (!has_text_next_to(current_.text(), at, edit.old_text, edit.new_text)) continue;
      out_.leniencies.push_back(
          same_lines_note(edit_.path, current_.line_at(at) + 1, edit.document_line));
      return;
    }
  }

  [[nodiscard]] std::vector<size_t> places_of(std::string_view wanted, const TextEdit& edit) const {
    const size_t limit = edit.replace_all ? kMaxReplacements + 1 : kCountedPlaces + 1;
    const auto overlap =
        edit.replace_all ? EditedText::Overlap::kNone : EditedText::Overlap::kAllowed;
    return current_.find(wanted, edit.whole_lines, limit, overlap);
  }

  [[nodiscard]] bool is_over_work() const {
    return current_.work() + steps_walked_ >
           std::max(kMaxSearchWork, kMaxSearchWorkByByte * base_.size());
  }

  void fail_over_work(size_t i) {
    out_.failures.push_back(failure(i, "limit.edit_work",
                                    ": the edits of this file take too much work; send them in "
                                    "smaller portions"));
  }

  /// Whether the old text has line ends that may be CR LF in the file.
  [[nodiscard]] bool has_crlf_form(const TextEdit& edit) const {
    return options_.last_step >= MatchStep::kLineEnds &&
           edit.old_text.find('\n') != std::string_view::npos &&
           edit.old_text.find('\r') == std::string_view::npos;
  }

  /// Places a text of several lines with the line ends CR LF. Returns false if that form does not
  /// fit either.
  bool place_with_crlf(size_t i, const TextEdit& edit) {
    if (!has_crlf_form(edit)) return false;
    const std::string old_text = with_crlf(edit.old_text);
    const std::vector<size_t> places = places_of(old_text, edit);
    if (places.empty() || (places.size() > 1 && !edit.replace_all)) return false;
    const std::string new_text = with_crlf(edit.new_text);
    TextEdit meant = edit;
    meant.old_text = old_text;
    meant.new_text = new_text;
    // If the edit was refused, its failure is already recorded.
    if (was_made(i, meant, places) || !take(i, meant, places)) return true;
    out_.placements.back().step = MatchStep::kLineEnds;
    ends_differ_ = true;
    return true;
  }

  /// The only place of an edit in another reading, byte for byte. Numbered lines must begin a line,
  /// and be at the stated line unless three or more of them are telling.
  std::vector<size_t> place_of_meant(const TextReading& meant, TextEdit& own) const {
    own.old_text = meant.old_text;
    own.new_text = meant.new_text;
    const std::vector<size_t> places = places_of(own.old_text, own);
    if (places.size() != 1) return {};
    if (meant.line == 0) return places;
    const Lines lines(own.old_text);
    size_t telling = 0;
    for (size_t k = 0; k < lines.size(); ++k) telling += is_telling_line(lines[k]) ? 1 : 0;
    const size_t line = current_.line_at(places.front());
    const bool is_certain = places.front() == current_.line_offset(line) &&
                            (line + 1 == meant.line || telling >= kNumberOutweighed);
    return is_certain ? places : std::vector<size_t>();
  }

  /// Places an edit in another reading. Returns false unless exactly one form of it has a place.
  bool place_as_meant(size_t i, const TextEdit& edit) {
    if (options_.last_step < MatchStep::kMended || edit.replace_all) return false;
    const std::vector<TextReading> readings = other_readings(current_.text(), edit);
    const TextReading* found = nullptr;
    std::vector<size_t> places;
    for (const TextReading& meant : readings) {
      if (options_.is_strict(meant.rule) || !is_telling_line(meant.old_text)) continue;
      TextEdit own = edit;
      std::vector<size_t> here = place_of_meant(meant, own);
      if (here.empty()) continue;
      const bool is_same = found != nullptr && found->old_text == meant.old_text &&
                           found->new_text == meant.new_text;
      if (found != nullptr && !is_same) return false;
      found = &meant;
      places = std::move(here);
    }
    if (found == nullptr) return false;
    TextEdit own = edit;
    own.old_text = found->old_text;
    own.new_text = found->new_text;
    if (was_made(i, own, places) || !take(i, own, places)) return true;
    out_.placements.back().step = MatchStep::kMended;
    out_.leniencies.push_back({found->rule, found->message, edit_.path, edit.document_line});
    return true;
  }

  static std::string with_crlf(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '\n' && !out.ends_with('\r')) out.push_back('\r');
      out.push_back(c);
    }
    return out;
  }

  /// Combines the splices of steps [begin, end) pairwise, in O(n log n) time.
  [[nodiscard]] Splices composed(size_t begin, size_t end) const {
    if (begin == end) return Splices(base_.size());
    if (end - begin == 1) return steps_[begin];
    const size_t middle = begin + (end - begin) / 2;
    return composed(begin, middle).then(composed(middle, end));
  }

  [[nodiscard]] static uint32_t count_of(std::string_view text) {
    const auto newlines = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
    return newlines + (text.empty() || text.back() == '\n' ? 0 : 1);
  }

  /// Refuses an edit, and returns true, if its old text has only a part of the indentation of a
  /// line and its new text does not show how far its lines are to be shifted. Text that begins
  /// behind the indentation, or ends inside a line, is replaced as it is, unless the new text would
  /// add the rest of the indentation once more.
  bool fail_in_indentation(size_t i, const TextEdit& edit, const std::vector<Splice>& places) {
    const std::string_view file = current_.text();
    const std::string_view old_text = edit.old_text;
    const bool may_be_part = !indent_of(old_text).empty() && !trimmed(old_text).empty();
    if (!may_be_part || keeps_first_indentation(edit)) return false;
    for (const Splice& place : places) {
      const size_t at = place.offset;
      const size_t last = at == 0 ? file.npos : file.find_last_not_of(" \t", at - 1);
      const size_t begin = last == file.npos ? 0 : last + 1;
      const size_t end = std::min(file.find_first_not_of(" \t", place.end()), file.size());
      const bool is_whole = old_text.ends_with('\n') || end == file.size() || file[end] == '\n' ||
                            file.substr(end).starts_with("\r\n");
      const bool is_in_indent = begin < at && (begin == 0 || file[begin - 1] == '\n');
      const size_t added = indent_of(edit.new_text).size();
      const size_t known = indent_of(old_text).size();
      const bool adds_again = added > known && added <= at - begin + known;
      if (!is_in_indent || !(is_whole || adds_again)) continue;
      const size_t line = current_.line_at(at);
      EditFailure out =
          failure(i, "patch.doubtful_lines",
                  ": its old text has less indentation than line " + std::to_string(line + 1) +
                      ", so that of its new lines is not certain; begin both texts "
                      "with the whole indentation of the file");
      out.nearest_line = static_cast<uint32_t>(line + 1);
      out.nearest_count = count_of(old_text);
      const Lines lines(lines_at(begin, out.nearest_count));
      for (size_t k = 0; k < lines.size() && k < kShownLines; ++k) out.found.emplace_back(lines[k]);
      out_.failures.push_back(std::move(out));
      return true;
    }
    return false;
  }

  /// True if the first new line has the indentation of the first old one, and each other one that
  /// of an old line behind the first. The old text has those as the file does.
  static bool keeps_first_indentation(const TextEdit& edit) {
    std::set<std::string_view> known;
    const Lines old_lines(edit.old_text);
    for (size_t k = 1; k < old_lines.size(); ++k) known.insert(indent_of(old_lines[k]));
    const Lines new_lines(edit.new_text);
    for (size_t k = 1; k < new_lines.size(); ++k) {
      const bool is_blank = trimmed(new_lines[k]).empty();
      if (!is_blank && !known.contains(indent_of(new_lines[k]))) return false;
    }
    return indent_of(edit.new_text) == indent_of(edit.old_text) &&
           !trimmed(edit.new_text).empty() &&
           edit.new_text.ends_with('\n') == edit.old_text.ends_with('\n');
  }

  /// Replaces the text at `places`. Returns false if the edit is refused: by the limit on
  /// replacements, or because its indentation is not certain.
  bool take(size_t i, const TextEdit& edit, const std::vector<size_t>& places,
            std::vector<std::string> choices = {}) {
    const bool takes_ends = takes_line_ends(edit.old_text, edit.new_text);
    std::vector<Splice> splices;
    splices.reserve(places.size());
    const auto add = [&](size_t at, size_t length) {
      Splice splice{at, length, std::string(edit.new_text)};
      splices.push_back(takes_ends ? with_line_ends(std::move(splice)) : std::move(splice));
    };
    for (const size_t at : places) add(at, edit.old_text.size());
    // A file may have both line ends.
    if (edit.replace_all && has_returns() && has_crlf_form(edit)) {
      const std::string crlf = with_crlf(edit.old_text);
      for (const size_t at : places_of(crlf, edit)) add(at, crlf.size());
      std::ranges::stable_sort(splices, {}, &Splice::offset);
      const auto overlaps = [](const Splice& a, const Splice& b) { return b.offset < a.end(); };
      splices.erase(std::unique(splices.begin(), splices.end(), overlaps), splices.end());
    }
    if (fail_in_indentation(i, edit, splices)) return false;
    replacements_ += splices.size();
    if (replacements_ > kMaxReplacements) {
      fail_over_work(i);
      return false;
    }
    Placement placement;
    placement.edit = i;
    placement.id = id_of(i);
    placement.line = static_cast<uint32_t>(current_.line_at(places.front()) + 1);
    placement.count = count_of(edit.old_text);
    placement.choices = std::move(choices);
    compose(std::move(splices), std::move(placement));
    return true;
  }

  [[nodiscard]] bool has_returns() {
    if (!has_returns_) has_returns_ = base_.find('\r') != std::string_view::npos;
    return *has_returns_;
  }

  /// Whether new lines get the line ends of the lines that they replace or follow. Not if the edit
  /// only changes line ends.
  bool takes_line_ends(std::string_view old_text, std::string_view new_text) {
    if (new_text.find('\n') == std::string_view::npos) return false;
    has_returns_ = has_returns() || new_text.find('\r') != std::string_view::npos;
    return *has_returns_ && !changes_line_ends(old_text, new_text);
  }

  Splice with_line_ends(Splice splice) {
    std::string text =
        with_line_ends_of(current_.text(), splice.offset, splice.length, splice.text);
    ends_differ_ = ends_differ_ || splice.text != text;
    splice.text = std::move(text);
    return splice;
  }

  void compose(std::vector<Splice> splices, Placement placement) {
    auto next = Splices::from(current_.text().size(), std::move(splices));
    GALLEY_CHECK(next.has_value());
    current_.apply(*next);
    steps_.push_back(std::move(*next));
    index_.reset();
    out_.placements.push_back(std::move(placement));
  }

  /// The id of this place of `wanted`, if the caller chose it.
  [[nodiscard]] std::vector<std::string> choices_of(const std::string& id, size_t at,
                                                    std::string_view wanted) {
    const auto& all = options_.choices;
    if (all.empty()) return {};
    std::string place = text_candidate(id, at, wanted).id;
    if (std::find(all.begin(), all.end(), place) == all.end()) return {};
    return {std::move(place)};
  }

  void take_choice_or_fail(size_t i, const TextEdit& edit, const std::vector<size_t>& places) {
    const bool is_counted = places.size() <= kCountedPlaces;
    EditFailure out =
        failure(i, "patch.ambiguous",
                ": the text occurs at " +
                    (is_counted ? std::to_string(places.size())
                                : "more than " + std::to_string(kCountedPlaces)) +
                    " places; " + std::string(kHowToChoose) +
                    (edit.whole_lines ? ", or give more context"
                                      : ", give more context, or replace all of them"));
    for (const size_t at : places) {
      const bool is_listed = out.candidates.size() < kListedCandidates;
      if (!is_listed && options_.choices.empty()) break;
      if (auto choices = choices_of(id_of(i), at, edit.old_text); !choices.empty()) {
        take(i, edit, {at}, std::move(choices));
        return;
      }
      if (is_listed) out.candidates.push_back(text_candidate(id_of(i), at, edit.old_text));
    }
    out.more_candidates = places.size() - out.candidates.size();
    out_.failures.push_back(std::move(out));
  }

  /// The place of `wanted` as a candidate of the edit `id`. Its own id depends on the place in the
  /// file before all edits. So it is the same when an edit before this one is made, or is not.
  [[nodiscard]] Candidate text_candidate(const std::string& id, size_t at,
                                         std::string_view wanted) {
    const auto in_base = base_offset(at, wanted.size());
    const std::string_view text = in_base ? base_ : current_.text();
    const size_t offset = in_base.value_or(at);
    const uint32_t count = count_of(wanted);
    const size_t begin = text.substr(0, offset).rfind('\n') + 1;  // 0 if there is none
    size_t end = begin;
    for (uint32_t k = 0; k < count && end < text.size(); ++k) {
      end = std::min(text.find('\n', end), text.size() - 1) + 1;
    }
    const Lines lines(text.substr(begin, end - begin));
    // The byte offset distinguishes two places in one line.
    const std::string key = id + (in_base ? ":" : "+") + std::to_string(offset);
    if (base_key_.empty()) base_key_ = content_key(base_);
    Candidate out = candidate_at(key, base_key_, lines, 0, count);
    out.line = static_cast<uint32_t>(current_.line_at(at) + 1);
    return out;
  }

  /// The offset in the file before all edits; nullopt if an edit changed the text there.
  [[nodiscard]] std::optional<size_t> base_offset(size_t at, size_t length) {
    for (size_t k = steps_.size(); k-- > 0;) {
      size_t added = 0;
      size_t removed = 0;
      for (const Splice& splice : steps_[k].all()) {
        ++steps_walked_;
        const size_t begin = splice.offset + added - removed;
        if (begin >= at + length) break;
        if (begin + splice.text.size() > at) return std::nullopt;
        added += splice.text.size();
        removed += splice.length;
      }
      at = at + removed - added;
    }
    return at;
  }

  /// The id of a part of a text edit, which is placed as a hunk.
  [[nodiscard]] std::string part_id(size_t i, const std::string& hunk) const {
    return id_of(i) + "/" + hunk;
  }

  [[nodiscard]] std::string_view lines_at(size_t at, size_t count) const {
    const size_t end =
        current_.line_offset(std::min(current_.line_at(at) + count, current_.line_count()));
    return std::string_view(current_.text()).substr(at, end - at);
  }

  /// Gives the candidates of a part of edit `i` the ids that do not depend on the edits before it.
  /// Returns true, and adds the choice to `options`, if the caller chose one of them.
  bool choose_lines(size_t i, EditFailure& part, MatchOptions& options) {
    for (Candidate& candidate : part.candidates) {
      const std::string own = candidate.id;
      const std::string id = part_id(i, part.id);
      const size_t at = current_.line_offset(candidate.line - 1);
      candidate.id = text_candidate(id, at, lines_at(at, candidate.count)).id;
      const auto tried = std::find(options.choices.begin(), options.choices.end(), own);
      if (tried != options.choices.end()) continue;
      if (choices_of(id, at, lines_at(at, candidate.count)).empty()) continue;
      options.choices.push_back(own);
      return true;
    }
    return false;
  }

  /// Searches for the lines by the later steps of the matcher, because the text does not match byte
  /// for byte.
  void place_by_lines_of_text(size_t i, const TextEdit& edit) {
    const bool is_of_ends = changes_line_ends(edit.old_text, edit.new_text);
    std::string old_text = is_of_ends ? std::string(edit.old_text) : without_crlf(edit.old_text);
    std::string new_text = is_of_ends ? std::string(edit.new_text) : without_crlf(edit.new_text);
    if (!old_text.ends_with('\n')) {
      old_text.push_back('\n');
      new_text.push_back('\n');
    } else if (!new_text.empty() && !new_text.ends_with('\n')) {
      new_text.push_back('\n');
    }
    const Lines before(old_text);
    const Lines after(new_text);
    FileEdit by_lines;
    by_lines.path = edit_.path;
    const bool is_elided = edit.whole_lines && add_elided(before, after, edit, by_lines);
    if (!is_elided)
      by_lines.hunks.push_back(hunk_of({before, 0, before.size()}, {after, 0, after.size()}, edit));
    MatchOptions options = options_;
    options.min_context = UINT32_MAX;           // every line of a search text must be found
    options.strict.emplace_back("hunk_order");  // and its parts must be in order, apart
    options.strict.emplace_back("shared_context");
    if (!index_) {
      indexed_bytes_ += current_.text().size();
      if (indexed_bytes_ > std::max(kMaxIndexedBytes, kMaxIndexings * base_.size())) {
        fail_over_work(i);
        return;
      }
      index_ = std::make_unique<FileIndex>(current_.text(), options_.indentation_is_syntax);
    }
    options.choices.clear();
    PlacedEdits placed = place_hunks(*index_, by_lines, options);
    while (!placed.failures.empty() && choose_lines(i, placed.failures.front(), options)) {
      placed = place_hunks(*index_, by_lines, options);
    }
    if (!placed.failures.empty()) {
      EditFailure& first = placed.failures.front();
      const bool is_missing = first.reason == "patch.context_not_found";
      const bool is_whole = by_lines.hunks.size() == 1 && (is_missing || !first.rebased.empty());
      first.rebased = is_whole ? correction_alone(before, after) : std::string();
      if (is_missing) name_mistake(old_text, new_text, first);
      fail_by_lines(i, std::move(first));
      return;
    }
    Placement placement = placed.placements.front();
    placement.choices.clear();
    for (const Placement& part : placed.placements) {
      const size_t at = current_.line_offset(part.line - 1);
      const auto more = choices_of(part_id(i, part.id), at, lines_at(at, part.count));
      placement.choices.insert(placement.choices.end(), more.begin(), more.end());
    }
    placement.edit = i;
    placement.id = id_of(i);
    if (placement.step <= MatchStep::kOffset) placement.step = MatchStep::kLineEnds;
    for (Leniency& leniency : placed.leniencies) out_.leniencies.push_back(std::move(leniency));
    std::vector<Splice> splices = placed.splices.all();
    compose(std::move(splices), std::move(placement));
  }

  /// The agent sends a correction alone. So it must be the whole edit in every reading, and fit the
  /// file without the edits before this one.
  std::string correction_alone(const Lines& before, const Lines& after) {
    if (!steps_.empty() && !base_index_) {
      indexed_bytes_ += base_.size();
      base_index_ = std::make_unique<FileIndex>(base_, options_.indentation_is_syntax);
    }
    FileIndex& index = steps_.empty() ? *index_ : *base_index_;
    const std::vector<Hunk> readings = readings_of(before, after);
    std::string out = correction_of_all(index, readings);
    return out.empty() ? correction_by_mending(index, readings) : out;
  }

  /// The change that a diff of the same lines would make, if all readings make the same. A diff may
  /// have other context than the file; a text to replace may not, so it is only offered.
  std::string correction_by_mending(FileIndex& index, const std::vector<Hunk>& readings) {
    const std::string_view file = index.lines().text();
    MatchOptions options = options_;
    options.min_context.reset();
    options.choices.clear();
    std::optional<std::string> made;
    for (const Hunk& hunk : readings) {
      FileEdit one;
      one.path = edit_.path;
      one.hunks = {hunk};
      const PlacedEdits placed = place_hunks(index, one, options);
      std::string text = placed.failures.empty() ? placed.splices.apply(file) : std::string(file);
      if (text == file || (made && *made != text)) return {};
      made = std::move(text);
    }
    if (!made) return {};
    const auto hunks = unique_hunks(file, *made, true);
    if (hunks.size() != 1) return {};
    std::string out = hunks.front().text();
    const bool is_stated = std::any_of(readings.begin(), readings.end(), [&](const Hunk& hunk) {
      return makes_stated_change(index.lines(), hunk.lines, "--- a/f\n+++ b/f\n" + out);
    });
    return is_stated ? out : std::string();
  }

  /// The intended texts of an edit, if its old text has one mistake in all of its lines.
  struct Guess {
    std::string old_text;
    std::string new_text;
    bool is_certain = true;  ///< that it is the intended new text
    std::string mistake;
    const char* remedy = "";
  };

  /// Explains an old text that is not in the file by a mistake, and suggests the edit without it.
  void name_mistake(const std::string& old_text, const std::string& new_text, EditFailure& out) {
    const std::vector<Guess> all = guesses(old_text, new_text);
    for (const LineFolding fold : {LineFolding::kLineEnds, LineFolding::kBlanks}) {
      for (const Guess& guess : all) {
        if (guess.old_text != old_text && name_mistake(guess, fold, out)) return;
      }
    }
  }

  static std::vector<Guess> guesses(const std::string& old_text, const std::string& new_text) {
    std::vector<Guess> out;
    for (const bool joins : {false, true}) {
      out.push_back({unescaped(old_text, joins), unescaped(new_text, joins),
                     has_certain_escapes(old_text, new_text), kEscapesAsText, kSendCharacters});
    }
    out.push_back({without_entities(old_text), new_text, without_entities(new_text) == new_text,
                   "they are escaped as in HTML, like '&lt;': read as signs they",
                   "send the signs"});
    for (const auto& [before, after] :
         {std::pair("> ", "> "), {"+ ", "+ "}, {"+", "+"}, {"-", "+"}, {"-", "-"}}) {
      const auto bare = without_prefix(old_text, before);
      const auto bare_new = without_prefix(new_text, after);
      if (!bare) continue;
      const bool is_plain = !has_line_with(new_text, before) && !has_line_with(new_text, after);
      out.push_back({*bare, bare_new ? *bare_new : new_text,
                     (bare_new || is_plain) && !has_line_with(*bare, before),
                     "each line begins with '" + std::string(before) + "': without it they",
                     "leave it out"});
    }
    return out;
  }

  bool name_mistake(const Guess& guess, LineFolding fold, EditFailure& out) {
    const Lines before(guess.old_text);
    std::vector<std::string_view> lines;
    for (size_t i = 0; i < before.size(); ++i) lines.push_back(before[i]);
    if (!is_telling_line(guess.old_text)) return false;
    const auto places = index_->find(lines, fold, 1);
    if (places.empty()) return false;
    const size_t line = places.front();
    out.message +=
        "; " + guess.mistake + " are at line " + std::to_string(line + 1) + ", so " + guess.remedy;
    out.nearest_line = static_cast<uint32_t>(line + 1);
    out.nearest_count = static_cast<uint32_t>(before.size());
    out.expected.assign(lines.begin(),
                        lines.begin() + static_cast<int64_t>(std::min(lines.size(), kShownLines)));
    out.found.clear();
    for (size_t i = line; i < line + before.size() && out.found.size() < kShownLines; ++i) {
      out.found.emplace_back(index_->lines()[i]);
    }
    out.rebased = guess.is_certain ? correction_alone(before, Lines(guess.new_text)) : "";
    return true;
  }

  /// The text without the prefix that all of its lines have; an empty line may lack it.
  static std::optional<std::string> without_prefix(std::string_view text, std::string_view prefix) {
    std::string out;
    const Lines lines(text);
    for (size_t i = 0; i < lines.size(); ++i) {
      const bool is_bare = !lines[i].starts_with(prefix);
      const bool is_empty = trimmed(lines[i]) == trimmed(prefix) || trimmed(lines[i]).empty();
      if (is_bare && !is_empty) return std::nullopt;
      out += is_bare ? std::string_view("\n") : lines[i].substr(prefix.size());
    }
    return out;
  }

  static bool has_line_with(std::string_view text, std::string_view prefix) {
    const Lines lines(text);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].starts_with(prefix)) return true;
    }
    return false;
  }

  void fail_by_lines(size_t i, EditFailure out) {
    out.edit = i;
    out.id = id_of(i);
    if (out.message.starts_with("hunk 1")) {
      const size_t rest = out.message.find(out.message.find("(line") == 7 ? ")" : "1");
      out.message = "edit " + std::to_string(i + 1) + out.message.substr(rest + 1);
    }
    out_.failures.push_back(std::move(out));
  }

  /// Divides a SEARCH text with "..." lines into parts, which are placed in order. The lines that
  /// "..." stands for stay. Returns false if it has no such lines, if old and new text have
  /// different numbers of them, or if a part has only new lines.
  static bool add_elided(const Lines& before, const Lines& after, const TextEdit& edit,
                         FileEdit& out) {
    const auto dots_in = [](const Lines& lines) {
      std::vector<size_t> dots;
      for (size_t i = 0; i < lines.size(); ++i) {
        std::string storage;
        if (folded(lines[i], LineFolding::kBlanks, storage) == "...") dots.push_back(i);
      }
      dots.push_back(lines.size());
      return dots;
    };
    const std::vector<size_t> old_dots = dots_in(before);
    const std::vector<size_t> new_dots = dots_in(after);
    if (old_dots.size() != new_dots.size() || old_dots.size() == 1) return false;
    size_t old_at = 0;
    size_t new_at = 0;
    std::vector<HunkLine> above;  // the old lines of all parts so far
    for (size_t i = 0; i < old_dots.size(); ++i) {
      if (old_dots[i] > old_at) {
        out.hunks.push_back(
            hunk_of({before, old_at, old_dots[i]}, {after, new_at, new_dots[i]}, edit));
        // A part is in the block that a line of the parts above it opens.
        const size_t begin = above.size();
        for (size_t k = old_at; k < old_dots[i]; ++k) {
          above.push_back({LineRole::kContext, before[k]});
        }
        if (begin > 0) {
          out.hunks.back().anchors =
              anchors_of_part(above, begin, above.size(), before[old_dots[i - 1]]);
        }
      } else if (new_dots[i] > new_at) {
        return false;  // new lines without an old line next to them
      }
      old_at = old_dots[i] + 1;
      new_at = new_dots[i] + 1;
    }
    return !out.hunks.empty();
  }

  struct Stretch {
    const Lines& lines;
    size_t begin = 0;
    size_t end = 0;

    [[nodiscard]] std::string_view text() const { return lines.span(begin, end); }
  };

  /// Makes a hunk from old and new lines. Common lines are context, so that they keep the file's
  /// bytes.
  static Hunk hunk_of(Stretch before, Stretch after, const TextEdit& edit) {
    const Lines old_lines(before.text());
    const Lines new_lines(after.text());
    Hunk hunk = hunk_between(old_lines, new_lines, diff_lines(old_lines, new_lines));
    hunk.document_line = edit.document_line;
    return hunk;
  }

  void place_by_line(size_t i, const TextEdit& edit) {
    const size_t count = current_.line_count();
    const bool is_insert = edit.kind == TextEdit::Kind::kInsert;
    const size_t first = is_insert ? edit.first_line : std::max<uint32_t>(edit.first_line, 1) - 1;
    const size_t last = is_insert ? first : edit.last_line;
    if (first > count || last > count || first > last || (!is_insert && edit.first_line == 0)) {
      out_.failures.push_back(failure(
          i, "patch.line_outside",
          ": the file has " + std::to_string(count) + " lines; line numbers must be inside it"));
      return;
    }
    const size_t begin = current_.line_offset(first);
    const size_t end = current_.line_offset(last);
    const std::string_view old_text = std::string_view(current_.text()).substr(begin, end - begin);
    if (!check_hash(i, edit, first, old_text)) return;
    Splice splice{begin, end - begin, std::string(edit.new_text)};
    std::string& text = splice.text;
    const bool lacks_newline = !current_.text().empty() && current_.text().back() != '\n';
    if (is_insert && first > 0 && first == count && lacks_newline) {
      text = "\n" + std::string(without_terminator(text));
    } else if ((last != count || !lacks_newline) && !text.empty() && !text.ends_with('\n')) {
      text.push_back('\n');
    }
    Placement placement;
    placement.edit = i;
    placement.id = id_of(i);
    placement.line = static_cast<uint32_t>(first + 1);
    placement.count = static_cast<uint32_t>(last - first);
    if (takes_line_ends({}, splice.text)) splice = with_line_ends(std::move(splice));
    if (const auto same = equal_lines_next_to(current_.text(), begin, old_text, splice.text)) {
      out_.leniencies.push_back(
          same_lines_note(edit_.path, current_.line_at(*same) + 1, edit.document_line));
    }
    compose({std::move(splice)}, std::move(placement));
  }

  /// Checks the hash of the lines that the edit replaces: `stretch`, from line `first`.
  bool check_hash(size_t i, const TextEdit& edit, size_t first, std::string_view stretch) {
    if (edit.anchor_hash.empty()) return true;
    const std::string found = ContentId::of(stretch).hex();
    if (edit.anchor_hash.size() >= kMinHashDigits && found.starts_with(edit.anchor_hash)) {
      return true;
    }
    EditFailure out = failure(i, "patch.anchor_mismatch",
                              ": these lines are not what they were when they were read; they now "
                              "have the hash " +
                                  found.substr(0, 16));
    const Lines lines(stretch);
    out.nearest_line = static_cast<uint32_t>(first + 1);
    out.nearest_count = static_cast<uint32_t>(lines.size());
    for (size_t k = 0; k < lines.size() && k < kShownLines; ++k) out.found.emplace_back(lines[k]);
    out_.failures.push_back(std::move(out));
    return false;
  }

  const FileEdit& edit_;
  const MatchOptions& options_;
  const EndQuestion& is_over_;
  std::vector<std::string> ids_;
  std::string_view base_;
  std::string base_key_;  // empty until an id of a candidate is needed
  EditedText current_;
  std::vector<Splices> steps_;
  std::unique_ptr<FileIndex> index_;       // of current_; reset if that changes
  std::unique_ptr<FileIndex> base_index_;  // of base_
  std::optional<bool> has_returns_;        // whether base_ or a new text has a CR
  bool ends_differ_ = false;               // of the current edit
  uint64_t indexed_bytes_ = 0;
  uint64_t steps_walked_ = 0;  // splices that base_offset() read
  size_t replacements_ = 0;
  PlacedEdits out_;
};

}  // namespace

PlacedEdits place_text_edits(std::string_view content, const FileEdit& edit,
                             const MatchOptions& options) {
  return place_text_edits_until({}, content, edit, options);
}

PlacedEdits place_text_edits_until(const EndQuestion& is_over, std::string_view content,
                                   const FileEdit& edit, const MatchOptions& options) {
  return TextPlacer(content, edit, options, is_over).run();
}

}  // namespace galley
