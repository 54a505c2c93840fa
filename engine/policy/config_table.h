#pragma once

#include <toml++/toml.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/policy/config.h"
#include "engine/policy/glob.h"

namespace galley {

/// What all tables of one reading share: the first error, and in a dry reading the keys asked for.
struct ConfigReading {
  std::string file;
  std::optional<Error> error;
  std::vector<ConfigKey>* record = nullptr;

  void fail(const toml::source_region& where, std::string reason, const std::string& what);
};

/// One table of a TOML document, read key by key into values that hold the defaults.
///
/// Only the first error of a reading is kept; after it every call does nothing. finish() refuses
/// keys that nobody asked for. Private to the readers of configuration.
class ConfigTable {
 public:
  template <class E>
  using Choices = std::vector<std::pair<std::string_view, E>>;

  ConfigTable(ConfigReading& reading, const toml::table& table, std::string prefix)
      : reading_(&reading), table_(&table), prefix_(std::move(prefix)) {}

  void text(std::string_view key, std::string& out);
  void flag(std::string_view key, bool& out);
  void count(std::string_view key, uint32_t& out);
  void count(std::string_view key, uint64_t& out);
  void count(std::string_view key, std::optional<uint64_t>& out);
  /// Bytes: an integer, or text such as "64 KiB", "10 MB".
  void size(std::string_view key, uint64_t& out);
  void size(std::string_view key, std::optional<uint64_t>& out);
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
  /// Tables below `key` whose names are the user's: read(name, table).
  void named_tables(std::string_view key,
                    const std::function<void(std::string_view, ConfigTable&)>& read);

  [[nodiscard]] bool has(std::string_view key) const { return table_->contains(key); }
  [[nodiscard]] bool is_dry() const { return reading_->record != nullptr; }
  [[nodiscard]] bool has_failed() const { return reading_->error.has_value(); }
  [[nodiscard]] uint32_t line() const { return table_->source().begin.line; }
  [[nodiscard]] uint32_t line_of(std::string_view key) const;

  void refuse(std::string_view key, const std::string& what);  ///< a value that makes no sense
  void require(std::string_view key, std::string_view example);
  void finish();

 private:
  const toml::node* ask(std::string_view key, std::string_view type, std::string default_value);
  void wrong_type(std::string_view key, const toml::node& node, std::string_view wanted);
  void bad_choice(std::string_view key, const toml::node& node, std::string_view text,
                  const std::vector<std::string>& names);
  [[nodiscard]] std::string full(std::string_view key) const;
  std::optional<uint64_t> read_count(std::string_view key, const toml::node& node, uint64_t max);
  std::optional<uint64_t> read_size(std::string_view key, const toml::node& node);

  ConfigReading* reading_;
  const toml::table* table_;
  std::string prefix_;
  std::vector<std::string> known_;
};

/// The candidate that `word` was probably meant to be, or empty.
[[nodiscard]] std::string closest_word(std::string_view word,
                                       const std::vector<std::string>& candidates);

/// Parses TOML text; an error of the library becomes one Error with file, line and column.
[[nodiscard]] Result<toml::table> parse_toml(std::string_view text, std::string_view file);

template <class E>
void ConfigTable::choice(std::string_view key, E& out, const Choices<E>& choices) {
  std::vector<std::string> names;
  std::string default_name;
  for (const auto& [name, value] : choices) {
    names.emplace_back(name);
    if (value == out) default_name = "\"" + std::string(name) + "\"";
  }
  std::string type;
  for (const auto& name : names) type += (type.empty() ? "\"" : " | \"") + name + "\"";
  const toml::node* node = ask(key, type, default_name);
  if (node == nullptr) return;
  const auto text = node->value_exact<std::string>();
  if (!text) return wrong_type(key, *node, "a string");
  for (const auto& [name, value] : choices) {
    if (name == *text) {
      out = value;
      return;
    }
  }
  bad_choice(key, *node, *text, names);
}

template <class E>
void ConfigTable::choices(std::string_view key, std::vector<E>& out, const Choices<E>& choices) {
  std::vector<std::string> names;
  for (const auto& entry : choices) names.emplace_back(entry.first);
  std::string type;
  for (const auto& name : names) type += (type.empty() ? "array of \"" : " | \"") + name + "\"";
  const toml::node* node = ask(key, type, "[]");
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr) return wrong_type(key, *node, "an array of strings");
  for (const toml::node& element : *array) {
    const auto text = element.value_exact<std::string>();
    if (!text) return wrong_type(key, element, "a string");
    size_t at = 0;
    while (at < choices.size() && choices[at].first != *text) ++at;
    if (at == choices.size()) return bad_choice(key, element, *text, names);
    out.push_back(choices[at].second);
  }
}

}  // namespace galley
