#include "tools/schema.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraint_builder.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "tools/json_input.h"
#include "tools/plain_schema.h"
#include "tools/schema_lowering.h"

namespace galley {
namespace {

/// Definitions of a lowered schema that our own constraints use, compiled one by one.
using CompiledDefinitions = std::map<std::string, valijson::Schema>;

using nlohmann::json;
using valijson::adapters::Adapter;
using valijson::adapters::NlohmannJsonAdapter;
using Context = std::vector<std::string>;

std::shared_ptr<const re2::RE2> compile_pattern(const std::string& pattern) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return std::make_shared<const re2::RE2>(pattern, options);
}

void report(valijson::ValidationResults* results, const Context& context,
            const std::string& description) {
  if (results != nullptr) results->pushError(context, description);
}

/// Judges one value by one of our definitions, with errors placed below `context`.
bool judge(const valijson::Schema& schema, const NlohmannJsonAdapter& value, const Context& context,
           valijson::ValidationResults* results) {
  valijson::Validator validator;
  if (results == nullptr) return validator.validate(schema, value, nullptr);
  valijson::ValidationResults inner;
  if (validator.validate(schema, value, &inner)) return true;
  for (const auto& error : inner) {
    Context full = context;  // the inner one begins with "<root>" too
    full.insert(full.end(), error.context.begin() + 1, error.context.end());
    results->pushError(full, error.description);
  }
  return false;
}

const NlohmannJsonAdapter& as_json(const Adapter& target) {
  return static_cast<const NlohmannJsonAdapter&>(target);  // the only adapter that schema.cc uses
}

/// The common base of our constraints: the library copies constraints into its own memory.
template <class Derived>
class OwnConstraint : public valijson::constraints::PolyConstraint {
 private:
  Constraint* cloneInto(void* memory) const override {
    return new (memory) Derived(static_cast<const Derived&>(*this));
  }
  size_t sizeOf() const override { return sizeof(Derived); }
};

class PatternConstraint final : public OwnConstraint<PatternConstraint> {
 public:
  explicit PatternConstraint(const std::string& pattern)
      : pattern_(pattern), expression_(compile_pattern(pattern)) {}

  bool validate(const Adapter& target, const Context& context,
                valijson::ValidationResults* results) const override {
    if (!target.isString()) return true;
    if (re2::RE2::PartialMatch(target.asString(), *expression_)) return true;
    report(results, context, "does not match the pattern " + pattern_);
    return false;
  }

 private:
  std::string pattern_;
  std::shared_ptr<const re2::RE2> expression_;
};

class FormatConstraint final : public OwnConstraint<FormatConstraint> {
 public:
  explicit FormatConstraint(std::string format) : format_(std::move(format)) {}

  bool validate(const Adapter& target, const Context& context,
                valijson::ValidationResults* results) const override {
    if (!target.isString() || has_format(format_, target.asString())) return true;
    report(results, context, "does not have the format " + format_);
    return false;
  }

 private:
  std::string format_;
};

class MembersConstraint final : public OwnConstraint<MembersConstraint> {
 public:
  MembersConstraint(const json& members, const CompiledDefinitions& definitions)
      : definitions_(&definitions) {
    for (const json& pattern : members.at("patterns")) {
      patterns_.emplace_back(compile_pattern(pattern.at(0)), pattern.at(1));
    }
    for (const json& name : members.at("named")) named_.insert(name.get<std::string>());
    if (members.contains("rest")) rest_ = members.at("rest");
  }

  bool validate(const Adapter& target, const Context& context,
                valijson::ValidationResults* results) const override {
    if (!target.isObject()) return true;
    bool ok = true;
    for (const auto& [name, value] : as_json(target).getObject()) {
      ok = judge_member(name, value, context, results) && ok;
    }
    return ok;
  }

