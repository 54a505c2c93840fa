#pragma once

#include <galley/tool.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/earlier_version.h"

namespace galley {

class CommandRunner;
class Directory;
class Overlay;

/// A JSON document that is shared and never changed; null: none.
using JsonDocument = std::shared_ptr<const nlohmann::ordered_json>;

/// The error taxonomy of the tool contract.
enum class ToolErrorCode : uint8_t {
  kValidation,  ///< EVALIDATION: the arguments do not conform to the schema or the dialect
  kPermission,  ///< EPERMISSION: a capability, a path rule or the early policy denies it
  kRuntime,     ///< ERUNTIME: the operation failed; nothing of it was staged
  kTimeout,     ///< ETIMEOUT: the deadline passed
  kQuota,       ///< EQUOTA: a named limit was reached
};

/// "EVALIDATION" and so on.
[[nodiscard]] std::string_view to_string(ToolErrorCode code);

/// The error of a call. `reason` is a stable dotted word; `message` says what to do next.
struct ToolError {
  ToolErrorCode code = ToolErrorCode::kRuntime;
  std::string reason;
  std::string message;
  JsonDocument details;  ///< for programs: an edit report or schema violations; may be null
  std::string cause{};   ///< the text of an exception: for the record, never for the caller
};

/// The tool error for an Error of the rooms below.
[[nodiscard]] ToolError tool_error_from(const Error& error);
/// The reverse: an Error that tool_error_from() turns into this tool error again.
[[nodiscard]] Error error_from(const ToolError& error);

/// The times and resources of a call. The executor fills them in.
struct ToolMeta {
  std::string started_at;  ///< RFC 3339 UTC with milliseconds
  std::string ended_at;
  int64_t duration_ms = 0;
  bool dry_run = false;      ///< the reported changes were not kept
  std::string execution_id;  ///< of its record; empty without a record
  int64_t cpu_ms = 0;        ///< processor time, including that of its programs
  /// Bytes: the peak of one of its programs with its children. Without programs, the growth of this
  /// process's peak during the call.
  int64_t peak_memory = 0;
  int64_t bytes_written = 0;  ///< contents that the call staged
  bool cached = false;        ///< an earlier answer about the same contents
  uint32_t attempts = 1;      ///< more than 1 after transient errors
  std::vector<std::string> warnings;
  // Indexes into `warnings`:
  std::optional<size_t> unrecorded = {};  ///< the call had no effect and could not be recorded
  std::optional<size_t> unreadable = {};  ///< paths that a search left out; the user may not read
                                          ///< them
};

/// The result of a call.
///
/// Invariant: if `ok` is true, `data` is set and `error` is not; otherwise `error` is set.
struct ToolResult {
  bool ok = false;
  JsonDocument data;
  std::optional<ToolError> error;
  ToolMeta meta;

