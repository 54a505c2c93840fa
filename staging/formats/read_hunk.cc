#include "staging/formats/read_hunk.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/text.h"
#include "staging/formats/dialect_marks.h"

namespace galley {
namespace {

/// In a delimited document, a last hunk that ends in context and lacks at most this many lines has
/// wrong counts.
constexpr uint64_t kMaxMissingLines = 3;
constexpr uint64_t kMaxLineNumber = uint64_t{1} << 31U;
constexpr size_t kHugeDigits = 10;

std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

/// Reads "12" or "12,3".
bool take_range(std::string_view& text, uint64_t& start, uint64_t& count, bool& has_count) {
  const auto first = take_number(text);
  if (!first || *first > kMaxLineNumber) return false;
  start = *first;
  count = 1;
  has_count = true;
  if (!take(text, ',')) return true;
  const auto second = take_number(text);
  if (!second || *second > kMaxLineNumber) return false;
  count = *second;
  return true;
}

/// True for "-1234567890123 ...": a number in the right place, but too large for any file.
bool has_huge_number(std::string_view text) {
  if (!text.starts_with('-')) return false;
  size_t digits = 0;
  for (const char c : text) {
    if (c == '@') return false;
    digits = is_digit(c) ? digits + 1 : 0;
    if (digits >= kHugeDigits) return true;
  }
  return false;
}

struct Tally {
  uint64_t old_count = 0;
  uint64_t new_count = 0;
};

/// Reads the lines of one hunk's body.
class BodyReader {
 public:
  BodyReader(const Lines& document, size_t at) : document_(&document), at_(at) {}

  /// Takes lines until the counts are reached. Returns false if the body does not match them.
  bool by_counts(uint64_t old_count, uint64_t new_count) {
    constexpr uint64_t kReserved = 64;  // the counts may be anything
    lines_.reserve(std::min(kReserved, std::max(old_count, new_count)));
    while (tally_.old_count < old_count || tally_.new_count < new_count) {
      if (at_ >= document_->size() || !take_line(false)) return false;
      if (tally_.old_count > old_count || tally_.new_count > new_count) return false;
    }
    take_no_newline_mark();
    return true;
  }

  /// Takes lines while they look like a body.
  void by_shape() {
    find_end();
    size_t bare_blank = 0;  // blank lines at the end are not part of the hunk
    while (at_ < end_) {
      const bool is_blank = without_terminator((*document_)[at_]).empty();
      if (!take_line(true)) break;
      bare_blank = is_blank ? bare_blank + 1 : 0;
    }
    for (; bare_blank > 0; --bare_blank) {
      lines_.pop_back();
      --at_;
    }
    recount();
  }

  /// True if '\ No newline at end of file' ends the body, and each side that lacks lines has a
  /// last line without newline.
  [[nodiscard]] bool is_ended_by_mark(bool lacks_old, bool lacks_new) const {
    if (lines_.empty() || (*document_)[at_ - 1].front() != '\\') return false;
    const auto is_ended = [&](LineRole other_side) {
      const auto last = std::find_if(lines_.rbegin(), lines_.rend(),
                                     [&](const HunkLine& line) { return line.role != other_side; });
      return last != lines_.rend() && !last->text.ends_with('\n');
    };
    return (!lacks_old || is_ended(LineRole::kAdded)) &&
           (!lacks_new || is_ended(LineRole::kRemoved));
  }

  /// True if the next line still looks like a part of the body.
  [[nodiscard]] bool goes_on() const {
    if (at_ >= document_->size() || starts_section(*document_, at_)) return false;
    if (begins_signature()) return false;
    const char first = (*document_)[at_].front();
    // If the document was cut off after this line, the line may begin the next file.
    if (at_ + 1 == document_->size() && (*document_)[at_].starts_with("--- ")) return false;
    return first == '+' || first == '-' || first == ' ';
  }

