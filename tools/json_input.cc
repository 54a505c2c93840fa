#include "tools/json_input.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/text.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

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

/// Whether the text is JSON without the closing bracket at `offset`.
bool is_bracket_too_many(std::string_view text, size_t offset) {
  if (offset >= text.size() || (text[offset] != '}' && text[offset] != ']')) return false;
  std::string without(text);
  without.erase(offset, 1);
  return json::accept(without);
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
    const size_t at = position == 0 ? 0 : position - 1;
    if (is_bracket_too_many(text_, at)) {
      why = std::string("'") + text_[at] + "' closes nothing; leave it out, the rest is JSON";
    }
    return refuse(ErrorKind::kInvalid, "json.syntax",
                  "this is not JSON at " + place_of(text_, at) + ": " + why);
  }

  json take() { return std::move(root_); }
  [[nodiscard]] Error error() const { return error_; }

 private:
  bool refuse(ErrorKind kind, std::string reason, std::string message) {
    error_ = Error{kind, std::move(reason), std::move(message)};
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

// --- texts ----------------------------------------------------------------------------------
// The library decodes each byte of a text. A document with a file in it is almost only text, so the
// reader and the writer examine eight bytes at a time.

bool is_to_escape(char c) { return static_cast<uint8_t>(c) < ' ' || c == '"' || c == '\\'; }

/// The first byte from `at` on that must be escaped in a JSON text: a control character, a quote, a
/// backslash. (After "Bit Twiddling Hacks", "Determine if a word has a byte less than n". The
/// lowest byte that it finds is correct.)
size_t end_of_plain(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101U;
  constexpr uint64_t kHighBits = 0x8080808080808080U;
  constexpr size_t kBitsOfByte = 8;
  const auto less = [](uint64_t word, uint64_t than) { return (word - kOnes * than) & ~word; };
  for (uint64_t eight = 0; at + sizeof eight <= text.size(); at += sizeof eight) {
    std::memcpy(&eight, text.data() + at, sizeof eight);
    const uint64_t found = (less(eight, ' ') | less(eight ^ (kOnes * uint8_t{'"'}), 1) |
                            less(eight ^ (kOnes * uint8_t{'\\'}), 1)) &
                           kHighBits;
    if (found == 0) continue;
    if constexpr (std::endian::native != std::endian::little) break;
    return at + static_cast<size_t>(std::countr_zero(found)) / kBitsOfByte;
  }
  while (at < text.size() && !is_to_escape(text[at])) ++at;
  return at;
}

constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t";
constexpr std::string_view kEscapeNames = "\"\\bfnrt";

// --- reading valid documents ----------------------------------------------------------------

/// Reads a document that is certainly valid, with the result of StrictBuilder. It does not read
/// rare forms: numbers with a point or an exponent, integers of more than 18 digits, characters as
/// \\u escapes, a byte order mark.
class PlainReader {
 public:
  PlainReader(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  /// Returns nothing if the document is not valid, or not plain.
  std::optional<json> read() {
    json root;
    if (!value(root, 0)) return {};
    skip_blanks();
    if (at_ != text_.size()) return {};
    return root;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && is_plain_space(text_[at_])) ++at_;
  }
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  bool count() { return ++values_ <= limits_.max_values; }

  bool value(json& out, int depth) {
    skip_blanks();
    switch (next()) {
      case '"':
        out = json::value_t::string;
        return count() && text(out.get_ref<std::string&>());
      case '{':
        return count() && depth < limits_.max_depth && object(out, depth + 1);
      case '[':
        return count() && depth < limits_.max_depth && array(out, depth + 1);
      case 't':
        out = true;
        return count() && take("true");
      case 'f':
        out = false;
        return count() && take("false");
      case 'n':
        return count() && take("null");
      default:
        return count() && integer(out);
    }
  }

  bool integer(json& out) {
    constexpr size_t kMostDigits = 18;
    const bool is_negative = take("-");
    const size_t begin = at_;
    int64_t number = 0;
    while (is_digit(next()) && at_ - begin < kMostDigits) {
      number = number * 10 + (text_[at_++] - '0');
    }
    const size_t digits = at_ - begin;
    if (digits == 0 || (digits > 1 && text_[begin] == '0') || is_digit(next())) return false;
    if (next() == '.' || next() == 'e' || next() == 'E') return false;
    out = is_negative ? json(-number) : json(static_cast<uint64_t>(number));
    return true;
  }

  bool object(json& out, int depth) {
    out = json::object();
    auto& members = out.get_ref<json::object_t&>();
    ++at_;
    skip_blanks();
    if (take("}")) return true;
    do {
      skip_blanks();
      std::string name;
      if (next() != '"' || !count() || !text(name)) return false;
      skip_blanks();
      const auto [member, is_new] = members.emplace(std::move(name), nullptr);
      if (!is_new || !take(":") || !value(member->second, depth)) return false;
      skip_blanks();
    } while (take(","));
    return take("}");
  }

  bool array(json& out, int depth) {
    out = json::array();
    auto& items = out.get_ref<json::array_t&>();
    ++at_;
    skip_blanks();
    if (take("]")) return true;
    do {
      if (!value(items.emplace_back(), depth)) return false;
      skip_blanks();
    } while (take(","));
    return take("]");
  }

  bool text(std::string& out) {
    for (++at_;;) {
      const size_t end = end_of_plain(text_, at_);
      out.append(text_, at_, end - at_);
      if (end == text_.size()) return false;
      at_ = end + 1;
      if (text_[end] == '"') return is_utf8(out);
      if (text_[end] != '\\' || !escape(out)) return false;
    }
  }

  bool escape(std::string& out) {
    const char name = next();
    ++at_;
    if (name == '/') {
      out.push_back(name);
      return true;
    }
    const size_t known = kEscapeNames.find(name);
    if (known == std::string_view::npos) return false;
    out.push_back(kEscaped[known]);
    return true;
  }

  std::string_view text_;
  JsonLimits limits_;
  size_t at_ = 0;
  size_t values_ = 0;
};

// --- writing --------------------------------------------------------------------------------

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  if (const size_t at = kEscaped.find(c); at != std::string_view::npos) {
    const std::array<char, 2> escape{'\\', kEscapeNames[at]};
    out.append(escape.data(), escape.size());
    return;
  }
  out.append("\\u00");
  out.push_back(kHex[static_cast<uint8_t>(c) >> 4U]);
  out.push_back(kHex[static_cast<uint8_t>(c) & 0xFU]);
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
      return append_json_text(out, value.template get_ref<const std::string&>());
    case nlohmann::detail::value_t::number_unsigned:
      return append_number(out, value.template get<uint64_t>());
    case nlohmann::detail::value_t::number_integer:
      return append_number(out, value.template get<int64_t>());
    case nlohmann::detail::value_t::boolean:
      out += value.template get<bool>() ? "true" : "false";
      return;
    case nlohmann::detail::value_t::object:
      out.push_back('{');
      for (const auto& [key, member] : value.template get_ref<const typename Json::object_t&>()) {
        out += std::exchange(before, ",");
        append_json_text(out, key);
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

void collect_exact(const ordered_json& value, const std::string& pointer, ordered_json& exact) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!is_utf8(text)) exact[pointer] = base64(text);
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      collect_exact(member, member_pointer(pointer, key), exact);
    }
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) {
      collect_exact(value[i], pointer + "/" + std::to_string(i), exact);
    }
  }
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
  // A valid document is read twice only if it is not plain. Any other gets its error below.
  if (auto plain = PlainReader(text, limits).read()) return *std::move(plain);
  StrictBuilder builder(text, limits);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return fail(builder.error());
  return builder.take();
}

