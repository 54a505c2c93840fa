#include "staging/placing/search_help.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/placing/damage.h"
#include "staging/placing/explain.h"
#include "staging/placing/file_index.h"
#include "staging/placing/text_view.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// A line of a file and its similarity to the wanted text.
struct ScoredLine {
  size_t line = 0;  ///< 0-based
  double part = 0;  ///< fraction of the wanted characters that match, 0 to 1
};

constexpr size_t kPairs = size_t{1} << 16U;
/// Minimum fraction of the wanted characters that a similar line has.
constexpr double kLeastPart = 0.6;
/// Minimum fraction of the wanted pairs. It is smaller, because a changed character changes two
/// pairs.
constexpr double kLeastPairs = 0.25;

std::string lower_case_head(std::string_view text, size_t limit) {
  return to_lower(text.substr(0, limit));
}

size_t pair_at(std::string_view text, size_t at) {
  return static_cast<size_t>(static_cast<unsigned char>(text[at])) << 8U |
         static_cast<unsigned char>(text[at + 1]);
}

/// Counts the distinct pairs of characters that lines share with one text.
class PairCounter {
 public:
  explicit PairCounter(std::string_view wanted) : last_seen_(kPairs, 0) {
    for (size_t at = 0; at + 1 < wanted.size(); ++at) {
      uint32_t& mark = last_seen_[pair_at(wanted, at)];
      if (mark == 0) ++pairs_;
      mark = 1;
    }
  }

  [[nodiscard]] size_t pairs() const { return pairs_; }

  size_t common_with(std::string_view line) {
    ++round_;
    size_t common = 0;
    for (size_t at = 0; at + 1 < line.size(); ++at) {
      uint32_t& mark = last_seen_[pair_at(line, at)];
      if (mark == 0 || mark == round_) continue;
      mark = round_;
      ++common;
    }
    return common;
  }

 private:
  std::vector<uint32_t> last_seen_;  // 0: no pair of the text
  uint32_t round_ = 1;
  size_t pairs_ = 0;
};

/// The number of changes that turn some part of `line` into `wanted`.
size_t distance_to_part(std::string_view wanted, std::string_view line) {
  using Row = std::vector<size_t>;
  Row before(line.size() + 1, 0);
  Row above(line.size() + 1, 0);
  Row row(line.size() + 1, 0);
  for (size_t i = 1; i <= wanted.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= line.size(); ++j) {
      const size_t change = above[j - 1] + (wanted[i - 1] == line[j - 1] ? 0 : 1);
      row[j] = std::min({change, above[j] + 1, row[j - 1] + 1});
      const bool is_exchange =
          i > 1 && j > 1 && wanted[i - 1] == line[j - 2] && wanted[i - 2] == line[j - 1];
      if (is_exchange) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return *std::min_element(above.begin(), above.end());
}

struct RoughMatch {
  size_t line = 0;
  size_t common = 0;
  size_t length = 0;
};

/// Returns the lines that contain a text similar to `wanted`, the most similar first. `wanted` is
/// one line without blanks at its ends. Case is ignored.
///
/// First, common pairs of characters select lines (q-grams: Ukkonen, 1992). Then the edit distance
/// to the nearest part of each line is computed (Sellers, 1980); a swap of two adjacent characters
/// is one change. `work` is increased by the work done, and the search stops at kMaxSimilarityWork.
std::vector<ScoredLine> similar_lines(const Lines& file, std::string_view wanted, uint64_t& work) {
  std::vector<ScoredLine> out;
  const std::string key = lower_case_head(wanted, kMaxComparedBytes);
  if (key.empty() || work + file.text().size() > kMaxSimilarityWork) return out;
  work += file.text().size() + kPairs;
  PairCounter counter(key);
  std::vector<RoughMatch> rough;
  const auto least = static_cast<size_t>(kLeastPairs * static_cast<double>(counter.pairs()));
  for (size_t i = 0; i < file.size(); ++i) {
    const std::string_view line = without_terminator(file[i]);
    const size_t common = counter.common_with(lower_case_head(line, kMaxComparedLineBytes));
    if (common > least) rough.push_back({i, common, line.size()});
  }
  const auto is_nearer = [&](const RoughMatch& a, const RoughMatch& b) {
    return std::tuple(b.common, a.length, a.line) < std::tuple(a.common, b.length, b.line);
  };
  const size_t kept = std::min(rough.size(), kMaxComparedLines);
  std::partial_sort(rough.begin(), rough.begin() + static_cast<ptrdiff_t>(kept), rough.end(),
                    is_nearer);
  rough.resize(kept);
  for (const RoughMatch& one : rough) {
    const std::string line =
        lower_case_head(without_terminator(file[one.line]), kMaxComparedLineBytes);
    const uint64_t cells = uint64_t{key.size()} * (line.size() + 1);
    if (work + cells > kMaxSimilarityWork) break;
    work += cells;
    const size_t distance = distance_to_part(key, line);
    const double part =
        1.0 - static_cast<double>(distance) / static_cast<double>(std::max<size_t>(key.size(), 1));
    if (part >= kLeastPart) out.push_back({one.line, part});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ScoredLine& a, const ScoredLine& b) { return a.part > b.part; });
  return out;
}

