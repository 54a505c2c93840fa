#pragma once

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tools/schema.h"
#include "tools/schema_defaults.h"
#include "tools/tool.h"

namespace galley {

/// The tools that can be called, each with its compiled schemas.
///
/// Invariant: every tool in it has schemas that compile; list() and schemas() keep one order, that
///            of registration.
/// Ownership: owns its tools. There is no global registry: whoever composes the program makes one.
/// Threads:   safe to share. An entry that was got stays as it is, also when its tool is removed.
class ToolRegistry {
 public:
  enum class Mode : uint8_t { kAll, kReadOnly };

  /// One registered tool.
  struct Entry {
    std::unique_ptr<const Tool> tool;
    JsonSchema input;
    JsonSchema output;
    SchemaDefaults defaults = {};  ///< of the input
    /// By how much taking it raised the most memory that this process ever had.
    uint64_t instance_bytes = 0;
  };

  /// In kReadOnly mode tools whose annotations do not say read_only are not taken.
  explicit ToolRegistry(Mode mode = Mode::kAll) : mode_(mode) {}

  [[nodiscard]] Mode mode() const { return mode_; }

  /// Takes a tool.
  /// Errors: kInvalid, reason `tool.exists`, `tool.schema` (a schema that cannot be checked
  ///         faithfully is refused here, not ignored later), those of check_definition; kRefused
  ///         `tool.not_read_only`.
  Result<void> add(std::unique_ptr<const Tool> tool);

  /// The tool of that name.
  /// Errors: kUsage, reason `tool.unknown`, with the nearest name.
  Result<std::shared_ptr<const Entry>> get(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  /// False when there was none.
  bool remove(std::string_view name);
  void clear();

  [[nodiscard]] std::vector<ToolInfo> list() const;
  /// The definition of every tool: the document of docs/json/tools-list.schema.json.
  [[nodiscard]] nlohmann::ordered_json schemas() const;

 private:
  [[nodiscard]] bool holds(std::string_view name) const;

  Mode mode_;
  mutable std::shared_mutex mutex_;
  std::vector<std::shared_ptr<const Entry>> entries_;  ///< guarded by mutex_
};

}  // namespace galley
