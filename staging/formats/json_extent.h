#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "staging/formats/edit_set.h"

namespace galley {

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

}  // namespace galley
