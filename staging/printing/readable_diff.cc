#include "staging/printing/readable_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "staging/printing/git_diff_print.h"
#include "staging/printing/hyperlinks.h"
#include "staging/text/diff.h"
#include "staging/text/dtl_diff.h"
#include "staging/text/intern.h"

namespace galley {
namespace {

constexpr size_t kFewestColumns = 8;
constexpr size_t kTabColumns = 8;
constexpr std::string_view kBold = "\033[1m";
constexpr std::string_view kCyan = "\033[36m";
constexpr std::string_view kRed = "\033[31m";
constexpr std::string_view kGreen = "\033[32m";

struct CodePoints {
  uint32_t first;
  uint32_t last;
};

/// Approximate ranges of the characters that are two columns wide (W and F in Unicode's
/// EastAsianWidth.txt).
constexpr std::array<CodePoints, 10> kWide = {{{0x1100, 0x115f},
                                               {0x2e80, 0x303e},
                                               {0x3041, 0xa4cf},
                                               {0xac00, 0xd7a3},
                                               {0xf900, 0xfaff},
                                               {0xfe30, 0xfe6f},
                                               {0xff00, 0xff60},
                                               {0xffe0, 0xffe6},
                                               {0x1f300, 0x1faff},
                                               {0x20000, 0x3fffd}}};

size_t columns_of(std::string_view character) {
  if (character.size() < 2) return 1;
  constexpr std::array<uint32_t, 5> kLeadBits = {0, 0x7f, 0x1f, 0x0f, 0x07};
  uint32_t code = static_cast<uint8_t>(character[0]) & kLeadBits.at(character.size());
  for (const char next : character.substr(1)) {
    code = code << 6U | (static_cast<uint8_t>(next) & 0x3fU);
  }
  if (code >= 0x300 && code <= 0x36f) return 0;  // combining
  const bool is_wide = std::any_of(kWide.begin(), kWide.end(), [&](const CodePoints& range) {
    return range.first <= code && code <= range.last;
  });
  return is_wide ? 2 : 1;
}

struct Piece {
  std::string text;
  size_t columns = 0;
};

/// Splits a line into pieces of at most `columns` columns. Returns at least one piece.
std::vector<Piece> wrapped(std::string_view line, size_t columns) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const std::string shown = printable(line);
  std::vector<Piece> pieces(1);
  size_t place = 0;  // column in the whole line, for tabs
  for (size_t at = 0; at < shown.size();) {
    const bool is_tab = shown[at] == '\t';
    const size_t length = std::max<size_t>(utf8_sequence_length(shown, at), 1);
    const std::string_view character = std::string_view(shown).substr(at, length);
    const size_t wanted = is_tab ? kTabColumns - place % kTabColumns : columns_of(character);
    if (pieces.back().columns + wanted > columns) pieces.emplace_back();
    const size_t taken = std::min(wanted, columns);
    pieces.back().text += is_tab ? std::string(taken, ' ') : std::string(character);
    pieces.back().columns += taken;
    place += wanted;
    at += length;
  }
  return pieces;
}

class SideWriter {
 public:
  SideWriter(const DiffOptions& options, size_t width, size_t most_lines, std::string& out)
      : options_(options),
        out_(out),
        digits_(std::max<size_t>(4, std::to_string(most_lines).size())) {
    const size_t taken = 2 * (digits_ + 1) + 3;
    columns_ = std::max(kFewestColumns, width > taken ? (width - taken) / 2 : 0);
  }

  void painted(std::string_view color, std::string_view text) {
    if (options_.color && !color.empty()) out_ += color;
    out_ += text;
    if (options_.color && !color.empty()) out_ += kColorReset;
  }

  void row(std::optional<uint32_t> old_line, std::optional<uint32_t> new_line, const Lines& before,
           const Lines& after, std::string_view middle) {
    const auto left = old_line ? wrapped(before[*old_line], columns_) : std::vector<Piece>();
    const auto right = new_line ? wrapped(after[*new_line], columns_) : std::vector<Piece>();
    const bool is_equal = middle == kEqual;
    for (size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      half(i == 0 ? old_line : std::nullopt, i < left.size() ? left[i] : Piece(),
           is_equal ? "" : kRed, true);
      out_ += fmt::format(" {} ", i == 0 ? middle : " ");
      half(i == 0 ? new_line : std::nullopt, i < right.size() ? right[i] : Piece(),
           is_equal ? "" : kGreen, false);
      while (out_.ends_with(' ')) out_.pop_back();
      out_.push_back('\n');
    }
  }

  static constexpr std::string_view kEqual = "│";

 private:
  void half(std::optional<uint32_t> line, const Piece& piece, std::string_view color,
            bool is_left) {
    out_ += line ? fmt::format("{:>{}} ", *line + 1, digits_) : std::string(digits_ + 1, ' ');
    if (!piece.text.empty()) painted(color, piece.text);
    if (is_left) out_.append(columns_ - std::min(columns_, piece.columns), ' ');
  }

  const DiffOptions& options_;
  std::string& out_;
  size_t digits_;
  size_t columns_ = 0;
};

std::string name_of(const FileDiff& diff) {
  std::string name = quote_path(diff.new_path);
  if (diff.status == 'A') name += " (new file)";
  if (diff.status == 'D') name += " (deleted)";
  if (diff.status == 'R') name += " (renamed from " + quote_path(diff.old_path) + ")";
  if (diff.status == 'C') name += " (copied from " + quote_path(diff.old_path) + ")";
  if (diff.status == 'T') name += " (its type changes)";
  if (diff.old_mode != diff.new_mode && diff.old_mode != 0 && diff.new_mode != 0) {
    name += fmt::format(" (mode {:o} => {:o})", diff.old_mode, diff.new_mode);
  }
  return name;
}

// dtl is exact and fast for the words of a few lines. For more words, its time would grow
// quadratically.
constexpr size_t kMaxWordsForDtl = 256;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    while (at < text.size() && is_plain_space(text[at])) ++at;
    const size_t begin = at;
    while (at < text.size() && !is_plain_space(text[at])) ++at;
    if (at > begin) words.push_back(text.substr(begin, at - begin));
  }
  return words;
}

