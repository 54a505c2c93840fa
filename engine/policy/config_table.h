#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "base/result.h"
#include "base/text.h"
#include "engine/policy/config.h"
#include "engine/policy/toml_document.h"

namespace galley {

/// The texts about one key in help and in docs/reference/configuration.md.
struct ConfigKeyText {
  std::string_view key;
  std::string_view meaning;
  std::string_view untrusted;  ///< as ConfigKey::untrusted
};

/// Returns the texts of the keys of galley.toml. A test checks that each key has one.
[[nodiscard]] std::span<const ConfigKeyText> config_key_texts();

/// Returns the texts of the keys of a person's own configuration.
[[nodiscard]] std::span<const ConfigKeyText> user_config_key_texts();

/// The state of one reading, which all its tables share: the first error, and in a dry reading the
/// keys that were read.
struct ConfigReading {
  std::string file;
  std::optional<Error> error;
  std::vector<ConfigKey>* record = nullptr;

  void fail(const TomlNode& where, std::string reason, const std::string& what);
};

/// Reads one table of a TOML document, key by key, into variables that already have the defaults.
///
/// Only the first error of a reading is kept. After an error all functions do nothing. finish()
/// refuses unknown keys, those that no function has read, and then missing ones. Only for the
/// readers of configuration.
class ConfigTable {
 public:
  template <class E>
  using Choices = std::vector<std::pair<std::string_view, E>>;

  ConfigTable(ConfigReading& reading, const TomlNode& table, std::string prefix)
      : reading_(&reading), table_(&table), prefix_(std::move(prefix)) {}

  void text(std::string_view key, std::string& out);
  void flag(std::string_view key, bool& out);
  static constexpr uint64_t kAnyCount = std::numeric_limits<int64_t>::max();
  void count(std::string_view key, std::optional<uint64_t>& out, uint64_t max = kAnyCount);
  template <std::unsigned_integral T>
  void count(std::string_view key, T& out) {
    std::optional<uint64_t> value = out;
    count(key, value, std::min<uint64_t>(std::numeric_limits<T>::max(), kAnyCount));
    out = static_cast<T>(*value);
  }
  /// A number of bytes: an integer, or a text such as "64 KiB" or "10 MB".
  void size(std::string_view key, std::optional<uint64_t>& out);
  void size(std::string_view key, uint64_t& out) {
    std::optional<uint64_t> value = out;
    size(key, value);
    out = *value;
  }
  void texts(std::string_view key, std::vector<std::string>& out);
  void numbers(std::string_view key, std::vector<int>& out);
  void text_map(std::string_view key, std::map<std::string, std::string>& out);
  void globs(std::string_view key, GlobList& out);
  template <class E>
  void choice(std::string_view key, E& out, const Choices<E>& choices);
  template <class E>
  void choices(std::string_view key, std::vector<E>& out, const Choices<E>& choices);

  void table(std::string_view key, const std::function<void(ConfigTable&)>& read);
  void tables(std::string_view key, const std::function<void(ConfigTable&)>& read);
  /// Calls read(name, table) for each table below `key`. The user chooses the names.
  void named_tables(std::string_view key,
                    const std::function<void(std::string_view, ConfigTable&)>& read);

  [[nodiscard]] bool has(std::string_view key) const { return table_->find(key) != nullptr; }
  [[nodiscard]] bool is_dry() const { return reading_->record != nullptr; }
  [[nodiscard]] bool has_failed() const { return reading_->error.has_value(); }
  [[nodiscard]] uint32_t line() const { return table_->line; }
  [[nodiscard]] uint32_t line_of(std::string_view key) const;

  void refuse(std::string_view key, const std::string& what);    ///< reports an invalid value
  void require(std::string_view key, std::string_view example);  ///< finish() refuses without it
  void finish();

 private:
  const TomlNode* ask(std::string_view key, std::string_view type, std::string default_value);
  void wrong_type(std::string_view key, const TomlNode& node, std::string_view wanted);
  void bad_choice(std::string_view key, const TomlNode& node,
                  const std::vector<std::string>& names);
  [[nodiscard]] std::string full(std::string_view key) const;
  std::optional<uint64_t> read_count(std::string_view key, const TomlNode& node, uint64_t max);
  std::optional<uint64_t> read_size(std::string_view key, const TomlNode& node);

  ConfigReading* reading_;
  const TomlNode* table_;
  std::string prefix_;
  std::vector<std::string> known_;
  std::string missing_;  ///< `KEY = EXAMPLE` of the first missing key; empty: none
};

/// Reads the root table of a configuration into variables that already have the defaults.
using RootReader = std::function<void(ConfigTable& root)>;

/// Parses and reads a file of at most kMaxConfigBytes. Messages call it `file`.
/// Errors: kInvalid `limit.config_size`, `config.*`.
Result<void> read_configuration(std::string_view text, std::string_view file,
                                const RootReader& read_root);
/// Returns the keys that `read_root` reads, with their defaults and texts.
[[nodiscard]] std::vector<ConfigKey> keys_read_by(const RootReader& read_root,
                                                  std::span<const ConfigKeyText> texts);

template <class E>
void ConfigTable::choice(std::string_view key, E& out, const Choices<E>& choices) {
  std::vector<std::string> names;
  std::string default_name;
  for (const auto& [name, value] : choices) {
    names.emplace_back(name);
    if (value == out) default_name = "\"" + std::string(name) + "\"";
  }
  const TomlNode* node = ask(key, "\"" + join(names, "\" | \"") + "\"", default_name);
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kString) return wrong_type(key, *node, "a string");
  for (const auto& [name, value] : choices) {
    if (name == node->text) {
      out = value;
      return;
    }
  }
  bad_choice(key, *node, names);
}

template <class E>
void ConfigTable::choices(std::string_view key, std::vector<E>& out, const Choices<E>& choices) {
  std::vector<std::string> names;
  for (const auto& entry : choices) names.emplace_back(entry.first);
  const std::string type = "array of \"" + join(names, "\" | \"") + "\"";
  const TomlNode* node = ask(key, type, "[]");
  if (node == nullptr) return;
  if (node->kind != TomlNode::Kind::kArray) return wrong_type(key, *node, "an array of strings");
  for (const TomlNode& element : node->elements) {
    if (element.kind != TomlNode::Kind::kString) return wrong_type(key, element, "a string");
    size_t at = 0;
    while (at < choices.size() && choices[at].first != element.text) ++at;
    if (at == choices.size()) return bad_choice(key, element, names);
    out.push_back(choices[at].second);
  }
}

}  // namespace galley
