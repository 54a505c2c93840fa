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

/// Tools: what an agent can call, and how a program adds its own (docs/tools.md).
namespace galley {

/// Everything a caller has to know of a tool, in the words of JSON Schema 2020-12.
struct ToolInfo {
  /// Where a tool does its work. Decides how long a call may take unless the tool says otherwise,
  /// and what has to be cleaned of what comes back.
  enum class Category : uint8_t {
    kDirect,  ///< in this process, on the proposed tree
    kApi,     ///< asks a service on the network
    kMcp,     ///< asks a server of the Model Context Protocol
    kSystem,  ///< runs a program in the sandbox
  };
  /// How much a wrong call can spoil. Stated by each tool; never derived from its annotations.
  enum class Risk : uint8_t { kLow, kMedium, kHigh, kCritical };
  /// What a tool may do at most; docs/tools.md has what each mode does with it.
  enum class Tier : uint8_t {
    kSafe = 0,        ///< no side effects
    kStandard = 1,    ///< reads
    kElevated = 2,    ///< writes, which the overlay holds until a commit
    kRestricted = 3,  ///< acts where the overlay cannot take it back: needs a yes
    kDangerous = 4,   ///< is usually not run at all
  };
  /// Hints for callers about what a tool may do (the names are MCP's).
  struct Annotations {
    bool read_only = false;
    bool destructive = false;  ///< may remove or replace what was there
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
  std::vector<std::string> capabilities;  ///< needed at all: `fs:read`, `fs:write`, `exec`

  std::string namespace_name = {};  ///< `fs` of `fs.read`; empty: the part of `name` before its dot
  Category category = Category::kDirect;
  Risk risk_level = Risk::kMedium;
  Tier security_tier = Tier::kElevated;
  bool requires_confirmation = false;  ///< a person says yes to each call
  bool is_context_aware = false;       ///< answers differently in another session or task
  bool is_reversible = false;          ///< a call can be taken back by its execution id
  std::string rollback_tool = {};      ///< the tool that takes a call back; empty: none of its own
  /// How long one call may take; absent: what its category has (5, 10, 10 and 30 s).
  std::optional<std::chrono::milliseconds> timeout = {};
  /// What the programs of one call may take together; absent: 200 MiB. galley.toml bounds it, too.
  std::optional<uint64_t> max_memory_bytes = {};
  std::vector<std::string> examples = {};  ///< arguments as JSON text, each a call that succeeds
  /// Why it goes and since which version; empty: it stays.
  std::string deprecated = {};
  std::string successor = {};  ///< the tool that a deprecated one gives way to; may be empty
};

/// One call of an own tool: its arguments, and the files of the tree as the transaction proposes
/// it.
///
/// A path is relative to the call's folder, or absolute inside the workspace. Each access is held
/// against the capabilities and rules of who calls, as those of the standard tools are; what is
/// written is staged, and the gate judges it with all else before it can be committed.
///
/// Ownership: borrowed for one call; a tool keeps no reference to it.
/// Threads:   confined to the thread of the call.
/// Errors:    kInvalid `path.*`, kRefused `path.*`, `policy.*`, `capability.missing`, kNotFound
///            `path.not_found`, kQuota `limit.*`. After an Error nothing has changed.
class ToolRun {
 public:
  /// The arguments as the text of one JSON object, which conforms to the tool's input schema.
  [[nodiscard]] const std::string& arguments() const;
  /// One argument by its name; `otherwise` where it is not given or of another type.
  [[nodiscard]] std::string text(std::string_view name, std::string otherwise = {}) const;
  [[nodiscard]] int64_t number(std::string_view name, int64_t otherwise = 0) const;
  [[nodiscard]] bool flag(std::string_view name, bool otherwise = false) const;
  /// Who calls; may be empty.
  [[nodiscard]] const std::string& agent() const;
  /// What the caller says the call belongs to (CallOptions); each may be empty.
  [[nodiscard]] const std::string& call_id() const;
  [[nodiscard]] const std::string& session_id() const;
  /// The folder that relative paths start from, as a path of the workspace; `.` is its root.
  [[nodiscard]] std::string cwd() const;

