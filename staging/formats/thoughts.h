#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace galley {

/// An element in which a model thinks: `<think>…</think>`. What it has is not an edit.
struct ThoughtTag {
  std::string_view closing;  ///< `</think>`
  size_t end = 0;            ///< the byte after the tag
};

/// The opening tag at byte `at`.
[[nodiscard]] std::optional<ThoughtTag> thought_at(std::string_view text, size_t at);

/// Returns the byte after the element whose opening tag is at `at`, and after those that follow it
/// at once; npos if it is not closed.
[[nodiscard]] size_t thought_end(std::string_view text, size_t at);

/// The length of the closing tag at byte `at`; 0 if there is none. Chat templates write the opening
/// tag themselves, so it is missing in some answers.
[[nodiscard]] size_t closing_tag_length(std::string_view text, size_t at);

/// True if the text has a closing tag. Without one, it has no element in which a model thinks.
[[nodiscard]] bool has_closing_tag(std::string_view text);

}  // namespace galley