  /// True if the counts include the two file lines before the next hunk, because they are too
  /// high. As lines of a file they would be its last ones, so no hunk would follow. Only in a diff
  /// without context a hunk may follow, and its numbers then go on.
  [[nodiscard]] bool includes_file_lines(const HunkHeader& header) const {
    if (at_ < 2 || lines_.size() < 2 || at_ >= document_->size()) return false;
    const std::string_view next = (*document_)[at_];
    if (!next.starts_with("@@") || !(*document_)[at_ - 1].starts_with("+++ ") ||
        !(*document_)[at_ - 2].starts_with("--- ")) {
      return false;
    }
    const bool has_context = std::any_of(lines_.begin(), lines_.end(), [](const HunkLine& line) {
      return line.role == LineRole::kContext;
    });
    const auto after = read_hunk_header(without_terminator(next));
    if (has_context || !after || !after->has_counts) return true;
    // A side without lines states the line before it.
    const auto begin = [](uint64_t start, uint64_t count) { return start + (count == 0 ? 1 : 0); };
    const uint64_t old_end = begin(header.old_start, header.old_count) + header.old_count;
    const uint64_t new_end = begin(header.new_start, header.new_count) + header.new_count;
    const uint64_t old_next = begin(after->old_start, after->old_count);
    const uint64_t new_next = begin(after->new_start, after->new_count);
    return old_next < old_end || new_next < new_end || old_next - old_end != new_next - new_end;
  }

  [[nodiscard]] size_t at() const { return at_; }
  [[nodiscard]] const Tally& tally() const { return tally_; }
  [[nodiscard]] bool used_bare_lines() const { return used_bare_; }
  [[nodiscard]] bool used_minus_signs() const { return used_minus_sign_; }
  [[nodiscard]] const std::vector<HunkLine>& lines() const { return lines_; }
  std::vector<HunkLine> take_lines() { return std::move(lines_); }

  /// An empty file cannot have context. So blank lines between added lines are added lines that
  /// lost their '+'. Changes them to added lines, and returns true, if the old side has only such
  /// lines.
  bool add_blank_lines() {
    const auto is_wrong = [](const HunkLine& line) {
      return line.role == LineRole::kRemoved ||
             (line.role == LineRole::kContext && !without_terminator(line.text).empty());
    };
    if (tally_.old_count == 0 || std::any_of(lines_.begin(), lines_.end(), is_wrong)) return false;
    for (HunkLine& line : lines_) line.role = LineRole::kAdded;
    tally_.old_count = 0;
    return true;
  }

 private:
  /// True for the line above the signature of a mail. Some programs remove its blank; then it may
  /// also be a removed line, if other lines of a hunk follow.
  [[nodiscard]] bool begins_signature() const {
    const std::string_view line = without_terminator((*document_)[at_]);
    if (line == "-- ") return true;
    if (line != "--" || at_ + 1 >= document_->size()) return false;
    return std::string_view("+- @\\").find((*document_)[at_ + 1].front()) == std::string_view::npos;
  }

  bool take_line(bool is_lenient) {
    const std::string_view line = (*document_)[at_];
    const std::string_view text = without_terminator(line);
    if (text.empty()) {
      add(LineRole::kContext, line);  // git and patch read an empty line as empty context
    } else if (line.front() == ' ') {
      add(LineRole::kContext, line.substr(1));
    } else if (line.front() == '-') {
      add(LineRole::kRemoved, line.substr(1));
    } else if (line.front() == '+') {
      add(LineRole::kAdded, line.substr(1));
    } else if (line.front() == '\\') {
      mark_no_newline();
    } else if (const size_t sign = is_lenient ? minus_sign(line) : 0; sign > 0) {
      used_minus_sign_ = true;
      add(LineRole::kRemoved, line.substr(sign));
    } else if (is_lenient && at_ < last_bare_) {
      used_bare_ = true;
      add(LineRole::kContext, line);
    } else {
      return false;
    }
    ++at_;
    return true;
  }

  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

  static bool is_change(std::string_view line) {
    return line.starts_with('+') || line.starts_with('-') || minus_sign(line) > 0;
  }

  /// The length of a typographic minus sign or dash at the start of the line.
  static size_t minus_sign(std::string_view line) {
    for (const std::string_view sign : {"\u2212", "\u2013"}) {
      if (line.starts_with(sign)) return sign.size();
    }
    return 0;
  }