  /// The bytes of a regular file.
  [[nodiscard]] Result<std::string> read(std::string_view path);
  /// What there is; kAbsent is a value.
  [[nodiscard]] Result<FileKind> kind(std::string_view path);
  /// Names in a directory, sorted; that of a directory ends in `/`. `.` is the workspace.
  [[nodiscard]] Result<std::vector<std::string>> list(std::string_view directory);

  /// Puts a file there, with the directories that are missing. One that exists keeps its mode.
  Result<void> write(std::string_view path, std::string content);
  /// Removes a file or link, and the directories that it leaves empty.
  Result<void> remove(std::string_view path);
  /// Moves a file, link or whole directory to a path that is absent.
  Result<void> move(std::string_view from, std::string_view to);

  /// Calls another tool, with what this call's caller may do and this tool says it needs. What it
  /// staged stays when this call succeeds. Answers the text of its JSON object.
  /// Errors: as Transaction::call; kRefused `call.cycle` for a tool that led to this one; kQuota
  ///         `limit.call_depth`, `limit.nested_calls`.
  Result<std::string> call(std::string_view tool, std::string_view json_arguments);

  /// A line of progress for whoever listens to the call.
  void note(std::string_view line);
  /// How far it is: done of total, total 0 where that is not known.
  void progress(uint64_t done, uint64_t total = 0);
  /// Whether the call's time is over, or somebody asked it to stop: what it would still do is
  /// dropped.
  [[nodiscard]] bool is_late() const;

 private:
  friend class DefinedTool;
  struct State;
  explicit ToolRun(State& state) : state_(&state) {}
  State* state_;
};

/// A tool that a program adds to a workspace (WorkspaceOptions::tools, Workspace::add_tool). It is
/// called as the standard tools are: arguments are held against the input schema, then come
/// capabilities and rules, and every call is on record. A call is all or nothing: one that fails
/// stages nothing.
struct ToolDefinition {
  class Shape;  // galley/define_tool.h

  /// Does one call and returns the text of a JSON object that conforms to info.output_schema.
  /// Threads: may be called from several threads at once, each with a ToolRun of its own.
  /// Errors:  an Error fails the call, and its reason and message go to the caller: the message
  ///          says what to do next. An exception fails it, too (`tool.threw`).
  using Run = std::function<Result<std::string>(ToolRun& call)>;
  /// What tools can be given when they are made, by name (WorkspaceOptions::dependencies).
  using Dependencies = std::map<std::string, std::any>;
  /// A tool that has been made, once a workspace.
  struct Instance {
    Run run;
    std::function<Result<void>()> check_health = {};  ///< asked before an unhealthy one is tried
    std::function<void()> close = {};                 ///< after its last call
  };

  ToolInfo info;
  Run run;  ///< this, or `make`

  /// Makes the tool at its first call. It is given what `needs` and `takes` name, and `config`: the
  /// std::map<std::string, std::string> of `[tools.NAME]` in galley.toml.
  std::function<Result<Instance>(const Dependencies& given)> make = {};
  std::vector<std::string> needs = {};  ///< dependencies without which it cannot be called
  std::vector<std::string> takes = {};  ///< those it uses where they are there

