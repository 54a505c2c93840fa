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

/// Tools: what an agent can call, and how a program adds a tool of its own (docs/tools.md).
namespace galley {

/// The description of a tool for its callers. Schemas are JSON Schema 2020-12.
struct ToolInfo {
  /// Where a tool does its work. It decides the default timeout and how the answer is sanitized.
  enum class Category : uint8_t {
    kDirect,  ///< in this process, on the proposed tree
    kApi,     ///< queries a service on the network
    kMcp,     ///< queries a server of the Model Context Protocol
    kSystem,  ///< runs a program in the sandbox
  };
  /// How much damage a wrong call can do. Each tool states it; it is never derived from
  /// annotations.
  enum class Risk : uint8_t { kLow, kMedium, kHigh, kCritical };
  /// The most that a tool may do; docs/policy.md says what each mode does with each tier.
  enum class Tier : uint8_t {
    kSafe = 0,        ///< no side effects
    kStandard = 1,    ///< reads
    kElevated = 2,    ///< writes, which stay in the overlay until a commit
    kRestricted = 3,  ///< has effects that the overlay cannot take back: needs a yes
    kDangerous = 4,   ///< usually not run at all
  };
  /// Hints for callers about what a tool may do (with MCP's names).
  struct Annotations {
    bool read_only = false;
    bool destructive = false;  ///< may remove or replace existing contents
    bool idempotent = false;   ///< the same call again changes nothing more
    bool open_world = false;   ///< may reach beyond the workspace (runs programs)
  };

  std::string name;
  std::string title;
  std::string description;
  std::string version = "1.0.0";  ///< semantic, of this tool's schemas
  std::string input_schema;       ///< JSON text, `type: object`
  std::string output_schema;      ///< JSON text, `type: object`
  Annotations annotations;
  std::vector<std::string> capabilities;  ///< always needed: `fs:read`, `fs:write`, `exec`

  std::string namespace_name = {};  ///< `fs` of `fs.read`; empty: the part of `name` before its dot
  Category category = Category::kDirect;
  Risk risk_level = Risk::kMedium;
  Tier security_tier = Tier::kElevated;
  bool requires_confirmation = false;  ///< a person must confirm each call
  bool is_context_aware = false;       ///< answers depend on the session or task
  bool is_reversible = false;          ///< a call can be taken back by its execution id
  std::string rollback_tool = {};      ///< takes a call back; empty: no such tool
  /// Timeout of one call; absent: that of its category (5, 10, 10 and 30 s).
  std::optional<std::chrono::milliseconds> timeout = {};
  /// Memory limit for all programs of one call; absent: 200 MiB. galley.toml limits it, too.
  std::optional<uint64_t> max_memory_bytes = {};
  std::vector<std::string> examples = {};  ///< arguments as JSON text, each a call that succeeds
  /// Why it is deprecated and since which version; empty: it is not.
  std::string deprecated = {};
  std::string successor = {};  ///< the tool that replaces a deprecated one; may be empty
};

/// One call of a program's own tool: its arguments, and the files of the tree as the transaction
/// proposes it.
///
/// A path is relative to the call's folder, or absolute inside the workspace. Each access is
/// checked against the capabilities and rules of the caller, as for the standard tools. Writes are
/// staged, and the gate judges them with all other changes before they can be committed.
///
/// Ownership: borrowed for one call; a tool keeps no reference to it after that.
/// Threads:   confined to the thread of the call.
/// Errors:    kInvalid `path.*`, kRefused `path.*`, `policy.*`, `capability.missing`, kNotFound
///            `path.not_found`, kQuota `limit.*`. An Error means that nothing has changed.
class ToolRun {
 public:
  /// The text of one JSON object, which conforms to the tool's input schema.
  [[nodiscard]] const std::string& arguments() const;
  /// One argument by name; `otherwise` when it is missing or of another type.
  [[nodiscard]] std::string text(std::string_view name, std::string otherwise = {}) const;
  [[nodiscard]] int64_t number(std::string_view name, int64_t otherwise = 0) const;
  [[nodiscard]] bool flag(std::string_view name, bool otherwise = false) const;
  /// The calling agent; may be empty.
  [[nodiscard]] const std::string& agent() const;
  /// The caller's labels for the call (CallOptions); each may be empty.
  [[nodiscard]] const std::string& call_id() const;
  [[nodiscard]] const std::string& session_id() const;
  /// The folder of relative paths, as a path of the workspace; `.` is its root.
  [[nodiscard]] std::string cwd() const;