  /// True for "- Fixed the loop": models write a list of changes after a diff.
  static bool is_list_item(std::string_view line) {
    if (!line.starts_with("- ") || line.size() < 4) return false;
    const bool is_begin = (line[2] >= 'A' && line[2] <= 'Z') || line[2] == '`' || line[2] == '*';
    return is_begin && std::count(line.begin() + 3, line.end(), ' ') >= 2;
  }

  /// Finds the last possible end of the body. The body ends at a blank line before text that looks
  /// like prose or like a list of changes. Before that end, a line without a sign counts as context
  /// that lost its leading blank.
  void find_end() {
    for (end_ = at_; end_ < document_->size(); ++end_) {
      if (starts_section(*document_, end_) || (*document_)[end_].starts_with("@@")) break;
    }
    const bool is_fenced = end_ < document_->size() && is_fence((*document_)[end_]);
    const bool goes_on = end_ < document_->size() && (*document_)[end_].starts_with("@@");
    last_bare_ = end_;
    bool is_list = true;
    size_t prose = 0;
    for (size_t at = end_; at-- > at_;) {
      const std::string_view line = without_terminator((*document_)[at]);
      if (is_change(line)) {
        if (!is_list_item(line)) is_list = false;
        if (is_list) continue;
        break;
      }
      if (line.empty()) prose = at;
    }
    const bool is_prose = !is_fenced && (!is_list || goes_on) && prose > 0 && begins_prose(prose);
    if (is_prose) end_ = last_bare_ = prose;
  }

  /// True if the first line with text from line `from` is a sentence, not code.
  [[nodiscard]] bool begins_prose(size_t from) const {
    for (size_t at = from; at < end_; ++at) {
      const std::string_view line = without_terminator((*document_)[at]);
      if (line.empty()) continue;
      if (is_list_item(line)) return true;
      const bool is_bare = line.front() != ' ' && line.front() != '\\';
      const bool has_words = std::count(line.begin(), line.end(), ' ') >= 2;
      const char last = line.back();
      const bool ends_so = last == '.' || last == ':' || last == '!' || is_letter(last);
      return is_bare && has_words && ends_so &&
             line.find_first_of(";{}=<>") == std::string_view::npos;
    }
    return false;
  }

  void add(LineRole role, std::string_view text) {
    lines_.push_back({role, text});
    if (role != LineRole::kAdded) ++tally_.old_count;
    if (role != LineRole::kRemoved) ++tally_.new_count;
  }

  void mark_no_newline() {
    if (lines_.empty()) return;
    std::string_view& text = lines_.back().text;
    if (text.ends_with('\n')) text.remove_suffix(1);
  }

  void take_no_newline_mark() {
    if (at_ < document_->size() && (*document_)[at_].front() == '\\') {
      mark_no_newline();
      ++at_;
    }
  }

  void recount() {
    tally_ = {};
    for (const HunkLine& line : lines_) {
      if (line.role != LineRole::kAdded) ++tally_.old_count;
      if (line.role != LineRole::kRemoved) ++tally_.new_count;
    }
  }

