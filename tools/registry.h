#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tools/schema.h"
#include "tools/schema_defaults.h"
#include "tools/tool.h"
#include "tools/tool_factory.h"

namespace galley {

/// The caller of a tool, for rules of availability.
struct ToolCaller {
  std::string agent;    ///< may be empty
  std::string session;  ///< may be empty
  /// Whether the caller has a capability now, by configuration and grants. Empty: it has all.
  std::function<bool(std::string_view needed)> has = {};
};

/// The callers that may see a tool. A rule that is not given allows every caller.
struct ToolAvailability {
  std::vector<std::string> agents;                    ///< `*` and `?` match; empty: everyone
  std::vector<std::string> capabilities;              ///< the caller must have each of these
  std::function<bool(const ToolCaller&)> holds = {};  ///< evaluated at every call; empty: yes
};

/// The order among tools of one name. The highest priority is called, and a tool that names the
/// agent comes before a tool for every agent. The others are its fallbacks.
struct ToolPrecedence {
  int priority = 0;
  ToolAvailability availability = {};
  /// Its answer depends only on its arguments and on contents that it reads through its context, so
  /// an earlier answer for the same contents can be reused.
  bool depends_only_on_contents = false;
};

/// The tools that can be called, each with its compiled schemas.
///
/// Invariant: the schemas of every tool compile; two tools of one name differ in agent or priority;
///            list() and schemas() keep the order of registration.
/// Ownership: owns its tools. No registry is global: each program makes its own.
/// Threads:   safe to share. An Entry stays valid and unchanged when its tool is removed.
class ToolRegistry {
 public:
  enum class Mode : uint8_t { kAll, kReadOnly };

  /// One registered tool.
  struct Entry {
    std::unique_ptr<const Tool> tool;
    JsonSchema input;
    JsonSchema output;
    SchemaDefaults defaults = {};  ///< of the input
    /// The growth of this process's peak memory when the tool was registered.
    uint64_t instance_bytes = 0;
    ToolPrecedence precedence = {};
    const FactoryTool* factory = nullptr;  ///< `tool`, if a factory makes it; else null
    uint64_t number = 0;                   ///< of its registration; unique
  };
  using EntryPointer = std::shared_ptr<const Entry>;

  /// The state of a registered tool, with its definition.
  struct Status {
    ToolInfo info;
    ToolPrecedence precedence;
    bool is_enabled = true;
    ToolPhase phase = ToolPhase::kReady;
  };

  /// In kReadOnly mode, tools whose annotations do not say read_only are refused.
  explicit ToolRegistry(Mode mode = Mode::kAll) : mode_(mode) {}

  [[nodiscard]] Mode mode() const { return mode_; }

  /// Registers a tool.
  /// Errors: kInvalid, reason `tool.exists` (a tool of that name and priority for the same agents),
  ///         `tool.schema` (also for a schema with a part that cannot be checked), those of
  ///         check_definition; kRefused `tool.not_read_only`.
  Result<void> add(std::unique_ptr<const Tool> tool, ToolPrecedence precedence = {});
  /// Registers a factory: the first call makes its tool.
  Result<void> add(ToolFactory factory, ToolPrecedence precedence = {});
  /// The dependencies for factories that are added from now on. Call it before the registry is
  /// shared.
  void set_dependencies(ToolDependencies dependencies);

  /// Checks the name of a tool that Galley does not define, before add().
  /// Errors: kInvalid `tool.exists` if the name of a registered tool differs from it only in case,
  ///         dots, dashes and underscores: some clients write both names alike.
  [[nodiscard]] Result<void> check_distinct(std::string_view name) const;

  /// The first tool of that name, for any caller.
  /// Errors: kUsage, reason `tool.unknown`, with the nearest name.
  Result<EntryPointer> get(std::string_view name) const;
  /// All tools of that name, best first: those that name agents, then by priority.
  [[nodiscard]] std::vector<EntryPointer> all_named(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  /// Removes all tools of that name; false when there was none. Running calls finish normally.
  bool remove(std::string_view name);
  void clear();

  /// Enables or disables the tools of a name, also of a name that is added later.
  void set_enabled(const std::string& name, bool is_enabled);
  [[nodiscard]] bool is_enabled(const std::string& name) const;

  /// The enabled tools, one for each name: the one that get() returns.
  [[nodiscard]] std::vector<ToolInfo> list() const;
  /// Each registered tool, including fallbacks and disabled ones.
  [[nodiscard]] std::vector<Status> statuses() const;
  /// The definitions of list(): the document of docs/json/tools-list.schema.json.
  [[nodiscard]] nlohmann::ordered_json schemas() const;

 private:
  Result<void> take(Entry entry);
  [[nodiscard]] std::vector<EntryPointer> ranked(std::string_view name) const;

  Mode mode_;
  mutable std::shared_mutex mutex_;
  std::vector<EntryPointer> entries_;  ///< by name and number; guarded by mutex_, like all below
  std::set<std::string> disabled_;
  uint64_t last_number_ = 0;
  std::shared_ptr<const ToolDependencies> dependencies_;
};

/// The error `tool.unknown`, with the nearest of `names`.
[[nodiscard]] Error unknown_tool(std::string_view name, const std::vector<std::string>& names);

/// Checks the arguments of a call without calling the tool. Returns every violation of the schema.
/// If there are none, it returns the first error that the tool finds when it parses the arguments.
/// Only a call shows whether files exist and whether the caller has permission.
///
/// `root` is as in ToolContext. This does not make a tool that was not made yet.
[[nodiscard]] std::vector<SchemaViolation> check_arguments(const ToolRegistry::Entry& entry,
                                                           std::string_view json_arguments,
                                                           const std::string& root);

}  // namespace galley
