#include "tools/schema_compatibility.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr size_t kMaxComparedDepth = 64;

/// Whether the keyword has no effect on which documents conform.
bool is_annotation(std::string_view key) {
  static constexpr std::array<std::string_view, 8> kAnnotations = {
      "title", "description", "examples", "$comment", "deprecated", "readOnly", "writeOnly", "$id"};
  return std::find(kAnnotations.begin(), kAnnotations.end(), key) != kAnnotations.end();
}

/// A keyword with a number, and whether a greater number accepts fewer documents.
struct Bound {
  std::string_view key;
  bool greater_takes_less;
};
constexpr std::array<Bound, 10> kBounds = {{{"minimum", true},
                                            {"exclusiveMinimum", true},
                                            {"minLength", true},
                                            {"minItems", true},
                                            {"minProperties", true},
                                            {"maximum", false},
                                            {"exclusiveMaximum", false},
                                            {"maxLength", false},
                                            {"maxItems", false},
                                            {"maxProperties", false}}};

const Bound* bound_of(std::string_view key) {
  const auto found = std::find_if(kBounds.begin(), kBounds.end(),
                                  [&](const Bound& bound) { return bound.key == key; });
  return found == kBounds.end() ? nullptr : &*found;
}

const json* schema_member(const json& schema, const char* key) {
  if (!schema.is_object()) return nullptr;
  const auto found = schema.find(key);
  return found == schema.end() ? nullptr : &*found;
}

/// The types that a schema accepts; nullopt when it accepts all.
std::optional<std::set<std::string>> declared_types(const json& schema) {
  const json* type = schema_member(schema, "type");
  if (type == nullptr) return {};
  std::set<std::string> types;
  const auto add = [&](const json& one) {
    if (one.is_string()) types.insert(one.get<std::string>());
  };
  if (type->is_array()) {
    for (const json& one : *type) add(one);
  } else {
    add(*type);
  }
  if (types.contains("number")) types.insert("integer");
  return types;
}

/// The values that `enum` or `const` allows; nullopt when there is neither.
std::optional<std::set<std::string>> values_of(const json& schema) {
  std::set<std::string> values;
  if (const json* only = schema_member(schema, "const"))
    return std::set<std::string>{json_text(*only)};
  const json* list = schema_member(schema, "enum");
  if (list == nullptr || !list->is_array()) return {};
  for (const json& one : *list) values.insert(json_text(one));
  return values;
}

std::set<std::string> required_of(const json& schema) {
  std::set<std::string> names;
  const json* list = schema_member(schema, "required");
  if (list == nullptr || !list->is_array()) return names;
  for (const json& one : *list) {
    if (one.is_string()) names.insert(one.get<std::string>());
  }
  return names;
}

/// Whether every document of `inner` is one of `outer`; no set means everything.
bool is_within(const std::optional<std::set<std::string>>& inner,
               const std::optional<std::set<std::string>>& outer) {
  if (!outer) return true;
  return inner && std::includes(outer->begin(), outer->end(), inner->begin(), inner->end());
}

std::string shown_schema_value(const json* value) {
  return value == nullptr ? std::string("nothing") : json_text(*value);
}

class SchemaComparison {
 public:
  explicit SchemaComparison(SchemaSide side) : side_(side) {}

  void compare(const json& before, const json& after, const std::string& pointer, size_t depth) {
    if (before == after) return;
    if (depth > kMaxComparedDepth || !before.is_object() || !after.is_object()) {
      add(pointer, "changed", true);
      return;
    }
    compare_sets(declared_types(before), declared_types(after), pointer + "/type");
    compare_sets(values_of(before), values_of(after), pointer + "/enum");
    compare_required(before, after, pointer);
    compare_properties(before, after, pointer, depth);
    std::set<std::string> keys;
    for (const auto& [key, value] : before.items()) keys.insert(key);
    for (const auto& [key, value] : after.items()) keys.insert(key);
    for (const std::string& key : keys) compare_key(key, before, after, pointer, depth);
  }
  std::vector<SchemaDifference> take() { return std::move(differences_); }

 private:
  void add(const std::string& pointer, const std::string& message, bool is_breaking) {
    differences_.push_back({pointer, message, is_breaking});
  }
  [[nodiscard]] bool is_input() const { return side_ == SchemaSide::kInput; }

  void compare_sets(const std::optional<std::set<std::string>>& before,
                    const std::optional<std::set<std::string>>& after, const std::string& pointer) {
    if (before == after) return;
    const bool is_fine = is_input() ? is_within(before, after) : is_within(after, before);
    const bool is_wider = is_within(before, after);
    add(pointer, is_wider ? "takes more than before" : "does not take all that it took", !is_fine);
  }

