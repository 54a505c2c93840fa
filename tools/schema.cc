#include "tools/schema.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include <valijson/validator.hpp>
#include "base/text.h"
#include "tools/json_input.h"
#include "tools/plain_schema.h"
#include "tools/schema_constraints.h"
#include "tools/schema_lowering.h"

namespace galley {
namespace {

using nlohmann::json;
using valijson::adapters::NlohmannJsonAdapter;

constexpr size_t kMaxViolations = 20;
constexpr size_t kMaxDescribed = 5;
constexpr size_t kMaxShownValueBytes = 60;

/// "<root>", "[a]", "[1]" -> "/a/1".
std::string pointer_of(const std::vector<std::string>& context) {
  std::string out;
  for (const std::string& token : context) {
    if (token.size() < 2 || token.front() != '[' || token.back() != ']') continue;
    out = member_pointer(out, token.substr(1, token.size() - 2));
  }
  return out;
}

/// The name in quotes, "'x'", in a message of the library.
std::string quoted_name(const std::string& text) {
  const size_t from = text.find(": '");
  const size_t start = from != std::string::npos ? from + 2 : text.find('\'');
  const size_t end = text.rfind('\'');
  if (start == std::string::npos || end <= start) return {};
  return text.substr(start + 1, end - start - 1);
}

std::string type_name(const json& value) {
  if (value.is_number_integer()) return "an integer";
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  if (value.is_null()) return "null";
  return std::string("a ") + value.type_name();
}

std::string shown_value(const json& value) {
  std::string text = json_text(value);
  if (text.size() <= kMaxShownValueBytes) return text;
  return text.substr(0, kMaxShownValueBytes) + "…";
}

std::string joined(const std::vector<std::string>& words, const char* last) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? last : ", ";
    out += words[i];
  }
  return out;
}

std::vector<std::string> strings_of(const json& array) {
  std::vector<std::string> out;
  for (const json& item : array) out.push_back(item.is_string() ? item.get<std::string>() : "");
  return out;
}

/// Whether a message of the library only says that a part of the value is invalid.
bool is_outer_message(const std::string& text) {
  return text.starts_with("Failed to validate against schema associated with") ||
         text.starts_with("Failed to validate item #") ||
         text.starts_with("Failed to validate against child schema #") ||
         text.starts_with("Failed to validate against additional properties schema") ||
         text.starts_with("Failed to validate against a conditional schema");
}

/// The part of the schema for one place, for messages only: best effort.
class SchemaPlace {
 public:
  explicit SchemaPlace(const json& root) : root_(root), node_(&root) { settle(); }

  void down(const std::string& token) {
    if (node_ == nullptr) return;
    const json& here = *node_;
    node_ = nullptr;
    if (here.contains("properties") && here["properties"].contains(token)) {
      node_ = &here["properties"][token];
    } else if (here.contains("items") && here["items"].is_object()) {
      node_ = &here["items"];
    } else if (here.contains("additionalProperties") && here["additionalProperties"].is_object()) {
      node_ = &here["additionalProperties"];
    }
    settle();
  }
  [[nodiscard]] const json* get() const { return node_; }

 private:
  void settle() {
    constexpr int kMaxHops = 16;
    for (int hop = 0; hop < kMaxHops && node_ != nullptr; ++hop) {
      if (node_->contains("$ref")) {
        const auto reference = (*node_)["$ref"].get<std::string>();
        node_ = &root_.at(json::json_pointer(reference.substr(1)));
      } else if (node_->contains("allOf") && !node_->contains("properties") &&
                 (*node_)["allOf"].size() == 1) {
        node_ = &(*node_)["allOf"][0];
      } else {
        return;
      }
    }
  }

  const json& root_;
  const json* node_;
};

/// "file and patch; or file_path, old_string and new_string" when every branch is a list of
/// required properties.
std::optional<std::string> required_choices(const json& schema) {
  if (!schema.contains("anyOf")) return {};
  std::vector<std::string> choices;
  for (const json& branch : schema["anyOf"]) {
    if (!branch.is_object() || branch.size() != 1 || !branch.contains("required")) return {};
    choices.push_back(joined(strings_of(branch["required"]), " and "));
  }
  return "needs " + joined(choices, "; or ");
}

std::string wanted_types(const json& schema) {
  if (!schema.contains("type")) return {};
  const json& type = schema["type"];
  return type.is_array() ? joined(strings_of(type), " or ") : type.get<std::string>();
}

std::string retold(const std::string& text, const json* value, const json* schema) {
  if (text.starts_with("Missing required property")) {
    return "the property '" + quoted_name(text) + "' is missing";
  }
  if (text.starts_with("Object contains a property that could not be validated")) {
    const std::string name = quoted_name(text);
    std::vector<std::string> known;
    if (schema != nullptr && schema->contains("properties")) {
      for (const auto& [key, unused] : (*schema)["properties"].items()) known.push_back(key);
    }
    std::string message = "there is no property '" + name + "'" + did_you_mean(name, known);
    if (!message.ends_with('?') && !known.empty()) {
      message += "; known are " + joined(known, " and ");
    }
    return message;
  }
  if (text.starts_with("Value type not permitted") && value != nullptr) {
    const std::string wanted = schema != nullptr ? wanted_types(*schema) : "";
    return "is " + type_name(*value) +
           (wanted.empty() ? ", which is not allowed here" : "; wanted " + wanted);
  }
  if (text.starts_with("Failed to match against any enum values") && value != nullptr) {
    std::string message = "is " + shown_value(*value);
    if (schema == nullptr || !schema->contains("enum")) return message + ", which is not allowed";
    const std::vector<std::string> known = strings_of((*schema)["enum"]);
    message += "; wanted one of " + shown_value((*schema)["enum"]);
    return value->is_string() ? message + did_you_mean(value->get<std::string>(), known) : message;
  }
  return text;
}

}  // namespace