  [[nodiscard]] static ToolResult success(nlohmann::ordered_json data);
  [[nodiscard]] static ToolResult failure(ToolError error);
};

/// The result as the JSON document of docs/json/tool-result.schema.json.
[[nodiscard]] nlohmann::ordered_json to_json(const ToolResult& result);

using ToolAnnotations = ToolInfo::Annotations;
using ToolLog = CallOptions::Log;

/// The parsed arguments of a call. Each tool derives its own type from it.
struct ParsedArguments {
  virtual ~ParsedArguments() = default;
};

/// The origin of a call: the base of its path arguments, and the calling agent.
struct PathOrigin {
  std::string root;  ///< absolute path of the workspace; empty: absolute paths are refused
  RelPath cwd = RelPath::root();  ///< the folder of relative paths
  std::string agent = {};         ///< may be empty
};

/// The paths and programs that a call will use, as far as its arguments show. Only the early policy
/// reads it; the gate judges the resulting change set.
struct Intent {
  std::vector<RelPath> reads;
  std::vector<RelPath> writes;    ///< created, changed, removed or moved, both ends of a move
  std::vector<RelPath> replaces;  ///< those of `writes` whose whole content is given or deleted
  /// Paths with edits that name their place only by line numbers, and the last such number.
  std::vector<std::pair<RelPath, uint64_t>> numbered = {};
  std::vector<std::string> programs;  ///< names as given; the command runner resolves them later
  bool is_open_ended = false;         ///< its effects are known only afterwards, as of a command
  /// The timeout in the arguments. It applies unless the caller gives one.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// The arguments as intent() parsed them, so that run() need not parse them again; may be null.
  std::shared_ptr<const ParsedArguments> parsed = nullptr;
};

/// The resources that one call may use.
///
/// Ownership: borrows the overlay, the clock and the command runner, which must outlive the call.
struct ToolContext {
  Overlay& overlay;
  const Clock& clock;
  std::string root;   ///< absolute path of the workspace, for absolute arguments; if it is empty,
                      ///< absolute paths are refused
  std::string agent;  ///< the calling agent; may be empty
  std::vector<std::string> capabilities;  ///< granted: `fs:read`, `fs:write:src/**`, `exec:git`
  bool dry_run = false;                   ///< the caller drops the staged changes afterwards
  bool deterministic = false;             ///< commands see a fixed time and locale, and no network
  CallOptions call{};                     ///< the caller's options; the members above win
  Deadline deadline;
  CommandRunner* commands = nullptr;           ///< null: no command can be run
  std::function<void(const ToolLog&)> logger;  ///< may be empty
  SecretProvider secrets;                      ///< may be empty
  /// Whether a listing, a search or a diff may show a file; empty: it may show all. The files that
  /// the arguments name were judged by their Intent.
  std::function<bool(const RelPath&)> may_read;
  /// Whether the caller may make an access that the Intent did not name; empty: it may make all.
  std::function<Result<void>(const Intent&)> judge{};
  MatchStep last_step = MatchStep::kMended;           ///< the least exact match step for edits
  std::vector<std::string> strict{};                  ///< leniencies that are refused
  std::function<bool(const RelPath&)> is_left_out{};  ///< as in StageOptions
  EarlierVersions earlier{};                          ///< for edits that do not fit; may be empty
  IsStale is_stale{};                                 ///< for line numbers of edits; may be empty
  const nlohmann::json* args = nullptr;               ///< of this call, for corrections; borrowed
  std::stop_token stop{};                             ///< a stop request ends the call
  std::shared_ptr<const ParsedArguments> parsed{};    ///< of this call's Intent; may be null
  /// Calls another tool with the same checks and its own record; empty: no tool can be called.
  std::function<ToolResult(const std::string& tool, const nlohmann::json& args)> call_tool{};
  RelPath cwd = RelPath::root();  ///< the folder of relative paths
  /// Paths that a search left out, because the user may not read them. The executor names them in
  /// a warning.
  std::vector<std::string> unreadable{};

  [[nodiscard]] PathOrigin origin() const { return {root, cwd, agent}; }
  /// Whether the call has timed out or was asked to stop. Further changes of the tool are dropped.
  [[nodiscard]] bool is_over() const { return stop.stop_requested() || deadline.has_passed(clock); }
  /// The error for it: kTimeout, `call.cancelled`, or `tool.timeout` with `remedy` in its message.
  [[nodiscard]] Error interruption(const std::string& remedy) const;
};

/// The error of a call that was cancelled.
[[nodiscard]] Error call_cancelled();

/// Cleans one text of an answer before it is used.
using TextSanitizer = std::function<std::string(std::string_view)>;

/// One action that an agent can call.
///
/// Invariant: a tool changes only the overlay of its context. If it fails, the overlay is unchanged
///            or the executor restores it.
/// Threads:   immutable after construction; calls on distinct contexts may run side by side.
/// Errors:    run() never throws; a failure is a ToolResult with an error.
class Tool {
 public:
  virtual ~Tool() = default;
  [[nodiscard]] virtual const ToolInfo& info() const = 0;
  /// The paths and programs that a call will use. `args` are the same as for run().
  virtual Result<Intent> intent(const nlohmann::json& args, const PathOrigin& origin) const = 0;
  /// Performs a call. `args` conforms to info().input_schema, and the schema's defaults are filled
  /// in.
  virtual ToolResult run(const nlohmann::json& args, ToolContext& context) const = 0;
  /// Cleans each text of the tool's answers. Empty: the texts are shown unchanged. A registry
  /// refuses a tool of category api or mcp without a sanitizer.
  [[nodiscard]] virtual TextSanitizer sanitizer() const { return {}; }
  /// Whether the workspace has what the tool needs. `root` is its absolute path.
  [[nodiscard]] virtual Result<void> check_workspace(const Directory& /*files*/,
                                                     const std::string& /*root*/) const {
    return {};
  }
};

}  // namespace galley
