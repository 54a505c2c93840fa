#pragma once

#include <galley/error.h>
#include <galley/path.h>

#include <any>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// Tools that agents can call, and how a program adds its own tools (docs/tools.md).
namespace galley {

/// The description of a tool for its callers. Schemas are JSON Schema 2020-12.
struct ToolInfo {
  /// Where a tool does its work. It decides the default timeout and the sanitizing of answers.
  enum class Category : uint8_t {
    kDirect,  ///< in this process, on the proposed tree
    kApi,     ///< queries a service on the network
    kMcp,     ///< queries a server of the Model Context Protocol
    kSystem,  ///< runs a program in the sandbox
  };
  /// How much damage a wrong call can do. The author of a tool states it; Galley does not derive it
  /// from the annotations.
  enum class Risk : uint8_t { kLow, kMedium, kHigh, kCritical };
  /// The strongest effect that a tool may have. docs/policy.md shows the decision of each mode for
  /// each tier.
  enum class Tier : uint8_t {
    kSafe = 0,        ///< no side effects
    kStandard = 1,    ///< reads
    kElevated = 2,    ///< writes to the overlay only; a commit publishes them
    kRestricted = 3,  ///< has effects that the overlay cannot revert
    kDangerous = 4,   ///< refused in most modes
  };
  /// Hints for callers about the effects of a tool. The names are those of MCP.
  struct Annotations {
    bool read_only = false;
    bool destructive = false;  ///< may remove or replace existing contents
    bool idempotent = false;   ///< repeating a call changes nothing more
    bool open_world = false;   ///< may reach beyond the workspace (runs programs)
  };

  std::string name;
  std::string title;
  std::string description;
  std::string version = "1.0.0";  ///< semantic, of this tool's schemas
  std::string input_schema;       ///< JSON text, `type: object`
  std::string output_schema;      ///< JSON text, `type: object`
  Annotations annotations;
  std::vector<std::string> capabilities;  ///< needed for every call: `fs:read`, `fs:write`, `exec`

  std::string namespace_name = {};  ///< `fs` of `fs.read`; empty: the part of `name` before its dot
  Category category = Category::kDirect;
  Risk risk_level = Risk::kMedium;
  Tier security_tier = Tier::kElevated;
  bool requires_confirmation = false;  ///< a person must confirm each call
  bool is_context_aware = false;       ///< answers depend on the session or task
  bool is_reversible = false;          ///< a call can be reverted by its execution id
  std::string rollback_tool = {};      ///< name of the tool that reverts a call; empty: none
  /// Timeout of one call; absent: 5, 10, 10 and 30 s for the categories in their order.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// Memory limit for all programs of one call; absent: 200 MiB. galley.toml can change it.
  std::optional<uint64_t> max_memory_bytes = {};
  std::vector<std::string> examples = {};  ///< arguments of successful calls, as JSON text
  /// Why it is deprecated and since which version; empty: it is not.
  std::string deprecated = {};
  std::string successor = {};  ///< the tool that replaces a deprecated one; may be empty
};

/// One call of a program's own tool: its arguments, and access to the proposed tree of the
/// transaction.
///
/// A path is relative to cwd(), or absolute inside the workspace. Galley checks each access against
/// the capabilities and rules of the caller, as for the standard tools. Writes are staged. The gate
/// judges them with all other changes before a commit.
///
/// Ownership: borrowed for one call. A tool must not use it after its call.
/// Threads:   confined to the thread of the call.
/// Errors:    kInvalid `path.*`, kRefused `path.*`, `policy.*`, `capability.missing`, kNotFound
///            `path.not_found`, kQuota `limit.*`. After an Error nothing has changed.
class ToolRun {
 public:
  /// Returns the text of one JSON object, which conforms to the tool's input schema.
  [[nodiscard]] const std::string& arguments() const;
  /// Returns one argument by name, or `otherwise` if it is missing or has another type.
  [[nodiscard]] std::string text(std::string_view name, std::string otherwise = {}) const;
  [[nodiscard]] int64_t number(std::string_view name, int64_t otherwise = 0) const;
  [[nodiscard]] bool flag(std::string_view name, bool otherwise = false) const;
  /// Returns the calling agent; may be empty.
  [[nodiscard]] const std::string& agent() const;
  /// Return the caller's labels for the call (CallOptions); each may be empty.
  [[nodiscard]] const std::string& call_id() const;
  [[nodiscard]] const std::string& session_id() const;
  /// Returns the folder of relative paths, as a path of the workspace; `.` is the root.
  [[nodiscard]] std::string cwd() const;

