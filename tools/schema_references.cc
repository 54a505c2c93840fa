#include "tools/schema_references.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace galley {
namespace {

using nlohmann::json;

/// The references that judge the same value as `node`, with repetitions.
void collect_references(const json& node, std::vector<std::string>& out) {
  if (!node.is_object()) return;
  if (node.contains("$ref")) out.push_back(node["$ref"].get<std::string>());
  for (const char* key : {"allOf", "anyOf", "oneOf"}) {
    if (!node.contains(key)) continue;
    for (const json& item : node[key]) collect_references(item, out);
  }
  for (const char* key : {"not", "if", "then", "else"}) {
    if (node.contains(key)) collect_references(node[key], out);
  }
  if (!node.contains("dependencies")) return;
  for (const auto& [property, item] : node["dependencies"].items()) collect_references(item, out);
}

class ReferenceWalk {
 public:
  explicit ReferenceWalk(const json& document) : document_(document) {}

  Result<void> run() {
    for (const auto& [name, schema] : document_["definitions"].items()) {
      GALLEY_TRY(visit("#/definitions/" + name));
    }
    return {};
  }

 private:
  /// The number of schemas that judge one value together with this one.
  Result<uint64_t> visit(const std::string& reference) {
    if (const auto known = weights_.find(reference); known != weights_.end()) return known->second;
    if (!open_.insert(reference).second) {
      return fail(ErrorKind::kInvalid, "schema.reference",
                  "the schema has a $ref that leads back to itself");
    }
    std::vector<std::string> next;
    collect_references(document_.at(json::json_pointer(reference.substr(1))), next);
    uint64_t weight = 1;
    for (const std::string& each : next) {
      GALLEY_ASSIGN(const uint64_t more, visit(each));
      weight += more;  // at most the limit each time, so it cannot wrap
      if (weight > kMaxSchemaExpansion) {
        return fail(ErrorKind::kInvalid, "schema.reference",
                    "the references of the schema multiply to more than " +
                        std::to_string(kMaxSchemaExpansion) + " schemas for one value");
      }
    }
    open_.erase(reference);
    weights_[reference] = weight;
    return weight;
  }

  const json& document_;
  std::set<std::string> open_;
  std::map<std::string, uint64_t> weights_;
};

}  // namespace

Result<void> check_reference_count(size_t count) {
  if (count <= kMaxSchemaReferences) return {};
  return fail(ErrorKind::kInvalid, "schema.reference",
              "the schema refers to more than " + std::to_string(kMaxSchemaReferences) + " places");
}

Result<void> check_references_end(const json& lowered) { return ReferenceWalk(lowered).run(); }

const std::map<std::string, SchemaKeyword>& schema_keywords() {
  using enum SchemaKeyword;
  static const std::map<std::string, SchemaKeyword> table = {
      {"$schema", kAnnotation},
      {"$comment", kAnnotation},
      {"$defs", kAnnotation},
      {"definitions", kAnnotation},
      {"$anchor", kAnnotation},
      {"title", kAnnotation},
      {"description", kAnnotation},
      {"default", kAnnotation},
      {"examples", kAnnotation},
      {"deprecated", kAnnotation},
      {"readOnly", kAnnotation},
      {"writeOnly", kAnnotation},
      {"format", kGrouped},
      {"contentEncoding", kAnnotation},
      {"contentMediaType", kAnnotation},
      {"contentSchema", kAnnotation},
      {"type", kPlain},
      {"enum", kPlain},
      {"const", kPlain},
      {"multipleOf", kPlain},
      {"maximum", kPlain},
      {"exclusiveMaximum", kPlain},
      {"minimum", kPlain},
      {"exclusiveMinimum", kPlain},
      {"maxLength", kPlain},
      {"minLength", kPlain},
      {"maxItems", kPlain},
      {"minItems", kPlain},
      {"maxProperties", kPlain},
      {"minProperties", kPlain},
      {"required", kPlain},
      {"not", kSchema},
      {"if", kSchema},
      {"then", kSchema},
      {"else", kSchema},
      {"propertyNames", kSchema},
      {"anyOf", kSchemas},
      {"oneOf", kSchemas},
      {"properties", kSchemaMap},
      {"allOf", kGrouped},
      {"$ref", kGrouped},
      {"items", kGrouped},
      {"prefixItems", kGrouped},
      {"additionalItems", kGrouped},
      {"unevaluatedItems", kGrouped},
      {"contains", kGrouped},
      {"minContains", kGrouped},
      {"maxContains", kGrouped},
      {"uniqueItems", kGrouped},
      {"pattern", kGrouped},
      {"patternProperties", kGrouped},
      {"additionalProperties", kGrouped},
      {"unevaluatedProperties", kGrouped},
      {"dependencies", kGrouped},
      {"dependentRequired", kGrouped},
      {"dependentSchemas", kGrouped},
      {"$dynamicRef", kUnsupported},
      {"$dynamicAnchor", kUnsupported},
      {"$recursiveRef", kUnsupported},
      {"$recursiveAnchor", kUnsupported},
      {"$vocabulary", kUnsupported},
      {"$id", kUnsupported},
      {"id", kUnsupported},
  };
  return table;
}

}  // namespace galley
