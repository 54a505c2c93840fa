#include "staging/formats/mail.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/encoding.h"
#include "base/text.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/read_hunk.h"

namespace galley {
namespace {

/// A line of `git diff --stat`: ` path | 2 +-`, ` image | Bin 0 -> 9 bytes`, ` 1 file changed`.
bool is_of_stat(std::string_view line) {
  if (!line.starts_with(' ')) return false;
  const std::string_view text = trimmed(line);
  if (!text.empty() && is_digit(text.front())) {
    const std::string_view rest =
        text.substr(std::min(text.find_first_not_of("0123456789"), text.size()));
    return rest.starts_with(" file changed") || rest.starts_with(" files changed");
  }
  const size_t bar = text.rfind(" | ");
  if (bar == std::string_view::npos) return false;
  const std::string_view count = trimmed(text.substr(bar + 3));
  return !count.empty() && (is_digit(count.front()) || count.starts_with("Bin"));
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  c = to_lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

enum class TransferEncoding : uint8_t { kNone, kQuotedPrintable, kBase64 };

/// What the headers of a mail, or of a part of one, say about the body.
struct BodyHeaders {
  TransferEncoding encoding = TransferEncoding::kNone;
  std::string boundary;  ///< begins each part of the body; empty: it has no parts
};

/// The value of `boundary=` in a header Content-Type.
std::string boundary_of(std::string_view value) {
  constexpr std::string_view kName = "boundary=";
  for (size_t at = 0; at < value.size(); ++at) {
    if (!starts_with_any_case(value.substr(at), kName)) continue;
    const std::string_view rest = value.substr(at + kName.size());
    const bool is_quoted = rest.starts_with('"');
    const std::string_view name = is_quoted ? rest.substr(1) : rest;
    return std::string(name.substr(0, name.find_first_of(is_quoted ? "\"" : "; \t")));
  }
  return {};
}

/// Moves `at` past the headers. A header goes on in lines that begin with white space.
BodyHeaders headers_of_block(const Lines& document, size_t& at) {
  constexpr std::string_view kEncoding = "content-transfer-encoding:";
  constexpr std::string_view kType = "content-type:";
  BodyHeaders found;
  while (at < document.size() && !trimmed(document[at]).empty()) {
    std::string header(trimmed(document[at]));
    for (++at; at < document.size() && !trimmed(document[at]).empty() &&
               kSpaceAndTab.find(document[at].front()) != std::string_view::npos;
         ++at) {
      header += " " + std::string(trimmed(document[at]));
    }
    if (starts_with_any_case(header, kType)) found.boundary = boundary_of(header);
    if (!starts_with_any_case(header, kEncoding)) continue;
    const std::string_view value = trimmed(std::string_view(header).substr(kEncoding.size()));
    if (starts_with_any_case(value, "quoted-printable")) {
      found.encoding = TransferEncoding::kQuotedPrintable;
    }
    if (starts_with_any_case(value, "base64")) found.encoding = TransferEncoding::kBase64;
  }
  return found;
}

std::optional<std::string> from_quoted_printable(std::string_view body) {
  std::string text;
  const Lines lines(body);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = without_terminator(lines[i]);
    const bool goes_on = line.ends_with('=');
    const auto decoded = from_hex_escapes(goes_on ? line.substr(0, line.size() - 1) : line);
    if (!decoded) return std::nullopt;
    text += *decoded;
    if (!goes_on) text += lines[i].substr(line.size());
  }
  return text;
}

std::optional<std::string> decoded_body(std::string_view body, TransferEncoding encoding) {
  if (encoding == TransferEncoding::kNone) return std::string(body);
  if (encoding == TransferEncoding::kQuotedPrintable) return from_quoted_printable(body);
  std::string packed(body);
  std::erase_if(packed, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
  std::string text;
  if (!from_base64(packed, text) || text.find('\0') != std::string::npos) return std::nullopt;
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace

bool is_mail_start(std::string_view line) {
  constexpr size_t kDigits = 40;  // of SHA-1; a name of SHA-256 has more
  if (!line.starts_with("From ")) return false;
  const std::string_view name = line.substr(5, line.find(' ', 5) - 5);
  return name.size() >= kDigits && name.size() + 5 < line.size() &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool begins_mail(const Lines& document, size_t line) {
  const bool has_envelope = document[line].starts_with("From ");
  if (line != 0 && !has_envelope) return false;
  if (is_mail_start(without_terminator(document[line]))) return true;
  if (line != 0 && !trimmed(document[line - 1]).empty()) return false;
  bool has_sender = false;
  bool has_subject = false;
  for (size_t at = line + (has_envelope ? 1 : 0); at < document.size(); ++at) {
    const bool goes_on = document[at].starts_with(' ') || document[at].starts_with('\t');
    if (!goes_on && !is_header_line(without_terminator(document[at]))) break;
    has_sender = has_sender || starts_with_any_case(document[at], "from:");
    has_subject = has_subject || starts_with_any_case(document[at], "subject:");
  }
  return has_sender && has_subject;
}

bool is_header_line(std::string_view line) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) return false;
  return std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return c > ' ' && c < '\x7f'; });
}

bool starts_with_any_case(std::string_view text, std::string_view wanted) {
  return text.size() >= wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), text.begin(),
                    [](char a, char b) { return to_lower(a) == to_lower(b); });
}

