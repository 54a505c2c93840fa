#include "tools/schema_lowering.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "tools/json_input.h"
#include "tools/schema_references.h"

namespace galley {
namespace {

using nlohmann::json;

std::string shown_place(const std::string& where) {
  return where.empty() ? "the root" : "'" + where + "'";
}

tl::unexpected<Error> unsupported(const std::string& keyword, const std::string& where,
                                  const std::string& why) {
  return fail(ErrorKind::kInvalid, "schema.unsupported",
              "the schema keyword '" + keyword + "' at " + shown_place(where) + " " + why);
}

tl::unexpected<Error> malformed(const std::string& where, const std::string& why) {
  return fail(ErrorKind::kInvalid, "schema.syntax",
              "the schema at " + shown_place(where) + " is malformed: " + why);
}

std::string child(const std::string& where, const std::string& token) {
  return member_pointer(where, token);
}

std::string child(const std::string& where, size_t index) {
  return where + "/" + std::to_string(index);
}

/// Whether a schema at this place describes a member of an object.
bool is_property(const std::string& where) {
  const size_t name = where.rfind('/');
  if (name == std::string::npos || name == 0) return false;
  const size_t holder = where.rfind('/', name - 1);
  return where.substr(holder + 1, name - holder - 1) == "properties";
}

/// Undoes percent-encoding of a URI fragment; a malformed escape stays as it is.
std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 &&
        digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

/// One schema document while it is lowered to draft 7.
class Lowering {
 public:
  explicit Lowering(const json& root) : root_(root) { find_anchors(root, ""); }

  Result<json> run() {
    GALLEY_ASSIGN(json top, lower(root_, ""));
    json definitions = json::object();
    while (!pending_.empty()) {
      GALLEY_TRY(check_reference_count(names_.size()));
      const std::string pointer = pending_.back();
      pending_.pop_back();
      GALLEY_ASSIGN(json lowered_target, lower(root_.at(json::json_pointer(pointer)), pointer));
      definitions[names_.at(pointer)] = std::move(lowered_target);
    }
    if (!top.is_object()) top = json{{"allOf", json::array({top})}};
    if (top.contains("$ref")) top = json{{"allOf", json::array({top})}};
    top["definitions"] = std::move(definitions);
    return top;
  }

 private:
  void find_anchors(const json& node, const std::string& where) {
    if (node.is_object()) {
      const auto anchor = node.find("$anchor");
      if (anchor != node.end() && anchor->is_string()) anchors_[anchor->get<std::string>()] = where;
      for (const auto& [key, value] : node.items()) find_anchors(value, child(where, key));
    } else if (node.is_array()) {
      for (size_t i = 0; i < node.size(); ++i) find_anchors(node[i], child(where, i));
    }
  }

  /// The name under `definitions` of the schema at `pointer` in the original.
  std::string define(const std::string& pointer) {
    const auto [at, is_new] = names_.try_emplace(pointer, "r" + std::to_string(names_.size()));
    if (is_new) pending_.push_back(pointer);
    return at->second;
  }

  Result<json> lower(const json& node, const std::string& where) {
    if (++places_ > kMaxSchemaPlaces) {
      return fail(ErrorKind::kQuota, "limit.schema_places",
                  "the schema has more than the " + std::to_string(kMaxSchemaPlaces) +
                      " places that are judged");
    }
    if (node.is_boolean()) {
      return node.get<bool>() ? json::object() : json{{"not", json::object()}};
    }
    if (!node.is_object()) return malformed(where, "a schema is an object or a boolean");
    json out = json::object();
    for (const auto& [key, value] : node.items()) {
      GALLEY_TRY(lower_keyword(key, value, where, out));
    }
    GALLEY_TRY(lower_array_keywords(node, where, out));
    GALLEY_TRY(lower_object_keywords(node, where, out));
    GALLEY_TRY(lower_format(node, where, out));
    lift_required(node, out);
    GALLEY_TRY(lower_dependencies(node, where, out));
    GALLEY_TRY(lower_conjunction(node, where, out));
    return out;
  }

