#include <algorithm>
#include <array>
#include <map>

#include "base/printable.h"
#include "base/similar_texts.h"
#include "base/text.h"
#include "staging/overlay/stage_edits.h"
#include "staging/printing/readable_diff.h"

namespace galley {
namespace {

constexpr size_t kMaxShown = 40;
constexpr size_t kFullyShown = 5;   ///< of the edits of a file that fail for one reason
constexpr size_t kNamedEdits = 20;  ///< of those that are only counted
constexpr size_t kMaxShownLine = 4096;
constexpr size_t kMaxWordDiff = size_t{64} << 10U;

std::string with_newline(std::string text) {
  if (!text.ends_with('\n')) text.push_back('\n');
  return text;
}

void describe_lines(std::string_view mark, const std::vector<std::string>& lines,
                    std::string& out) {
  for (size_t i = 0; i < lines.size() && i < kMaxShown; ++i) {
    out += "      " + std::string(mark) + " " + with_newline(lines[i]);
  }
  if (lines.size() > kMaxShown) {
    out += "      … " + std::to_string(lines.size() - kMaxShown) + " more lines\n";
  }
}

void describe_indented(std::string_view text, std::string& out) {
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size());
    out += "      " + std::string(text.substr(from, end - from)) + "\n";
    from = end + 1;
  }
}

void describe_earlier(const EarlierMatch& earlier, std::string& out) {
  out += std::string("  the edits fit this file as it was ") +
         (earlier.is_before ? "before" : "after") + " transaction " + earlier.transaction +
         "; since then these lines changed:\n";
  describe_indented(earlier.changes, out);
  if (earlier.rebased.empty()) return;
  out += "  the same edit on the file of now, ready to send:\n";
  describe_indented(earlier.rebased, out);
}

void describe_more(size_t count, std::string& out) {
  if (count > 0) out += "    … " + std::to_string(count) + " more\n";
}

void describe_failure(const EditFailure& failure, bool is_corrected, std::string& out) {
  out +=
      "  " + printable_line(failure.message) + " [" + failure.reason + ", id " + failure.id + "]\n";
  for (const Candidate& candidate : failure.candidates) {
    out += "    candidate " + candidate.id + " at line " + std::to_string(candidate.line) + ":\n";
    describe_indented(candidate.excerpt, out);
  }
  describe_more(failure.more_candidates, out);
  if (!failure.expected.empty() && !failure.found.empty()) {
    const std::string words = word_diff_of(failure);
    if (!words.empty()) out += "    expected, and what is there instead, word by word:\n";
    describe_indented(words, out);
    out += "    found at line " + std::to_string(failure.nearest_line) + ":\n";
    describe_lines("|", failure.found, out);
  }
  if (!failure.similar.empty()) out += "    also like it:\n";
  for (const SimilarLine& line : failure.similar) {
    out += "      line " + std::to_string(line.line) + ": " + printable_line(line.text) + "\n";
  }
  describe_more(failure.more_similar, out);
  if (!failure.rebased.empty() && !is_corrected)
    out += "    the same change as a hunk that fits:\n" + with_newline(failure.rebased);
}

/// Which of the edits that fail for one reason are shown in full, after the first few.
enum class ShownFailures : uint8_t {
  kFew,          ///< none
  kWithAnOffer,  ///< those that have a place or a correction of their own
};

bool has_an_offer(const EditFailure& failure) {
  return !failure.candidates.empty() || !failure.found.empty() || !failure.similar.empty() ||
         !failure.rebased.empty();
}

/// The others are one line for each reason: 60 edits for a wrong file would hide what else is
/// wrong. The JSON and explain() have all.
void describe_failures(const FileOutcome& file, bool is_corrected, ShownFailures which,
                       std::string& out) {
  std::map<std::string, size_t> seen;
  std::map<std::string, std::vector<std::string>> others;
  for (const EditFailure& failure : file.failures) {
    const bool is_first = ++seen[failure.reason] <= kFullyShown;
    if (is_first || (which == ShownFailures::kWithAnOffer && has_an_offer(failure))) {
      describe_failure(failure, is_corrected, out);
    } else {
      others[failure.reason].push_back(std::to_string(failure.edit + 1));
    }
  }
  for (const auto& [reason, edits] : others) {
    out += "  " + std::to_string(edits.size()) + " more do not fit: edits " +
           join_some(edits, kNamedEdits) + " [" + reason + "]\n";
  }
}