/// Maximum number of similar lines that are listed in addition to the nearest place.
constexpr size_t kListedLines = 5;
/// Shorter texts resemble too many lines.
constexpr size_t kMinComparedBytes = 3;

/// A text that was pasted with the lines, and the lines without it.
struct Pasted {
  std::string what;  ///< "line numbers ('80\t')"
  std::vector<std::string_view> lines;
  bool is_sure = false;  ///< the only explanation
  uint64_t number = 0;   ///< of the first line, for pasted line numbers
};

/// Removes line numbers that increase by one. In a single line, the number may be a part of the
/// text; only the file can show that.
std::optional<Pasted> without_numbers(const std::vector<std::string>& lines) {
  Pasted out;
  uint64_t last = 0;
  bool has_sign = true;  // a blank alone after a number may be text: `413 => "A"`
  for (size_t i = 0; i < lines.size(); ++i) {
    uint64_t number = 0;
    const size_t length = number_length(lines[i], number, true);
    if (length == 0 && trimmed(lines[i]).empty() && i > 0) {
      out.lines.emplace_back(lines[i]);
      ++last;
      continue;
    }
    if (length == 0 || (i > 0 && number != last + 1)) return std::nullopt;
    last = number;
    uint64_t same = 0;
    has_sign = has_sign && number_length(lines[i], same) > 0;
    if (i == 0) {
      out.number = number;
      std::string shown(trimmed(lines[i].substr(0, length)));
      if (lines[i].substr(0, length).ends_with('\t')) shown += "\\t";
      out.what = "line numbers ('" + shown + "'), as a listing shows them";
    }
    out.lines.push_back(std::string_view(lines[i]).substr(length));
  }
  out.is_sure = lines.size() > 1 && has_sign;
  return out;
}

std::optional<Pasted> without_prompt(const std::vector<std::string>& lines,
                                     std::string_view prompt) {
  Pasted out;
  for (const std::string& line : lines) {
    std::string_view rest = line;
    if (rest.starts_with(prompt)) {
      rest.remove_prefix(prompt.size());
    } else if (trimmed(line) == trimmed(prompt)) {
      rest = "\n";
    } else {
      return std::nullopt;
    }
    out.lines.push_back(rest);
  }
  out.what = "'" + std::string(prompt) + "'";
  return out;
}

/// Completes the failures of one file.
class Explainer {
 public:
  Explainer(std::string_view content, uint64_t& work) : index_(content), work_(work) {}

  void explain(EditFailure& failure) {
    if (name_pasted(failure)) return;
    if (failure.nearest_line == 0) name_similar(failure);
  }

 private:
  bool spend(uint64_t cost) {
    if (work_ + cost > kMaxSimilarityWork) return false;
    work_ += cost;
    return true;
  }

  bool name_pasted(EditFailure& failure) {
    static constexpr std::array<std::string_view, 8> kPrompts = {"> ",   "$ ",   "+ ", "- ",
                                                                 ">>> ", "... ", "+",  "-"};
    if (failure.expected.empty() || failure.expected.size() >= kShownLines) return false;
    if (auto pasted = without_numbers(failure.expected)) {
      if (name_pasted(failure, *pasted)) return true;
    }
    return std::any_of(kPrompts.begin(), kPrompts.end(), [&](std::string_view prompt) {
      const auto pasted = without_prompt(failure.expected, prompt);
      return pasted && name_pasted(failure, *pasted);
    });
  }

