#include "staging/formats/read_edits.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/limits.h"
#include "base/printable.h"
#include "base/text.h"
#include "staging/formats/answer.h"
#include "staging/formats/dialect_marks.h"
#include "staging/formats/mail.h"
#include "staging/formats/read_hunk.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr size_t kListedLines = 5;

tl::unexpected<Error> unread(const std::vector<UnreadLine>& lines, const std::string& what) {
  std::string list;
  for (size_t i = 0; i < lines.size() && i < kListedLines; ++i) {
    list += (i == 0 ? "line " : ", line ") + std::to_string(lines[i].line + 1) + " ('" +
            printable_line(lines[i].text, kQuotedBytes) + "')";
  }
  if (lines.size() > kListedLines) {
    list += ", … " + std::to_string(lines.size() - kListedLines) + " more";
  }
  return fail(ErrorKind::kInvalid, "edit.unread", list + " of the edit: " + what);
}

bool is_json(EditFormat format) {
  return format == EditFormat::kEdits || format == EditFormat::kCalls;
}

/// Reads a text in one dialect.
Result<EditSet> read_one(std::string text, EditFormat format, const ReadOptions& options,
                         JsonReader read_json) {
  switch (format) {
    case EditFormat::kApplyPatch:
      return read_apply_patch(std::move(text), options);
    case EditFormat::kSearchReplace:
      return read_search_replace(std::move(text), options);
    case EditFormat::kEdits:
      if (read_json != nullptr) return read_json(text, options);
      [[fallthrough]];
    case EditFormat::kCalls:
      return fail(ErrorKind::kInvalid, "edit.not_a_patch",
                  "these are tool calls, which need a document of their own (--format calls)");
    default:
      return read_unified(std::move(text), options);
  }
}

/// The parts that are not in the format that the caller requested.
std::vector<UnreadLine> parts_of_others(std::string_view text, const Answer& answer,
                                        EditFormat format) {
  std::vector<UnreadLine> out;
  for (const AnswerPart& part : answer.parts) {
    if (part.format == format) continue;
    const size_t end = std::min(text.find('\n', part.begin), text.size());
    out.push_back({part.line, std::string(trimmed(text.substr(part.begin, end - part.begin)))});
  }
  return out;
}

/// Changes the lines and parts of a set to those of the document in which it is a part.
void move_down(EditSet& set, size_t lines, uint32_t part) {
  const auto by = static_cast<uint32_t>(lines);
  for (FileEdit& file : set.files) {
    file.part += part;
    file.document_line = file.document_line > 0 ? file.document_line + by : by + 1;
    for (Hunk& hunk : file.hunks) {
      hunk.document_line += by;
      hunk.document_end += by;
    }
    for (TextEdit& edit : file.text_edits) edit.document_line += edit.document_line > 0 ? by : 0;
  }
  for (Leniency& leniency : set.leniencies) leniency.line += leniency.line > 0 ? by : 0;
}