/// Appends the step and the place, in one line.
void describe_step(const Placement& placement, std::string& out) {
  out += "step " + std::string(match_step_name(placement.step)) + " at line " +
         std::to_string(placement.line);
  if (placement.offset != 0) out += ", offset " + std::to_string(placement.offset);
  if (placement.fuzz != 0) out += ", fuzz " + std::to_string(placement.fuzz);
  if (!placement.indent.empty()) out += ", indentation shifted by '" + placement.indent + "'";
  out += "\n";
}

void describe_placement(const FileOutcome& file, const Placement& placement, std::string& out) {
  if (placement.step == MatchStep::kExact) return;
  out +=
      "  edit " + std::to_string(placement.edit + 1) + " of '" + printable_line(file.path) + "': ";
  describe_step(placement, out);
}

std::string describe_leniency(const Leniency& leniency) {
  const std::string path = printable_line(leniency.path);
  std::string text = "note: " + (path.empty() ? path : path + ": ");
  if (leniency.line > 0) text += "line " + std::to_string(leniency.line) + " of the edit: ";
  return text + printable_line(leniency.message) + " [" + leniency.rule + "]\n";
}

std::string describe_file(const FileOutcome& file, bool is_corrected, ShownFailures which) {
  std::string out;
  const std::string path = printable_line(file.path);
  if (file.refusal) {
    out +=
        path + ": " + printable_line(file.refusal->message) + " [" + file.refusal->reason + "]\n";
  }
  if (!file.failures.empty()) {
    out += path + ": " + std::to_string(file.failures.size()) + " of " +
           std::to_string(file.failures.size() + file.placements.size()) + " edits do not fit\n";
  }
  describe_failures(file, is_corrected, which, out);
  if (file.earlier) describe_earlier(*file.earlier, out);
  for (const Placement& placement : file.placements) describe_placement(file, placement, out);
  return out;
}

std::vector<TriedStep> first_steps(size_t count) {
  static constexpr std::array kSteps = {
      TriedStep{MatchStep::kExact, "byte for byte where it says"},
      TriedStep{MatchStep::kOffset, "byte for byte elsewhere"},
      TriedStep{MatchStep::kLineEnds, "with other line ends"},
      TriedStep{MatchStep::kFuzz, "without up to two outer context lines"},
      TriedStep{MatchStep::kWhiteSpace, "with other white space"},
      TriedStep{MatchStep::kUnicode, "with other quotes, dashes and blanks"},
      TriedStep{MatchStep::kMended, "with a typical mistake of a model repaired"}};
  return {kSteps.begin(), kSteps.begin() + static_cast<ptrdiff_t>(count)};
}

void explain_tried(const std::vector<TriedStep>& tried, std::string& out) {
  if (tried.empty()) return;
  out += "    tried before, without a certain place:\n";
  for (const TriedStep& one : tried) {
    out += "      " + std::string(match_step_name(one.step)) + ": " + std::string(one.why) + "\n";
  }
}

std::string explain_file(const FileOutcome& file, MatchStep last) {
  std::map<size_t, std::string> edits;
  for (const Placement& placement : file.placements) {
    std::string& text = edits[placement.edit];
    text += "  edit " + std::to_string(placement.edit + 1) + " (id " + placement.id + "): ";
    describe_step(placement, text);
    explain_tried(tried_steps(placement), text);
  }
  for (const EditFailure& failure : file.failures) {
    std::string& text = edits[failure.edit];
    text += "  edit " + std::to_string(failure.edit + 1) + " (id " + failure.id + "): no place\n";
    explain_tried(tried_steps(failure, last), text);
    describe_failure(failure, false, text);
  }
  std::string out = printable_line(file.path);
  if (!file.new_path.empty()) out += " -> " + printable_line(file.new_path);
  out += ": " + std::string(file_op_name(file.op));
  if (file.document_line > 0) out += ", from line " + std::to_string(file.document_line);
  out += "\n";
  for (const auto& [number, text] : edits) out += text;
  if (file.refusal) {
    out +=
        "  refused: " + printable_line(file.refusal->message) + " [" + file.refusal->reason + "]\n";
  } else if (edits.empty()) {
    out += "  the file as a whole\n";
  }
  if (file.earlier) describe_earlier(*file.earlier, out);
  return out;
}

}  // namespace

std::vector<TriedStep> tried_steps(const Placement& placement) {
  return first_steps(static_cast<size_t>(placement.step));
}

std::vector<TriedStep> tried_steps(const EditFailure& failure, MatchStep last) {
  if (failure.reason != "patch.context_not_found") return {};
  return first_steps(static_cast<size_t>(last) + 1);
}