struct JsonSchema::Compiled {
  explicit Compiled(json lowered) : document(std::move(lowered)), plain(document) {}

  /// Fills `schema` and `definitions`. Throws what the library throws for a malformed schema.
  Result<void> fill() {
    GALLEY_ASSIGN(definitions, definitions_of_own_constraints(document));
    fill(document, schema);
    for (auto& [name, definition] : definitions) {
      fill(json{{"allOf", json::array({json{{"$ref", "#/definitions/" + name}}})},
                {"definitions", document["definitions"]}},
           definition);
    }
    return {};
  }

  json document;  ///< lowered
  PlainSchema plain;
  std::once_flag is_filled;  ///< of a complete plain schema: by the first document it rejects
  CompiledDefinitions definitions;
  valijson::Schema schema;

 private:
  void fill(const json& from, valijson::Schema& to) const {
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    add_own_constraints(parser, definitions);
    parser.populateSchema(NlohmannJsonAdapter(from), to);
  }
};

JsonSchema::JsonSchema(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
JsonSchema::JsonSchema(JsonSchema&&) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&&) noexcept = default;
JsonSchema::~JsonSchema() = default;

Result<JsonSchema> JsonSchema::compile(std::string_view schema_text) {
  if (schema_text.size() > kMaxSchemaBytes) {
    return fail(ErrorKind::kQuota, "limit.schema_bytes",
                "the schema has " + std::to_string(schema_text.size()) + " bytes, more than the " +
                    std::to_string(kMaxSchemaBytes) + " that are read");
  }
  auto parsed = parse_json(schema_text);
  if (!parsed) {
    Error error = parsed.error();
    error.reason = "schema.syntax";
    return fail(std::move(error));
  }
  GALLEY_ASSIGN(json lowered, lower_schema(*parsed));
  auto compiled = std::make_unique<Compiled>(std::move(lowered));
  if (compiled->plain.is_complete()) return JsonSchema(std::move(compiled));
  try {
    GALLEY_TRY(compiled->fill());
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInvalid, "schema.syntax",
                std::string("the schema is malformed: ") + error.what());
  }
  return JsonSchema(std::move(compiled));
}

std::vector<SchemaViolation> JsonSchema::check(const json& document) const {
  if (compiled_->plain.accepts(document)) return {};
  valijson::ValidationResults results;
  try {
    if (compiled_->plain.is_complete()) {
      std::call_once(compiled_->is_filled, [&] { (void)compiled_->fill(); });
    }
    valijson::Validator validator;
    if (validator.validate(compiled_->schema, NlohmannJsonAdapter(document), &results)) return {};
  } catch (const std::exception& error) {
    return {{"", std::string("the document could not be judged: ") + error.what()}};
  }
  std::vector<SchemaViolation> out;
  std::vector<SchemaViolation> outer;
  for (const auto& error : results) {
    SchemaViolation violation{pointer_of(error.context), {}};
    const json::json_pointer pointer(violation.pointer);
    SchemaPlace place(compiled_->document);
    for (const std::string& token : error.context) {
      if (token.size() >= 2 && token.front() == '[') place.down(token.substr(1, token.size() - 2));
    }
    const json* value = document.contains(pointer) ? &document.at(pointer) : nullptr;
    if (error.description.find("anyOf") != std::string::npos && place.get() != nullptr) {
      if (const auto choices = required_choices(*place.get())) {
        std::erase_if(out, [&](const SchemaViolation& seen) {
          return seen.pointer == violation.pointer && seen.message.ends_with("is missing");
        });
        out.push_back({violation.pointer, *choices});
        continue;
      }
    }
    violation.message = retold(error.description, value, place.get());
    auto& list = is_outer_message(error.description) ? outer : out;
    if (list.size() < kMaxViolations &&
        std::find(list.begin(), list.end(), violation) == list.end()) {
      list.push_back(std::move(violation));
    }
  }
  if (out.empty()) out = std::move(outer);
  if (out.empty()) out.push_back({"", "the document does not conform to the schema"});
  return out;
}

std::vector<SchemaViolation> JsonSchema::check(const nlohmann::ordered_json& document) const {
  if (compiled_->plain.accepts(document)) return {};
  return check(json(document));
}

std::string describe(const std::vector<SchemaViolation>& violations) {
  std::string out;
  for (size_t i = 0; i < violations.size() && i < kMaxDescribed; ++i) {
    if (i > 0) out += "; ";
    if (!violations[i].pointer.empty()) out += violations[i].pointer + ": ";
    out += violations[i].message;
  }
  if (violations.size() > kMaxDescribed) {
    out += "; and " + std::to_string(violations.size() - kMaxDescribed) + " more";
  }
  return out;
}

}  // namespace galley