  /// The bytes of a regular file.
  [[nodiscard]] Result<std::string> read(std::string_view path);
  /// The kind of object at the path; kAbsent is a value, not an error.
  [[nodiscard]] Result<FileKind> kind(std::string_view path);
  /// Names in a directory, sorted; a directory's name ends in `/`. `.` is the workspace.
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view directory);

  /// Writes a file and makes missing directories. An existing file keeps its mode.
  Result<void> write(std::string_view path, std::string content);
  /// Removes a file or link, and the directories that become empty.
  Result<void> remove(std::string_view path);
  /// Moves a file, link or whole directory to a path that is absent.
  Result<void> move(std::string_view from, std::string_view to);

  /// Calls another tool and returns the text of its JSON object. The call has the capabilities of
  /// this call's caller, limited to those that this tool declares. Its staged changes stay if this
  /// call succeeds.
  /// Errors: as Transaction::call; kRefused `call.cycle` for a tool that led to this one; kQuota
  ///         `limit.call_depth`, `limit.nested_calls`.
  Result<std::string> call(std::string_view tool, std::string_view json_arguments);

  /// Reports a line of progress.
  void note(std::string_view line);
  /// Reports progress: done of total, or total 0 if it is not known.
  void progress(uint64_t done, uint64_t total = 0);
  /// Whether the call has timed out or was asked to stop: its further changes are dropped.
  [[nodiscard]] bool should_stop() const;

 private:
  friend class DefinedTool;
  struct State;
  explicit ToolRun(State& state) : state_(&state) {}
  State* state_;
};

/// A tool that a program adds to a workspace (WorkspaceOptions::tools, Workspace::add_tool). It is
/// called like a standard tool: arguments are validated against the input schema, then capabilities
/// and rules are checked, and every call goes on record. A call that fails stages nothing.
struct ToolDefinition {
  class Shape;  // galley/define_tool.h

  /// Performs one call and returns the text of a JSON object that conforms to info.output_schema.
  /// Threads: may be called from several threads at once, each with its own ToolRun.
  /// Errors: an Error fails the call. Its reason and message go to the caller, so the message
  ///         should say what to do next. An exception fails the call, too (`tool.threw`).
  using Run = std::function<Result<std::string>(ToolRun& call)>;
  /// Objects that tools may receive when they are made, by name (WorkspaceOptions::dependencies).
  using Dependencies = std::map<std::string, std::any>;
  /// A tool that has been made; once per workspace.
  struct Instance {
    Run run;
    std::function<Result<void>()> check_health = {};  ///< asked before an unhealthy tool is tried
    std::function<void()> close = {};                 ///< called after its last call
  };

  ToolInfo info;
  Run run;  ///< this, or `make`

  /// Makes the tool at its first call. `given` has the dependencies in `needs` and `takes`, and
  /// `config`: the std::map<std::string, std::string> of `[tools.NAME]` in galley.toml.
  std::function<Result<Instance>(const Dependencies& given)> make = {};
  std::vector<std::string> needs = {};  ///< required dependencies
  std::vector<std::string> takes = {};  ///< optional dependencies

  /// Of tools with one name, those that name agents come before those for all, then the highest
  /// priority first. The first one is called; the others are its fallbacks.
  int priority = 0;
  std::vector<std::string> agents = {};  ///< allowed ones; `*` and `?` match; empty: all
  std::vector<std::string> required_capabilities = {};  ///< capabilities that the caller must have
  /// Called for every call, from any thread; empty: always available.
  std::function<bool(const std::string& agent, const std::string& session_id)> is_available = {};
  /// Its answer depends only on its arguments and on what it reads with ToolRun, so an earlier
  /// answer about the same contents may be reused. It must be read-only and idempotent.
  bool depends_only_on_contents = false;
  /// Sanitizes each text of an answer before it is used. A tool that queries others
  /// (Category::kApi, kMcp) must have one, for example `sanitized_text`, or it is not added
  /// (`tool.no_output_sanitizer`).
  std::function<std::string(std::string_view)> sanitize = {};
};

