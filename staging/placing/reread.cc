#include "staging/placing/reread.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/placing/correction.h"
#include "staging/placing/damage.h"
#include "staging/placing/doubtful_place.h"
#include "staging/placing/hunk_text.h"
#include "staging/text/fold.h"

namespace galley {
namespace {

/// Maximum number of context lines that are replaced. More of them prove too little.
constexpr size_t kMostReplaced = 8;
/// Minimum number of lines that show that a hunk is escaped as in HTML.
constexpr size_t kFewestEscaped = 2;

/// True if the line is `own` with a comment behind it.
bool has_comment_behind(std::string_view line, std::string_view own) {
  const std::string_view text = trimmed(line);
  const std::string_view there = trimmed(own);
  if (!is_telling_line(there) || !text.starts_with(there)) return false;
  const std::string_view rest = text.substr(there.size());
  return rest.starts_with(' ') &&
         (trimmed(rest).starts_with("//") || trimmed(rest).starts_with('#'));
}

/// True if the lines differ in words of one of them, or in a comment behind it.
bool is_alike(std::string_view line, std::string_view own) {
  const auto words = words_of(line);
  const auto others = words_of(own);
  return indent_of(line) == indent_of(own) &&
         (has_comment_behind(line, own) ||
          (std::min(words.size(), others.size()) >= 2 &&
           (holds_all(words, others) || holds_all(others, words)) && !may_be_opposite(line, own)));
}

/// The lines of a hunk that need another reading.
class Reread {
 public:
  Reread(FileIndex& index, const Hunk& hunk) : index_(index), hunk_(hunk) {}

  std::string run() {
    std::string correction;
    for (const auto& reading :
         {&Reread::with_own_context_of_it, &Reread::unescaped, &Reread::without_elided_parts}) {
      if (const auto hunk = (this->*reading)()) correction = correction_of(index_, *hunk);
      if (!correction.empty()) break;
    }
    return correction;
  }

 private:
  [[nodiscard]] bool is_open(const HunkLine& line) {
    return line.role == LineRole::kContext && is_telling_line(line.text) &&
           index_.lines_like(line.text, LineFolding::kBlanks).empty();
  }

  /// The file's only line that is like the text; empty if there are none or several.
  std::string_view line_like(std::string_view text) {
    const Lines& file = index_.lines();
    std::string_view own;
    for (size_t i = 0; i < file.size(); ++i) {
      if (!is_alike(text, file[i])) continue;
      if (!own.empty()) return {};
      own = file[i];
    }
    return own;
  }

  /// The hunk with the file's own lines in place of similar context lines.
  std::optional<Hunk> with_own_context(const Hunk& hunk) {
    Hunk out = hunk;
    replaced_ = 0;
    for (HunkLine& line : out.lines) {
      if (!is_open(line)) continue;
      if (replaced_ == kMostReplaced || !index_.may_compare_all()) return std::nullopt;
      const std::string_view own = line_like(line.text);
      if (own.empty()) return std::nullopt;
      line.text = own;
      ++replaced_;
    }
    return replaced_ > 0 ? std::optional(std::move(out)) : std::nullopt;
  }

  std::optional<Hunk> with_own_context_of_it() { return with_own_context(hunk_); }

  /// The same without HTML escapes.
  std::optional<Hunk> unescaped() {
    Hunk out = hunk_;
    size_t shown = 0;  // lines of the file that are so only without them
    bool is_any = false;
    for (HunkLine& line : out.lines) {
      std::string text = without_entities(line.text);
      if (text == line.text) continue;
      // The file may have such a line as it is.
      if (line.role != LineRole::kAdded && !is_open(line)) return std::nullopt;
      if (line.role != LineRole::kAdded) ++shown;
      is_any = true;
      line.text = kept_.emplace_back(std::move(text));
    }
    return is_any && shown >= kFewestEscaped ? with_own_context(out) : std::nullopt;
  }

  /// The part with the changes, if the other parts are in the file above and below it.
  std::optional<Hunk> without_elided_parts() {
    const std::vector<HunkLine>& lines = hunk_.lines;
    const auto is_change = [](const HunkLine& line) { return line.role != LineRole::kContext; };
    const auto is_mark = [this](const HunkLine& line) { return is_elision_mark(line); };
    const auto first = std::find_if(lines.begin(), lines.end(), is_change);
    if (first == lines.end()) return std::nullopt;
    const auto last = std::find_if(lines.rbegin(), lines.rend(), is_change).base();
    if (std::any_of(first, last, is_mark)) return std::nullopt;
    const auto begin =
        std::find_if(std::make_reverse_iterator(first), lines.rend(), is_mark).base();
    const auto end = std::find_if(last, lines.end(), is_mark);
    if (begin == lines.begin() && end == lines.end()) return std::nullopt;
    Hunk part = hunk_;
    part.lines.assign(begin, end);
    const auto pattern = pre_image(part);
    const auto places = index_.find(pattern, LineFolding::kLineEnds, 2);
    if (places.size() != 1) return std::nullopt;
    const int64_t place = places.front();
    const auto size = static_cast<int64_t>(index_.lines().size());
    const bool is_around =
        shows_next_block({lines.begin(), begin}, part.lines) &&
        are_between(lines.begin(), begin, 0, place) &&
        are_between(end, lines.end(), place + static_cast<int64_t>(pattern.size()), size);
    return is_around ? std::optional(std::move(part)) : std::nullopt;
  }

  /// True if a line of the part with the changes is below the block that is open above the part.
  /// Without such a line, that block may be the one that is meant, and has changed since.
  static bool shows_next_block(const std::vector<HunkLine>& above,
                               const std::vector<HunkLine>& part) {
    const auto width = [](const HunkLine& line) { return indent_of(line.text).size(); };
    const auto is_telling = [](const HunkLine& line) {
      return line.role == LineRole::kContext && is_telling_line(line.text) &&
             !is_elision(line.text);
    };
    const auto first = std::find_if(part.begin(), part.end(), [](const HunkLine& line) {
      return line.role != LineRole::kAdded && is_telling_line(line.text);
    });
    if (first == part.end()) return false;
    const auto open = std::find_if(above.rbegin(), above.rend(), [&](const HunkLine& line) {
      return is_telling(line) && width(line) < width(*first);
    });
    return open == above.rend() || std::any_of(first, part.end(), [&](const HunkLine& line) {
             return is_telling(line) && width(line) <= width(*open);
           });
  }

  bool is_elision_mark(const HunkLine& line) {
    return line.role == LineRole::kContext && is_elision(line.text) &&
           index_.lines_like(line.text, LineFolding::kBlanks).empty();
  }

  /// True if the file has the telling lines, in order, between two of its lines. The marks are not
  /// such lines.
  bool are_between(std::vector<HunkLine>::const_iterator line,
                   std::vector<HunkLine>::const_iterator end, int64_t low, int64_t high) {
    for (; line != end; ++line) {
      if (!is_telling_line(line->text) || is_elision_mark(*line)) continue;
      const auto found = index_.lines_like(line->text, LineFolding::kBlanks);
      const auto next = std::lower_bound(found.begin(), found.end(), low);
      if (next == found.end() || static_cast<int64_t>(*next) >= high) return false;
      low = static_cast<int64_t>(*next) + 1;
    }
    return true;
  }

  FileIndex& index_;
  const Hunk& hunk_;
  std::deque<std::string> kept_;
  size_t replaced_ = 0;
};

}  // namespace

std::string correction_of_reread(FileIndex& index, const Hunk& hunk) {
  return Reread(index, hunk).run();
}

}  // namespace galley
