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

/// Who asks for a tool, as availability rules see it.
struct ToolCaller {
  std::string agent;    ///< may be empty
  std::string session;  ///< may be empty
  /// Whether it has a capability now, by configuration and grants; empty: all of them.
  std::function<bool(std::string_view needed)> has = {};
};

/// Who may see a tool. Rules of which nothing is said hold for everybody.
struct ToolAvailability {
  std::vector<std::string> agents;                    ///< `*` and `?` match; empty: everyone
  std::vector<std::string> capabilities;              ///< the caller must have each of these
  std::function<bool(const ToolCaller&)> holds = {};  ///< asked at every call; empty: yes
};

/// How a tool stands among those of its name: the highest priority is called, a tool that names the
/// agent before one for everyone; the others are its fallbacks.
struct ToolStanding {
  int priority = 0;
  ToolAvailability availability = {};
  /// Its answer follows from its arguments and the contents it reads through its context alone, so
  /// that an earlier answer about the same contents is as good.
  bool follows_from_contents = false;
};

/// The tools that can be called, each with its compiled schemas.
///
/// Invariant: every tool in it has schemas that compile; two tools of one name can be told apart by
///            agent or priority; list() and schemas() keep one order, that of registration.
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
    ToolStanding standing = {};
    const FactoryTool* factory = nullptr;  ///< `tool`, where a factory makes it; else null
    uint64_t number = 0;                   ///< of its registration; no two entries share one
  };
  using EntryPointer = std::shared_ptr<const Entry>;

  /// What there is to say of a registered tool beside its definition.
  struct Status {
    ToolInfo info;
    ToolStanding standing;
    bool is_enabled = true;
    ToolPhase phase = ToolPhase::kReady;
  };

  /// In kReadOnly mode tools whose annotations do not say read_only are not taken.
  explicit ToolRegistry(Mode mode = Mode::kAll) : mode_(mode) {}

  [[nodiscard]] Mode mode() const { return mode_; }

  /// Takes a tool.
  /// Errors: kInvalid, reason `tool.exists` (one of that name and priority for the same agents),
  ///         `tool.schema` (a schema that cannot be checked faithfully is refused here, not ignored
  ///         later), those of check_definition; kRefused `tool.not_read_only`.
  Result<void> add(std::unique_ptr<const Tool> tool, ToolStanding standing = {});
  /// Takes a factory: its tool is made by its first call.
  Result<void> add(ToolFactory factory, ToolStanding standing = {});
  /// What factories that are added from now on are given. Before it is shared.
  void set_dependencies(ToolDependencies dependencies);

  /// The first tool of that name, whoever may see it.
  /// Errors: kUsage, reason `tool.unknown`, with the nearest name.
  Result<EntryPointer> get(std::string_view name) const;
  /// All tools of that name, best first: those that name agents, then by priority.
  [[nodiscard]] std::vector<EntryPointer> all_named(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  /// Takes away all tools of that name; false when there was none. Calls that run end as they
  /// would.
  bool remove(std::string_view name);
  void clear();

  /// Lets the tools of a name be called, or not; also of a name that is added later.
  void set_enabled(const std::string& name, bool is_enabled);
  [[nodiscard]] bool is_enabled(const std::string& name) const;

  /// Those that are enabled, one for each name: the one that get() answers.
  [[nodiscard]] std::vector<ToolInfo> list() const;
  /// Each registered tool, fallbacks and disabled ones too.
  [[nodiscard]] std::vector<Status> statuses() const;
  /// The definitions of list(): the document of docs/json/tools-list.schema.json.
  [[nodiscard]] nlohmann::ordered_json schemas() const;

 private:
  Result<void> take(Entry entry);
  [[nodiscard]] std::vector<EntryPointer> ranked(std::string_view name) const;

  Mode mode_;
  mutable std::shared_mutex mutex_;
  std::vector<EntryPointer> entries_;  ///< guarded by mutex_, as what follows
  std::set<std::string> disabled_;
  uint64_t last_number_ = 0;
  std::shared_ptr<const ToolDependencies> dependencies_;
};

/// "there is no tool named …", with the nearest of `names`.
[[nodiscard]] Error unknown_tool(std::string_view name, const std::vector<std::string>& names);

/// What is wrong with the arguments of a call, without calling anything: all that the schema
/// refuses, or, when it refuses nothing, the first thing that the tool cannot make sense of.
/// Whether files are there and who may do it shows only in a call.
///
/// `root` is as in ToolContext. A tool that is not made yet is not made for this.
[[nodiscard]] std::vector<SchemaViolation> check_arguments(const ToolRegistry::Entry& entry,
                                                           std::string_view json_arguments,
                                                           const std::string& root);

}  // namespace galley