template <typename T>
void append(std::vector<T>&& from, std::vector<T>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

/// Reads each part separately. Paths and direction are handled for the whole document.
Result<EditSet> read_parts(const std::string& text, const Answer& answer,
                           const ReadOptions& options, JsonReader read_json) {
  if (answer.parts.size() > kMaxAnswerParts) {
    return fail(ErrorKind::kQuota, "limit.answer_parts",
                "the document changes its dialect more than " + std::to_string(kMaxAnswerParts) +
                    " times; split it");
  }
  ReadOptions of_part;
  of_part.strip = options.strip;
  of_part.recount = options.recount;
  of_part.unidiff_zero = options.unidiff_zero;
  of_part.has_whole_files = options.has_whole_files;
  EditSet all;
  all.format = answer.parts.front().format;
  for (size_t i = 0; i < answer.parts.size(); ++i) {
    const AnswerPart& part = answer.parts[i];
    const std::string own = text.substr(part.begin, part.end - part.begin);
    of_part.is_delimited = options.is_delimited || i + 1 < answer.parts.size();
    of_part.end = i + 1 < answer.parts.size() ? DocumentEnd::kComplete : options.end;
    auto set = read_one(own, part.format, of_part, read_json);
    if (!set) {
      // Read the part again after as many empty lines as the document has lines before it. So the
      // error names the right line.
      auto again = read_one(std::string(part.line, '\n') + own, part.format, of_part, read_json);
      return fail(again ? std::move(set.error()) : std::move(again.error()));
    }
    move_down(*set, part.line, all.files.empty() ? 0 : all.files.back().part + 1);
    append(std::move(set->files), all.files);
    append(std::move(set->leniencies), all.leniencies);
    append(std::move(set->texts), all.texts);
  }
  if (answer.parts.size() > 1) {
    all.leniencies.push_back({"several_parts",
                              "the document has edits in " + std::to_string(answer.parts.size()) +
                                  " parts; they were made one after the other",
                              "", 0});
  }
  return with_options(std::move(all), options);
}

/// Whether a diff begins at this line, without the `length` bytes at its start.
bool begins_diff(const Lines& lines, size_t at, size_t length) {
  const std::string_view rest = lines[at].substr(std::min(length, lines[at].size()));
  if (rest.starts_with("diff --git ") || rest.starts_with("@@ ")) return true;
  return rest.starts_with("--- ") && at + 1 < lines.size() &&
         lines[at + 1].substr(0, length) == lines[at].substr(0, length) &&
         lines[at + 1].substr(std::min(length, lines[at + 1].size())).starts_with("+++ ");
}

/// Returns the text with the prefix of its diff's lines removed: the "> " of a mail or the
/// indentation of a list. A fence right before the diff loses it, too. Empty if no diff has such a
/// prefix.
std::string without_quoting(std::string_view text) {
  const Lines lines(text);
  std::string prefix;
  std::string out;
  bool is_inside = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (prefix.empty()) {
      const size_t begin = std::min(line.find_first_not_of("> \t"), line.size());
      const bool is_fence_of_diff = is_fence(line.substr(begin)) && i + 1 < lines.size() &&
                                    lines[i + 1].starts_with(line.substr(0, begin)) &&
                                    begins_diff(lines, i + 1, begin);
      if (begin > 0 && (is_fence_of_diff || begins_diff(lines, i, begin))) {
        prefix = line.substr(0, begin);
        is_inside = true;
      }
    }
    if (is_inside && line.starts_with(prefix)) {
      line.remove_prefix(prefix.size());
    } else if (is_inside && trimmed(line) == trimmed(prefix)) {
      line = "\n";
    } else if (!trimmed(line).empty()) {
      is_inside = false;
    }
    out += line;
  }
  return prefix.empty() ? std::string() : out;
}

/// Returns the text with the signs of its SEARCH/REPLACE blocks, whose markers are escaped as in
/// HTML. Empty if it has no such block, or if lines of one are not escaped.
std::string without_escapes(std::string_view text) {
  if (text.find("&lt;&lt;&lt;&lt;&lt;") == std::string_view::npos) return {};
  const Lines lines(text);
  std::string out;
  bool is_inside = false;
  bool is_any = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string plain = without_entities(lines[i]);
    if (!is_inside && is_block_head(plain) && !is_block_head(lines[i])) is_inside = is_any = true;
    if (is_inside && !is_escaped(lines[i])) return {};
    out += is_inside ? std::string_view(plain) : lines[i];
    if (is_inside && is_block_end(plain)) is_inside = false;
  }
  return is_any && !is_inside ? out : std::string();
}

Result<EditSet> read_divided(std::string text, const Answer& answer, EditFormat format,
                             const ReadOptions& options, JsonReader read_json);

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

bool is_linear_space(char c) { return c == ' ' || c == '\t'; }

/// Decodes the Q encoding (RFC 2047, 4.2): `_` means a blank, `=C3` a byte.
std::optional<std::string> from_q(std::string_view text) {
  std::string plain(text);
  std::replace(plain.begin(), plain.end(), '_', ' ');
  return from_hex_escapes(plain);
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
    subject = trim(subject, kSpaceAndTab);
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
    if (is_subject) value = trim(line.substr(8), kSpaceAndTab);
    for (; at + 1 < document.size() && is_linear_space(document[at + 1].front()); ++at) {
      value += " " + std::string(trim(without_terminator(document[at + 1]), kSpaceAndTab));
    }
    if (is_subject) subject = cleaned(decoded(value));
  }
  return has_sender ? subject : std::string();
}

/// A line that writes a file from a heredoc: `cat > a.py <<'EOF'`.
struct HeredocFile {
  size_t line = 0;  ///< 1-based
  std::string name;
};

