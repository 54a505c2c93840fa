#include "engine/history/resolution_checks.h"

#include <utility>

#include "base/text.h"
#include "staging/overlay/stage_checks.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/text_view.h"
#include "staging/text/lines.h"
#include "staging/text/splice.h"

namespace galley {
namespace {

/// Whether a text without a last newline would run into the line after the hunk.
bool joins_lines(const Resolution::Choice& choice, const ConflictHunk& hunk) {
  const auto is_open = [](const std::string& text) { return !text.empty() && text.back() != '\n'; };
  return choice.side == Resolution::Side::kText && is_open(choice.text) && !is_open(hunk.base) &&
         !is_open(hunk.found) && !is_open(hunk.wanted);
}

/// Refuses a text with U+FFFD that `file` does not have. Answers show it for bytes that are not
/// UTF-8, so a text made from an answer would replace them.
Result<void> check_no_placeholder(const RelPath& path, std::string_view file,
                                  std::string_view text) {
  constexpr std::string_view kPlaceholder = "\xEF\xBF\xBD";
  const bool is_new = text.find(kPlaceholder) != std::string_view::npos &&
                      file.find(kPlaceholder) == std::string_view::npos;
  if (!is_new || is_utf8(file)) return {};
  return fail(ErrorKind::kRefused, "resolve.encoding",
              "the text has U+FFFD, which stands for bytes of '" + path.str() +
                  "' that are not UTF-8: take one side, or a text without it",
              path.str());
}

/// Gives a text the form of the text that it replaces: UTF-16, a byte order mark, lines that end
/// in CR.
std::string in_form_of(std::string_view old, std::string text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  const auto view = TextView::of(old);
  if (!view) return text;
  if (view->form() != TextView::Form::kCrLines && text.starts_with(kMark)) {
    text.erase(0, kMark.size());
  }
  const size_t size = view->text().size();
  const auto whole = Splices::from(size, {{0, size, text}});
  const auto raw = whole ? view->to_raw(*whole) : std::nullopt;
  return raw ? raw->apply(old) : text;
}

/// The new lines of a hunk as bytes of the file.
Result<std::string> hunk_text_like(const RelPath& path, std::string_view file,
                                   const ConflictHunk& hunk, std::string text) {
  GALLEY_TRY(check_no_placeholder(path, file, text));
  GALLEY_TRY(check_encoding(path, file, text));
  if (!changes_line_ends(hunk.found, text)) {
    const size_t begin = Lines(file).offset(hunk.line - 1);
    text = with_line_ends_of(file, begin, hunk.found.size(), text);
  }
  return in_form_of(hunk.found, std::move(text));
}

}  // namespace

PathConflict sides_of(const RelPath& path, const Node& base, const Node& found,
                      const Node& wanted) {
  PathConflict sides;
  sides.path = path;
  sides.expected = base;
  sides.found = found;
  sides.wanted = wanted;
  return sides;
}

Result<void> check_version(const Resolution& resolution, const PathConflict& conflict) {
  if (resolution.version == conflict.version()) return {};
  return fail(ErrorKind::kConflict, "resolve.changed",
              "'" + conflict.path.str() +
                  "' has changed since that conflict was listed: its "
                  "version is " +
                  conflict.version() + " now; look at it again, then choose",
              conflict.path.str());
}

Result<void> check_takes_disk(const Resolution& resolution, const RelPath& path,
                              const std::string& why) {
  const bool is_disk = resolution.is_whole && resolution.choices.size() == 1 &&
                       resolution.choices.front().side == Resolution::Side::kFound;
  if (is_disk) return {};
  return fail(ErrorKind::kUsage, "resolve.directory",
              why +
                  ": take 'disk', which drops the staged change of it, or have it made a "
                  "directory again, then galley_rebase",
              path.str());
}

tl::unexpected<Error> unsuited(const RelPath& path, size_t hunks) {
  const std::string why = hunks == 0 ? "has no hunks to choose from: take one side, or give a text"
                                     : "needs " + std::to_string(hunks) +
                                           (hunks == 1 ? " choice" : " choices, one for each hunk");
  return fail(ErrorKind::kUsage, "resolve.choices", "'" + path.str() + "' " + why, path.str());
}

Result<Resolution> suited_resolution(const RelPath& path, Resolution given, const FileSides& sides,
                                     const FileMerge& merge) {
  const bool is_suited = given.is_whole
                             ? given.choices.size() == 1
                             : !merge.hunks.empty() && given.choices.size() == merge.hunks.size();
  if (!is_suited) return unsuited(path, merge.hunks.size());
  for (size_t i = 0; i < given.choices.size(); ++i) {
    Resolution::Choice& choice = given.choices[i];
    if (choice.side != Resolution::Side::kText) continue;
    if (given.is_whole) {
      GALLEY_ASSIGN(choice.text, whole_text_like(path, *sides.found_bytes, choice.text));
      continue;
    }
    if (joins_lines(choice, merge.hunks[i])) {
      return fail(ErrorKind::kUsage, "resolve.choices",
                  "the text for hunk " + std::to_string(i + 1) + " of '" + path.str() +
                      "' must end with a newline, because lines may follow it",
                  path.str());
    }
    GALLEY_ASSIGN(choice.text,
                  hunk_text_like(path, *sides.found_bytes, merge.hunks[i], choice.text));
  }
  return given;
}

Result<std::string> whole_text_like(const RelPath& path, std::string_view file, std::string text) {
  GALLEY_TRY(check_no_placeholder(path, file, text));
  if (mixes_encodings(file, text)) {
    return fail(ErrorKind::kRefused, "resolve.encoding",
                "'" + path.str() +
                    "' is not UTF-8, and the text would change its encoding: take one side, then "
                    "change the file",
                path.str());
  }
  return in_form_of(file, std::move(text));
}

}  // namespace galley
