#include "staging/printing/git_diff_print.h"

#include <fmt/format.h>
#include <zlib.h>
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/printable.h"
#include "base/result.h"
#include "staging/printing/diff_moved.h"
#include "staging/printing/hyperlinks.h"
#include "staging/printing/readable_diff.h"

namespace galley {

namespace {

// The rest of git's default palette.
constexpr std::string_view kMeta = "\033[1m";
constexpr std::string_view kFragment = "\033[36m";
constexpr std::string_view kOldMoved = "\033[1;35m";
constexpr std::string_view kOldMovedAlternative = "\033[1;34m";
constexpr std::string_view kNewMoved = "\033[1;36m";
constexpr std::string_view kNewMovedAlternative = "\033[1;33m";
constexpr size_t kHunkHeaderBytes = 128;
constexpr std::string_view kNoNewline = "\\ No newline at end of file";

void append_range(uint32_t begin, uint32_t end, std::string& out) {
  const uint32_t count = end - begin;
  // The number of an empty range is that of the line before it, which equals its 0-based begin.
  fmt::format_to(std::back_inserter(out), "{}", count == 0 ? begin : begin + 1);
  if (count != 1) fmt::format_to(std::back_inserter(out), ",{}", count);
}

}  // namespace

void DiffPrinter::header(std::string_view text) {
  if (options_.color) out_ += kMeta;
  out_ += text;
  if (options_.color) out_ += kColorReset;
  out_.push_back('\n');
}

void DiffPrinter::hunk_header(const FileDiff& diff, const FileHunk& hunk) {
  if (options_.color) out_ += kFragment;
  std::string place = "@@ -";
  append_range(hunk.span.old_begin, hunk.span.old_end, place);
  place += " +";
  append_range(hunk.span.new_begin, hunk.span.new_end, place);
  place += " @@";
  if (options_.links != nullptr) {
    options_.links->append(diff.new_path, hunk.span.new_begin + 1, place, out_);
  } else {
    out_ += place;
  }
  if (options_.color) out_ += kColorReset;
  if (!hunk.heading.empty()) {
    out_.push_back(' ');
    if (options_.color) out_ += kColorReset;
    content(hunk.heading);
    if (options_.color) out_ += kColorReset;
  }
  out_.push_back('\n');
}

/// Appends text from a file.
void DiffPrinter::content(std::string_view text) {
  if (options_.is_printable) {
    append_printable(text, options_.color, out_);
  } else {
    out_ += text;
  }
}

void DiffPrinter::line(char sign, std::string_view color, std::string_view text) {
  const bool ended = !text.empty() && text.back() == '\n';
  if (options_.color) {
    auto body = ended ? text.substr(0, text.size() - 1) : text;
    // As in git, the color ends before a CR. With is_printable, the CR is shown as a part of the
    // line.
    const bool has_cr = !options_.is_printable && body.ends_with('\r');
    if (has_cr) body.remove_suffix(1);
    out_ += color;
    out_.push_back(sign);
    content(body);
    out_ += kColorReset;
    out_ += has_cr ? "\r\n" : "\n";
  } else {
    out_.push_back(sign);
    content(text);
    if (!ended) out_.push_back('\n');
  }
  if (ended) return;
  out_ += kNoNewline;
  if (options_.color) out_ += kColorReset;
  out_.push_back('\n');
}

void DiffPrinter::context_lines(const Lines& lines, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) line(' ', "", lines[i]);
}

void DiffPrinter::removed_lines(const Lines& lines, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) line('-', color_of(false), lines[i]);
}

void DiffPrinter::added_lines(const Lines& lines, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) line('+', color_of(true), lines[i]);
}

void DiffPrinter::make_room(const FileDiff& diff, const Lines& before, const Lines& after) {
  size_t bytes = out_.size();
  for (const auto& hunk : diff.hunks) {
    const auto& span = hunk.span;
    bytes += kHunkHeaderBytes + after.span(span.new_begin, span.new_end).size() +
             (span.new_end - span.new_begin);
    for (size_t i = span.first_change; i < span.last_change; ++i) {
      const auto& range = diff.script[i];
      bytes += before.span(range.old_begin, range.old_end).size() + range.removed();
    }
  }
  // The capacity is at least doubled, because a caller may append thousands of files to one string.
  if (bytes > out_.capacity()) out_.reserve(std::max(bytes, 2 * out_.capacity()));
}

