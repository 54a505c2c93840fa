#include "tools/call_arguments.h"
#include "tools/json_input.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace galley {

using nlohmann::json;

std::string first_of(const json& args, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (args.contains(key)) return text_member(args, key);
  }
  return {};
}

bool flag_of(const json& args, const char* key, bool otherwise) {
  const auto field = args.find(key);
  return field != args.end() && field->is_boolean() ? field->get<bool>() : otherwise;
}

std::optional<uint64_t> count_of(const json& args, const char* key) {
  const auto field = args.find(key);
  if (field == args.end() || !field->is_number_integer()) return {};
  return static_cast<uint64_t>(std::max<int64_t>(0, field->get<int64_t>()));
}

std::optional<uint32_t> mode_of(const json& args, const char* key) {
  constexpr int kOctal = 8;
  const std::string text = text_member(args, key);
  if (text.empty()) return {};
  return static_cast<uint32_t>(std::stoul(text, nullptr, kOctal));
}

}  // namespace galley
