#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// The most parts in one answer; an answer with more is refused.
inline constexpr size_t kMaxAnswerParts = 1000;

/// A part of an answer in one dialect, with the prose after it. Each JSON document is its own part.
struct AnswerPart {
  EditFormat format = EditFormat::kUnified;
  size_t begin = 0;  ///< bytes [begin, end) of the text
  size_t end = 0;
  size_t line = 0;  ///< its first line, 0-based
};

/// A line that looks like a part of an edit, but that no reader accepts.
struct UnreadLine {
  size_t line = 0;  ///< 0-based
  std::string text;
};

/// A model's answer: edits in one or several dialects, and prose between them.
struct Answer {
  std::vector<AnswerPart> parts;  ///< in order; formats of neighbours differ, except for JSON
  std::vector<UnreadLine> unread;
  /// Lines outside of edits that begin a call of a tool, as chat templates and providers write it.
  std::vector<UnreadLine> calls;
  /// Lines [begin, end), 0-based, that belong to no edit; without blank lines and fences at their
  /// ends.
  std::vector<std::pair<size_t, size_t>> prose;

  /// The one dialect of all parts; kAuto when there are none, or several.
  [[nodiscard]] EditFormat format() const;
};

/// Divides an answer. Lines inside an edit belong to it, whatever they look like: the lines of a
/// hunk, of a V4A patch, of a SEARCH/REPLACE block, of a JSON document. So does the message of a
/// git mail. Linear in the text.
[[nodiscard]] Answer divide_answer(std::string_view text);

}  // namespace galley