// The text from the first to the last of some words. If there are none, an empty text after the
// previous word.
std::string_view stretch(std::string_view text, const std::vector<std::string_view>& words,
                         uint32_t begin, uint32_t end) {
  const auto offset = [&](const char* at) { return static_cast<size_t>(at - text.data()); };
  if (begin == end) {
    return begin == 0 ? text.substr(0, 0)
                      : text.substr(offset(words[begin - 1].data()) + words[begin - 1].size(), 0);
  }
  const size_t first = offset(words[begin].data());
  return text.substr(first, offset(words[end - 1].data()) + words[end - 1].size() - first);
}

struct Look {
  std::string_view color;
  std::string_view open;
  std::string_view close;
};

// Appends text with marks. A mark never includes a line end.
void append_piece(std::string_view text, const Look& look, const WordDiffStyle& style,
                  std::string& out) {
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const auto piece = text.substr(0, newline);
    if (!piece.empty()) {
      out.append(look.color).append(look.open);
      if (style.is_printable) {
        append_printable(piece, style.color, out);
      } else {
        out += piece;
      }
      out += look.close;
      if (!look.color.empty()) out += "\033[m";
    }
    if (newline == std::string_view::npos) return;
    out.push_back('\n');
    text.remove_prefix(newline + 1);
  }
}

}  // namespace

size_t columns_of_line(std::string_view line) {
  return wrapped(line, std::numeric_limits<size_t>::max()).front().columns;
}

void append_side_by_side(const FileDiff& diff, const Lines& before, const Lines& after,
                         const DiffOptions& options, size_t width, std::string& out) {
  SideWriter writer(options, width, std::max(before.size(), after.size()), out);
  const auto linked = [&](uint32_t line, std::string_view text, std::string_view color) {
    std::string place(text);
    if (options.links != nullptr) {
      place.clear();
      options.links->append(diff.new_path, line, text, place);
    }
    writer.painted(color, place);
  };
  linked(0, name_of(diff), kBold);
  out += diff.is_binary ? "\nBinary files differ\n" : "\n";
  for (const FileHunk& hunk : diff.hunks) {
    const HunkSpan& span = hunk.span;
    linked(span.new_begin + 1, fmt::format("@@ line {} @@", span.new_begin + 1), kCyan);
    out += hunk.heading.empty() ? "\n" : " " + printable_line(hunk.heading) + "\n";
    uint32_t old_at = span.old_begin;
    uint32_t new_at = span.new_begin;
    const auto equal_until = [&](uint32_t end) {
      for (; new_at < end; ++new_at, ++old_at) {
        writer.row(old_at, new_at, before, after, SideWriter::kEqual);
      }
    };
    for (size_t i = span.first_change; i < span.last_change; ++i) {
      const ChangedRange& range = diff.script[i];
      equal_until(range.new_begin);
      for (uint32_t at = 0; at < std::max(range.removed(), range.added()); ++at) {
        const bool has_old = at < range.removed();
        const bool has_new = at < range.added();
        writer.row(has_old ? std::optional(range.old_begin + at) : std::nullopt,
                   has_new ? std::optional(range.new_begin + at) : std::nullopt, before, after,
                   has_old && has_new ? "|" : (has_old ? "<" : ">"));
      }
      old_at = range.old_end;
      new_at = range.new_end;
    }
    equal_until(span.new_end);
  }
}

void append_word_diff(std::string_view before, std::string_view after, const WordDiffStyle& style,
                      std::string& out) {
  const Look old_look{style.color ? "\033[31m" : "", style.brackets ? "[-" : "",
                      style.brackets ? "-]" : ""};
  const Look new_look{style.color ? "\033[32m" : "", style.brackets ? "{+" : "",
                      style.brackets ? "+}" : ""};
  if (after.empty()) return append_piece(before, old_look, style, out);
  const auto old_words = words_of(before);
  const auto new_words = words_of(after);
  LineTable table(old_words.size() + new_words.size());
  std::vector<LineId> old_ids;
  std::vector<LineId> new_ids;
  old_ids.reserve(old_words.size());
  new_ids.reserve(new_words.size());
  for (const auto word : old_words) old_ids.push_back(table.intern(word));
  for (const auto word : new_words) new_ids.push_back(table.intern(word));
  const auto script = old_ids.size() + new_ids.size() <= kMaxWordsForDtl
                          ? slide_script(old_ids, new_ids, dtl_diff(old_ids, new_ids))
                          : diff_ids(old_ids, new_ids);
  size_t shown = 0;
  for (const auto& range : script) {
    const auto removed = stretch(before, old_words, range.old_begin, range.old_end);
    const auto added = stretch(after, new_words, range.new_begin, range.new_end);
    const auto begin = static_cast<size_t>(added.data() - after.data());
    append_piece(after.substr(shown, begin - shown), {}, style, out);
    append_piece(removed, old_look, style, out);
    append_piece(added, new_look, style, out);
    shown = begin + added.size();
  }
  append_piece(after.substr(shown), {}, style, out);
}

}  // namespace galley
