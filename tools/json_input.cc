#include "tools/json_input.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/text.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53
constexpr size_t kMaxShownBytes = 80;

/// "line 3, column 14" of a byte offset.
std::string place_of(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return "line " + std::to_string(line) + ", column " +
         std::to_string(before.size() - line_start + 1);
}

/// Builds the document from the library's events, to find errors that the library's builder
/// accepts.
class StrictBuilder final : public nlohmann::json_sax<json> {
 public:
  StrictBuilder(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  bool null() override { return put(json()); }
  bool boolean(bool value) override { return put(json(value)); }
  bool number_integer(number_integer_t value) override { return put(json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(json(value)); }
  bool binary(binary_t&) override { return false; }
  bool string(string_t& value) override { return put(json(std::move(value))); }

  bool number_float(number_float_t value, const string_t& raw) override {
    if (raw.find_first_of(".eE") == std::string::npos) {
      return refuse(ErrorKind::kInvalid, "json.number",
                    "the integer " + raw.substr(0, kMaxShownBytes) + " does not fit 64 bits");
    }
    const bool is_whole = std::trunc(value) == value && std::abs(value) <= kMaxExactInteger;
    return put(is_whole ? json(static_cast<int64_t>(value)) : json(value));
  }

  bool start_object(size_t) override { return open(json::object()); }
  bool start_array(size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!count()) return false;
    auto& object = open_.back()->get_ref<json::object_t&>();
    const auto [at, is_new] = object.emplace(name, json());
    if (!is_new) {
      return refuse(ErrorKind::kInvalid, "json.duplicate_key",
                    "the key '" + name.substr(0, kMaxShownBytes) +
                        "' occurs twice in one object; keep one of them");
    }
    slot_ = &at->second;
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id == kNumberOverflow) {
      return refuse(ErrorKind::kInvalid, "json.number", "a number does not fit a double");
    }
    // The library's text is "[json.exception.parse_error.101] parse error at line …: why". We give
    // our own place instead, since the library's column counts differ between versions.
    std::string why = error.what();
    const size_t colon = why.find(": ");
    if (colon != std::string::npos) why = why.substr(colon + 2);
    return refuse(
        ErrorKind::kInvalid, "json.syntax",
        "this is not JSON at " + place_of(text_, position == 0 ? 0 : position - 1) + ": " + why);
  }

  json take() { return std::move(root_); }
  [[nodiscard]] Error error() const { return error_; }

 private:
  bool refuse(ErrorKind kind, std::string reason, std::string message) {
    error_ = Error{kind, std::move(reason), std::move(message), {}, 0};
    return false;
  }

  /// Whether one more value is within the limit.
  bool count() {
    if (++values_ <= limits_.max_values) return true;
    return refuse(ErrorKind::kQuota, "limit.json_values",
                  "the JSON document has more than the " + std::to_string(limits_.max_values) +
                      " values and keys that are read");
  }

