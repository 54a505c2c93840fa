#include "tools/json_difference.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxShownJsonBytes = 200;

std::string shown_json(const ordered_json& value) {
  std::string text = value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  if (text.size() <= kMaxShownJsonBytes) return text;
  text.resize(kMaxShownJsonBytes);
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
    text.pop_back();
  }
  if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0U) text.pop_back();
  return text + "…";
}

/// 2024-01-01T12:34:56, with any text after it.
bool is_time(const ordered_json& value) {
  if (!value.is_string()) return false;
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() < kShape.size()) return false;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool fits = kShape[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == kShape[i];
    if (!fits) return false;
  }
  return true;
}

class Comparison {
 public:
  explicit Comparison(const JsonComparison& how) : how_(how) {}

  void compare(const std::string& at, const ordered_json& expected, const ordered_json& found) {
    if (differences_.size() >= kMaxJsonDifferences) return;
    if (expected.is_object() && found.is_object()) return compare_members(at, expected, found);
    if (expected.is_array() && found.is_array()) return compare_items(at, expected, found);
    if (how_.ignores_times && is_time(expected) && is_time(found)) return;
    if (expected != found) differences_.push_back({at, shown_json(expected), shown_json(found)});
  }
  [[nodiscard]] std::vector<JsonDifference> take() { return std::move(differences_); }

 private:
  void compare_members(const std::string& at, const ordered_json& expected,
                       const ordered_json& found) {
    for (const auto& [key, value] : expected.items()) {
      const auto other = found.find(key);
      if (other == found.end()) {
        differences_.push_back({member_pointer(at, key), shown_json(value), ""});
      } else {
        compare(member_pointer(at, key), value, *other);
      }
    }
    for (const auto& [key, value] : found.items()) {
      if (!expected.contains(key))
        differences_.push_back({member_pointer(at, key), "", shown_json(value)});
    }
  }

  void compare_items(const std::string& at, const ordered_json& expected,
                     const ordered_json& found) {
    for (size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
      const std::string here = at + "/" + std::to_string(i);
      if (i >= found.size()) {
        differences_.push_back({here, shown_json(expected[i]), ""});
      } else if (i >= expected.size()) {
        differences_.push_back({here, "", shown_json(found[i])});
      } else {
        compare(here, expected[i], found[i]);
      }
      if (differences_.size() >= kMaxJsonDifferences) return;
    }
  }

  JsonComparison how_;
  std::vector<JsonDifference> differences_;
};

}  // namespace

std::vector<JsonDifference> json_differences(const ordered_json& expected,
                                             const ordered_json& found, const JsonComparison& how) {
  Comparison comparison(how);
  comparison.compare("", expected, found);
  std::vector<JsonDifference> differences = comparison.take();
  if (differences.size() > kMaxJsonDifferences) differences.resize(kMaxJsonDifferences);
  return differences;
}

std::string describe(const std::vector<JsonDifference>& differences) {
  std::string text;
  for (const JsonDifference& one : differences) {
    text += (one.pointer.empty() ? "the whole" : one.pointer) + ": expected " +
            (one.expected.empty() ? "nothing" : one.expected) + ", found " +
            (one.found.empty() ? "nothing" : one.found) + "\n";
  }
  return text;
}

}  // namespace galley
