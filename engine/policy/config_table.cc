#include "engine/policy/config_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace galley {
namespace {

constexpr size_t kMaxArrayEntries = 10'000;

std::string_view type_name(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a floating-point number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

std::string array_text(const std::vector<std::string>& values) {
  std::string text = "[";
  for (const auto& value : values) text += (text.size() > 1 ? ", \"" : "\"") + value + "\"";
  return text + "]";
}

/// "64 KiB" -> 65536. Empty when it is no size.
std::optional<uint64_t> parse_size(std::string_view text) {
  uint64_t number = 0;
  size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    if (number > std::numeric_limits<uint64_t>::max() / 100) return {};
    number = number * 10 + static_cast<uint64_t>(text[at] - '0');
  }
  if (at == 0) return {};
  while (at < text.size() && text[at] == ' ') ++at;
  static constexpr std::pair<std::string_view, uint64_t> kUnits[] = {{"", 1},
                                                                     {"B", 1},
                                                                     {"KiB", uint64_t{1} << 10U},
                                                                     {"MiB", uint64_t{1} << 20U},
                                                                     {"GiB", uint64_t{1} << 30U},
                                                                     {"TiB", uint64_t{1} << 40U},
                                                                     {"kB", 1'000},
                                                                     {"KB", 1'000},
                                                                     {"MB", 1'000'000},
                                                                     {"GB", 1'000'000'000},
                                                                     {"TB", 1'000'000'000'000}};
  for (const auto& [unit, factor] : kUnits) {
    if (text.substr(at) != unit) continue;
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / factor) return {};
    return number * factor;
  }
  return {};
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string closest_word(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kMaxWord = 64;
  if (word.size() > kMaxWord) return {};
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  for (const auto& candidate : candidates) {  // `timeout` for `timeout_ms`
    if (word.size() >= 3 && (candidate.find(word) != candidate.npos ||
                             (candidate.size() >= 3 && word.find(candidate) != word.npos))) {
      return candidate;
    }
  }
  return {};
}

Result<toml::table> parse_toml(std::string_view text, std::string_view file) {
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    const auto& at = error.source().begin;
    return fail(
        ErrorKind::kInvalid, "config.syntax",
        fmt::format("{}:{}:{}: {}", file, at.line, at.column, std::string(error.description())),
        std::string(file));
  } catch (const std::exception& error) {
    return fail(ErrorKind::kInvalid, "config.syntax", fmt::format("{}: {}", file, error.what()),
                std::string(file));
  }
}

void ConfigReading::fail(const toml::source_region& where, std::string reason,
                         const std::string& what) {
  if (error) return;
  error =
      Error{ErrorKind::kInvalid, std::move(reason),
            fmt::format("{}:{}:{}: {}", file, where.begin.line, where.begin.column, what), file, 0};
}

std::string ConfigTable::full(std::string_view key) const {
  return prefix_.empty() ? std::string(key) : fmt::format("{}.{}", prefix_, key);
}

uint32_t ConfigTable::line_of(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node == nullptr ? 0 : node->source().begin.line;
}

const toml::node* ConfigTable::ask(std::string_view key, std::string_view type,
                                   std::string default_value) {
  known_.emplace_back(key);
  if (is_dry()) {
    reading_->record->push_back({full(key), std::string(type), std::move(default_value)});
  }
  return has_failed() ? nullptr : table_->get(key);
}

void ConfigTable::wrong_type(std::string_view key, const toml::node& node,
                             std::string_view wanted) {
  reading_->fail(node.source(), "config.type",
                 fmt::format("`{}` must be {}, not {}", full(key), wanted, type_name(node)));
}

void ConfigTable::bad_choice(std::string_view key, const toml::node& node, std::string_view text,
                             const std::vector<std::string>& names) {
  std::string all;
  for (const auto& name : names) all += (all.empty() ? "\"" : ", \"") + name + "\"";
  const std::string meant = closest_word(text, names);
  reading_->fail(
      node.source(), "config.value",
      fmt::format("`{}` cannot be \"{}\"{}; it takes {}", full(key), text,
                  meant.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", meant), all));
}

void ConfigTable::refuse(std::string_view key, const std::string& what) {
  const toml::node* node = table_->get(key);
  reading_->fail(node == nullptr ? table_->source() : node->source(), "config.value",
                 fmt::format("`{}` {}", full(key), what));
}

void ConfigTable::require(std::string_view key, std::string_view example) {
  if (is_dry() || has_failed() || has(key)) return;
  reading_->fail(table_->source(), "config.missing_key",
                 fmt::format("`{}` is missing; for example {} = {}", full(key), key, example));
}

void ConfigTable::text(std::string_view key, std::string& out) {
  const toml::node* node = ask(key, "string", "\"" + out + "\"");
  if (node == nullptr) return;
  const auto value = node->value_exact<std::string>();
  if (!value) return wrong_type(key, *node, "a string");
  out = *value;
}

void ConfigTable::flag(std::string_view key, bool& out) {
  const toml::node* node = ask(key, "boolean", out ? "true" : "false");
  if (node == nullptr) return;
  const auto value = node->value_exact<bool>();
  if (!value) return wrong_type(key, *node, "true or false");
  out = *value;
}

std::optional<uint64_t> ConfigTable::read_count(std::string_view key, const toml::node& node,
                                                uint64_t max) {
  const auto value = node.value_exact<int64_t>();
  if (!value) {
    wrong_type(key, node, "an integer");
    return {};
  }
  if (*value < 0 || static_cast<uint64_t>(*value) > max) {
    reading_->fail(node.source(), "config.value",
                   fmt::format("`{}` must lie between 0 and {}", full(key), max));
    return {};
  }
  return static_cast<uint64_t>(*value);
}

void ConfigTable::count(std::string_view key, uint32_t& out) {
  const toml::node* node = ask(key, "integer", std::to_string(out));
  if (node == nullptr) return;
  const auto value = read_count(key, *node, std::numeric_limits<uint32_t>::max());
  if (value) out = static_cast<uint32_t>(*value);
}

void ConfigTable::count(std::string_view key, uint64_t& out) {
  const toml::node* node = ask(key, "integer", std::to_string(out));
  if (node == nullptr) return;
  if (const auto value = read_count(key, *node, std::numeric_limits<int64_t>::max())) out = *value;
}

void ConfigTable::count(std::string_view key, std::optional<uint64_t>& out) {
  const toml::node* node = ask(key, "integer", out ? std::to_string(*out) : "none");
  if (node == nullptr) return;
  if (const auto value = read_count(key, *node, std::numeric_limits<int64_t>::max())) out = *value;
}

std::optional<uint64_t> ConfigTable::read_size(std::string_view key, const toml::node& node) {
  const auto text = node.value_exact<std::string>();
  if (!text) {
    if (!node.is_integer()) {
      wrong_type(key, node, "a number of bytes, or text like \"10 MiB\"");
      return {};
    }
    return read_count(key, node, std::numeric_limits<int64_t>::max());
  }
  const auto value = parse_size(*text);
  if (!value) {
    reading_->fail(node.source(), "config.value",
                   fmt::format("`{}` cannot be \"{}\"; write bytes, or a number with B, KiB, MiB, "
                               "GiB, TiB, kB, MB, GB or TB",
                               full(key), *text));
  }
  return value;
}

void ConfigTable::size(std::string_view key, uint64_t& out) {
  const toml::node* node = ask(key, "size", std::to_string(out));
  if (node == nullptr) return;
  if (const auto value = read_size(key, *node)) out = *value;
}

void ConfigTable::size(std::string_view key, std::optional<uint64_t>& out) {
  const toml::node* node = ask(key, "size", out ? std::to_string(*out) : "none");
  if (node == nullptr) return;
  if (const auto value = read_size(key, *node)) out = *value;
}

void ConfigTable::texts(std::string_view key, std::vector<std::string>& out) {
  const toml::node* node = ask(key, "array of strings", array_text(out));
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return wrong_type(key, *node, "an array of strings");
  if (array->size() > kMaxArrayEntries) {
    return refuse(key, fmt::format("has more than {} entries", kMaxArrayEntries));
  }
  out.clear();
  for (const toml::node& element : *array) {
    const auto value = element.value_exact<std::string>();
    if (!value) return wrong_type(key, element, "an array of strings only");
    out.push_back(*value);
  }
}

void ConfigTable::numbers(std::string_view key, std::vector<int>& out) {
  std::string default_value = "[";
  for (const int value : out) {
    default_value += (default_value.size() > 1 ? ", " : "") + std::to_string(value);
  }
  const toml::node* node = ask(key, "array of integers", default_value + "]");
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return wrong_type(key, *node, "an array of integers");
  out.clear();
  for (const toml::node& element : *array) {
    const auto value = element.value_exact<int64_t>();
    if (!value) return wrong_type(key, element, "an array of integers only");
    if (*value < 0 || *value > 255) return refuse(key, "takes exit statuses from 0 to 255");
    out.push_back(static_cast<int>(*value));
  }
}

void ConfigTable::text_map(std::string_view key, std::map<std::string, std::string>& out) {
  const toml::node* node = ask(key, "table of strings", "{}");
  if (node == nullptr) return;
  const toml::table* table = node->as_table();
  if (table == nullptr) return wrong_type(key, *node, "a table of strings");
  for (const auto& [name, element] : *table) {
    const auto value = element.value_exact<std::string>();
    if (!value) return wrong_type(key, element, "a table of strings only");
    out.emplace(std::string(name.str()), *value);
  }
}

void ConfigTable::globs(std::string_view key, GlobList& out) {
  std::vector<std::string> patterns;
  texts(key, patterns);
  if (is_dry() || has_failed() || !has(key)) return;
  const toml::array& array = *table_->get(key)->as_array();
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (auto glob = Glob::parse(patterns[i]); !glob) {
      return reading_->fail(array[i].source(), "config.value",
                            fmt::format("`{}`: {}", full(key), glob.error().message));
    }
  }
  if (auto list = GlobList::parse(patterns)) out = std::move(*list);
}

void ConfigTable::table(std::string_view key, const std::function<void(ConfigTable&)>& read) {
  known_.emplace_back(key);
  static const toml::table kEmpty;
  const toml::node* node = has_failed() ? nullptr : table_->get(key);
  if (node == nullptr && !is_dry()) return;
  const toml::table* table = node == nullptr ? &kEmpty : node->as_table();
  if (table == nullptr) {
    return wrong_type(key, *node, fmt::format("a table, written [{}]", full(key)));
  }
  ConfigTable inner(*reading_, *table, full(key));
  read(inner);
  inner.finish();
}

void ConfigTable::tables(std::string_view key, const std::function<void(ConfigTable&)>& read) {
  known_.emplace_back(key);
  if (is_dry()) {
    const toml::table empty;
    ConfigTable inner(*reading_, empty, full(key) + "[]");
    return read(inner);
  }
  const toml::node* node = has_failed() ? nullptr : table_->get(key);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  const std::string wanted = fmt::format("an array of tables, each written [[{}]]", full(key));
  if (array == nullptr) return wrong_type(key, *node, wanted);
  if (array->size() > kMaxArrayEntries) {
    return refuse(key, fmt::format("has more than {} entries", kMaxArrayEntries));
  }
  for (const toml::node& element : *array) {
    const toml::table* table = element.as_table();
    if (table == nullptr) return wrong_type(key, element, wanted);
    ConfigTable inner(*reading_, *table, full(key));
    read(inner);
    inner.finish();
  }
}

void ConfigTable::named_tables(std::string_view key,
                               const std::function<void(std::string_view, ConfigTable&)>& read) {
  known_.emplace_back(key);
  if (is_dry()) {
    const toml::table empty;
    ConfigTable inner(*reading_, empty, full(key) + ".NAME");
    return read("NAME", inner);
  }
  const toml::node* node = has_failed() ? nullptr : table_->get(key);
  if (node == nullptr) return;
  const toml::table* table = node->as_table();
  if (table == nullptr) {
    return wrong_type(key, *node, fmt::format("tables, each written [{}.NAME]", full(key)));
  }
  for (const auto& [name, element] : *table) {
    const toml::table* entry = element.as_table();
    if (entry == nullptr) return wrong_type(name.str(), element, "a table");
    ConfigTable inner(*reading_, *entry, fmt::format("{}.{}", full(key), name.str()));
    read(name.str(), inner);
    inner.finish();
  }
}

void ConfigTable::finish() {
  if (has_failed()) return;
  for (const auto& [key, node] : *table_) {
    const std::string_view name = key.str();
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string meant = closest_word(name, known_);
    std::string all;
    for (const auto& known : known_) all += (all.empty() ? "" : ", ") + known;
    return reading_->fail(
        key.source(), "config.unknown_key",
        fmt::format(
            "unknown key `{}`; {}", full(name),
            meant.empty() ? "known here: " + all : fmt::format("did you mean `{}`?", full(meant))));
  }
}

}  // namespace galley
