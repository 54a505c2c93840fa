#include "engine/policy/toml_document.h"

#include <fmt/core.h>

#include <stdexcept>
#include <variant>

#include "engine/policy/toml_library.h"

namespace galley {
namespace {

TomlNode converted(const toml::node& node);

void convert_table(const toml::table& table, TomlNode& out) {
  out.entries.reserve(table.size());
  for (const auto& [key, value] : table) {
    TomlNode entry = converted(value);
    entry.key_line = key.source().begin.line;
    entry.key_column = key.source().begin.column;
    out.entries.push_back({std::string(key.str()), std::move(entry)});
  }
}

void convert_value(const toml::node& node, TomlNode& out) {
  switch (node.type()) {
    case toml::node_type::string:
      out.kind = TomlNode::Kind::kString;
      out.text = node.ref<std::string>();
      return;
    case toml::node_type::integer:
      out.kind = TomlNode::Kind::kInteger;
      out.integer = node.ref<int64_t>();
      return;
    case toml::node_type::floating_point:
      out.kind = TomlNode::Kind::kFloat;
      out.number = node.ref<double>();
      return;
    case toml::node_type::boolean:
      out.kind = TomlNode::Kind::kBoolean;
      out.flag = node.ref<bool>();
      return;
    default:
      out.kind = TomlNode::Kind::kTime;
  }
}

/// Recursion is bounded by the parser's own cap on nesting (TOML_MAX_NESTED_VALUES, 256).
TomlNode converted(const toml::node& node) {
  TomlNode out;
  out.line = node.source().begin.line;
  out.column = node.source().begin.column;
  if (const toml::table* table = node.as_table()) {
    convert_table(*table, out);
  } else if (const toml::array* array = node.as_array()) {
    out.kind = TomlNode::Kind::kArray;
    out.elements.reserve(array->size());
    for (const toml::node& element : *array) out.elements.push_back(converted(element));
  } else {
    convert_value(node, out);
  }
  return out;
}

std::variant<toml::table, TomlProblem> parse(std::string_view text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    return TomlProblem{at.line, at.column, std::string(error.description())};
  } catch (const std::logic_error& error) {
    return TomlProblem{0, 0, error.what()};
  }
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view key) const {
  for (const auto& [name, node] : entries) {
    if (name == key) return &node;
  }
  return nullptr;
}

std::string_view TomlNode::kind_name() const {
  switch (kind) {
    case Kind::kTable:
      return "a table";
    case Kind::kArray:
      return "an array";
    case Kind::kString:
      return "a string";
    case Kind::kInteger:
      return "an integer";
    case Kind::kFloat:
      return "a floating-point number";
    case Kind::kBoolean:
      return "a boolean";
    case Kind::kTime:
      return "a date or time";
  }
  return "a value";
}

std::optional<TomlProblem> find_toml_problem(std::string_view text) {
  auto parsed = parse(text);
  if (auto* problem = std::get_if<TomlProblem>(&parsed)) return std::move(*problem);
  return {};
}

Result<TomlNode> parse_toml(std::string_view text, std::string_view file) {
  const auto parsed = parse(text);
  if (const auto* table = std::get_if<toml::table>(&parsed)) return converted(*table);
  const auto& problem = std::get<TomlProblem>(parsed);
  const std::string place =
      problem.line == 0 ? "" : fmt::format(":{}:{}", problem.line, problem.column);
  return fail(ErrorKind::kInvalid, "config.syntax",
              fmt::format("{}{}: {}", file, place, problem.text), std::string(file));
}

}  // namespace galley