  /// Returns the bytes of a regular file.
  [[nodiscard]] Result<std::string> read(std::string_view path);
  /// Returns the kind of object at the path. kAbsent is a value, not an error.
  [[nodiscard]] Result<FileKind> kind(std::string_view path);
  /// Returns the names in a directory, sorted. Names of directories end with `/`. `.` is cwd().
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view directory);

  /// Writes a file and creates missing directories. An existing file keeps its mode.
  Result<void> write(std::string_view path, std::string content);
  /// Removes a file or link, and directories that become empty.
  Result<void> remove(std::string_view path);
  /// Moves a file, link or whole directory to a path that does not exist.
  Result<void> move(std::string_view from, std::string_view to);

  /// Calls another tool and returns the text of its JSON object. The call has the capabilities of
  /// this call's caller, limited to those that this tool declares. Its staged changes are kept if
  /// this call succeeds.
  /// Errors: as Transaction::call; kRefused `call.cycle` if that tool is already running in this
  ///         chain of calls; kQuota `limit.call_depth`, `limit.nested_calls`.
  Result<std::string> call(std::string_view tool, std::string_view json_arguments);

  /// Reports a line of progress.
  void note(std::string_view line);
  /// Reports progress: `done` of `total`. A total of 0 means that it is not known.
  void progress(uint64_t done, uint64_t total = 0);
  /// Whether the call timed out or was stopped. Then its further changes are dropped.
  [[nodiscard]] bool should_stop() const;

 private:
  friend class DefinedTool;
  struct State;
  explicit ToolRun(State& state) : state_(&state) {}
  State* state_;
};

/// A tool that a program adds to a workspace (WorkspaceOptions::tools, Workspace::add_tool). It is
/// called like a standard tool: Galley validates the arguments against the input schema, checks
/// capabilities and rules, and records the call. A call that fails stages nothing.
struct ToolDefinition {
  class Shape;  // galley/define_tool.h

  /// Performs one call and returns the text of a JSON object that conforms to info.output_schema.
  /// Threads: may be called from several threads at once, each with its own ToolRun.
  /// Errors: an Error fails the call. The caller gets its reason and message, so the message should
  ///         say what to do next. An exception also fails the call (`tool.threw`).
  using Run = std::function<Result<std::string>(ToolRun& call)>;
  /// Objects, by name, that tools may receive when they are created
  /// (WorkspaceOptions::dependencies).
  using Dependencies = std::map<std::string, std::any>;
  /// A created tool. A workspace creates each tool once.
  struct Instance {
    Run run;
    std::function<Result<void>()> check_health = {};  ///< called before a failed tool is retried
    std::function<void()> close = {};                 ///< called after its last call
  };

  ToolInfo info;
  Run run;  ///< either `run` or `make` is set

  /// Creates the tool at its first call. `given` has the dependencies in `needs` and `takes`, and
  /// `config`: the std::map<std::string, std::string> of `[tools.NAME]` in galley.toml.
  std::function<Result<Instance>(const Dependencies& given)> make = {};
  std::vector<std::string> needs = {};  ///< required dependencies
  std::vector<std::string> takes = {};  ///< optional dependencies

  /// Orders tools with the same name: first the tools with `agents`, then by priority, highest
  /// first. The first tool is called. The others are its fallbacks.
  int priority = 0;
  std::vector<std::string> agents = {};  ///< agents that may call it; `*` and `?` match; empty: all
  std::vector<std::string> required_capabilities = {};  ///< capabilities that the caller must have
  /// Decides whether the tool is available, at every call and on any thread; empty: always.
  std::function<bool(const std::string& agent, const std::string& session_id)> is_available = {};
  /// The answer depends only on the arguments and on the files that the tool reads with ToolRun. So
  /// Galley may reuse an answer for the same contents. The tool must be read-only and idempotent.
  bool depends_only_on_contents = false;
  /// Sanitizes each text of an answer before it is used. Tools of the categories kApi and kMcp must
  /// have one, for example `sanitized_text`; otherwise they are not added
  /// (`tool.no_output_sanitizer`).
  std::function<std::string(std::string_view)> sanitize = {};
};

