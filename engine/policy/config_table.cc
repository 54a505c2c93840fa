#include "engine/policy/config_table.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/limits.h"
#include "base/text.h"

namespace galley {
namespace {

constexpr size_t kMaxArrayEntries = 10'000;

std::string array_text(const std::vector<std::string>& values) {
  return values.empty() ? "[]" : "[\"" + join(values, "\", \"") + "\"]";
}

/// "64 KiB" -> 65536. Returns nullopt when the text is not a size.
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

}  // namespace

void ConfigReading::fail(const TomlNode& where, std::string reason, const std::string& what) {
  if (error) return;
  error = Error{ErrorKind::kInvalid, std::move(reason),
                fmt::format("{}:{}:{}: {}", file, where.line, where.column, what), file, 0};
}

std::string ConfigTable::full(std::string_view key) const {
  return prefix_.empty() ? std::string(key) : fmt::format("{}.{}", prefix_, key);
}

uint32_t ConfigTable::line_of(std::string_view key) const {
  const TomlNode* node = table_->find(key);
  return node == nullptr ? 0 : node->line;
}

const TomlNode* ConfigTable::ask(std::string_view key, std::string_view type,
                                 std::string default_value) {
  known_.emplace_back(key);
  if (is_dry()) {
    reading_->record->push_back({full(key), std::string(type), std::move(default_value), "", ""});
  }
  return has_failed() ? nullptr : table_->find(key);
}

void ConfigTable::wrong_type(std::string_view key, const TomlNode& node, std::string_view wanted) {
  reading_->fail(node, "config.type",
                 fmt::format("`{}` must be {}, not {}", full(key), wanted, node.kind_name()));
}

void ConfigTable::bad_choice(std::string_view key, const TomlNode& node,
                             const std::vector<std::string>& names) {
  reading_->fail(node, "config.value",
                 fmt::format("`{}` cannot be \"{}\"; it takes \"{}\"{}", full(key), node.text,
                             join(names, "\", \""), did_you_mean(node.text, names)));
}

void ConfigTable::refuse(std::string_view key, const std::string& what) {
  const TomlNode* node = table_->find(key);
  reading_->fail(node == nullptr ? *table_ : *node, "config.value",
                 fmt::format("`{}` {}", full(key), what));
}

void ConfigTable::require(std::string_view key, std::string_view example) {
  if (is_dry() || has(key) || !missing_.empty()) return;
  missing_ = fmt::format("{} = {}", key, example);
}

void ConfigTable::text(std::string_view key, std::string& out) {
  const TomlNode* node = ask(key, "string", "\"" + out + "\"");
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kString) return wrong_type(key, *node, "a string");
  out = node->text;
}

void ConfigTable::flag(std::string_view key, bool& out) {
  const TomlNode* node = ask(key, "boolean", out ? "true" : "false");
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kBoolean) return wrong_type(key, *node, "true or false");
  out = node->flag;
}

std::optional<uint64_t> ConfigTable::read_count(std::string_view key, const TomlNode& node,
                                                uint64_t max) {
  if (node.kind != TomlNode::Kind::kInteger) {
    wrong_type(key, node, "an integer");
    return {};
  }
  if (node.integer < 0 || static_cast<uint64_t>(node.integer) > max) {
    reading_->fail(node, "config.value",
                   fmt::format("`{}` must lie between 0 and {}", full(key), max));
    return {};
  }
  return static_cast<uint64_t>(node.integer);
}

void ConfigTable::count(std::string_view key, std::optional<uint64_t>& out, uint64_t max) {
  const TomlNode* node = ask(key, "integer", out ? std::to_string(*out) : "none");
  if (node == nullptr) return;
  if (const auto value = read_count(key, *node, max)) out = *value;
}

std::optional<uint64_t> ConfigTable::read_size(std::string_view key, const TomlNode& node) {
  if (node.kind != TomlNode::Kind::kString) {
    if (node.kind != TomlNode::Kind::kInteger) {
      wrong_type(key, node, "a number of bytes, or text like \"10 MiB\"");
      return {};
    }
    return read_count(key, node, kAnyCount);
  }
  const auto value = parse_size(node.text);
  if (!value) {
    reading_->fail(node, "config.value",
                   fmt::format("`{}` cannot be \"{}\"; write bytes, or a number with B, KiB, MiB, "
                               "GiB, TiB, kB, MB, GB or TB",
                               full(key), node.text));
  }
  return value;
}

void ConfigTable::size(std::string_view key, std::optional<uint64_t>& out) {
  const TomlNode* node = ask(key, "size", out ? std::to_string(*out) : "none");
  if (node == nullptr) return;
  if (const auto value = read_size(key, *node)) out = *value;
}

void ConfigTable::texts(std::string_view key, std::vector<std::string>& out) {
  const TomlNode* node = ask(key, "array of strings", array_text(out));
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kArray) return wrong_type(key, *node, "an array of strings");
  if (node->elements.size() > kMaxArrayEntries) {
    return refuse(key, fmt::format("has more than {} entries", kMaxArrayEntries));
  }
  out.clear();
  for (const TomlNode& element : node->elements) {
    if (element.kind != TomlNode::Kind::kString)
      return wrong_type(key, element, "an array of strings only");
    out.push_back(element.text);
  }
}

void ConfigTable::numbers(std::string_view key, std::vector<int>& out) {
  const TomlNode* node = ask(key, "array of integers", fmt::format("[{}]", fmt::join(out, ", ")));
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kArray) return wrong_type(key, *node, "an array of integers");
  out.clear();
  for (const TomlNode& element : node->elements) {
    if (element.kind != TomlNode::Kind::kInteger) {
      return wrong_type(key, element, "an array of integers only");
    }
    if (element.integer < 0 || element.integer > 255)
      return refuse(key, "takes exit statuses from 0 to 255");
    out.push_back(static_cast<int>(element.integer));
  }
}