std::optional<size_t> message_end(const Lines& document, size_t begin) {
  std::optional<size_t> rule;
  uint64_t left = 0;  // removed and context lines of a hunk that follow
  for (size_t at = begin + 1; at < document.size(); ++at) {
    const std::string_view line = without_terminator(document[at]);
    if (begins_mail(document, at)) break;
    if (line.starts_with("@@ -")) {
      const auto header = read_hunk_header(line);
      left = header && header->has_counts ? header->old_count : 0;
    } else if (left > 0 && (line.starts_with('-') || line.starts_with(' '))) {
      --left;
    } else if (line == "---") {
      rule = at;
    } else if (line.starts_with("diff ") || line.starts_with("--- ")) {
      rule.reset();
    } else if (rule && is_of_stat(line)) {
      return rule;
    }
  }
  return std::nullopt;
}

std::optional<std::string> from_hex_escapes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') {
      out.push_back(text[i]);
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

std::optional<std::string> without_transfer_encoding(std::string_view document) {
  const size_t line_end = document.find('\n');
  const std::string_view first = document.substr(0, line_end);
  if (!first.starts_with("From ") && !is_header_line(first)) return std::nullopt;
  const Lines lines(document);
  if (lines.empty() || !begins_mail(lines, 0)) return std::nullopt;
  std::string out;
  bool is_changed = false;
  std::vector<std::string> boundaries;  // of the mail
  const auto begins_part = [&](std::string_view line) {
    line = trim_end(line);
    return line.starts_with("--") && std::ranges::any_of(boundaries, [&](const std::string& one) {
             return line == one || line == one + "--";
           });
  };
  for (size_t at = 0; at < lines.size();) {
    const size_t head = at;
    if (begins_mail(lines, head)) boundaries.clear();
    const BodyHeaders headers = headers_of_block(lines, at);
    if (!headers.boundary.empty()) boundaries.push_back("--" + headers.boundary);
    size_t end = at;
    while (end < lines.size() && !begins_mail(lines, end) && !begins_part(lines[end])) ++end;
    const auto body = decoded_body(lines.span(at, end), headers.encoding);
    const bool is_decoded = body && headers.encoding != TransferEncoding::kNone;
    const bool is_part = begins_part(lines[head]);  // the line would look like one of a hunk
    if (is_part) out += '\n';
    out += lines.span(head + (is_part ? 1 : 0), at);
    if (is_decoded && headers.encoding == TransferEncoding::kBase64) out += '\n';
    out += is_decoded ? *body : lines.span(at, end);
    is_changed = is_changed || is_decoded || is_part;
    at = end;
  }
  return is_changed ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace galley