  void compare_required(const json& before, const json& after, const std::string& pointer) {
    const auto old_names = required_of(before);
    const auto names = required_of(after);
    for (const std::string& name : names) {
      if (old_names.contains(name)) continue;
      add(pointer + "/required", "'" + name + "' is required now", is_input());
    }
    for (const std::string& name : old_names) {
      if (names.contains(name)) continue;
      add(pointer + "/required", "'" + name + "' is no longer required", !is_input());
    }
  }

  void compare_properties(const json& before, const json& after, const std::string& pointer,
                          size_t depth) {
    static const json kNone = json::object();
    const json* old_list = schema_member(before, "properties");
    const json* list = schema_member(after, "properties");
    const json& old_properties = old_list == nullptr ? kNone : *old_list;
    const json& properties = list == nullptr ? kNone : *list;
    if (!old_properties.is_object() || !properties.is_object()) return;
    for (const auto& [name, schema] : old_properties.items()) {
      const std::string place = pointer + "/properties/" + name;
      const auto now = properties.find(name);
      if (now == properties.end()) {
        add(place, "is gone", true);
      } else {
        compare(schema, *now, place, depth + 1);
      }
    }
    for (const auto& [name, schema] : properties.items()) {
      if (old_properties.contains(name)) continue;
      add(pointer + "/properties/" + name, "is new", false);
    }
  }

  void compare_key(const std::string& key, const json& before, const json& after,
                   const std::string& pointer, size_t depth) {
    static const std::set<std::string> kDone = {"type", "enum", "const", "required", "properties"};
    const json* was = schema_member(before, key.c_str());
    const json* now = schema_member(after, key.c_str());
    const bool is_same = was != nullptr && now != nullptr && *was == *now;
    if (is_same || kDone.contains(key)) return;
    const std::string place = pointer + "/" + key;
    const std::string message =
        "was " + shown_schema_value(was) + ", is " + shown_schema_value(now);
    if (is_annotation(key)) {
      add(place, message, false);
    } else if (key == "default") {
      // A caller that leaves the argument out would get a different value.
      add(place, message, is_input() && was != nullptr);
    } else if (const Bound* bound = bound_of(key)) {
      add(place, message, is_breaking_bound(*bound, was, now));
    } else if (key == "items" && was != nullptr && now != nullptr) {
      compare(*was, *now, place, depth + 1);
    } else if (key == "additionalProperties") {
      add(place, message, is_breaking_rest(was, now));
    } else {
      add(place, message, true);
    }
  }

  [[nodiscard]] bool is_breaking_bound(const Bound& bound, const json* was, const json* now) const {
    if (was == nullptr) return is_input();
    if (now == nullptr) return !is_input();
    if (!was->is_number() || !now->is_number()) return true;
    const bool is_greater = now->get<double>() > was->get<double>();
    return (is_greater == bound.greater_takes_less) == is_input();
  }

  /// Callers of an input may have sent members that were allowed. Readers of an output ignore
  /// unknown members.
  [[nodiscard]] bool is_breaking_rest(const json* was, const json* now) const {
    if (!is_input()) return false;
    const bool takes_all = now == nullptr || *now == json(true);
    const bool took_none = was != nullptr && *was == json(false);
    return !takes_all && !took_none;
  }

  SchemaSide side_;
  std::vector<SchemaDifference> differences_;
};

/// The number of a version at `part`, counted from 0.
std::string_view part_of(std::string_view version, int part) {
  for (int i = 0; i < part; ++i) {
    version.remove_prefix(std::min(version.find('.'), version.size() - 1) + 1);
  }
  return version.substr(0, version.find_first_of(".-+"));
}

bool is_same_line(std::string_view before, std::string_view after) {
  const bool is_same_major = part_of(before, 0) == part_of(after, 0);
  return is_same_major && (part_of(before, 0) != "0" || part_of(before, 1) == part_of(after, 1));
}

}  // namespace

std::vector<SchemaDifference> schema_differences(const json& before, const json& after,
                                                 SchemaSide side) {
  SchemaComparison comparison(side);
  comparison.compare(before, after, "", 0);
  return comparison.take();
}

std::vector<std::string> contract_breaches(const ToolContract& before, const ToolContract& after) {
  std::vector<std::string> breaches;
  const auto look = [&](const char* which, const json& old_schema, const json& schema,
                        SchemaSide side) {
    for (const SchemaDifference& one : schema_differences(old_schema, schema, side)) {
      const std::string what =
          std::string(which) + " schema, '" + one.pointer + "': " + one.message;
      if (before.version == after.version) {
        breaches.push_back(what + "; the version is still " + std::string(after.version));
      } else if (one.is_breaking && is_same_line(before.version, after.version)) {
        breaches.push_back(what + "; that breaks callers of " + std::string(before.version) +
                           " and needs a new major version");
      }
    }
  };
  look("input", before.input, after.input, SchemaSide::kInput);
  look("output", before.output, after.output, SchemaSide::kOutput);
  return breaches;
}

}  // namespace galley