 private:
  bool judge_member(const std::string& name, const NlohmannJsonAdapter& value,
                    const Context& context, valijson::ValidationResults* results) const {
    Context here = context;
    here.push_back("[" + name + "]");
    bool is_named = named_.contains(name);
    bool ok = true;
    for (const auto& [expression, definition] : patterns_) {
      if (!re2::RE2::PartialMatch(name, *expression)) continue;
      is_named = true;
      ok = judge(definitions_->at(definition), value, here, results) && ok;
    }
    if (is_named || rest_.empty()) return ok;
    if (judge(definitions_->at(rest_), value, here, nullptr)) return ok;
    report(results, here, "is not a property known here");
    return false;
  }

  std::vector<std::pair<std::shared_ptr<const re2::RE2>, std::string>> patterns_;
  std::set<std::string> named_;
  std::string rest_;
  const CompiledDefinitions* definitions_;
};

class ContainsConstraint final : public OwnConstraint<ContainsConstraint> {
 public:
  ContainsConstraint(const json& value, const CompiledDefinitions& definitions)
      : definition_(value.at("schema")),
        min_(value.at("min")),
        max_(value.at("max")),
        definitions_(&definitions) {}

  bool validate(const Adapter& target, const Context& context,
                valijson::ValidationResults* results) const override {
    if (!target.isArray()) return true;
    uint64_t found = 0;
    for (const NlohmannJsonAdapter item : as_json(target).getArray()) {
      if (judge(definitions_->at(definition_), item, context, nullptr)) ++found;
    }
    if (found >= min_ && found <= max_) return true;
    report(results, context,
           "has " + std::to_string(found) +
               " items of the kind that 'contains' describes; wanted " +
               (found < min_ ? "at least " + std::to_string(min_)
                             : "at most " + std::to_string(max_)));
    return false;
  }

 private:
  std::string definition_;
  uint64_t min_;
  uint64_t max_;
  const CompiledDefinitions* definitions_;
};

/// The library compares every pair of items. This sorts their texts instead.
class UniqueItemsConstraint final : public OwnConstraint<UniqueItemsConstraint> {
 public:
  bool validate(const Adapter& target, const Context& context,
                valijson::ValidationResults* results) const override {
    if (!target.isArray()) return true;
    std::set<std::string> seen;
    for (const NlohmannJsonAdapter item : as_json(target).getArray()) {
      std::string text;
      write(item, text);
      if (seen.insert(std::move(text)).second) continue;
      report(results, context, "has the same item twice");
      return false;
    }
    return true;
  }

 private:
  /// Equal values have equal texts, and different values different ones.
  static void write(const NlohmannJsonAdapter& value, std::string& out) {
    if (value.isArray()) {
      out += '[';
      for (const NlohmannJsonAdapter item : value.getArray()) write(item, out);
      out += ']';
    } else if (value.isObject()) {
      out += '{';
      for (const auto& [name, item] : value.getObject()) {
        write_text('k', name, out);
        write(item, out);
      }
      out += '}';
    } else if (value.isString()) {
      write_text('s', value.asString(), out);
    } else if (value.isInteger()) {
      out += 'i' + std::to_string(value.asInteger()) + ';';
    } else if (value.isNumber()) {
      out += 'd' + std::to_string(value.asDouble()) + ';';
    } else {
      out += value.isNull() ? 'n' : value.isBool() && value.asBool() ? 't' : 'f';
    }
  }
  static void write_text(char kind, const std::string& text, std::string& out) {
    out += kind + std::to_string(text.size()) + ':' + text;
  }
};

using Make = valijson::constraints::Constraint* (*)(const json& value,
                                                    const CompiledDefinitions& all);

/// Passes the value of a keyword to the function that makes its constraint.
class OwnBuilder final : public valijson::ConstraintBuilder {
 public:
  OwnBuilder(Make make_constraint, const CompiledDefinitions& definitions)
      : make_(make_constraint), definitions_(&definitions) {}