/// Returns the first such line.
std::optional<HeredocFile> heredoc_file(std::string_view text) {
  static const RE2 kCommand(
      R"re((?:\$ )?(?:cat *>>? *|tee (?:-a )?)["']?([^\s"'<>|&;]+)["']? *<<-? *["']?\w+["']? *)re"
      R"re(|(?:\$ )?cat *<<-? *["']?\w+["']? *>>? *["']?([^\s"'<>|&;]+)["']? *)re");
  const Lines lines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("<<") == std::string_view::npos) continue;
    HeredocFile found{i + 1, {}};
    std::string other;
    if (!RE2::FullMatch(trimmed(lines[i]), kCommand, &found.name, &other)) continue;
    if (found.name.empty()) found.name = std::move(other);
    return found;
  }
  return std::nullopt;
}

tl::unexpected<Error> refused_heredoc(const HeredocFile& written) {
  return fail(ErrorKind::kInvalid, "edit.not_a_patch",
              "line " + std::to_string(written.line) +
                  " of the edit is a command of a shell that writes '" +
                  printable_line(written.name, kQuotedBytes) +
                  "', and no command is run; send the file in a fence that names it, a diff, or a "
                  "call of a tool");
}

/// Reads a text whose asides are blank.
Result<EditSet> read_plain_edits(std::string text, EditFormat format, const ReadOptions& options,
                                 JsonReader read_json) {
  const Answer answer = divide_answer(text);
  const bool has_none = answer.parts.empty() && answer.unread.empty();
  const auto read_plain = [&](std::string plain, EditFormat inner_format, const char* rule,
                              const char* message) -> std::optional<Result<EditSet>> {
    const bool is_asked = format == EditFormat::kAuto || format == inner_format;
    if (!is_asked || plain.empty()) return std::nullopt;
    const Answer inner = divide_answer(plain);
    if (inner.format() != inner_format) return std::nullopt;
    auto set = read_divided(std::move(plain), inner, format, options, read_json);
    if (set) set->leniencies.push_back({rule, message, "", 0});
    return set;
  };
  if (has_none) {
    auto quoted = read_plain(without_quoting(text), EditFormat::kUnified, "quoted_patch",
                             "each line of the patch is quoted or indented; it was read without "
                             "that");
    if (quoted) return *std::move(quoted);
    auto escaped = read_plain(without_escapes(text), EditFormat::kSearchReplace, "escaped_markup",
                              "'<', '>' and '&' of the blocks are escaped as in HTML; they were "
                              "read as signs");
    if (escaped) return *std::move(escaped);
    const auto written =
        answer.calls.empty() && !options.allow_empty ? heredoc_file(text) : std::nullopt;
    if (written) return refused_heredoc(*written);
  }
  return read_divided(std::move(text), answer, format, options, read_json);
}

/// The line of the first edit that a message quotes; nothing if none does.
std::optional<size_t> edit_in_message(std::string_view text) {
  const Lines lines(text);
  for (const MessageText& message : find_messages(lines)) {
    const Answer quoted = divide_answer(lines.span(message.body, message.end));
    if (!quoted.parts.empty()) return message.body + quoted.parts.front().line;
  }
  return std::nullopt;
}

}  // namespace

Result<EditSet> read_edits(std::string text, EditFormat format, const ReadOptions& options,
                           JsonReader read_json) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the patch is larger than 512 MiB");
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return fail(ErrorKind::kInvalid, "edit.not_a_patch",
                "the document is UTF-16; convert it to UTF-8 first: iconv -f UTF-16 -t UTF-8");
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (auto plain = without_transfer_encoding(text)) text = *std::move(plain);
  auto plain = without_asides(text);
  if (!plain) return read_plain_edits(std::move(text), format, options, read_json);
  auto set = read_plain_edits(*std::move(plain), format, options, read_json);
  const bool has_none = !set && set.error().reason == "edit.not_a_patch";
  const auto quoted = has_none ? edit_in_message(text) : std::nullopt;
  if (!quoted) return set;
  return fail(ErrorKind::kInvalid, "edit.not_a_patch",
              "the edits are only in the message of a commit or mail, line " +
                  std::to_string(*quoted + 1) +
                  ", and a message is text; to make them, send them without its headers");
}