ordered_json object_with_room(size_t members) {
  ordered_json object = ordered_json::object();
  object.get_ref<ordered_json::object_t&>().reserve(members);
  return object;
}

std::string text_member(const json& object, const char* key) { return member_text(object, key); }

std::string text_member(const nlohmann::ordered_json& object, const char* key) {
  return member_text(object, key);
}

Result<json> parse_json_lines(std::string_view text, const JsonLimits& limits) {
  json all = json::array();
  JsonLimits left = limits;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (trim(line, kPlainSpaces).empty()) continue;
    GALLEY_ASSIGN(json one, parse_json(line, left));
    const auto values = static_cast<size_t>(std::count_if(
        line.begin(), line.end(), [](char c) { return c == ',' || c == ':' || c == '{'; }));
    left.max_values -= std::min(values, left.max_values);
    all.push_back(std::move(one));
  }
  return all;
}

void append_json_text(std::string& out, std::string_view text) {
  if (!is_utf8(text)) {
    out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
    return;
  }
  out.push_back('"');
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_plain(text, at);
    out.append(text, at, end - at);
    if (end < text.size()) append_escaped(out, text[end]);
    at = end + 1;
  }
  out.push_back('"');
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

ordered_json exact_texts(const ordered_json& document) {
  ordered_json exact = ordered_json::object();
  collect_exact(document, "", exact);
  return exact;
}

std::string member_pointer(const std::string& pointer, const std::string& key) {
  // This path is hot: every schema of every tool is read when a workspace opens.
  if (key.find_first_of("~/") == std::string::npos) return pointer + "/" + key;
  return pointer + (json::json_pointer() / key).to_string();
}

}  // namespace galley
