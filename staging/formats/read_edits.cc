#include "staging/formats/read_edits.h"

#include <algorithm>
#include <optional>

#include "base/limits.h"
#include "base/printable.h"
#include "staging/formats/answer.h"
#include "staging/formats/dialect_marks.h"

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

void move_down(EditSet& set, size_t lines, uint32_t part) {
  const auto by = static_cast<uint32_t>(lines);
  for (FileEdit& file : set.files) {
    file.part = part;
    file.document_line = file.document_line > 0 ? file.document_line + by : by + 1;
    for (Hunk& hunk : file.hunks) hunk.document_line += by;
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
    move_down(*set, part.line, static_cast<uint32_t>(i));
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

/// Returns the text with the prefix of its diff's lines removed: the "> " of a mail or the
/// indentation of a list. Empty if no diff has such a prefix.
std::string without_quoting(std::string_view text) {
  const Lines lines(text);
  std::string prefix;
  std::string out;
  bool is_inside = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (prefix.empty()) {
      const size_t begin = std::min(line.find_first_not_of("> \t"), line.size());
      const std::string_view rest = line.substr(begin);
      const bool is_header =
          rest.starts_with("diff --git ") || rest.starts_with("@@ ") ||
          (rest.starts_with("--- ") && i + 1 < lines.size() &&
           lines[i + 1].substr(0, begin) == line.substr(0, begin) &&
           lines[i + 1].substr(std::min(begin, lines[i + 1].size())).starts_with("+++ "));
      if (begin > 0 && is_header) {
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

}  // namespace

Result<EditSet> read_edits(std::string text, EditFormat format, const ReadOptions& options,
                           JsonReader read_json) {
  if (text.size() > limits::kMaxPatchBytes) {
    return fail(ErrorKind::kQuota, "limit.patch_size", "the patch is larger than 512 MiB");
  }
  if (auto plain = without_thoughts(text)) text = *std::move(plain);
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
  }
  return read_divided(std::move(text), answer, format, options, read_json);
}

namespace {

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
  auto set = is_bare_json ? read_one(std::move(text), EditFormat::kEdits, options, read_json)
             : is_of_one  ? read_one(std::move(text), asked, options, read_json)
                          : read_parts(text, answer, options, read_json);
  // A bare JSON document was read to its end, even if its last brace is missing.
  if (set && !answer.unread.empty() && !is_bare_json) {
    return unread(
        answer.unread,
        "this looks like an edit and was not read, so nothing was; write it in one of the "
        "formats, or take it out");
  }
  return set;
}

}  // namespace

}  // namespace galley
