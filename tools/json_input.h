#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "base/result.h"

namespace galley {

/// Values and keys of one document. Each takes many times its size in memory.
inline constexpr size_t kMaxJsonValues = 1'000'000;

/// Limits for an untrusted JSON document.
struct JsonLimits {
  size_t max_bytes = limits::kMaxJsonBytes;
  int max_depth = limits::kMaxJsonDepth;
  size_t max_values = kMaxJsonValues;
};

/// Parses untrusted JSON (RFC 8259). All untrusted JSON goes through it. It never guesses, and
/// loses nothing.
///
/// It refuses more than one document, bytes that are not UTF-8, a key twice in one object, nesting
/// beyond max_depth, and numbers that do not fit 64 bits or a double. A whole number within ±2^53
/// that is written as 1.0 becomes an integer.
/// Errors: kInvalid, reason `json.syntax`, `json.duplicate_key`, `json.number`, `json.depth` with
///         line and column; kQuota, reason `limit.json_bytes`, `limit.json_values`.
Result<nlohmann::json> parse_json(std::string_view text, const JsonLimits& limits = {});

/// Parses a text with one document on each line; the result is an array of them. Empty lines do not
/// count.
/// Errors: those of parse_json, with the place in the line; max_values is for all lines.
Result<nlohmann::json> parse_json_lines(std::string_view text, const JsonLimits& limits = {});

/// A text member of an object; empty when it is missing or not text.
[[nodiscard]] std::string text_member(const nlohmann::json& object, const char* key);
[[nodiscard]] std::string text_member(const nlohmann::ordered_json& object, const char* key);

/// Returns an empty object with room for `members`. An ordered object that grows copies all members
/// that it has, with everything in them.
[[nodiscard]] nlohmann::ordered_json object_with_room(size_t members);

/// The document as text on one line. Bytes in its strings that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string json_text(const nlohmann::json& document);
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& document);
/// Appends the text as a string of such a document, with its quotes.
void append_json_text(std::string& out, std::string_view text);
/// The same document, indented by two spaces.
[[nodiscard]] std::string pretty_json_text(const nlohmann::ordered_json& document);

/// The bytes, in base64, of each text in `document` that is not UTF-8, by its JSON Pointer; an
/// empty object if there is none. Documents have them in `not_utf8` (docs/start.md).
[[nodiscard]] nlohmann::ordered_json exact_texts(const nlohmann::ordered_json& document);

/// The JSON Pointer (RFC 6901) of a member of the object at `pointer`.
[[nodiscard]] std::string member_pointer(const std::string& pointer, const std::string& key);

}  // namespace galley
