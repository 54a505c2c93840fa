#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// Maximum number of parts in one answer. An answer with more is refused.
inline constexpr size_t kMaxAnswerParts = 1000;

/// A part of an answer in one dialect, and the prose after it. Each JSON document is a part of its
/// own, without prose.
struct AnswerPart {
  EditFormat format = EditFormat::kUnified;
  size_t begin = 0;  ///< bytes [begin, end) of the text
  size_t end = 0;
  size_t line = 0;  ///< its first line, 0-based
};

/// A line that looks like a part of an edit, but is not accepted by any reader.
struct UnreadLine {
  size_t line = 0;  ///< 0-based
  std::string text;
  bool is_indented = false;  ///< it begins a patch in the indented fence of a list item
};

/// A fence that names the file whose content it may have.
struct ShownFile {
  UnreadLine fence;  ///< its first line
  std::string name;
};

/// A model's answer: edits in one or several dialects, and prose between them.
struct Answer {
  std::vector<AnswerPart> parts;  ///< in order; adjacent parts differ in format, except for JSON
  std::vector<UnreadLine> unread;
  /// Lines outside of edits that begin a tool call in a format of chat templates or providers.
  std::vector<UnreadLine> calls;
  /// Fences that name a file and are without edits, next to other edits.
  std::vector<ShownFile> shown;
  /// Ranges of lines [begin, end), 0-based, outside of all edits. They do not begin or end with a
  /// blank line or a fence.
  std::vector<std::pair<size_t, size_t>> prose;
  /// Ranges of bytes [begin, end) in which edits and calls are prose: elements in which a model
  /// thinks, `<think>…</think>`, and messages of mails and of commits that git shows.
  std::vector<std::pair<size_t, size_t>> asides;

  /// Returns the dialect of all parts; kAuto without parts or with several dialects.
  [[nodiscard]] EditFormat format() const;
};

/// Divides an answer into its parts. A line inside a hunk, a V4A patch, a SEARCH/REPLACE block or a
/// JSON document belongs to that edit, even if it looks like the start of another one. An edit
/// below the signature of a mail is an unread line. Takes time linear in the text.
[[nodiscard]] Answer divide_answer(std::string_view text);

/// True if divide_answer() returns a part or an unread line. Stops at the first one.
[[nodiscard]] bool has_edits(std::string_view text);

/// Returns the text with blanks in the place of asides, as long and with as many lines; nullopt if
/// it has none. Tags and messages inside edits and JSON are text, as are tags inside fences, and
/// messages inside those that show files.
[[nodiscard]] std::optional<std::string> without_asides(std::string_view text);

/// A JSON document inside a text.
struct JsonExtent {
  EditFormat format =
      EditFormat::kAuto;    ///< kEdits, kCalls, or kAuto for any other kind of document
  size_t end = 0;           ///< the byte after it
  bool is_cut_off = false;  ///< the text ends inside its brackets
};

/// Finds the JSON document that begins at byte `begin`, if its first key is a key of edits or tool
/// calls. Only brackets and strings are read; the parser validates the JSON later.
[[nodiscard]] std::optional<JsonExtent> json_edit_at(std::string_view text, size_t begin);

/// Finds the tool call that begins at byte `begin` in the JSON of providers: a name with arguments,
/// `function` or `tool_calls`. The format is kCalls. It is kAuto for any other document that begins
/// with a key of such a call.
[[nodiscard]] std::optional<JsonExtent> raw_call_at(std::string_view text, size_t begin);

/// An element in which a model thinks: `<think>…</think>`. What it has is not an edit.
struct ThoughtTag {
  std::string_view closing;  ///< `</think>`
  size_t end = 0;            ///< the byte after the tag
};

/// The opening tag at byte `at`.
[[nodiscard]] std::optional<ThoughtTag> thought_at(std::string_view text, size_t at);

/// Returns the byte after the element whose opening tag is at `at`, and after those that follow it
/// at once; npos if it is not closed. `missing` keeps the closing tags that the text does not have
/// any more, so that many calls, each for a later `at`, search for them only once.
[[nodiscard]] size_t thought_end(std::string_view text, size_t at,
                                 std::vector<std::string_view>* missing = nullptr);

/// The length of the closing tag at byte `at`; 0 if there is none. Chat templates write the opening
/// tag themselves, so it is missing in some answers.
[[nodiscard]] size_t closing_tag_length(std::string_view text, size_t at);

/// True if the text has a closing tag. Without one, it has no element in which a model thinks.
[[nodiscard]] bool has_closing_tag(std::string_view text);

}  // namespace galley
