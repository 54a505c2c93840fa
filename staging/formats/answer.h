#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// Stretches of different dialects in one answer; more are refused.
inline constexpr size_t kMaxAnswerParts = 1000;

/// A stretch of an answer that is written in one dialect, with the prose after it; a JSON document
/// stands alone.
struct AnswerPart {
  EditFormat format = EditFormat::kUnified;
  size_t begin = 0;  ///< bytes [begin, end) of the text
  size_t end = 0;
  size_t line = 0;  ///< where it begins, 0-based
};

/// A line that looks like a part of an edit, but no reader takes it.
struct UnreadLine {
  size_t line = 0;  ///< 0-based
  std::string text;
};

/// What a model's answer is made of: edits in one or several dialects, and prose between them.
struct Answer {
  std::vector<AnswerPart> parts;  ///< in order; neighbours differ, but for JSON documents
  std::vector<UnreadLine> unread;

  /// The one dialect of all parts; kAuto when there are none, or several.
  [[nodiscard]] EditFormat format() const;
};

/// Divides an answer. What stands inside of an edit belongs to it, whatever it looks like: the
/// lines of a hunk, of a V4A patch, of a SEARCH/REPLACE block, of a JSON document; so does the
/// message of a git mail. Linear in the text.
[[nodiscard]] Answer divide_answer(std::string_view text);

}  // namespace galley