namespace {

/// True if a hunk has the line of the document. It may follow context without its leading blank,
/// which only the reader of hunks recognises.
bool is_in_hunk(const EditSet& set, size_t line) {
  return std::ranges::any_of(set.files, [&](const FileEdit& file) {
    return std::ranges::any_of(file.hunks, [&](const Hunk& hunk) {
      return hunk.document_line < line && line <= hunk.document_end;
    });
  });
}

/// True if a file of the set may have the name. A file of an unclear name may have any.
bool may_edit(const EditSet& set, std::string_view name) {
  if (name.starts_with("./")) name.remove_prefix(2);
  const auto is_end = [](std::string_view path, std::string_view end) {
    return path == end || (path.ends_with(end) && path[path.size() - end.size() - 1] == '/');
  };
  return std::ranges::any_of(set.files, [&](const FileEdit& file) {
    const std::array<std::string_view, 2> paths = {file.path, file.new_path};
    return file.path.empty() || std::ranges::any_of(paths, [&](std::string_view path) {
             return !path.empty() && (is_end(path, name) || is_end(name, path));
           });
  });
}

/// Refuses the fences next to edits that may be whole files.
Result<void> check_shown(const EditSet& set, const std::vector<ShownFile>& shown) {
  std::vector<UnreadLine> left;
  for (const ShownFile& file : shown) {
    const bool is_known = may_edit(set, file.name) || is_in_hunk(set, file.fence.line + 1);
    if (!is_known) left.push_back(file.fence);
  }
  if (left.empty()) return {};
  return unread(left,
                "this fence names a file and was not read, so nothing was: next to other edits, "
                "write a new file as a patch or a block, or take the fence out");
}

Result<EditSet> read_divided(std::string text, const Answer& answer, EditFormat format,
                             const ReadOptions& options, JsonReader read_json) {
  const EditFormat asked = format == EditFormat::kAuto ? answer.format() : format;
  if (format != EditFormat::kAuto) {
    const auto others = parts_of_others(text, answer, format);
    if (!others.empty()) {
      return unread(others, "this is not " + std::string(format_name(format)) +
                                ", the format asked for, and would not be read; take it out, or "
                                "ask for the format 'auto', which reads all of them");
    }
  }
  if (format == EditFormat::kAuto && options.check_format) {
    for (const AnswerPart& part : answer.parts) GALLEY_TRY(options.check_format(part.format));
  }
  if (!answer.calls.empty() && !answer.parts.empty()) {
    return unread(answer.calls,
                  "this is a call of a tool, which is not made next to edits, so nothing was read; "
                  "give the calls in a document of their own (--format tool_text), or take them "
                  "out");
  }
  // A document that begins as JSON must be JSON to its end.
  const std::string_view body = trimmed(text);
  const bool is_bare_json = (asked == EditFormat::kAuto || asked == EditFormat::kEdits) &&
                            answer.parts.size() < 2 &&
                            (body.starts_with('{') || body.starts_with('['));
  const bool is_of_one = answer.parts.empty() || (asked != EditFormat::kAuto && !is_json(asked));
  if (answer.parts.empty() && !answer.unread.empty() && !is_bare_json) {
    return unread(answer.unread, "this looks like an edit and cannot be read as one");
  }
  ReadOptions own = options;
  own.has_whole_files = options.end == DocumentEnd::kComplete;
  auto set = is_bare_json ? read_one(std::move(text), EditFormat::kEdits, own, read_json)
             : is_of_one  ? read_one(std::move(text), asked, own, read_json)
                          : read_parts(text, answer, own, read_json);
  // A bare JSON document was read to its end, even if its last brace is missing.
  if (!set || is_bare_json) return set;
  std::vector<UnreadLine> left = answer.unread;
  std::erase_if(left, [&](const UnreadLine& line) { return is_in_hunk(*set, line.line + 1); });
  std::vector<UnreadLine> indented;
  std::ranges::copy_if(left, std::back_inserter(indented), &UnreadLine::is_indented);
  if (!indented.empty()) {
    return unread(indented,
                  "the fence of this patch is indented, so it was not read, and nothing else was; "
                  "move its lines to the left margin, or take it out");
  }
  if (!left.empty()) {
    return unread(
        left,
        "this looks like an edit and was not read, so nothing was; write it in one of the "
        "formats, or take it out");
  }
  // With filters, a shown file may be of an edit that they leave out.
  if (options.filters.empty()) GALLEY_TRY(check_shown(*set, answer.shown));
  return set;
}

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

std::string mail_subject(std::string_view document) {
  const Lines lines(document);
  std::vector<std::string> subjects;
  for (size_t at = 0; at < lines.size();) {
    const std::string_view line = without_terminator(lines[at]);
    const bool is_begin = line.starts_with("From ") && (at == 0 || begins_mail(lines, at));
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