  Result<void> lower_keyword(const std::string& key, const json& value, const std::string& where,
                             json& out) {
    const auto known = schema_keywords().find(key);
    if (known == schema_keywords().end()) {
      if (key.starts_with("x-")) return {};
      std::vector<std::string> names;
      for (const auto& [name, kind] : schema_keywords()) names.push_back(name);
      return unsupported(key, where, "is not known" + did_you_mean(key, names));
    }
    const std::string here = child(where, key);
    switch (known->second) {
      case SchemaKeyword::kAnnotation:
      case SchemaKeyword::kGrouped:
        if (key == "$schema") return check_dialect(value, where);
        return {};
      case SchemaKeyword::kPlain:
        if (key == "required" && value.is_boolean() && is_property(where)) return {};
        out[key] = value;
        return {};
      case SchemaKeyword::kSchema: {
        GALLEY_ASSIGN(out[key], lower(value, here));
        return {};
      }
      case SchemaKeyword::kSchemas: {
        GALLEY_ASSIGN(out[key], lower_all(value, here));
        return {};
      }
      case SchemaKeyword::kSchemaMap: {
        GALLEY_ASSIGN(out[key], lower_map(value, here));
        return {};
      }
      case SchemaKeyword::kUnsupported:
        if (where.empty() && (key == "$id" || key == "id")) return {};
        return unsupported(key, where, "cannot be judged; write the schema without it");
    }
    return {};
  }

  static Result<void> check_dialect(const json& value, const std::string& where) {
    const std::string name = value.is_string() ? value.get<std::string>() : "";
    for (const char* dialect : {"2020-12", "2019-09", "draft-07", "draft-06"}) {
      if (name.find(dialect) != std::string::npos) return {};
    }
    return unsupported("$schema", where, "names a dialect that is not taken; use 2020-12");
  }

  Result<json> lower_all(const json& value, const std::string& where) {
    if (!value.is_array() || value.empty()) return malformed(where, "wanted an array of schemas");
    json out = json::array();
    for (size_t i = 0; i < value.size(); ++i) {
      GALLEY_ASSIGN(json item, lower(value[i], child(where, i)));
      out.push_back(std::move(item));
    }
    return out;
  }

  Result<json> lower_map(const json& value, const std::string& where) {
    if (!value.is_object()) return malformed(where, "wanted an object of schemas");
    json out = json::object();
    for (const auto& [key, item] : value.items()) {
      GALLEY_ASSIGN(out[key], lower(item, child(where, key)));
    }
    return out;
  }

  Result<void> lower_array_keywords(const json& node, const std::string& where, json& out) {
    const bool has_prefix = node.contains("prefixItems");
    const bool is_draft7_tuple = node.contains("items") && node["items"].is_array();
    std::optional<std::string> rest;  // the keyword for items after a tuple
    if (has_prefix || is_draft7_tuple) {
      const char* tuple = has_prefix ? "prefixItems" : "items";
      GALLEY_ASSIGN(out["items"], lower_all(node[tuple], child(where, tuple)));
      rest = has_prefix ? "items" : "additionalItems";
    } else if (node.contains("items")) {
      GALLEY_ASSIGN(out["items"], lower(node["items"], child(where, "items")));
    }
    if (rest && node.contains(*rest)) {
      GALLEY_ASSIGN(out["additionalItems"], lower(node[*rest], child(where, *rest)));
    }
    if (node.contains("unevaluatedItems")) {
      GALLEY_TRY(check_nothing_evaluates(node, "unevaluatedItems", where));
      const bool judged = node.contains("items") && (!rest || node.contains(*rest));
      if (!judged) {
        const char* target = rest ? "additionalItems" : "items";
        GALLEY_ASSIGN(out[target],
                      lower(node["unevaluatedItems"], child(where, "unevaluatedItems")));
      }
    }
    if (node.contains("uniqueItems") && node["uniqueItems"] == true) {
      out[lowered::kUniqueItems] = true;
    }
    return lower_contains(node, where, out);
  }

  Result<void> lower_contains(const json& node, const std::string& where, json& out) {
    if (!node.contains("contains")) return {};
    const auto count = [&](const char* key, uint64_t otherwise) -> Result<uint64_t> {
      if (!node.contains(key)) return otherwise;
      if (!node[key].is_number_unsigned()) return malformed(child(where, key), "wanted a count");
      return node[key].get<uint64_t>();
    };
    GALLEY_ASSIGN(const uint64_t min, count("minContains", 1));
    GALLEY_ASSIGN(const uint64_t max, count("maxContains", UINT64_MAX));
    out[lowered::kContains] =
        json{{"schema", define(child(where, "contains"))}, {"min", min}, {"max", max}};
    return {};
  }

