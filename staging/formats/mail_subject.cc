#include "staging/formats/mail_subject.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/text.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

bool is_linear_space(char c) { return c == ' ' || c == '\t'; }

bool starts_with_any_case(std::string_view text, std::string_view wanted) {
  return text.size() >= wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), text.begin(),
                    [](char a, char b) { return to_lower(a) == to_lower(b); });
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Decodes the Q encoding (RFC 2047, 4.2): `_` means a blank, `=C3` a byte.
std::optional<std::string> from_q(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') {
      out.push_back(text[i] == '_' ? ' ' : text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

std::optional<std::string> from_b(std::string_view text) {
  std::string bytes;
  return from_base64(text, bytes) ? std::optional(std::move(bytes)) : std::nullopt;
}

/// Takes the encoded word from the start of `text`: `=?UTF-8?q?na=C3=AFve?=`.
std::optional<std::string> take_encoded_word(std::string_view& text) {
  if (!starts_with_any_case(text, "=?utf-8?") && !starts_with_any_case(text, "=?us-ascii?")) {
    return std::nullopt;
  }
  const size_t kind = text.find('?', 2) + 1;
  if (kind + 2 > text.size() || text[kind + 1] != '?') return std::nullopt;
  const size_t end = text.find("?=", kind + 2);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view body = text.substr(kind + 2, end - kind - 2);
  auto word = to_lower(text[kind]) == 'q' ? from_q(body) : from_b(body);
  if (word) text.remove_prefix(end + 2);
  return word;
}

std::string decoded(std::string_view text) {
  std::string out;
  bool is_behind_word = false;
  while (!text.empty()) {
    // Blanks between two encoded words are not part of the text.
    std::string_view next = text;
    while (is_behind_word && !next.empty() && is_linear_space(next.front())) next.remove_prefix(1);
    if (const auto word = take_encoded_word(next)) {
      out += *word;
      text = next;
      is_behind_word = true;
      continue;
    }
    is_behind_word = false;
    out.push_back(text.front());
    text.remove_prefix(1);
  }
  return out;
}

/// Removes `Re:` and everything in brackets at the start, as git am does.
std::string cleaned(std::string_view subject) {
  for (;;) {
    subject = trim(subject, kBlanks);
    if (starts_with_any_case(subject, "re:")) {
      subject.remove_prefix(3);
    } else if (const size_t end = subject.find(']');
               subject.starts_with('[') && end != std::string_view::npos) {
      subject.remove_prefix(end + 1);
    } else if (subject.starts_with(':')) {
      subject.remove_prefix(1);
    } else {
      break;
    }
  }
  std::string out;
  for (const char c : subject) {
    const bool is_gap = is_linear_space(c) || static_cast<unsigned char>(c) < ' ' || c == '\x7f';
    if (is_gap && out.ends_with(' ')) continue;
    out.push_back(is_gap ? ' ' : c);
  }
  return out;
}

/// Whether the line looks like a mail header: "From: x", "Date: x".
bool is_header_line(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  return std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return c > ' ' && c < '\x7f'; });
}

/// True for the line between mails in one file, as format-patch writes it.
bool separates_mails(std::string_view line) {
  if (!line.starts_with("From ")) return false;
  const size_t end = line.find(' ', 5);
  return end != std::string_view::npos && end - 5 >= 40 &&
         std::all_of(line.begin() + 5, line.begin() + static_cast<std::ptrdiff_t>(end),
                     [](char c) { return hex_digit(c) >= 0; });
}

/// The subject in the header block that begins at line `at`. Moves `at` past the block. Empty if
/// the block does not name a sender.
std::string subject_of_block(const Lines& document, size_t& at) {
  std::string subject;
  bool has_sender = false;
  for (; at < document.size(); ++at) {
    const std::string_view line = without_terminator(document[at]);
    if (!is_header_line(line)) break;
    has_sender = has_sender || starts_with_any_case(line, "from:");
    std::string value;
    const bool is_subject = starts_with_any_case(line, "subject:");
    if (is_subject) value = trim(line.substr(8), kBlanks);
    for (; at + 1 < document.size() && is_linear_space(document[at + 1].front()); ++at) {
      value += " " + std::string(trim(without_terminator(document[at + 1]), kBlanks));
    }
    if (is_subject) subject = cleaned(decoded(value));
  }
  return has_sender ? subject : std::string();
}

}  // namespace

std::string mail_subject(std::string_view document) {
  const Lines lines(document);
  std::vector<std::string> subjects;
  for (size_t at = 0; at < lines.size();) {
    const std::string_view line = without_terminator(lines[at]);
    const bool is_begin = separates_mails(line) || (at == 0 && line.starts_with("From "));
    if (is_begin || (at == 0 && is_header_line(line))) {
      at += is_begin ? 1 : 0;
      std::string subject = subject_of_block(lines, at);
      if (!subject.empty()) subjects.push_back(std::move(subject));
      continue;
    }
    ++at;
  }
  std::string out;
  for (size_t i = 0; i < subjects.size(); ++i) {
    if (i > 0 && out.size() + subjects[i].size() > kMaxSubjectBytes) {
      return out + " (and " + std::to_string(subjects.size() - i) + " more)";
    }
    if (!out.empty()) out += "; ";
    out += subjects[i].substr(0, kMaxSubjectBytes);
  }
  return out;
}

}  // namespace galley