/// Makes a foreign text safe to show. Removes control and escape sequences, bidirectional control
/// characters, and strings that look like keys or tokens. Cuts the text at one mebibyte.
[[nodiscard]] std::string sanitized_text(std::string_view text);

/// Returns the value of a secret by its key (`GITHUB_API_KEY`), or nothing if it must not be
/// revealed.
using SecretProvider = std::function<std::optional<std::string>(const std::string& key)>;

/// Returns a provider of these environment variables.
[[nodiscard]] SecretProvider secrets_from_environment(std::vector<std::string> names);
/// Reads a file with lines `NAME=value` (docs/security.md) and returns a provider of its secrets.
/// Errors: kUsage `secret.file_not_found`; kRefused `secret.file_not_private` unless it is a
///         regular file that belongs to this user and that no other user may read; kInvalid
///         `secret.file_malformed`.
[[nodiscard]] Result<SecretProvider> secrets_from_file(const std::string& path);
/// Asks the providers in order and returns the first value.
[[nodiscard]] SecretProvider secrets_from_all(std::vector<SecretProvider> providers);

/// Options of one call, one command, or several that are staged together.
///
/// `secrets`, `confirm`, `logger` and `progress` are called only on the thread of the call. All
/// options except functions are recorded (docs/operations.md), and the tool sees all of them.
struct CallOptions {
  /// Output of a running tool: a line of progress, or a part of a command's output.
  struct Log {
    enum class Stream : uint8_t { kNote, kStdout, kStderr };
    Stream stream = Stream::kNote;
    std::string_view text;
  };
  /// The question to a person about a call that must be confirmed (docs/policy.md). The texts come
  /// from the caller and are not escaped for a terminal.
  struct Question {
    std::string id;         ///< identifies the agent's call of this tool with these arguments
    std::string agent;      ///< the calling agent; empty: a person
    std::string tool;       ///< its name
    std::string arguments;  ///< JSON text without secrets
    std::string why;        ///< one sentence that names the rule
  };

  std::string call_id = {};     ///< the caller's own id of the call; on record
  std::string task_id = {};     ///< the task of the call; on record
  std::string goal_id = {};     ///< the goal of the task; on record
  std::string session_id = {};  ///< the conversation of the call; on record
  std::string reason = {};      ///< the reason of the call; empty: that of the transaction
  /// The folder in which commands run and relative paths start: relative to the workspace, or
  /// absolute inside it. Empty: the root of the workspace.
  std::string cwd = {};
  /// Added to the environment of commands. Never put secrets here, because the values are recorded.
  /// Names that decide which code a program runs (`PATH`, `LD_*`) are refused.
  std::map<std::string, std::string> environment = {};
  /// Limits the capabilities of the agent for this call; absent: no further limit. A call that
  /// stages changes, including a command, then needs `fs:write` in this list.
  std::optional<std::vector<std::string>> only_capabilities = {};
  /// Limits the programs that commands of this call may start; absent: those of the agent.
  std::optional<std::vector<std::string>> only_programs = {};
  /// Timeout of the call; absent: the one in its arguments (`timeout` of Bash), else the tool's
  /// (ToolInfo::timeout). A command never gets more than galley.toml allows.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// Report the changes that would be staged, and keep nothing. Effects outside the tree do not
  /// happen.
  bool dry_run = false;
  bool deterministic = false;   ///< commands see a fixed time and locale, and no network
  SecretProvider secrets = {};  ///< values of `$ENV.NAME`; empty: no secrets
  /// Asks a person, who answers yes or no; empty: no person can be asked. A yes is valid for this
  /// call only.
  std::function<Result<bool>(const Question&)> confirm = {};
  std::function<void(const Log&)> logger = {};  ///< receives the output of running tools
  /// Receives the progress of a long call: `done` of `total`; 0 if the total is not known.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  /// A stop request ends the tool and its commands, and drops their changes.
  std::stop_token stop = {};
};

}  // namespace galley