  Result<void> lower_object_keywords(const json& node, const std::string& where, json& out) {
    if (node.contains("pattern")) {
      if (!node["pattern"].is_string()) {
        return malformed(child(where, "pattern"), "wanted a string");
      }
      out[lowered::kPattern] = node["pattern"];
    }
    std::string rest = "additionalProperties";
    if (!node.contains(rest) && node.contains("unevaluatedProperties")) {
      rest = "unevaluatedProperties";
      GALLEY_TRY(check_nothing_evaluates(node, rest, where));
    }
    if (node.contains("patternProperties")) return lower_members(node, rest, where, out);
    if (!node.contains(rest)) return {};
    if (node[rest].is_boolean()) {
      out["additionalProperties"] = node[rest];  // a clearer library message than with {"not": {}}
      return {};
    }
    GALLEY_ASSIGN(out["additionalProperties"], lower(node[rest], child(where, rest)));
    return {};
  }

  Result<void> lower_members(const json& node, const std::string& rest, const std::string& where,
                             json& out) {
    const json& patterns = node["patternProperties"];
    const std::string here = child(where, "patternProperties");
    if (!patterns.is_object()) return malformed(here, "wanted an object of schemas");
    json members = json::object();
    members["patterns"] = json::array();
    for (const auto& [pattern, schema] : patterns.items()) {
      members["patterns"].push_back(json::array({pattern, define(child(here, pattern))}));
    }
    members["named"] = json::array();
    if (node.contains("properties") && node["properties"].is_object()) {
      for (const auto& [name, schema] : node["properties"].items()) {
        members["named"].push_back(name);
      }
    }
    if (node.contains(rest)) members["rest"] = define(child(where, rest));
    out[lowered::kMembers] = std::move(members);
    return {};
  }

  static Result<void> lower_format(const json& node, const std::string& where, json& out) {
    if (!node.contains("format")) return {};
    if (!node["format"].is_string()) return malformed(child(where, "format"), "wanted a string");
    if (is_checked_format(node["format"].get<std::string>())) {
      out[lowered::kFormat] = node["format"];
    }
    return {};
  }

  /// In draft 3, `required: true` is inside a property. It becomes a name in the parent's list, and
  /// `$comment` of the result records that.
  static void lift_required(const json& node, json& out) {
    if (!node.contains("properties") || !node["properties"].is_object()) return;
    for (const auto& [name, property] : node["properties"].items()) {
      if (!property.is_object() || property.value("required", json()) != true) continue;
      json& required = out["required"];
      if (required.is_null()) required = json::array();
      if (!required.is_array()) return;  // the library reports it as malformed
      if (std::find(required.begin(), required.end(), name) == required.end()) {
        required.push_back(name);
      }
      std::string note = out.value("$comment", std::string("required inside a property, lifted:"));
      out["$comment"] = note + " " + name;
    }
  }

  /// `unevaluated…` equals `additional…` only without a neighbour that evaluates in place.
  static Result<void> check_nothing_evaluates(const json& node, const std::string& keyword,
                                              const std::string& where) {
    for (const char* applicator :
         {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "not", "contains"}) {
      if (node.contains(applicator)) {
        return unsupported(keyword, where,
                           std::string("cannot be judged next to '") + applicator +
                               "'; use 'additionalProperties' or list the properties");
      }
    }
    return {};
  }

  Result<void> lower_dependencies(const json& node, const std::string& where, json& out) {
    json wanted = json::object();  // property -> conjunction of its dependencies
    for (const char* key : {"dependencies", "dependentRequired", "dependentSchemas"}) {
      if (!node.contains(key)) continue;
      const std::string here = child(where, key);
      if (!node[key].is_object()) return malformed(here, "wanted an object");
      for (const auto& [property, value] : node[key].items()) {
        json schema;
        if (value.is_array()) {
          schema = json{{"required", value}};
        } else {
          GALLEY_ASSIGN(schema, lower(value, child(here, property)));
        }
        wanted[property].push_back(std::move(schema));
      }
    }
    for (const auto& [property, schemas] : wanted.items()) {
      out["dependencies"][property] = json{{"allOf", schemas}};
    }
    return {};
  }

  /// allOf and $ref: draft 7 ignores the neighbours of a $ref, 2020-12 does not.
  Result<void> lower_conjunction(const json& node, const std::string& where, json& out) {
    json all = json::array();
    if (node.contains("allOf")) {
      GALLEY_ASSIGN(all, lower_all(node["allOf"], child(where, "allOf")));
    }
    if (node.contains("$ref")) {
      GALLEY_ASSIGN(json reference, lower_reference(node["$ref"], where));
      if (out.empty() && all.empty()) {
        out = std::move(reference);
        return {};
      }
      all.push_back(std::move(reference));
    }
    if (!all.empty()) out["allOf"] = std::move(all);
    return {};
  }