void ConfigTable::text_map(std::string_view key, std::map<std::string, std::string>& out) {
  const TomlNode* node = ask(key, "table of strings", "{}");
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kTable) return wrong_type(key, *node, "a table of strings");
  for (const auto& [name, element] : node->entries) {
    if (element.kind != TomlNode::Kind::kString)
      return wrong_type(key, element, "a table of strings only");
    out.emplace(name, element.text);
  }
}

void ConfigTable::globs(std::string_view key, GlobList& out) {
  std::vector<std::string> patterns;
  texts(key, patterns);
  if (is_dry() || has_failed() || !has(key)) return;
  const std::vector<TomlNode>& array = table_->find(key)->elements;
  for (size_t i = 0; i < patterns.size(); ++i) {
    if (auto glob = Glob::parse(patterns[i]); !glob) {
      return reading_->fail(array[i], "config.value",
                            fmt::format("`{}`: {}", full(key), glob.error().message));
    }
  }
  if (auto list = GlobList::parse(patterns)) out = std::move(*list);
}

void ConfigTable::table(std::string_view key, const std::function<void(ConfigTable&)>& read) {
  known_.emplace_back(key);
  static const TomlNode kEmpty;
  const TomlNode* node = has_failed() ? nullptr : table_->find(key);
  if (node == nullptr && !is_dry()) return;
  const TomlNode* table = node == nullptr ? &kEmpty : node;
  if (table->kind != TomlNode::Kind::kTable) {
    return wrong_type(key, *node, fmt::format("a table, written [{}]", full(key)));
  }
  ConfigTable inner(*reading_, *table, full(key));
  read(inner);
  inner.finish();
}

void ConfigTable::tables(std::string_view key, const std::function<void(ConfigTable&)>& read) {
  known_.emplace_back(key);
  if (is_dry()) {
    const TomlNode empty;
    ConfigTable inner(*reading_, empty, full(key) + "[]");
    return read(inner);
  }
  const TomlNode* node = has_failed() ? nullptr : table_->find(key);
  if (node == nullptr) return;
  const std::string wanted = fmt::format("an array of tables, each written [[{}]]", full(key));
  if (node->kind != TomlNode::Kind::kArray) return wrong_type(key, *node, wanted);
  if (node->elements.size() > kMaxArrayEntries) {
    return refuse(key, fmt::format("has more than {} entries", kMaxArrayEntries));
  }
  for (const TomlNode& element : node->elements) {
    if (element.kind != TomlNode::Kind::kTable) return wrong_type(key, element, wanted);
    ConfigTable inner(*reading_, element, full(key));
    read(inner);
    inner.finish();
  }
}

void ConfigTable::named_tables(std::string_view key,
                               const std::function<void(std::string_view, ConfigTable&)>& read) {
  known_.emplace_back(key);
  if (is_dry()) {
    const TomlNode empty;
    ConfigTable inner(*reading_, empty, full(key) + ".NAME");
    return read("NAME", inner);
  }
  const TomlNode* node = has_failed() ? nullptr : table_->find(key);
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kTable) {
    return wrong_type(key, *node, fmt::format("tables, each written [{}.NAME]", full(key)));
  }
  for (const auto& [name, element] : node->entries) {
    if (element.kind != TomlNode::Kind::kTable) return wrong_type(name, element, "a table");
    ConfigTable inner(*reading_, element, fmt::format("{}.{}", full(key), name));
    read(name, inner);
    inner.finish();
  }
}

void ConfigTable::finish() {
  if (has_failed()) return;
  for (const auto& [name, node] : table_->entries) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string meant = did_you_mean(name, known_);
    const std::string all = known_.empty() ? "" : "; known here: " + join(known_);
    TomlNode place;
    place.line = node.key_line;
    place.column = node.key_column;
    return reading_->fail(
        place, "config.unknown_key",
        fmt::format("unknown key `{}`{}", full(name), meant.empty() ? all : meant));
  }
  // An unknown key may be the missing one, mistyped.
  if (missing_.empty()) return;
  reading_->fail(*table_, "config.missing_key",
                 fmt::format("`{}` is missing; for example {}",
                             full(missing_.substr(0, missing_.find(' '))), missing_));
}

Result<void> read_configuration(std::string_view text, std::string_view file,
                                const RootReader& read_root) {
  if (text.size() > limits::kMaxConfigBytes) {
    return fail(ErrorKind::kInvalid, "limit.config_size",
                fmt::format("{}: larger than {} bytes", file, limits::kMaxConfigBytes),
                std::string(file));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  GALLEY_ASSIGN(const TomlNode document, parse_toml(text, file));
  ConfigReading reading;
  reading.file = file;
  ConfigTable root(reading, document, "");
  read_root(root);
  root.finish();
  if (reading.error) return fail(std::move(*reading.error));
  return {};
}

std::vector<ConfigKey> keys_read_by(const RootReader& read_root,
                                    std::span<const ConfigKeyText> texts) {
  std::vector<ConfigKey> keys;
  ConfigReading reading;
  reading.record = &keys;
  const TomlNode empty;
  ConfigTable root(reading, empty, "");
  read_root(root);
  for (ConfigKey& key : keys) {
    const auto text = std::find_if(texts.begin(), texts.end(),
                                   [&](const ConfigKeyText& one) { return one.key == key.key; });
    if (text == texts.end()) continue;
    key.meaning = text->meaning;
    key.untrusted = text->untrusted;
  }
  return keys;
}

}  // namespace galley
