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

/// The line without its first `prefix` bytes.
std::string_view behind(std::string_view line, size_t prefix) {
  return line.substr(std::min(prefix, line.size()));
}

/// True for a line that continues the header above it.
bool goes_on(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

/// Finds the messages around patches in one pass.
class MessageFinder {
 public:
  explicit MessageFinder(const Lines& document) : document_(document) {}

  std::vector<MessageText> run() {
    for (size_t at = 0; at < document_.size();) {
      const std::string_view line = document_[at];
      const size_t first = std::min(line.find_first_not_of("> \t*|"), line.size() - 1);
      const bool may_begin = at == 0 || std::string_view("Fct\x1b").find(line[first]) != line.npos;
      if (!may_begin || first > kMaxPrefix) {
        track_fence(at++);
        continue;
      }
      prefix_ = line.substr(0, first);
      if (begins_mail(document_, at, prefix_.size())) {
        at = take_mail(at);
      } else if (const size_t body = commit_body(at); body > 0) {
        at = take_commit(at, body);
      } else if (const size_t end = tag_end(at); end > 0) {
        add(at, at + 2, end);
        at = end;
      } else {
        track_fence(at++);
      }
    }
    return std::move(out_);
  }

 private:
  static constexpr size_t kMaxPrefix = 32;  // in bytes, so that the time is linear

  /// The line without the prefix and the color code at its start.
  [[nodiscard]] std::string_view text(size_t at) const {
    if (at >= document_.size()) return {};
    const std::string_view line = behind(without_terminator(document_[at]), prefix_.size());
    if (!line.starts_with("\x1b[")) return line;
    const size_t end = line.find_first_not_of("0123456789;", 2);
    return end < line.size() && line[end] == 'm' ? line.substr(end + 1) : line;
  }

  [[nodiscard]] bool is_blank_at(size_t at) const { return trimmed(text(at)).empty(); }

  /// True if the line has the prefix. `*` is of the graph that git draws; below it is ` ` or `|`.
  [[nodiscard]] bool has_prefix(size_t at) const {
    const std::string_view line = document_[at];
    if (trimmed(line) == trimmed(prefix_)) return true;
    if (line.size() < prefix_.size()) return trimmed(line).empty();
    return std::equal(prefix_.begin(), prefix_.end(), line.begin(), [](char wanted, char c) {
      return c == wanted || (wanted == '*' && (c == ' ' || c == '|'));
    });
  }

  void add(size_t begin, size_t body, size_t end) {
    while (body < end && is_blank_at(body)) ++body;
    out_.push_back({begin, body, end, false});
  }

  /// Tracks the fence at the left margin that is open.
  void track_fence(size_t at) {
    const std::string_view line = trim_end(document_[at]);
    if (fence_.empty()) {
      const bool is_open = line.starts_with("```") || line.starts_with("~~~");
      if (is_open) fence_ = line.substr(0, line.find_first_not_of(line.front()));
    } else if (line.starts_with(fence_) && is_blank(line, fence_.substr(0, 1))) {
      fence_ = {};
    }
  }

  /// The line after the last one that may be of the mail that begins here: the next mail or, from
  /// line `first` on, the end of the fence, in which others may be nested.
  [[nodiscard]] size_t section_end(size_t begin, size_t first) const {
    size_t nested = 0;
    for (size_t at = begin + 1; at < document_.size(); ++at) {
      if (!has_prefix(at) || begins_mail(document_, at, prefix_.size())) return at;
      const std::string_view line = trim_end(document_[at]);
      if (at < first || fence_.empty() || !line.starts_with(fence_)) continue;
      const bool is_end = is_blank(line, fence_.substr(0, 1));
      if (is_end && nested == 0) return at;
      nested += is_end ? -1 : 1;
    }
    return document_.size();
  }

  /// The line after git's list of changed files below a line `---`, in lines [begin, end).
  [[nodiscard]] std::optional<size_t> list_end(size_t begin, size_t end) const {
    bool is_below_rule = false;
    uint64_t left = 0;  // removed and context lines of a hunk that follow
    for (size_t at = begin; at < end; ++at) {
      const std::string_view line = text(at);
      if (line.starts_with("@@ -")) {
        const auto header = read_hunk_header(line);
        left = header && header->has_counts ? header->old_count : 0;
      } else if (left > 0 && (line.starts_with('-') || line.starts_with(' '))) {
        --left;
      } else if (line == "---") {
        is_below_rule = true;
      } else if (line.starts_with("diff ") || line.starts_with("--- ")) {
        is_below_rule = false;
      } else if (is_below_rule && is_of_stat(line)) {
        while (at < end && text(at).starts_with(' ')) ++at;
        return at;
      }
    }
    return std::nullopt;
  }

  /// True for a line that begins a patch also in a message, which may have any text.
  [[nodiscard]] bool begins_patch(size_t at) const {
    return text(at).starts_with("diff --git ") ||
           (text(at).starts_with("--- ") && text(at + 1).starts_with("+++ ") &&
            text(at + 2).starts_with("@@"));
  }

  /// True for a line that begins a patch below the message, perhaps one that cannot be read.
  [[nodiscard]] bool begins_any_patch(size_t at) const {
    const std::string_view line = text(at);
    const std::string_view next = text(at + 1);
    return line.starts_with("diff -") || line.starts_with("Index: ") || line.starts_with("@@") ||
           line.starts_with("Binary files ") || line.starts_with("***************") ||
           (line.starts_with("--- ") && (next.starts_with("+++ ") || next.starts_with("@@"))) ||
           (line.starts_with("+++ ") && next.starts_with("@@"));
  }

  /// The line at which the patch of a mail without a list begins: the first one, or any below a
  /// line `---`; `end` if it has none.
  [[nodiscard]] size_t patch_begin(size_t body, size_t end) const {
    size_t patch = body;
    size_t below = end;
    for (; patch < end && !begins_patch(patch); ++patch) {
      if (text(patch) == "---") below = patch + 1;
    }
    while (below < patch && !begins_any_patch(below)) ++below;
    return std::min(below, patch);
  }

  size_t take_mail(size_t begin) {
    size_t end = section_end(begin, document_.size());
    const bool has_name = is_mail_start(text(begin));
    bool has_date = false;
    size_t body = begin + 1;
    for (; body < end && (goes_on(text(body)) || is_header_line(text(body))); ++body) {
      has_date = has_date || starts_with_any_case(text(body), "date:");
    }
    const auto list = list_end(body, end);
    end = section_end(begin, list.value_or(body));
    size_t last = list.value_or(body);
    if (list) {
      while (last < end && !begins_any_patch(last)) ++last;
      if (last == end) last = *list;
    } else {
      last = patch_begin(body, end);
      // Without a patch, the headers may also be words of a model above its edits.
      if (!has_name && begin == 0 && (last == end || !has_date)) return begin + 1;
    }
    add(begin, body, last);
    return take_footer(last, end);
  }

  /// Adds the lines below the signature `-- ` of the mail whose patch begins at `begin`. They end
  /// where another patch begins.
  size_t take_footer(size_t begin, size_t end) {
    uint64_t old_left = 0;
    uint64_t new_left = 0;
    for (size_t at = begin; at < end && commit_body(at) == 0; ++at) {
      const std::string_view line = text(at);
      const char sign = line.empty() ? ' ' : line.front();
      if (old_left > 0 || new_left > 0) {
        if (sign != '+' && old_left > 0) --old_left;
        if (sign != '-' && new_left > 0) --new_left;
      } else if (line.starts_with("@@ -")) {
        const auto header = read_hunk_header(line);
        old_left = header && header->has_counts ? header->old_count : 0;
        new_left = header && header->has_counts ? header->new_count : 0;
      } else if (line == "-- " || line == "--") {
        size_t last = at + 1;
        while (last < end && !begins_patch(last) && commit_body(last) == 0) ++last;
        out_.push_back({at + 1, last, last, true});
        return last;
      }
    }
    return begin;
  }

  /// The line after the headers of the commit that begins at this line; 0 if none does.
  [[nodiscard]] size_t commit_body(size_t at) const {
    constexpr std::string_view kWord = "commit ";
    constexpr size_t kLeastDigits = 4;  // of `--abbrev`
    if (!text(at).starts_with(kWord)) return 0;
    std::string_view name = text(at).substr(kWord.size());
    const size_t mark = name.find_first_not_of("<>=+-^ ");  // of `--left-right` and similar
    name.remove_prefix(std::min({mark, name.size(), size_t{2}}));
    const size_t digits = std::min(name.find_first_not_of("0123456789abcdef"), name.size());
    if (digits < kLeastDigits) return 0;
    if (digits < name.size() && std::string_view(" \t\x1b").find(name[digits]) == name.npos) {
      return 0;
    }
    bool has_author = false;
    for (++at; at < document_.size() && has_prefix(at) && is_commit_header(text(at)); ++at) {
      has_author = has_author || text(at).starts_with("Author") || text(at).starts_with("author ");
    }
    return has_author ? at : 0;
  }

  /// True for a line below `commit`: `Author: A`, with `--pretty=raw` also `author A`, and what
  /// gpg says of the signature.
  static bool is_commit_header(std::string_view line) {
    const bool is_raw = line.starts_with("tree ") || line.starts_with("parent ") ||
                        line.starts_with("author ") || line.starts_with("committer ") ||
                        line.starts_with("encoding ") || line.starts_with("gpgsig ");
    const bool is_of_signature = line.starts_with(' ') && !line.starts_with("    ");
    const bool is_named = !line.empty() && to_lower(line[0]) >= 'a' && to_lower(line[0]) <= 'z' &&
                          line.find(':') != line.npos && !line.starts_with("commit ");
    return is_raw || is_of_signature || is_named;
  }

  /// The commit below the message of the tag that begins at this line; 0 if none does.
  size_t tag_end(size_t tag) {
    const bool is_tag = text(tag).starts_with("tag ") && text(tag + 1).starts_with("Tagger:");
    if (!is_tag || tag < without_commit_) return 0;
    const size_t end = section_end(tag, document_.size());
    for (size_t at = tag + 2; at < end; ++at) {
      if (commit_body(at) > 0) return at;
    }
    without_commit_ = end;
    return 0;
  }

  /// git indents the message, and its notes.
  size_t take_commit(size_t begin, size_t body) {
    size_t end = body;
    for (; end < document_.size() && has_prefix(end); ++end) {
      const std::string_view line = text(end);
      if (!line.starts_with("    ") && !is_blank_at(end) && line != "Notes:" &&
          !line.starts_with("Notes (")) {
        break;
      }
    }
    add(begin, body, end);
    return end;
  }

  const Lines& document_;
  std::vector<MessageText> out_;
  std::string_view prefix_;    ///< of the lines of this message: "> ", or blanks
  std::string_view fence_;     ///< the signs of the open fence
  size_t without_commit_ = 0;  ///< no commit is between a tag and this line
};

}  // namespace

bool is_mail_start(std::string_view line) {
  constexpr size_t kDigits = 40;  // of SHA-1; a name of SHA-256 has more
  if (!line.starts_with("From ")) return false;
  const std::string_view name = line.substr(5, line.find(' ', 5) - 5);
  return name.size() >= kDigits && name.size() + 5 < line.size() &&
         name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool begins_mail(const Lines& document, size_t line, size_t prefix) {
  const auto text = [&](size_t at) { return behind(document[at], prefix); };
  const bool has_envelope = text(line).starts_with("From ");
  if (line != 0 && !has_envelope) return false;
  if (is_mail_start(without_terminator(text(line)))) return true;
  if (line != 0 && !trimmed(text(line - 1)).empty()) return false;
  bool has_sender = false;
  bool has_subject = false;
  for (size_t at = line + (has_envelope ? 1 : 0); at < document.size(); ++at) {
    if (!goes_on(text(at)) && !is_header_line(without_terminator(text(at)))) break;
    has_sender = has_sender || starts_with_any_case(text(at), "from:");
    has_subject = has_subject || starts_with_any_case(text(at), "subject:");
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

std::vector<MessageText> find_messages(const Lines& document) {
  return MessageFinder(document).run();
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