  Result<json> lower_reference(const json& value, const std::string& where) {
    const auto bad = [&](const std::string& why) {
      return fail(ErrorKind::kInvalid, "schema.reference",
                  "the $ref at " + shown_place(where) + " " + why);
    };
    if (!value.is_string()) return bad("is not a string");
    const auto text = value.get<std::string>();
    if (text.empty() || text.front() != '#') {
      return bad("names '" + text + "'; only references within the document are followed");
    }
    std::string pointer = percent_decoded(std::string_view(text).substr(1));
    if (!pointer.empty() && pointer.front() != '/') {
      const auto anchor = anchors_.find(pointer);
      if (anchor == anchors_.end())
        return bad("names the anchor '" + pointer + "', which is missing");
      pointer = anchor->second;
    }
    if (!names_place(pointer)) return bad("names '" + text + "', which is missing");
    return json{{"$ref", "#/definitions/" + define(pointer)}};
  }

  bool names_place(const std::string& pointer) const {
    try {
      return root_.contains(json::json_pointer(pointer));
    } catch (const json::exception&) {
      return false;
    }
  }

  const json& root_;
  std::map<std::string, std::string> anchors_;
  std::map<std::string, std::string> names_;  ///< pointer in the original -> name
  std::vector<std::string> pending_;
  size_t places_ = 0;
};

constexpr size_t kMaxEmailBytes = 254;      // RFC 5321, 4.5.3.1 and its erratum 1690
constexpr size_t kMaxEmailNameBytes = 64;   // the same
constexpr size_t kMaxRegexBytes = 1 << 16;  // a pattern in a document; RE2 limits its program

bool is_uri(std::string_view text) {
  // RFC 3986, appendix A, with its names for the parts.
  static const re2::RE2 kUri([] {
    const std::string pchar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
    const std::string userinfo = "(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?";
    const std::string reg_name = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*";
    const std::string literal =
        "\\[(?:[0-9A-Fa-f:.]+|v[0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]";
    const std::string authority =
        "//" + userinfo + "(?:" + literal + "|" + reg_name + ")(?::[0-9]*)?(?:/" + pchar + "*)*";
    const std::string path = "/?(?:" + pchar + "+(?:/" + pchar + "*)*)?";
    const std::string rest = "(?:" + pchar + "|[/?])*";
    return "[A-Za-z][A-Za-z0-9+.-]*:(?:" + authority + "|" + path + ")(?:\\?" + rest + ")?(?:#" +
           rest + ")?";
  }());
  return re2::RE2::FullMatch(text, kUri);
}

bool is_leap_year(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

bool is_date_time(std::string_view text) {
  static const re2::RE2 kDateTime(
      R"((\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:(\d\d)(?:\.\d+)?)"
      R"((?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))");
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int second = 0;
  if (!re2::RE2::FullMatch(text, kDateTime, &year, &month, &day, &hour, &second)) return false;
  static constexpr std::array kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1 || second > 60) return false;  // 60: a leap second
  const int days = month == 2 && is_leap_year(year) ? 29 : kDays[static_cast<size_t>(month) - 1];
  return day <= days;
}

bool is_email(std::string_view text) {
  static const re2::RE2 kEmail(
      R"(([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*))"
      R"(@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)"
      R"((?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*)");
  std::string name;
  return text.size() <= kMaxEmailBytes && re2::RE2::FullMatch(text, kEmail, &name) &&
         name.size() <= kMaxEmailNameBytes;
}

bool is_uuid(std::string_view text) {
  static const re2::RE2 kUuid("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
  return re2::RE2::FullMatch(text, kUuid);
}

bool is_regex(std::string_view text) {
  if (text.size() > kMaxRegexBytes) return false;
  re2::RE2::Options options;
  options.set_log_errors(false);
  return re2::RE2(text, options).ok();
}

struct Format {
  std::string_view name;
  bool (*matches)(std::string_view text);
};

constexpr std::array kFormats = {Format{"uri", is_uri}, Format{"date-time", is_date_time},
                                 Format{"email", is_email}, Format{"uuid", is_uuid},
                                 Format{"regex", is_regex}};

const Format* format_of(std::string_view name) {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

}  // namespace

Result<json> lower_schema(const json& schema) {
  Lowering lowering(schema);
  GALLEY_ASSIGN(json document, lowering.run());
  GALLEY_TRY(check_references_end(document));
  return document;
}

bool is_checked_format(std::string_view name) { return format_of(name) != nullptr; }

bool has_format(std::string_view name, std::string_view text) {
  const Format* format = format_of(name);
  return format == nullptr || format->matches(text);
}

}  // namespace galley