  /// Among tools of one name the highest is called, one that names agents before one for everyone;
  /// the others are its fallbacks.
  int priority = 0;
  std::vector<std::string> agents = {};         ///< who may call it; `*` and `?` match; empty: all
  std::vector<std::string> only_if_given = {};  ///< capabilities that the caller must have
  /// Asked at every call, from any thread; empty: yes.
  std::function<bool(const std::string& agent, const std::string& session_id)> is_available = {};
  /// Its answer follows from its arguments and what it reads with ToolRun alone, so that an earlier
  /// answer about the same contents is as good. It has to be read-only and idempotent.
  bool follows_from_contents = false;
  /// Cleans each text of an answer before anybody sees it. A tool that asks others (Category::kApi,
  /// kMcp) has one, `sanitized_text` for instance, or it is not added
  /// (`tool.no_output_sanitizer`).
  std::function<std::string(std::string_view)> sanitize = {};
};

/// A text from elsewhere as it may be shown: without control and escape sequences and without
/// invisible characters that turn text around, what looks like a key or token taken out, cut where
/// it is longer than a mebibyte.
[[nodiscard]] std::string sanitized_text(std::string_view text);

/// Answers the value of a secret by its key (`GITHUB_API_KEY`), or nothing when it may not be told.
using SecretProvider = std::function<std::optional<std::string>(const std::string& key)>;

/// Answers the variables of the environment that are named here, and no other.
[[nodiscard]] SecretProvider secrets_from_environment(std::vector<std::string> names);
/// Answers the secrets of a file with a line `NAME=value` each (docs/secrets.md), as it is now.
/// Errors: kUsage `secret.file_not_found`; kRefused `secret.file_not_private` unless it is a
///         regular file of this user that nobody else may read; kInvalid `secret.file_malformed`.
[[nodiscard]] Result<SecretProvider> secrets_from_file(const std::string& path);
/// Answers what the first of them answers.
[[nodiscard]] SecretProvider secrets_from_all(std::vector<SecretProvider> providers);

/// What a caller can say about one call, one command, or several that are staged together.
///
/// `secrets`, `confirm`, `logger` and `progress` are called on the thread of the call only. What is
/// no function is on record (docs/audit.md), and all of it reaches the tool.
struct CallOptions {
  /// Something a running tool has to say: a line of progress or a piece of a command's output.
  struct Log {
    enum class Stream : uint8_t { kNote, kStdout, kStderr };
    Stream stream = Stream::kNote;
    std::string_view text;
  };
  /// A call that needs somebody's yes (docs/policy.md), as whoever answers has to see it. The texts
  /// come from the caller and are not escaped for a terminal.
  struct Question {
    std::string id;         ///< names this call of this tool with these arguments, and no other
    std::string agent;      ///< who calls; empty: a person
    std::string tool;       ///< its name
    std::string arguments;  ///< JSON text, secrets taken out
    std::string why;        ///< a sentence: which rule asks
  };

  std::string call_id = {};  ///< the caller's own id of the call; on record
  std::string task_id = {};  ///< what it belongs to; on record
  std::string goal_id = {};
  std::string session_id = {};  ///< the conversation that it belongs to; on record
  std::string reason = {};      ///< why; empty: the reason of the transaction
  /// The folder that relative paths start from and commands start in: relative to the workspace
  /// or absolute inside it. Empty: its root.
  std::string cwd = {};
  /// Added to the environment of commands. Never secrets: these stand on record. Names that decide
  /// which code a program runs (`PATH`, `LD_*`) are refused.
  std::map<std::string, std::string> environment = {};
  /// What this call may do, of what its agent may do; absent: all of that. It is also held against
  /// what the call staged: whoever writes, a command too, needs `fs:write`.
  std::optional<std::vector<std::string>> only_capabilities = {};
  /// Programs that commands of this call may start, of those that its agent may; absent: those.
  std::optional<std::vector<std::string>> only_programs = {};
  /// How long the call may take; absent: what its arguments ask for (`timeout` of Bash), else what
  /// the tool says (ToolInfo::timeout). A command never gets more than galley.toml allows.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// Tell what would be staged, keep nothing. What acts outside of the tree is not run so.
  bool dry_run = false;
  bool deterministic = false;   ///< commands see a fixed time and locale, and no network
  SecretProvider secrets = {};  ///< answers `$ENV.NAME`; empty: there are none
  /// Says yes or no to a call that needs one; empty: nobody is there. A yes is for this call only.
  std::function<Result<bool>(const Question&)> confirm = {};
  std::function<void(const Log&)> logger = {};  ///< what tools say while they run
  /// How far a long call is: done of total, total 0 where it is not known.
  std::function<void(uint64_t done, uint64_t total)> progress = {};
  /// A request ends the tool and its commands; what was begun is taken back.
  std::stop_token stop = {};
};

}  // namespace galley
