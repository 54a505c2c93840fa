#include "tools/json_input.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

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

/// Builds the document from the library's events, so that what its own builder lets pass is caught.
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
    auto& object = open_.back()->get_ref<json::object_t&>();
    const auto [at, is_new] = object.emplace(name, json());
    if (!is_new) {
      return refuse(ErrorKind::kInvalid, "json.duplicate_key",
                    "the key '" + name.substr(0, kMaxShownBytes) +
                        "' stands twice in one object; keep one of them");
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
    // The library's text is "[json.exception.parse_error.101] parse error at line …: why": our own
    // place is given instead, since its column counts differently in each version.
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
    place(std::move(value));
    return true;
  }

  bool open(json container) {
    if (static_cast<int>(open_.size()) >= limits_.max_depth) {
      return refuse(
          ErrorKind::kInvalid, "json.depth",
          "the JSON is nested deeper than " + std::to_string(limits_.max_depth) + " levels");
    }
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
  Error error_;
};

}  // namespace

Result<json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return fail(ErrorKind::kQuota, "limit.json_bytes",
                "the JSON document has " + std::to_string(text.size()) + " bytes, more than the " +
                    std::to_string(limits.max_bytes) + " that are read");
  }
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    // The library takes a NUL byte for the end of the text and would ignore what follows.
    return fail(ErrorKind::kInvalid, "json.syntax",
                "this is not JSON at " + place_of(text, nul) + ": a NUL byte");
  }
  StrictBuilder builder(text, limits);
  if (!json::sax_parse(text.begin(), text.end(), &builder)) return fail(builder.error());
  return builder.take();
}

std::string json_text(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string pretty_json_text(const nlohmann::ordered_json& document) {
  constexpr int kIndent = 2;
  return document.dump(kIndent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string member_pointer(const std::string& pointer, const std::string& key) {
  // Every schema of every tool comes by here when a workspace opens.
  if (key.find_first_of("~/") == std::string::npos) return pointer + "/" + key;
  return pointer + (json::json_pointer() / key).to_string();
}

}  // namespace galley
