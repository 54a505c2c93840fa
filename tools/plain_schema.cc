#include "tools/plain_schema.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::detail::value_t;

constexpr uint32_t bit_of(value_t type) { return 1U << static_cast<uint32_t>(type); }

/// The types of values that have a name in schemas, as bits; 0 for an unknown name.
uint32_t types_named(const json& name) {
  static const std::map<std::string, uint32_t, std::less<>> kTypes = {
      {"array", bit_of(value_t::array)},
      {"boolean", bit_of(value_t::boolean)},
      {"integer", bit_of(value_t::number_integer) | bit_of(value_t::number_unsigned)},
      {"null", bit_of(value_t::null)},
      {"number", bit_of(value_t::number_integer) | bit_of(value_t::number_unsigned) |
                     bit_of(value_t::number_float)},
      {"object", bit_of(value_t::object)},
      {"string", bit_of(value_t::string)}};
  const auto found =
      name.is_string() ? kTypes.find(name.get_ref<const std::string&>()) : kTypes.end();
  return found != kTypes.end() ? found->second : 0;
}

bool are_texts(const json& list) {
  return list.is_array() &&
         std::all_of(list.begin(), list.end(), [](const json& item) { return item.is_string(); });
}

/// False also for numbers whose comparison depends on the library: large ones and fractions.
template <class Json>
bool is_at_least(const Json& number, int64_t minimum) {
  constexpr int64_t kLargest = int64_t{1} << 53U;
  if (number.is_number_float()) return false;
  if (number.is_number_unsigned() && number.template get<uint64_t>() > uint64_t{kLargest}) {
    return false;
  }
  const auto value = number.template get<int64_t>();
  return value >= std::max(minimum, -kLargest);
}

}  // namespace

PlainSchema::PlainSchema(const json& lowered) {
  is_plain_ = lowered.is_object();
  for (const auto& [key, value] : lowered.items()) is_plain_ = is_plain_ && take(key, value);
  is_complete_ = is_complete_ && is_plain_;
}

void PlainSchema::add(std::vector<PlainSchema>& parts, const json& schema) {
  parts.emplace_back(schema);
  is_complete_ = is_complete_ && parts.back().is_complete_;
}

/// Returns false for a keyword, or a form of it, that is not known here.
bool PlainSchema::take(const std::string& key, const json& value) {
  if (key == "$comment") return true;
  if (key == "definitions") {
    is_complete_ = is_complete_ && value.empty();  // the library reads them
    return true;
  }
  if (key == "type") {
    types_ = 0;
    for (const json& name : value.is_array() ? value : json::array({value})) {
      const uint32_t named = types_named(name);
      if (named == 0) return false;
      *types_ |= named;
    }
    return *types_ != 0;
  }
  if (key == "enum" && are_texts(value)) {
    texts_ = value.get<std::vector<std::string>>();
    return true;
  }
  if (key == "required" && are_texts(value)) {
    required_ = value.get<std::vector<std::string>>();
    return true;
  }
  if (key == "minimum" && value.is_number_integer()) {
    minimum_ = value.get<int64_t>();
    return *minimum_ <= INT32_MAX;
  }
  if (key == "minLength" && value.is_number_unsigned()) {
    min_length_ = value.get<size_t>();
    return min_length_ <= 1;  // of a longer one, the characters would have to be counted
  }
  if (key == "additionalProperties" && value.is_boolean()) {
    has_other_members_ = value.get<bool>();
    return true;
  }
  if (key == "additionalProperties" || (key == "items" && value.is_object())) {
    add(key == "items" ? items_ : other_members_, value);
    return true;
  }
  if (key == "properties" && value.is_object()) {
    for (const auto& [name, schema] : value.items()) {
      const PlainSchema& added = properties_.emplace(name, schema).first->second;
      is_complete_ = is_complete_ && added.is_complete_;
    }
    return true;
  }
  if (key != "anyOf" || !value.is_array() || value.empty()) return false;
  for (const json& schema : value) add(any_of_, schema);
  return true;
}

template <class Json>
bool PlainSchema::takes_members(const Json& object) const {
  for (const std::string& name : required_) {
    if (!object.contains(name)) return false;
  }
  for (const auto& [name, member] : object.template get_ref<const typename Json::object_t&>()) {
    const auto known = properties_.find(name);
    if (known != properties_.end()) {
      if (!known->second.takes(member)) return false;
    } else if (!has_other_members_) {
      return false;
    } else if (!other_members_.empty() && !other_members_.front().takes(member)) {
      return false;
    }
  }
  return true;
}

template <class Json>
bool PlainSchema::takes(const Json& document) const {
  if (!is_plain_ || (types_ && (*types_ & bit_of(document.type())) == 0)) return false;
  if (texts_) {
    if (!document.is_string()) return false;
    const auto& text = document.template get_ref<const std::string&>();
    if (std::find(texts_->begin(), texts_->end(), text) == texts_->end()) return false;
  }
  switch (document.type()) {
    case value_t::string: {
      // The library counts up to the first NUL.
      const auto& text = document.template get_ref<const std::string&>();
      if (std::min(text.size(), text.find('\0')) < min_length_) return false;
      break;
    }
    case value_t::number_integer:
    case value_t::number_unsigned:
    case value_t::number_float:
      if (minimum_ && !is_at_least(document, *minimum_)) return false;
      break;
    case value_t::array:
      if (items_.empty()) break;
      for (const Json& item : document) {
        if (!items_.front().takes(item)) return false;
      }
      break;
    case value_t::object:
      if (!takes_members(document)) return false;
      break;
    default:
      break;
  }
  return any_of_.empty() ||
         std::any_of(any_of_.begin(), any_of_.end(),
                     [&](const PlainSchema& one) { return one.takes(document); });
}

bool PlainSchema::accepts(const json& document) const { return takes(document); }

bool PlainSchema::accepts(const nlohmann::ordered_json& document) const { return takes(document); }

}  // namespace galley