  const Lines* document_;
  size_t at_;
  Tally tally_;
  size_t end_ = 0;        // the body ends before this line, or earlier
  size_t last_bare_ = 0;  // before it, a line without a sign is context
  bool used_bare_ = false;
  bool used_minus_sign_ = false;
  std::vector<HunkLine> lines_;
};

tl::unexpected<Error> corrupt_hunk(size_t line, std::string_view path, std::string what) {
  return fail(ErrorKind::kInvalid, "edit.corrupt_hunk",
              "line " + std::to_string(line + 1) + " of the patch: " + std::move(what),
              std::string(path));
}

/// Why a last hunk has fewer lines than it states.
enum class Ending : uint8_t { kWrongCounts, kCutOff, kUndecided };

/// True if a text in double quotes begins in the line and does not end.
bool ends_in_text(std::string_view line) {
  size_t quotes = 0;
  for (size_t at = 0; at < line.size(); ++at) {
    if (line.substr(at).starts_with("\"\"\"")) {
      at += 2;
    } else if (line[at] == '\\') {
      ++at;
    } else if (line[at] == '"') {
      ++quotes;
    }
  }
  return quotes % 2 == 1;
}

/// Weighs the evidence in the document. The file may have more (docs/edits.md, "Cut off").
Ending ending_of(const HunkHeader& header, const BodyReader& body, const ReadOptions& options,
                 const HunkReadState& so_far) {
  const Tally& have = body.tally();
  if (have.old_count > header.old_count || have.new_count > header.new_count) {
    return Ending::kWrongCounts;
  }
  if (have.old_count == header.old_count && have.new_count == header.new_count) {
    return Ending::kWrongCounts;
  }
  if (body.lines().empty()) return Ending::kCutOff;
  if (options.end != DocumentEnd::kUnknown) {
    return options.end == DocumentEnd::kComplete ? Ending::kWrongCounts : Ending::kCutOff;
  }
  if (body.is_ended_by_mark(have.old_count < header.old_count, have.new_count < header.new_count)) {
    return Ending::kWrongCounts;
  }
  const bool ends_in_change = body.lines().back().role != LineRole::kContext;
  const bool is_right_elsewhere = so_far.right_counts > 0 && so_far.wrong_counts == 0;
  const bool is_wrong_elsewhere = so_far.wrong_counts > 0 && so_far.right_counts == 0;
  const bool has_others = so_far.right_counts + so_far.wrong_counts > 0;
  const bool seems_cut = is_right_elsewhere || (!so_far.is_ended && !options.is_delimited) ||
                         so_far.is_in_fence || ends_in_text(body.lines().back().text) ||
                         (ends_in_change && has_others && so_far.ends_in_context);
  if (options.is_delimited) {
    // A few missing lines after context mean a wrong count, even if the other hunks have right
    // counts.
    const uint64_t missing =
        std::max(header.old_count - have.old_count, header.new_count - have.new_count);
    const bool is_near = have.old_count == header.old_count || have.new_count == header.new_count ||
                         (missing <= kMaxMissingLines && !ends_in_change);
    return !seems_cut || is_near ? Ending::kWrongCounts : Ending::kUndecided;
  }
  // Lines that are removed without the new ones, or less than half of a new file.
  const bool is_half =
      (body.lines().back().role == LineRole::kRemoved && have.new_count < header.new_count) ||
      (header.old_count == 0 && 2 * have.new_count < header.new_count);
  if (is_wrong_elsewhere) {
    return seems_cut || is_half ? Ending::kUndecided : Ending::kWrongCounts;
  }
  return seems_cut ? Ending::kCutOff : Ending::kUndecided;
}

std::string_view ending_text(Ending ending) {
  return ending == Ending::kCutOff ? "the rest of the patch shows that it was cut off"
                                   : "nothing tells whether it was cut off or its counts are wrong";
}

bool is_document_end(const Lines& document, size_t at) {
  while (at < document.size() && without_terminator(document[at]).empty()) ++at;
  return at >= document.size();
}

std::string counts_text(uint64_t old_count, uint64_t new_count) {
  return "-" + std::to_string(old_count) + " +" + std::to_string(new_count);
}

/// True if a diff with as many context lines as the hunk begins with can go on behind it, with the
/// missing lines: with the rest of its context, or with another change and its context.
bool may_go_on(const std::vector<HunkLine>& lines, uint64_t missing_old, uint64_t missing_new) {
  const auto is_change = [](const HunkLine& line) { return line.role != LineRole::kContext; };
  const auto leading =
      static_cast<uint64_t>(std::find_if(lines.begin(), lines.end(), is_change) - lines.begin());
  const auto trailing =
      static_cast<uint64_t>(std::find_if(lines.rbegin(), lines.rend(), is_change) - lines.rbegin());
  const bool is_context = missing_old == missing_new && trailing + missing_old <= leading;
  return is_context || (trailing <= 2 * leading && std::min(missing_old, missing_new) >= leading &&
                        std::max(missing_old, missing_new) > leading);
}

/// Judges the document's last hunk, whose header is at `line` and whose body does not match it.
/// Returns an error if it was certainly cut off. Records a doubt if the file may decide.
Result<void> judge_end(const Lines& document, size_t line, const HunkHeader& header,
                       const BodyReader& body, const ReadOptions& options, HunkReadState& so_far) {
  const Ending ending = ending_of(header, body, options, so_far);
  if (ending == Ending::kWrongCounts) return {};
  const Tally& have = body.tally();
  const std::string message =
      "line " + std::to_string(document.size()) +
      " of the patch: the patch ends before the hunk of line " + std::to_string(line) +
      " does, which states " + counts_text(header.old_count, header.new_count) + " lines and has " +
      counts_text(have.old_count, have.new_count) + "; " +
      (options.end == DocumentEnd::kCutOff
           ? "--truncated (\"complete\": false in a tool call) says that it was cut off: send it "
             "whole"
           : std::string(ending_text(ending)) +
                 ": send it whole, or --recount or --complete takes it as it is (\"complete\": "
                 "true in a tool call)");
  if (body.lines().empty() || options.end != DocumentEnd::kUnknown) {
    return fail(ErrorKind::kInvalid, "edit.truncated", message, std::string(so_far.path));
  }
  const auto missing_old = static_cast<uint32_t>(header.old_count - have.old_count);
  const auto missing_new = static_cast<uint32_t>(header.new_count - have.new_count);
  const bool is_only_hunk = so_far.right_counts + so_far.wrong_counts == 0;
  const bool is_likely = is_only_hunk ? may_go_on(body.lines(), missing_old, missing_new)
                                      : ending == Ending::kCutOff && so_far.right_counts > 0;
  so_far.doubt = PossibleTruncation{message, is_likely, so_far.is_ended || options.is_delimited,
                                    missing_old, missing_new};
  return {};
}

/// Records a doubt about a whole hunk whose last line is context without a line end.
void doubt_last_line(const Lines& document, const BodyReader& body, const ReadOptions& options,
                     HunkReadState& so_far) {
  if (!is_document_end(document, body.at()) || so_far.is_ended || options.is_delimited ||
      options.end != DocumentEnd::kUnknown || body.lines().empty() ||
      body.lines().back().role != LineRole::kContext) {
    return;
  }
  so_far.doubt = PossibleTruncation{
      "line " + std::to_string(document.size()) +
          " of the patch: its last line has no end, and the line of the file goes on, so the patch "
          "may be cut off: send it whole, or --complete takes it as it is (\"complete\": true in a "
          "tool call)",
      true, false, 0, 0};
}

/// The same for a hunk without counts. It may be cut off if the document ends in a change, inside a
/// line or a fence.
Result<void> judge_end_without_counts(const Lines& document, const BodyReader& body,
                                      const ReadOptions& options, HunkReadState& so_far) {
  const bool is_cut = options.end == DocumentEnd::kCutOff;
  if (body.lines().empty() || (options.end != DocumentEnd::kUnknown && !is_cut)) return {};
  const bool ends_in_change = body.lines().back().role != LineRole::kContext;
  const bool is_open = so_far.is_in_fence || !so_far.is_ended;
  if (!is_cut && (!ends_in_change || options.is_delimited || !is_open)) return {};
  const std::string message =
      "line " + std::to_string(document.size()) + " of the patch: the patch ends in a change, " +
      (so_far.is_in_fence ? "and its fence is open" : "and its last line has no end") +
      "; it may be cut off: send it whole, or --complete takes it as it is (\"complete\": true in "
      "a "
      "tool call)";
  if (is_cut) {
    return fail(ErrorKind::kInvalid, "edit.truncated",
                "the patch was cut off, as --truncated (\"complete\": false in a tool call) says: "
                "send it whole",
                std::string(so_far.path));
  }
  so_far.doubt = PossibleTruncation{message, true, so_far.is_ended, 0, 0};
  return {};
}

}  // namespace

std::optional<HunkHeader> read_hunk_header(std::string_view line) {
  if (!line.starts_with("@@") || line.starts_with("@@@")) return std::nullopt;
  HunkHeader header;
  std::string_view rest = line.substr(2);
  std::string_view numbers = trim(rest, kSpaceAndTab);
  bool has_old = false;
  bool has_new = false;
  if (take(numbers, '-') && take_range(numbers, header.old_start, header.old_count, has_old) &&
      take(numbers, ' ') && take(numbers, '+') &&
      take_range(numbers, header.new_start, header.new_count, has_new)) {
    header.has_numbers = true;
    header.has_counts = has_old && has_new;
    numbers = trim(numbers, kSpaceAndTab);
    if (numbers.starts_with("@@")) numbers.remove_prefix(2);
    header.section = trim(numbers, kSpaceAndTab);
    return header;
  }
  header.is_absurd = has_huge_number(trim(rest, kSpaceAndTab));
  const size_t close = rest.find("@@");
  if (close == std::string_view::npos) {
    header.section = trim(rest, kSpaceAndTab);
    if (header.section == "...") header.section = {};
  } else {
    header.section = trim(rest.substr(close + 2), kSpaceAndTab);
    // `@@ def load(path): @@`; words such as `line 1` are not code.
    const std::string_view between = trim(rest.substr(0, close), kSpaceAndTab);
    const bool is_anchor = between.find_first_of("(){}[]:;=<>_#") != std::string_view::npos &&
                           between.find_first_of("-+.") != 0;
    if (header.section.empty() && is_anchor) header.section = between;
  }
  return header;
}

namespace {

/// The line `--- 8< ---` of mails, which says that the text beyond it is another one.
bool is_scissors(std::string_view line) {
  return line.find_first_not_of("- 8<>") == std::string_view::npos &&
         (line.find("8<-") != std::string_view::npos ||
          line.find("->8") != std::string_view::npos ||
          line.find(" 8< ") != std::string_view::npos ||
          line.find(" >8 ") != std::string_view::npos);
}

}  // namespace

bool starts_section(const Lines& document, size_t at) {
  const std::string_view line = without_terminator(document[at]);
  if (line.empty()) return false;
  switch (line.front()) {
    case 'd':
      return line.starts_with("diff --git ") || line.starts_with("diff -");
    case '-':
      if (line == "-- " || line == "--") {
        return at + 1 >= document.size() || without_terminator(document[at + 1]).empty() ||
               is_digit(document[at + 1].front());
      }
      if (is_scissors(line)) return true;
      return line.starts_with("--- ") && at + 1 < document.size() &&
             document[at + 1].starts_with("+++ ");
    case '*':
      return line.starts_with("*** ");
    case '`':
      return line.starts_with("```");
    case '~':
      return line.starts_with("~~~");
    case 'I':
      return line.starts_with("Index: ");
    case 'F':
      return line.starts_with("From ") && line.size() > 45;
    case 'O':
      return line.starts_with("Only in ");
    case 'B':
      return line.starts_with("Binary files ");
    default:
      return false;
  }
}

bool has_doubtful_sign(const std::vector<HunkLine>& bare_lines) {
  return std::any_of(bare_lines.begin(), bare_lines.end(), [](const HunkLine& line) {
    return (line.role == LineRole::kAdded && line.text.starts_with('+')) ||
           (line.role == LineRole::kRemoved && line.text.starts_with('-'));
  });
}

bool begins_bare_hunk(const Lines& document, size_t at) {
  bool has_change = false;
  for (; at < document.size() && !starts_section(document, at); ++at) {
    const std::string_view line = without_terminator(document[at]);
    if (line.starts_with("@@")) break;
    if (line.starts_with("+++ ") || is_block_head(line)) return false;
    has_change = has_change || line.starts_with('+') || line.starts_with('-');
  }
  return has_change;
}

bool is_bare_hunk_fence(const Lines& document, size_t at) {
  const std::string_view line = trimmed(document[at]);
  if (!line.starts_with("```")) return false;
  const std::string_view info = line.substr(std::min(line.find_first_not_of('`'), line.size()));
  const std::string_view word = info.substr(0, info.find_first_of(" :"));
  if (word != "diff" && word != "patch" && word != "udiff") return false;
  if (at + 1 >= document.size() || !begins_bare_hunk(document, at + 1)) return false;
  // If a header follows, the lines are not a bare hunk.
  for (size_t next = at + 1; next < document.size() && !is_fence(document[next]); ++next) {
    const std::string_view text = document[next];
    if (text.starts_with("@@") || text.starts_with("--- ") || text.starts_with("*** "))
      return false;
  }
  return true;
}

Result<size_t> read_hunk(const Lines& document, size_t at, const ReadOptions& options,
                         HunkReadState& so_far, Hunk& hunk) {
  const std::string_view path = so_far.path;
  const std::string_view first = without_terminator(document[at]);
  const bool has_header = first.starts_with("@@");
  const auto header = has_header ? read_hunk_header(first) : HunkHeader();
  if (!header) return corrupt_hunk(at, path, "no hunk header");
  if (header->is_absurd) {
    return corrupt_hunk(at, path, "the hunk states line numbers no file can have");
  }
  const auto line = static_cast<uint32_t>(at + 1);
  const auto note = [&](const char* rule, std::string message) {
    so_far.set.leniencies.push_back({rule, std::move(message), std::string(path), line});
  };
  hunk.document_line = line;
  hunk.section = header->section;
  hunk.has_numbers = header->has_numbers;
  hunk.old_start = static_cast<uint32_t>(header->old_start);
  hunk.new_start = static_cast<uint32_t>(header->new_start);
  hunk.minimal_context = options.unidiff_zero;

  const size_t body_begin = has_header ? at + 1 : at;
  BodyReader body(document, body_begin);
  const bool has_counted = header->has_counts && !options.recount &&
                           body.by_counts(header->old_count, header->new_count);
  const bool fits = has_counted && !body.goes_on() && !body.includes_file_lines(*header);
  if (!fits) {
    hunk.counted_lines = has_counted && body.goes_on() ? body.lines().size() : 0;
    body = BodyReader(document, body_begin);
    body.by_shape();
    if (header->has_counts && header->old_start + header->old_count == 0 &&
        body.add_blank_lines()) {
      note("bare_blank_lines", "blank lines without '+' were taken as lines of the new file");
    }
    const Tally& have = body.tally();
    hunk.counts_agree = header->has_counts && have.old_count == header->old_count &&
                        have.new_count == header->new_count;
    if (!options.recount && is_document_end(document, body.at())) {
      GALLEY_TRY(header->has_counts ? judge_end(document, line, *header, body, options, so_far)
                                    : judge_end_without_counts(document, body, options, so_far));
    }
    if (header->has_counts && !hunk.counts_agree && !options.recount) {
      note("count_mismatch", "the hunk states " +
                                 counts_text(header->old_count, header->new_count) +
                                 " lines and has " + counts_text(have.old_count, have.new_count));
    }
  }
  if (fits) doubt_last_line(document, body, options, so_far);
  if (!header->has_numbers) {
    note("no_line_numbers",
         has_header ? "the hunk has no line numbers: its lines alone say where it belongs"
                    : "the hunk has no header: its lines alone say where it belongs");
    if (!header->section.empty()) hunk.anchors.push_back(header->section);
  }
  if (body.used_bare_lines() && has_doubtful_sign(body.lines())) {
    return corrupt_hunk(at, path, kDoubtfulSign);
  }
  hunk.has_bare_context = body.used_bare_lines();
  if (body.used_bare_lines()) note("bare_context", kBareContext);
  if (body.used_minus_signs()) {
    note("minus_sign", "a dash or a minus sign of typography was read as '-'");
  }
  hunk.lines = body.take_lines();
  if (hunk.lines.empty()) return corrupt_hunk(at, path, "the hunk has no lines");
  if (header->has_counts) ++(hunk.counts_agree ? so_far.right_counts : so_far.wrong_counts);
  so_far.is_short = header->has_counts && (body.tally().old_count < header->old_count ||
                                           body.tally().new_count < header->new_count);
  so_far.ends_in_context = so_far.ends_in_context && hunk.lines.back().role == LineRole::kContext;
  return body.at();
}

}  // namespace galley
