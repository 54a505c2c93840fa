#include "staging/formats/color_codes.h"

#include "base/text.h"
#include "staging/formats/read_hunk.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr char kEscape = '\x1b';

/// The size in bytes of the SGR sequence at the start of `text`; 0 if it has none. GNU programs
/// add "erase to the end of the line".
size_t code_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const size_t end = text.find_first_not_of("0123456789;", 2);
  if (end == std::string_view::npos || text[end] != 'm') return text.starts_with("\x1b[K") ? 3 : 0;
  return text.substr(end + 1).starts_with("\x1b[K") ? end + 4 : end + 1;
}

std::string_view take_code(std::string_view& text) {
  const std::string_view code = text.substr(0, code_length(text));
  text.remove_prefix(code.size());
  return code;
}

/// Takes the text before the next escape from `text`.
std::string_view take_plain(std::string_view& text) {
  const std::string_view plain = text.substr(0, text.find(kEscape));
  text.remove_prefix(plain.size());
  return plain;
}

std::string without_all_codes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (!take_code(text).empty()) continue;
    out.push_back(text.front());
    text.remove_prefix(1);
  }
  return out;
}

bool starts_file(std::string_view line) { return line.starts_with("diff --git "); }
bool starts_hunk(std::string_view line) { return line.starts_with("@@ -"); }

/// Removes the codes line by line, and tracks which lines belong to a hunk.
class CodeStripper {
 public:
  /// Returns the line without its codes; nullopt if it is unclear which codes to remove.
  std::optional<std::string> plain(std::string_view line) {
    std::string stripped = without_all_codes(line);
    if (starts_hunk(stripped)) {
      if (const auto header = read_hunk_header(stripped)) {
        old_left_ = header->old_count;
        new_left_ = header->new_count;
      }
      const size_t last = line.rfind(kEscape);
      if (last != std::string_view::npos)
        reset_ = line.substr(last, code_length(line.substr(last)));
      return stripped;
    }
    if (old_left_ == 0 && new_left_ == 0) return stripped;
    if (stripped.starts_with('\\')) return stripped;
    return body_line(line);
  }

 private:
  std::optional<std::string> body_line(std::string_view line) {
    std::string end;
    if (line.ends_with('\r')) {  // git puts it after the last code
      end = "\r";
      line.remove_suffix(1);
    }
    const std::string_view color = take_code(line);
    const char sign = line.empty() ? ' ' : line.front();
    if (!line.empty()) line.remove_prefix(1);
    if (sign != '+' && sign != '-' && sign != ' ') return std::nullopt;
    if (sign != '+' && old_left_ > 0) --old_left_;
    if (sign != '-' && new_left_ > 0) --new_left_;
    if (color.empty()) {
      if (sign != ' ') return std::nullopt;
      // GNU diff writes context without codes; git writes a reset after it.
      if (reset_ != kGitReset) return sign + std::string(line) + end;
    }
    auto text = sign == '+' ? added_text(line, color) : text_of(line);
    if (!text) return std::nullopt;
    return sign + *text + end;
  }

  /// Reads text, and a reset if one follows.
  std::optional<std::string> text_of(std::string_view rest) const {
    const std::string_view text = take_plain(rest);
    // git writes a reset after context only when it colors context.
    if (rest.empty() || rest == reset_) return std::string(text);
    return std::nullopt;
  }

  /// The form is `text RESET`. git also writes RESET (blanks | CODE blanks RESET)* [COLOR text
  /// RESET] [CODE blanks RESET], with a separate code for wrong white space.
  std::optional<std::string> added_text(std::string_view rest, std::string_view color) const {
    std::string out(take_plain(rest));
    if (!out.empty() || rest == reset_) {
      return rest == reset_ ? std::optional<std::string>(out) : std::nullopt;
    }
    if (take_code(rest) != reset_) return std::nullopt;
    bool has_text = false;
    while (!rest.empty()) {
      const std::string_view code = take_code(rest);
      const std::string_view piece = take_plain(rest);
      if (piece.empty()) return std::nullopt;  // programs color only text
      if (!code.empty() && take_code(rest) != reset_) return std::nullopt;
      // The colored text occurs once, and only marked white space may follow it.
      const bool is_text = code == color;
      if (!is_text && !is_blank(piece, " \t\r")) return std::nullopt;
      if (has_text && (is_text || code.empty() || !rest.empty())) return std::nullopt;
      has_text = has_text || is_text;
      out += piece;
    }
    return out;
  }

  static constexpr std::string_view kGitReset = "\x1b[m";
  std::string_view reset_;
  uint64_t old_left_ = 0;
  uint64_t new_left_ = 0;
};

}  // namespace

Result<std::optional<std::string>> without_color_codes(std::string_view text) {
  if (text.find(kEscape) == std::string_view::npos) return std::optional<std::string>();
  const Lines lines(text);
  bool has_colored_hunk = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (starts_file(lines[i]) || starts_hunk(lines[i])) return std::optional<std::string>();
    has_colored_hunk = has_colored_hunk ||
                       (code_length(lines[i]) != 0 && starts_hunk(without_all_codes(lines[i])));
  }
  if (!has_colored_hunk) return std::optional<std::string>();
  std::string out;
  out.reserve(text.size());
  CodeStripper stripper;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    const bool is_ended = line.ends_with('\n');
    if (is_ended) line.remove_suffix(1);
    const auto plain = stripper.plain(line);
    if (!plain) {
      return fail(ErrorKind::kInvalid, "edit.color_codes",
                  "line " + std::to_string(i + 1) +
                      " of the patch: its color codes cannot be told from escape sequences of the "
                      "file; make the diff with --no-color");
    }
    out += *plain;
    if (is_ended) out.push_back('\n');
  }
  return std::optional<std::string>(std::move(out));
}

}  // namespace galley
