#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace galley {

/// The frequent keywords of a schema. It recognizes most valid documents with much less work than
/// the schema library, and without a copy of the document.
///
/// Invariant: the library accepts each document that this accepts. The converse is not true: a
///            document that must be checked by any other keyword is not accepted.
/// Ownership: self-contained. Threads: immutable, safe to share.
class PlainSchema {
 public:
  /// `lowered` is a result of lower_schema(), or a part of it.
  explicit PlainSchema(const nlohmann::json& lowered);

  /// Whether every keyword of the schema, at every depth, is known here. The library takes such a
  /// schema without an error.
  [[nodiscard]] bool is_complete() const { return is_complete_; }

  [[nodiscard]] bool accepts(const nlohmann::json& document) const;
  [[nodiscard]] bool accepts(const nlohmann::ordered_json& document) const;

 private:
  bool take(const std::string& key, const nlohmann::json& value);
  template <class Json>
  [[nodiscard]] bool takes(const Json& document) const;
  template <class Json>
  [[nodiscard]] bool takes_members(const Json& object) const;

  void add(std::vector<PlainSchema>& parts, const nlohmann::json& schema);

  bool is_plain_ = true;  ///< false: a keyword is not known here
  bool is_complete_ = true;
  std::optional<uint32_t> types_;                  ///< as bits
  std::optional<std::vector<std::string>> texts_;  ///< the values of `enum`
  std::optional<int64_t> minimum_;
  size_t min_length_ = 0;
  std::vector<std::string> required_;
  std::map<std::string, PlainSchema, std::less<>> properties_;
  bool has_other_members_ = true;
  std::vector<PlainSchema> other_members_;  ///< at most one, like items_
  std::vector<PlainSchema> items_;
  std::vector<PlainSchema> any_of_;
};

}  // namespace galley
