#include "tools/schema_constraints.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <valijson/constraint_builder.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include "tools/schema_formats.h"
#include "tools/schema_lowering.h"

namespace galley {
namespace {

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

}  // namespace

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

}  // namespace galley
