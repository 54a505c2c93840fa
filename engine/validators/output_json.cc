#include "engine/validators/output_json.h"

#include <fmt/core.h>

#include "base/limits.h"
#include "base/printable.h"

namespace galley {

using nlohmann::json;

tl::unexpected<Error> not_a(std::string_view format, std::string_view why) {
  constexpr size_t kMaxQuotedBytes = 200;
  return fail(
      ErrorKind::kInvalid, "validator.output",
      fmt::format("its output is not {}: {}", format, printable_line(why, kMaxQuotedBytes)));
}

Result<json> parse_output(std::string_view text, std::string_view format) {
  bool is_too_deep = false;
  json document;
  try {
    document = json::parse(text, [&](int depth, json::parse_event_t, json&) {
      is_too_deep = is_too_deep || depth > limits::kMaxJsonDepth;
      return !is_too_deep;
    });
  } catch (const json::exception& error) {
    return not_a(format, error.what());
  }
  if (is_too_deep) return not_a(format, "it is nested too deeply");
  return document;
}

const json& at(const json& node, const char* key) {
  static const json kNothing;
  if (!node.is_object()) return kNothing;
  const auto found = node.find(key);
  return found == node.end() ? kNothing : *found;
}

std::string text_of(const json& node) {
  return node.is_string() ? node.get<std::string>() : std::string();
}

uint32_t number_of(const json& node) {
  if (!node.is_number_unsigned() || node.get<uint64_t>() > UINT32_MAX) return 0;
  return node.get<uint32_t>();
}

}  // namespace galley
