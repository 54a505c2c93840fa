#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "staging/formats/edit_set.h"

namespace galley {

/// A JSON document inside of a text.
struct JsonExtent {
  EditFormat format =
      EditFormat::kAuto;    ///< kEdits, kCalls, or kAuto: a document of something else
  size_t end = 0;           ///< the byte after it
  bool is_cut_off = false;  ///< the text ends before its brackets are closed
};

/// The JSON document that begins at byte `begin`, when its first key is one of edits or tool calls.
/// Only brackets and strings are looked at: whether it is JSON is for the parser to say.
[[nodiscard]] std::optional<JsonExtent> json_edit_at(std::string_view text, size_t begin);

}  // namespace galley