std::string_view DiffPrinter::color_of(bool added) {
  auto mark = MovedMark::kNone;
  if (marks_ != nullptr && marks_->next < marks_->marks.size())
    mark = marks_->marks[marks_->next++];
  if (mark == MovedMark::kMoved) return added ? kNewMoved : kOldMoved;
  if (mark == MovedMark::kAlternative) return added ? kNewMovedAlternative : kOldMovedAlternative;
  return added ? kNewColor : kOldColor;
}

void DiffPrinter::context_words(const Lines& lines, uint32_t begin, uint32_t end) {
  for (uint32_t i = begin; i < end; ++i) {
    auto text = lines[i];
    const bool ended = text.back() == '\n';
    if (ended) text.remove_suffix(1);
    content(text);
    if (options_.color && !text.empty()) out_ += kColorReset;
    out_.push_back('\n');
  }
}

void DiffPrinter::changed_words(const ChangedRange& range, const Lines& before,
                                const Lines& after) {
  const auto ended = [](std::string_view text) {
    std::string lines(text);
    if (!lines.empty() && lines.back() != '\n') lines.push_back('\n');
    return lines;
  };
  append_word_diff(ended(before.span(range.old_begin, range.old_end)),
                   ended(after.span(range.new_begin, range.new_end)),
                   {options_.word_diff == WordDiff::kPlain, options_.color, options_.is_printable},
                   out_);
}

void DiffPrinter::hunks(const FileDiff& diff, const Lines& before, const Lines& after) {
  make_room(diff, before, after);
  if (options_.color && options_.moved != MovedLines::kNone) {
    marks_ = options_.marks;
    if (marks_ == nullptr) {
      MovedLineFinder finder(options_.moved);
      finder.add(diff, before, after);
      own_marks_ = finder.find();
      marks_ = &own_marks_;
    }
  }
  const bool by_words = options_.word_diff != WordDiff::kNone;
  for (const auto& hunk : diff.hunks) {
    hunk_header(diff, hunk);
    // Unchanged lines are those of the new side. The sides may differ if white space is ignored.
    uint32_t at = hunk.span.new_begin;
    const auto unchanged_until = [&](uint32_t end) {
      by_words ? context_words(after, at, end) : context_lines(after, at, end);
    };
    for (size_t i = hunk.span.first_change; i < hunk.span.last_change; ++i) {
      const auto& range = diff.script[i];
      unchanged_until(range.new_begin);
      if (by_words) {
        changed_words(range, before, after);
      } else {
        removed_lines(before, range.old_begin, range.old_end);
        added_lines(after, range.new_begin, range.new_end);
      }
      at = range.new_end;
    }
    unchanged_until(hunk.span.new_end);
  }
}

namespace {

// Format: "literal <size>\n", then lines of up to 52 bytes. A line has a letter for the count (A-Z
// for 1-26, a-z for 27-52) and five characters for each four bytes, big-endian. An empty line is at
// the end.
constexpr size_t kBytesPerLine = 52;
constexpr size_t kLettersPerCase = 26;
constexpr std::string_view kBase85 =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

std::string deflated(std::string_view content) {
  uLongf size = compressBound(content.size());
  std::string out(size, '\0');
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(content.data()), content.size(),
                             Z_DEFAULT_COMPRESSION);
  GALLEY_CHECK(code == Z_OK);  // the buffer has the size that zlib requires
  out.resize(size);
  return out;
}

void append_base85_line(std::string_view bytes, std::string& out) {
  const size_t count = bytes.size();
  out.push_back(static_cast<char>(count <= kLettersPerCase ? 'A' + count - 1
                                                           : 'a' + count - kLettersPerCase - 1));
  for (size_t i = 0; i < count; i += 4) {
    uint32_t group = 0;
    for (size_t j = i; j < i + 4; ++j) {
      group = group << 8U | (j < count ? static_cast<uint8_t>(bytes[j]) : 0U);
    }
    char digits[5];
    for (int k = 4; k >= 0; --k) {
      digits[k] = kBase85[group % kBase85.size()];
      group /= kBase85.size();
    }
    out.append(digits, sizeof digits);
  }
  out.push_back('\n');
}

void append_literal(std::string_view content, std::string& out) {
  out += "literal " + std::to_string(content.size()) + "\n";
  const std::string bytes = deflated(content);
  for (size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
    append_base85_line(std::string_view(bytes).substr(at, kBytesPerLine), out);
  }
  out.push_back('\n');
}

}  // namespace

void append_binary_patch(std::string_view before, std::string_view after, std::string& out) {
  out += "GIT binary patch\n";
  append_literal(after, out);
  append_literal(before, out);
}

}  // namespace galley