  json* place(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& array = open_.back()->get_ref<json::array_t&>();
      array.push_back(std::move(value));
      return &array.back();
    }
    *slot_ = std::move(value);
    return slot_;
  }

  bool put(json value) {
    if (!count()) return false;
    place(std::move(value));
    return true;
  }

  bool open(json container) {
    if (static_cast<int>(open_.size()) >= limits_.max_depth) {
      return refuse(
          ErrorKind::kInvalid, "json.depth",
          "the JSON is nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    }
    if (!count()) return false;
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  JsonLimits limits_;
  json root_;
  std::vector<json*> open_;  ///< stable: a container's address changes only when its parent grows,
                             ///< and a parent cannot grow while a child is open
  json* slot_ = nullptr;
  size_t values_ = 0;
  Error error_;
};

// --- writing --------------------------------------------------------------------------------
// The library decodes each byte of a text. An answer with a file in it is almost only text, so this
// writer examines eight bytes at a time. The library handles the rare cases.

/// Whether one of eight bytes must be escaped in a JSON text: a control character, a quote, a
/// backslash. (After "Bit Twiddling Hacks", "Determine if a word has a byte less than n".)
bool has_byte_to_escape(const char* bytes) {
  constexpr uint64_t kOnes = 0x0101010101010101U;
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  uint64_t eight = 0;
  std::memcpy(&eight, bytes, sizeof eight);
  const auto less = [](uint64_t word, uint64_t than) { return (word - kOnes * than) & ~word; };
  const uint64_t found = less(eight, ' ') | less(eight ^ (kOnes * uint8_t{'"'}), 1) |
                         less(eight ^ (kOnes * uint8_t{'\\'}), 1);
  return (found & kHighBits) != 0;
}

bool is_to_escape(char c) { return static_cast<uint8_t>(c) < ' ' || c == '"' || c == '\\'; }

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
  constexpr std::string_view kNames = "\"\\bfnrt";
  constexpr std::string_view kHex = "0123456789abcdef";
  out.push_back('\\');
  if (const size_t at = kNamed.find(c); at != std::string_view::npos) {
    out.push_back(kNames[at]);
    return;
  }
  out.append("u00");
  out.push_back(kHex[static_cast<uint8_t>(c) >> 4U]);
  out.push_back(kHex[static_cast<uint8_t>(c) & 0xFU]);
}

void append_text(std::string& out, const std::string& text) {
  if (!is_utf8(text)) {
    out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
    return;
  }
  constexpr size_t kStep = sizeof(uint64_t);
  out.push_back('"');
  for (size_t at = 0; at < text.size();) {
    const size_t plain = at;
    while (at + kStep <= text.size() && !has_byte_to_escape(text.data() + at)) at += kStep;
    while (at < text.size() && !is_to_escape(text[at])) ++at;
    out.append(text, plain, at - plain);
    if (at < text.size()) append_escaped(out, text[at++]);
  }
  out.push_back('"');
}

void append_number(std::string& out, std::integral auto number) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

template <class Json>
void append_json(std::string& out, const Json& value) {
  const char* before = "";
  switch (value.type()) {
    case nlohmann::detail::value_t::string:
      return append_text(out, value.template get_ref<const std::string&>());
    case nlohmann::detail::value_t::number_unsigned:
      return append_number(out, value.template get<uint64_t>());
    case nlohmann::detail::value_t::number_integer:
      return append_number(out, value.template get<int64_t>());
    case nlohmann::detail::value_t::object:
      out.push_back('{');
      for (const auto& [key, member] : value.template get_ref<const typename Json::object_t&>()) {
        out += std::exchange(before, ",");
        append_text(out, key);
        out.push_back(':');
        append_json(out, member);
      }
      out.push_back('}');
      return;
    case nlohmann::detail::value_t::array:
      out.push_back('[');
      for (const Json& item : value) {
        out += std::exchange(before, ",");
        append_json(out, item);
      }
      out.push_back(']');
      return;
    default:
      out += value.dump();
  }
}

template <class Json>
std::string member_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->template get<std::string>()
                                                     : std::string();
}

}  // namespace

Result<json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return fail(ErrorKind::kQuota, "limit.json_bytes",
                "the JSON document has " + std::to_string(text.size()) + " bytes, more than the " +
                    std::to_string(limits.max_bytes) + " that are read");
  }
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    // The library would take a NUL byte as the end of the text and ignore the rest.
    return fail(ErrorKind::kInvalid, "json.syntax",
                "this is not JSON at " + place_of(text, nul) + ": a NUL byte");
  }
  StrictBuilder builder(text, limits);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return fail(builder.error());
  return builder.take();
}

std::string text_member(const json& object, const char* key) { return member_text(object, key); }

std::string text_member(const nlohmann::ordered_json& object, const char* key) {
  return member_text(object, key);
}

std::string json_text(const json& document) {
  std::string text;
  append_json(text, document);
  return text;
}

std::string json_text(const nlohmann::ordered_json& document) {
  std::string text;
  append_json(text, document);
  return text;
}

std::string pretty_json_text(const nlohmann::ordered_json& document) {
  constexpr int kIndent = 2;
  return document.dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string member_pointer(const std::string& pointer, const std::string& key) {
  // This path is hot: every schema of every tool is read when a workspace opens.
  if (key.find_first_of("~/") == std::string::npos) return pointer + "/" + key;
  return pointer + (json::json_pointer() / key).to_string();
}

}  // namespace galley
