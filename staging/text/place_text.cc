#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/content_id.h"
#include "staging/text/explain.h"
#include "staging/text/file_index.h"
#include "staging/text/hunk_search.h"
#include "staging/text/hunk_text.h"
#include "staging/text/match.h"

namespace galley {
namespace {

constexpr size_t kListedCandidates = 10;
constexpr size_t kMinHashDigits = 8;
/// How often the lines of a changed file are indexed anew for edits that do not fit as written.
constexpr int kMaxIndexings = 200;

/// Places the text edits of one file, each on the result of those before.
class TextPlacer {
 public:
  TextPlacer(std::string_view content, const FileEdit& edit, const MatchOptions& options)
      : edit_(edit), options_(options), ids_(edit_ids(edit)), current_(content) {
    base_ = content;
  }

  PlacedEdits run() {
    for (size_t i = 0; i < edit_.text_edits.size(); ++i) place(i, edit_.text_edits[i]);
    out_.splices = composed(0, steps_.size());
    GALLEY_CHECK(out_.splices.apply(base_) == current_);
    return std::move(out_);
  }

 private:
  EditFailure failure(size_t i, std::string reason, const std::string& message) const {
    EditFailure out;
    out.edit = i;
    out.id = ids_[edit_.hunks.size() + i];
    out.document_line = edit_.text_edits[i].document_line;
    out.reason = std::move(reason);
    out.message = "edit " + std::to_string(i + 1) + message;
    return out;
  }

  void place(size_t i, const TextEdit& edit) {
    if (edit.kind != TextEdit::Kind::kReplace) {
      place_by_line(i, edit);
      return;
    }
    if (edit.old_text.empty()) {
      out_.failures.push_back(failure(i, "patch.empty_search",
                                      ": the text to look for is empty; give the lines beside "
                                      "which the new ones belong"));
      return;
    }
    if (edit.old_text == edit.new_text) {
      out_.failures.push_back(failure(i, "patch.no_change", ": old and new text are the same"));
      return;
    }
    const std::vector<size_t> places = places_of(edit.old_text, edit.whole_lines);
    if (places.empty()) {
      if (!place_with_crlf(i, edit)) place_by_lines_of_text(i, edit);
    } else if (places.size() > 1 && !edit.replace_all) {
      take_choice_or_fail(i, edit, places);
    } else {
      take(i, edit, places);
    }
  }

  [[nodiscard]] std::vector<size_t> places_of(std::string_view wanted, bool whole_lines) const {
    std::vector<size_t> places;
    const char* const begin = current_.data();
    const char* const end = begin + current_.size();
    for (const char* at = begin; at < end;) {
      const void* found = memmem(at, static_cast<size_t>(end - at), wanted.data(), wanted.size());
      if (found == nullptr) break;
      at = static_cast<const char*>(found);
      const bool is_place = !whole_lines || at == begin || at[-1] == '\n';
      if (is_place) places.push_back(static_cast<size_t>(at - begin));
      at += is_place ? wanted.size() : 1;
    }
    return places;
  }