/// A text from elsewhere, made safe to show: control and escape sequences, bidirectional control
/// characters, and strings that look like keys or tokens are removed. It is cut at one mebibyte.
[[nodiscard]] std::string sanitized_text(std::string_view text);

/// Returns the value of a secret by its key (`GITHUB_API_KEY`), or nothing if it must not be
/// revealed.
using SecretProvider = std::function<std::optional<std::string>(const std::string& key)>;

/// Returns only the environment variables that are named here.
[[nodiscard]] SecretProvider secrets_from_environment(std::vector<std::string> names);
/// Returns the secrets of a file with lines `NAME=value` (docs/security.md), as it is now.
/// Errors: kUsage `secret.file_not_found`; kRefused `secret.file_not_private` unless it is a
///         regular file that belongs to this user and that no other user may read; kInvalid
///         `secret.file_malformed`.
[[nodiscard]] Result<SecretProvider> secrets_from_file(const std::string& path);
/// Asks the providers in order and returns the first value.
[[nodiscard]] SecretProvider secrets_from_all(std::vector<SecretProvider> providers);

/// Options of one call, one command, or several that are staged together.
///
/// `secrets`, `confirm`, `logger` and `progress` are called only on the thread of the call. All
/// options except functions go on record (docs/operations.md), and the tool sees all of them.
struct CallOptions {
  /// Output of a running tool: a line of progress or a piece of a command's output.
  struct Log {
    enum class Stream : uint8_t { kNote, kStdout, kStderr };
    Stream stream = Stream::kNote;
    std::string_view text;
  };
  /// A call that must be confirmed (docs/policy.md), for the one who answers. The texts come from
  /// the caller and are not escaped for a terminal.
  struct Question {
    std::string id;         ///< names this call of this tool with these arguments, and no other
    std::string agent;      ///< the calling agent; empty: a person
    std::string tool;       ///< its name
    std::string arguments;  ///< JSON text without secrets
    std::string why;        ///< one sentence: which rule asks
  };

  std::string call_id = {};  ///< the caller's own id of the call; on record
  std::string task_id = {};  ///< the task of the call; on record
  std::string goal_id = {};
  std::string session_id = {};  ///< the conversation of the call; on record
  std::string reason = {};      ///< why; empty: the reason of the transaction
  /// The folder of relative paths and of commands: relative to the workspace or absolute inside it.
  /// Empty: the workspace's root.
  std::string cwd = {};
  /// Added to the environment of commands. Never put secrets here: the values go on record. Names
  /// that decide which code a program runs (`PATH`, `LD_*`) are refused.
  std::map<std::string, std::string> environment = {};
  /// Limits the capabilities of the agent for this call; absent: no further limit. It also covers
  /// what the call stages: every call that writes, including a command, needs `fs:write`.
  std::optional<std::vector<std::string>> only_capabilities = {};
  /// Limits the programs that commands of this call may start; absent: those of the agent.
  std::optional<std::vector<std::string>> only_programs = {};
  /// Timeout of the call; absent: the one in its arguments (`timeout` of Bash), else the tool's
  /// (ToolInfo::timeout). A command never gets more than galley.toml allows.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// Report what would be staged and keep nothing. Effects outside of the tree are not run.
  bool dry_run = false;
  bool deterministic = false;   ///< commands see a fixed time and locale, and no network
  SecretProvider secrets = {};  ///< values of `$ENV.NAME`; empty: no secrets
  /// Asks for a yes or no; empty: no person can be asked. A yes is for this call only.
  std::function<Result<bool>(const Question&)> confirm = {};
  std::function<void(const Log&)> logger = {};  ///< receives what tools report while they run
  /// Receives the progress of a long call: done of total, total 0 if it is not known.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  /// A request ends the tool and its commands, and takes back what they began.
  std::stop_token stop = {};
};

}  // namespace galley