  valijson::constraints::Constraint* make(const Adapter& value) const override {
    return make_(json_of(as_json(value)), *definitions_);
  }

 private:
  static json json_of(const NlohmannJsonAdapter& value) {
    if (value.isArray()) {
      json out = json::array();
      for (const NlohmannJsonAdapter item : value.getArray()) out.push_back(json_of(item));
      return out;
    }
    if (value.isObject()) {
      json out = json::object();
      for (const auto& [name, item] : value.getObject()) out[name] = json_of(item);
      return out;
    }
    if (value.isString()) return value.asString();
    if (value.isInteger()) return value.asInteger();
    return value.isBool() && value.asBool();
  }

  Make make_;
  const CompiledDefinitions* definitions_;
};

/// Calls `visit(keyword, value)` for each of our keywords anywhere in a lowered document.
template <class Visit>
void for_each_own_keyword(const json& node, const Visit& visit) {
  if (node.is_array()) {
    for (const json& item : node) for_each_own_keyword(item, visit);
  }
  if (!node.is_object()) return;
  for (const auto& [key, value] : node.items()) {
    if (key == "enum" || key == "const") continue;
    visit(key, value);
    for_each_own_keyword(value, visit);
  }
}

/// Adds the constraints for the keywords of tools/schema_lowering.h. They keep a pointer to
/// `definitions`, which must outlive every schema that the parser fills.
void add_own_constraints(valijson::SchemaParser& parser, const CompiledDefinitions& definitions) {
  const auto add = [&](const char* keyword, Make make) {
    parser.addConstraintBuilder(keyword, new OwnBuilder(make, definitions));  // the parser owns it
  };
  add(lowered::kPattern,
      [](const json& value, const CompiledDefinitions&) -> valijson::constraints::Constraint* {
        return new PatternConstraint(value.get<std::string>());
      });
  add(lowered::kFormat,
      [](const json& value, const CompiledDefinitions&) -> valijson::constraints::Constraint* {
        return new FormatConstraint(value.get<std::string>());
      });
  add(lowered::kMembers,
      [](const json& value, const CompiledDefinitions& all) -> valijson::constraints::Constraint* {
        return new MembersConstraint(value, all);
      });
  add(lowered::kContains,
      [](const json& value, const CompiledDefinitions& all) -> valijson::constraints::Constraint* {
        return new ContainsConstraint(value, all);
      });
  add(lowered::kUniqueItems,
      [](const json&, const CompiledDefinitions&) -> valijson::constraints::Constraint* {
        return new UniqueItemsConstraint();
      });
}

/// The names under `definitions` that kMembers and kContains of this document use. It also checks
/// that every pattern compiles.
/// Errors: kInvalid, reason `schema.pattern`.
Result<CompiledDefinitions> definitions_of_own_constraints(const json& lowered) {
  std::set<std::string> names;
  std::set<std::string> patterns;
  for_each_own_keyword(lowered, [&](const std::string& key, const json& value) {
    if (key == lowered::kPattern) patterns.insert(value.get<std::string>());
    if (key == lowered::kContains) names.insert(value.at("schema").get<std::string>());
    if (key != lowered::kMembers || !value.contains("patterns")) return;
    for (const json& pattern : value.at("patterns")) {
      patterns.insert(pattern.at(0).get<std::string>());
      names.insert(pattern.at(1).get<std::string>());
    }
    if (value.contains("rest")) names.insert(value.at("rest").get<std::string>());
  });
  for (const std::string& pattern : patterns) {
    const auto expression = compile_pattern(pattern);
    if (expression->ok()) continue;
    return fail(ErrorKind::kInvalid, "schema.pattern",
                "the schema's pattern '" + pattern + "' cannot be used: " + expression->error() +
                    " (RE2 syntax, without look-around and back-references)");
  }
  CompiledDefinitions out;
  for (const std::string& name : names) out.try_emplace(name);
  return out;
}

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