  bool name_pasted(EditFailure& failure, const Pasted& pasted) {
    const bool is_telling = std::any_of(pasted.lines.begin(), pasted.lines.end(), is_telling_line);
    if (!is_telling) return false;
    const int64_t line = line_of(pasted.lines);
    if (line < 0 && !pasted.is_sure && !is_like_its_line(pasted)) return false;
    failure.message +=
        "; they begin with " + pasted.what +
        (line < 0 ? ", which are not part of the file"
                  : "; without that they stand at line " + std::to_string(line + 1)) +
        ": leave that out of the text that is looked for, and of the new one";
    failure.rebased.clear();
    if (line >= 0) {
      show_place(failure, static_cast<size_t>(line));
    } else if (failure.nearest_line == 0) {
      std::vector<std::string> bare(pasted.lines.begin(), pasted.lines.end());
      failure.expected.swap(bare);
      name_similar(failure);
      failure.expected.swap(bare);
    }
    return true;
  }

  /// Whether the first line resembles the file's line with its number.
  bool is_like_its_line(const Pasted& pasted) {
    if (pasted.number == 0) return false;
    const auto alike = similar_lines(index_.lines(), trimmed(pasted.lines.front()), work_);
    return std::any_of(alike.begin(), alike.end(), [&](const ScoredLine& likeness) {
      return likeness.line + 1 == pasted.number;
    });
  }

  /// The first place of the lines, ignoring blanks. For a single line, also a line that contains
  /// it. -1: none.
  int64_t line_of(const std::vector<std::string_view>& wanted) {
    if (!spend(index_.lines().text().size())) return -1;
    const auto places = index_.find(wanted, LineFolding::kBlanks, 1);
    if (!places.empty()) return places.front();
    if (wanted.size() != 1 || wanted.front().size() > kMaxComparedBytes) return -1;
    const size_t at = index_.lines().text().find(trimmed(wanted.front()));
    if (at == std::string_view::npos) return -1;
    return static_cast<int64_t>(index_.lines().line_at(at));
  }

  void show_place(EditFailure& failure, size_t line) {
    const Lines& lines = index_.lines();
    const size_t end = std::min(line + failure.expected.size(), lines.size());
    failure.nearest_line = static_cast<uint32_t>(line + 1);
    failure.nearest_count = static_cast<uint32_t>(end - line);
    failure.found.clear();
    for (size_t i = line; i < end && i - line < kShownLines; ++i) {
      failure.found.emplace_back(lines[i]);
    }
  }

  void name_similar(EditFailure& failure) {
    const auto& expected = failure.expected;
    // The longest line has the most information.
    const auto key = std::max_element(expected.begin(), expected.end(),
                                      [](const std::string& a, const std::string& b) {
                                        return trimmed(a).size() < trimmed(b).size();
                                      });
    std::vector<ScoredLine> alike;
    if (key != expected.end() && trimmed(*key).size() >= kMinComparedBytes) {
      alike = similar_lines(index_.lines(), trimmed(*key), work_);
    }
    if (alike.empty()) {
      failure.message +=
          "; no similar lines were found: read the file again and make the edit anew";
      return;
    }
    const auto above = static_cast<size_t>(key - expected.begin());
    const size_t line = alike.front().line;
    show_place(failure, line < above ? 0 : line - above);
    failure.message += "; the nearest " + std::string(expected.size() == 1 ? "line" : "place") +
                       " is line " + std::to_string(failure.nearest_line) +
                       ": write the lines as the file has them";
    for (size_t i = 1; i < alike.size(); ++i) {
      if (failure.similar.size() == kListedLines) {
        failure.more_similar = alike.size() - i;
        break;
      }
      const size_t other = alike[i].line;
      failure.similar.push_back(
          {static_cast<uint32_t>(other + 1),
           std::string(without_terminator(index_.lines()[other]).substr(0, kMaxComparedBytes))});
    }
  }

  FileIndex index_;
  uint64_t& work_;
};

}  // namespace

void SearchHelp::explain(std::string_view content, std::vector<EditFailure>& failures) {
  const auto needs_help = [](const EditFailure& failure) {
    return failure.reason == "patch.context_not_found";
  };
  if (std::none_of(failures.begin(), failures.end(), needs_help)) return;
  const std::optional<TextView> view = TextView::of(content);
  Explainer explainer(view ? std::string_view(view->text()) : content, work_);
  for (EditFailure& failure : failures) {
    if (needs_help(failure)) explainer.explain(failure);
  }
}

}  // namespace galley
