#include "tools/schema_defaults.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/json_input.h"
#include "tools/schema.h"

namespace galley {

using nlohmann::json;

/// One walk through a schema.
struct SchemaDefaults::Walk {
  const json& root;
  size_t places_left;
};

/// The properties that one place of a document may leave out, and the places below it.
struct SchemaDefaults::Place {
  struct Property {
    std::optional<json> value;
    std::shared_ptr<const Place> below;  ///< null: no defaults there
  };
  std::map<std::string, Property> properties;
  std::shared_ptr<const Place> items;

  [[nodiscard]] bool is_empty() const { return properties.empty() && items == nullptr; }

  static Result<std::shared_ptr<const Place>> of(const json& schema, Walk& walk,
                                                 const std::string& pointer, size_t depth);
  Result<void> take(const json& schema, Walk& walk, const std::string& pointer, size_t depth);
  Result<void> take_property(const std::string& name, const json& schema, Walk& walk,
                             const std::string& pointer, size_t depth);
  [[nodiscard]] bool lacks(const json& document) const;
  Result<void> fill(json& document, size_t& filled) const;
};

namespace {

constexpr size_t kMaxDefaultDepth = 32;  // of nested schemas, through references
constexpr size_t kMaxPlaces = 100'000;   // visited, once for every way to them

tl::unexpected<Error> bad_default(const std::string& pointer, const std::string& why) {
  return fail(ErrorKind::kInvalid, "schema.default",
              "the default of '" + pointer + "' cannot be used: " + why);
}

/// A default must be a value that callers may give.
Result<void> check_default(const json& schema, const json& root, const std::string& pointer) {
  // A plain flag needs no compiled schema, and most defaults are flags.
  const bool is_flag = schema.size() == 2 && schema.value("type", json()) == "boolean";
  if (is_flag && schema["default"].is_boolean()) return {};
  json value = schema;
  // Draft 3: this is about the object that has the property, not about the value.
  if (value.value("required", json()).is_boolean()) value.erase("required");
  json alone = {{"allOf", json::array({std::move(value)})}};
  for (const char* key : {"$defs", "definitions"}) {
    if (root.contains(key)) alone[key] = root[key];
  }
  const auto compiled = JsonSchema::compile(json_text(alone));
  if (!compiled) return bad_default(pointer, compiled.error().message);
  const auto violations = compiled->check(schema["default"]);
  return violations.empty() ? Result<void>() : bad_default(pointer, describe(violations));
}

}  // namespace

Result<std::shared_ptr<const SchemaDefaults::Place>> SchemaDefaults::Place::of(
    const json& schema, Walk& walk, const std::string& pointer, size_t depth) {
  auto place = std::make_shared<Place>();
  GALLEY_TRY(place->take(schema, walk, pointer, depth));
  if (place->is_empty()) return nullptr;
  return place;
}

Result<void> SchemaDefaults::Place::take(const json& schema, Walk& walk, const std::string& pointer,
                                         size_t depth) {
  if (!schema.is_object() || depth > kMaxDefaultDepth) return {};
  if (walk.places_left == 0) return bad_default(pointer, "the schema has too many places");
  --walk.places_left;
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    const auto target = reference->get<std::string>();
    if (target.starts_with('#')) {
      const json::json_pointer there(target.substr(1));
      if (walk.root.contains(there))
        GALLEY_TRY(take(walk.root.at(there), walk, pointer, depth + 1));
    }
  }
  if (const auto all = schema.find("allOf"); all != schema.end()) {
    for (const json& part : *all) GALLEY_TRY(take(part, walk, pointer, depth + 1));
  }
  if (const auto members = schema.find("properties"); members != schema.end()) {
    for (const auto& [name, property] : members->items()) {
      GALLEY_TRY(take_property(name, property, walk, member_pointer(pointer, name), depth + 1));
    }
  }
  if (const auto each = schema.find("items"); each != schema.end() && each->is_object()) {
    GALLEY_ASSIGN(auto below, of(*each, walk, pointer + "/-", depth + 1));
    if (below != nullptr) items = std::move(below);
  }
  return {};
}

Result<void> SchemaDefaults::Place::take_property(const std::string& name, const json& schema,
                                                  Walk& walk, const std::string& pointer,
                                                  size_t depth) {
  GALLEY_ASSIGN(auto below, of(schema, walk, pointer, depth));
  const bool has_default = schema.is_object() && schema.contains("default");
  if (has_default) GALLEY_TRY(check_default(schema, walk.root, pointer));
  if (!has_default && below == nullptr) return {};
  Property& property = properties[name];
  if (has_default) property.value = schema["default"];
  if (below != nullptr) property.below = std::move(below);
  return {};
}

bool SchemaDefaults::Place::lacks(const json& document) const {
  if (items != nullptr && document.is_array()) {
    for (const json& item : document) {
      if (items->lacks(item)) return true;
    }
  }
  if (!document.is_object()) return false;
  for (const auto& [name, property] : properties) {
    const auto member = document.find(name);
    if (member == document.end() && property.value) return true;
    const bool is_there = member != document.end() && property.below != nullptr;
    if (is_there && property.below->lacks(*member)) return true;
  }
  return false;
}

Result<void> SchemaDefaults::Place::fill(json& document, size_t& filled) const {
  if (items != nullptr && document.is_array()) {
    for (json& item : document) GALLEY_TRY(items->fill(item, filled));
  }
  if (!document.is_object()) return {};
  for (const auto& [name, property] : properties) {
    auto member = document.find(name);
    if (member == document.end() && property.value) {
      if (++filled > kMaxFilledDefaults) {
        return fail(ErrorKind::kQuota, "limit.defaults",
                    "the arguments leave out more than " + std::to_string(kMaxFilledDefaults) +
                        " values that have a default; send them in smaller portions");
      }
      member = document.emplace(name, *property.value).first;
    }
    const bool is_there = member != document.end() && property.below != nullptr;
    if (is_there) GALLEY_TRY(property.below->fill(*member, filled));
  }
  return {};
}

Result<SchemaDefaults> SchemaDefaults::compile(std::string_view schema_text) {
  GALLEY_ASSIGN(const json schema, parse_json(schema_text));
  Walk walk{schema, kMaxPlaces};
  GALLEY_ASSIGN(auto root, Place::of(schema, walk, "", 0));
  return SchemaDefaults(std::move(root));
}

Result<std::optional<json>> SchemaDefaults::fill(const json& document) const {
  if (root_ == nullptr || !root_->lacks(document)) return std::optional<json>();
  json filled = document;
  size_t count = 0;
  GALLEY_TRY(root_->fill(filled, count));
  return std::optional<json>(std::move(filled));
}

}  // namespace galley