std::string explain(const EditOutcome& outcome, MatchStep last) {
  std::string out;
  for (const FileOutcome& file : outcome.files) out += explain_file(file, last);
  for (const Leniency& leniency : outcome.leniencies) out += describe_leniency(leniency);
  return out;
}

bool is_shortened(const EditOutcome& outcome) {
  return std::any_of(outcome.files.begin(), outcome.files.end(), [](const FileOutcome& file) {
    std::map<std::string_view, size_t> counts;
    return std::any_of(file.failures.begin(), file.failures.end(),
                       [&](const EditFailure& one) { return ++counts[one.reason] > kFullyShown; });
  });
}

std::string word_diff_of(const EditFailure& failure) {
  std::string expected;
  std::string found;
  for (const std::string& line : failure.expected) expected += line;
  for (const std::string& line : failure.found) found += line;
  std::string out;
  if (expected.empty() || found.empty() || expected.size() + found.size() > kMaxWordDiff)
    return out;
  append_word_diff(expected, found, {}, out);
  return out;
}

namespace {

/// Cuts each line after `kMaxShownLine` bytes, at the end of a character.
void cut_long_lines(std::string& text) {
  if (text.size() <= kMaxShownLine) return;
  std::string out;
  for (size_t from = 0; from < text.size();) {
    const size_t end = std::min(text.find('\n', from), text.size() - 1) + 1;
    const size_t last = from + kMaxShownLine;
    if (end <= last) {
      out.append(text, from, end - from);
    } else {
      size_t size = kMaxShownLine;
      while (size > kMaxShownLine - 4 && (text[from + size] & 0xc0) == 0x80) --size;
      out.append(text, from, size).append("…");
      if (text[end - 1] == '\n') out.push_back('\n');
    }
    from = end;
  }
  text = std::move(out);
}

}  // namespace

void cut_long_lines(EditOutcome& outcome) {
  for (FileOutcome& file : outcome.files) {
    if (file.earlier) cut_long_lines(file.earlier->changes);
    for (EditFailure& failure : file.failures) {
      for (std::string& line : failure.expected) cut_long_lines(line);
      for (std::string& line : failure.found) cut_long_lines(line);
      for (Candidate& candidate : failure.candidates) cut_long_lines(candidate.excerpt);
      if (failure.rebased.size() <= kMaxWordDiff) continue;
      failure.rebased.clear();
      // A corrected document has it.
      if (!outcome.correction)
        failure.message += "; the hunk that fits has over 64 KiB and is left out";
    }
  }
}

void hide_unread(EditOutcome& outcome, const std::function<bool(const RelPath&)>& may_read) {
  for (FileOutcome& file : outcome.files) {
    const auto path = RelPath::parse(file.path);
    if (path && may_read(*path)) continue;
    file.earlier.reset();
    for (EditFailure& failure : file.failures) {
      failure.found.clear();
      failure.rebased.clear();
      failure.similar.clear();
      failure.more_similar = 0;
      for (Candidate& candidate : failure.candidates) candidate.excerpt.clear();
    }
    if (file.refusal && file.refusal->reason == "path.is_symlink") {
      file.refusal->message = "'" + file.path + "' is a symbolic link and the edit is for a file";
    }
  }
}

namespace {

std::string text_of(const EditOutcome& outcome, ShownFailures which) {
  SimilarTexts alike;
  for (const FileOutcome& file : outcome.files) {
    std::string text = describe_file(file, outcome.correction.has_value(), which);
    if (text.empty()) continue;
    std::string key = key_without(text, printable_line(file.path));
    for (const EditFailure& failure : file.failures) {
      key = key_without(std::move(key), failure.id);
      key = key_without(std::move(key), "line " + std::to_string(failure.document_line));
    }
    alike.add(std::move(key), printable_line(file.path), std::move(text));
  }
  for (const Leniency& leniency : outcome.leniencies) {
    const std::string path = printable_line(leniency.path);
    const std::string what = printable_line(leniency.message) + " [" + leniency.rule + "]\n";
    alike.add(key_without(what, path), path, describe_leniency(leniency));
  }
  std::string out = alike.str();
  if (outcome.correction && !outcome.correction->document.empty()) {
    out += "the same edits as they fit, ready to send again:\n" + outcome.correction->document;
  }
  return out;
}

}  // namespace

std::string describe(const EditOutcome& outcome) {
  return text_of(outcome, ShownFailures::kWithAnOffer);
}

std::string summarize(const EditOutcome& outcome) { return text_of(outcome, ShownFailures::kFew); }

}  // namespace galley