  /// Text of several lines in a file with CR LF: the same with the file's line ends.
  bool place_with_crlf(size_t i, const TextEdit& edit) {
    const bool is_lf = edit.old_text.find('\n') != std::string_view::npos &&
                       edit.old_text.find('\r') == std::string_view::npos;
    if (!is_lf || options_.last_step < MatchStep::kLineEnds) return false;
    const std::string old_text = with_crlf(edit.old_text);
    const std::vector<size_t> places = places_of(old_text, edit.whole_lines);
    if (places.empty() || (places.size() > 1 && !edit.replace_all)) return false;
    const std::string new_text = with_crlf(edit.new_text);
    TextEdit meant = edit;
    meant.old_text = old_text;
    meant.new_text = new_text;
    take(i, meant, places);
    out_.placements.back().step = MatchStep::kLineEnds;
    out_.leniencies.push_back({"line_ends",
                               "the edit's line ends are not the file's; new lines got the file's",
                               edit_.path, edit.document_line});
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

  /// The splices of steps [begin, end) as one, in n log n instead of one after the other.
  [[nodiscard]] Splices composed(size_t begin, size_t end) const {
    if (begin == end) return Splices(base_.size());
    if (end - begin == 1) return steps_[begin];
    const size_t middle = begin + (end - begin) / 2;
    return composed(begin, middle).then(composed(middle, end));
  }

  [[nodiscard]] uint32_t line_of(size_t offset) const {
    return static_cast<uint32_t>(
        std::count(current_.begin(), current_.begin() + static_cast<int64_t>(offset), '\n') + 1);
  }

  [[nodiscard]] static uint32_t count_of(std::string_view text) {
    const auto newlines = static_cast<uint32_t>(std::count(text.begin(), text.end(), '\n'));
    return newlines + (text.empty() || text.back() == '\n' ? 0 : 1);
  }

  void take(size_t i, const TextEdit& edit, const std::vector<size_t>& places) {
    std::vector<Splice> splices;
    for (const size_t at : places) {
      splices.push_back({at, edit.old_text.size(), std::string(edit.new_text)});
    }
    Placement placement;
    placement.edit = i;
    placement.id = ids_[edit_.hunks.size() + i];
    placement.line = line_of(places.front());
    placement.count = count_of(edit.old_text);
    compose(std::move(splices), std::move(placement));
  }

  void compose(std::vector<Splice> splices, Placement placement) {
    auto next = Splices::from(current_.size(), std::move(splices));
    GALLEY_CHECK(next.has_value());
    if (next->all().size() == 1) {
      const Splice& splice = next->all().front();
      current_.replace(splice.offset, splice.length, splice.text);
    } else {
      current_ = next->apply(current_);
    }
    steps_.push_back(std::move(*next));
    index_.reset();
    out_.placements.push_back(std::move(placement));
  }

  [[nodiscard]] bool is_chosen(const std::string& id) const {
    return std::find(options_.choices.begin(), options_.choices.end(), id) !=
           options_.choices.end();
  }

  void take_choice_or_fail(size_t i, const TextEdit& edit, const std::vector<size_t>& places) {
    EditFailure out =
        failure(i, "patch.ambiguous",
                ": the text stands at " + std::to_string(places.size()) +
                    " places; send a candidate's id to choose, give more context, or ask to "
                    "replace all");
    const Lines lines(current_);
    for (const size_t at : places) {
      const auto line = static_cast<int64_t>(lines.line_at(at));
      // Two places in one line differ by their byte.
      const std::string key = ids_[edit_.hunks.size() + i] + ":" + std::to_string(at);
      Candidate candidate = candidate_at(key, lines, line, count_of(edit.old_text));
      if (is_chosen(candidate.id)) {
        take(i, edit, {at});
        return;
      }
      if (out.candidates.size() < kListedCandidates) out.candidates.push_back(std::move(candidate));
    }
    out_.failures.push_back(std::move(out));
  }

  /// Not there byte for byte: the lines are looked for by the later steps of the matcher.
  void place_by_lines_of_text(size_t i, const TextEdit& edit) {
    std::string old_text(edit.old_text);
    std::string new_text(edit.new_text);
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
      by_lines.hunks.push_back(hunk_of(before, 0, before.size(), after, 0, after.size(), edit));
    MatchOptions options = options_;
    options.min_context = UINT32_MAX;  // every line of a search text must be there
    if (!index_) {
      if (++indexings_ > kMaxIndexings) {
        out_.failures.push_back(failure(i, "limit.edit_work",
                                        ": too many edits of this file do not fit as written; send "
                                        "them in smaller portions"));
        return;
      }
      index_ = std::make_unique<FileIndex>(current_);
    }
    PlacedEdits placed = place_hunks(*index_, by_lines, options);
    if (!placed.failures.empty()) {
      fail_by_lines(i, std::move(placed.failures.front()));
      return;
    }
    Placement placement = std::move(placed.placements.front());
    placement.edit = i;
    placement.id = ids_[edit_.hunks.size() + i];
    if (placement.step <= MatchStep::kOffset) placement.step = MatchStep::kLineEnds;
    for (Leniency& leniency : placed.leniencies) out_.leniencies.push_back(std::move(leniency));
    std::vector<Splice> splices = placed.splices.all();
    compose(std::move(splices), std::move(placement));
  }

  void fail_by_lines(size_t i, EditFailure out) {
    out.edit = i;
    out.id = ids_[edit_.hunks.size() + i];
    if (out.message.starts_with("hunk 1")) {
      const size_t rest = out.message.find(out.message.find("(line") == 7 ? ")" : "1");
      out.message = "edit " + std::to_string(i + 1) + out.message.substr(rest + 1);
    }
    out_.failures.push_back(std::move(out));
  }

  /// SEARCH text with "..." lines: the stretches between them stand in order, each to be placed;
  /// what the dots stand for stays. False when old and new have not as many of them.
  static bool add_elided(const Lines& before, const Lines& after, const TextEdit& edit,
                         FileEdit& out) {
    const auto dots_in = [](const Lines& lines) {
      std::vector<size_t> dots;
      for (size_t i = 0; i < lines.size(); ++i) {
        std::string storage;
        if (folded(lines[i], Fold::kBlanks, storage) == "...") dots.push_back(i);
      }
      dots.push_back(lines.size());
      return dots;
    };
    const std::vector<size_t> old_dots = dots_in(before);
    const std::vector<size_t> new_dots = dots_in(after);
    if (old_dots.size() != new_dots.size() || old_dots.size() == 1) return false;
    size_t old_at = 0;
    size_t new_at = 0;
    for (size_t i = 0; i < old_dots.size(); ++i) {
      if (old_dots[i] > old_at) {
        out.hunks.push_back(hunk_of(before, old_at, old_dots[i], after, new_at, new_dots[i], edit));
      } else if (new_dots[i] > new_at) {
        return false;  // new lines with nothing to stand beside
      }
      old_at = old_dots[i] + 1;
      new_at = new_dots[i] + 1;
    }
    return !out.hunks.empty();
  }

  /// Old against new lines, what they share at both ends as context.
  static Hunk hunk_of(const Lines& before, size_t old_begin, size_t old_end, const Lines& after,
                      size_t new_begin, size_t new_end, const TextEdit& edit) {
    Hunk hunk;
    hunk.document_line = edit.document_line;
    while (old_begin < old_end && new_begin < new_end && before[old_begin] == after[new_begin]) {
      hunk.lines.push_back({LineRole::kContext, before[old_begin]});
      ++old_begin;
      ++new_begin;
    }
    size_t trail = 0;
    while (trail + old_begin < old_end && trail + new_begin < new_end &&
           before[old_end - 1 - trail] == after[new_end - 1 - trail]) {
      ++trail;
    }
    for (size_t k = old_begin; k + trail < old_end; ++k) {
      hunk.lines.push_back({LineRole::kRemoved, before[k]});
    }
    for (size_t k = new_begin; k + trail < new_end; ++k) {
      hunk.lines.push_back({LineRole::kAdded, after[k]});
    }
    for (size_t k = old_end - trail; k < old_end; ++k) {
      hunk.lines.push_back({LineRole::kContext, before[k]});
    }
    return hunk;
  }

  void place_by_line(size_t i, const TextEdit& edit) {
    const Lines lines(current_);
    const bool is_insert = edit.kind == TextEdit::Kind::kInsert;
    const size_t begin = is_insert ? edit.first_line : std::max<uint32_t>(edit.first_line, 1) - 1;
    const size_t end = is_insert ? begin : edit.last_line;
    if (begin > lines.size() || end > lines.size() || begin > end ||
        (!is_insert && edit.first_line == 0)) {
      out_.failures.push_back(failure(i, "patch.line_outside",
                                      ": the file has " + std::to_string(lines.size()) +
                                          " lines; line numbers must lie inside"));
      return;
    }
    if (!check_hash(i, edit, lines, begin, end)) return;
    Splice splice{lines.offset(begin), lines.offset(end) - lines.offset(begin),
                  std::string(edit.new_text)};
    const bool is_last = end == lines.size();
    if (is_insert && begin > 0 && begin == lines.size() && !lines.ends_with_newline()) {
      splice.text = "\n" + splice.text;
      if (splice.text.ends_with('\n')) splice.text.pop_back();
    } else if (!is_last && !splice.text.empty() && !splice.text.ends_with('\n')) {
      splice.text.push_back('\n');
    }
    Placement placement;
    placement.edit = i;
    placement.id = ids_[edit_.hunks.size() + i];
    placement.line = static_cast<uint32_t>(begin + 1);
    placement.count = static_cast<uint32_t>(end - begin);
    compose({std::move(splice)}, std::move(placement));
  }

  bool check_hash(size_t i, const TextEdit& edit, const Lines& lines, size_t begin, size_t end) {
    if (edit.anchor_hash.empty()) return true;
    const std::string found = ContentId::of(lines.span(begin, end)).hex();
    if (edit.anchor_hash.size() >= kMinHashDigits && found.starts_with(edit.anchor_hash)) {
      return true;
    }
    EditFailure out = failure(i, "patch.anchor_mismatch",
                              ": these lines are not what they were when they were read; they now "
                              "have the hash " +
                                  found.substr(0, 16));
    out.nearest_line = static_cast<uint32_t>(begin + 1);
    out.nearest_count = static_cast<uint32_t>(end - begin);
    for (size_t k = begin; k < end && k < begin + 200; ++k) out.found.emplace_back(lines[k]);
    out_.failures.push_back(std::move(out));
    return false;
  }

  const FileEdit& edit_;
  const MatchOptions& options_;
  std::vector<std::string> ids_;
  std::string_view base_;
  std::string current_;
  std::vector<Splices> steps_;
  std::unique_ptr<FileIndex> index_;  // of current_; gone when that changes
  int indexings_ = 0;
  PlacedEdits out_;
};

}  // namespace

PlacedEdits place_text_edits(std::string_view content, const FileEdit& edit,
                             const MatchOptions& options) {
  return TextPlacer(content, edit, options).run();
}

bool indentation_is_meaning(std::string_view path) {
  static constexpr std::array<std::string_view, 24> kSuffixes = {
      ".py",   ".pyi", ".pyx",  ".pxd",  ".yaml", ".yml",    ".mk",  ".mak",
      ".haml", ".pug", ".jade", ".sass", ".styl", ".coffee", ".nim", ".hs",
      ".fs",   ".fsx", ".elm",  ".slim", ".rst",  ".gd",     ".bzl", ".star"};
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  if (name == "Makefile" || name == "makefile" || name == "GNUmakefile" || name == "BUILD" ||
      name == "SConstruct" || name == "Snakefile" || name == "wscript") {
    return true;
  }
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view suffix) { return name.ends_with(suffix); });
}

}  // namespace galley
