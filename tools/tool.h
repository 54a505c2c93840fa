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
class Overlay;

/// A finished JSON document that is shared, never changed; null pointer means "none".
using JsonDocument = std::shared_ptr<const nlohmann::ordered_json>;

/// The error taxonomy of the tool contract.
enum class ToolErrorCode : uint8_t {
  kValidation,  ///< EVALIDATION: the arguments are not what the schema or the dialect asks for
  kPermission,  ///< EPERMISSION: a capability, a path rule or the early policy says no
  kRuntime,     ///< ERUNTIME: the operation could not be done; nothing of it was staged
  kTimeout,     ///< ETIMEOUT: the deadline passed
  kQuota,       ///< EQUOTA: a named limit was reached
};

/// "EVALIDATION" and so on.
[[nodiscard]] std::string_view to_string(ToolErrorCode code);

/// Why a call failed: `reason` is a stable dotted word, `message` says what to do next.
struct ToolError {
  ToolErrorCode code = ToolErrorCode::kRuntime;
  std::string reason;
  std::string message;
  JsonDocument details;  ///< machine-readable particulars (an edit report, schema violations)
  std::string cause{};   ///< what an exception said: for the record, never for the caller
};

/// The tool error that an Error of the rooms below amounts to.
[[nodiscard]] ToolError tool_error_from(const Error& error);
/// The other way: an Error that becomes this tool error again.
[[nodiscard]] Error error_from(const ToolError& error);

/// When a call ran; filled in by the executor.
struct ToolMeta {
  std::string started_at;  ///< RFC 3339 UTC with milliseconds
  std::string ended_at;
  int64_t duration_ms = 0;
  bool dry_run = false;      ///< true: what the result tells of was not kept
  std::string execution_id;  ///< of its record; empty where there is none
  int64_t cpu_ms = 0;        ///< processor time of the call, with that of its programs
  /// Bytes: the most that one of its programs took with its children, or, without programs, by how
  /// much the call raised the most that this process ever took.
  int64_t peak_memory = 0;
  int64_t bytes_written = 0;  ///< contents that the call staged
  bool cached = false;        ///< an earlier answer about the same contents
  uint32_t attempts = 1;      ///< above 1: transient errors were tried again
  std::vector<std::string> warnings;
};

/// What a call returns.
///
/// Invariant: ok means `data` is set and `error` is not; otherwise `error` is set.
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

/// What a tool made of the arguments of a call; a tool derives its own from it.
struct ParsedArguments {
  virtual ~ParsedArguments() = default;
};

/// Where a call comes from: what its path arguments are read against, and who calls.
struct PathOrigin {
  std::string root;  ///< absolute path of the workspace; empty: absolute paths are refused
  RelPath cwd = RelPath::root();  ///< what relative paths start from
  std::string agent = {};         ///< may be empty
};

/// What one call will touch, as far as its arguments tell; for the early policy only, since the
/// policy that counts reads the resulting change set.
struct Intent {
  std::vector<RelPath> reads;
  std::vector<RelPath> writes;        ///< created, changed, removed or moved, both ends of a move
  std::vector<RelPath> replaces;      ///< those of `writes` whose whole content is given
  std::vector<std::string> programs;  ///< names as given, resolved later by the command runner
  bool is_open_ended = false;         ///< a command: what it touches shows only afterwards
  /// How long the arguments ask for, where the caller does not say.
  std::optional<std::chrono::milliseconds> timeout = {};
  /// What intent() made of the arguments, if run() wants it back: they are parsed once.
  std::shared_ptr<const ParsedArguments> parsed = nullptr;
};

/// What one call may use.
///
/// Ownership: borrows everything; all of it outlives the call.
struct ToolContext {
  Overlay& overlay;
  const Clock& clock;
  std::string root;   ///< absolute path of the workspace, for arguments that are absolute; may be
                      ///< empty, then absolute paths are refused
  std::string agent;  ///< who calls; may be empty
  std::vector<std::string> capabilities;  ///< granted: `fs:read`, `fs:write:src/**`, `exec:git`
  bool dry_run = false;                   ///< the caller drops what is staged afterwards
  bool deterministic = false;             ///< commands see a fixed time, locale and no network
  CallOptions call{};                     ///< who asks and for what; what is above stands in for it
  Deadline deadline;
  CommandRunner* commands = nullptr;           ///< null: no command can be run
  std::function<void(const ToolLog&)> logger;  ///< may be empty
  SecretProvider secrets;                      ///< may be empty
  /// Which files may be shown by what looks through directories; empty: all. A file that is named
  /// was judged by its intent.
  std::function<bool(const RelPath&)> may_read;
  /// Whether who calls may do this, for accesses that no intent told of; empty: everything.
  std::function<Result<void>(const Intent&)> judge{};
  MatchStep last_step = MatchStep::kMended;         ///< how far edits may be matched
  std::vector<std::string> strict{};                ///< leniencies that no edit may need
  EarlierVersions earlier{};                        ///< what edits that do not fit may have meant
  std::stop_token stop{};                           ///< a request ends the call
  std::shared_ptr<const ParsedArguments> parsed{};  ///< of this call's Intent; may be null
  /// Calls another tool on the same road, with a record of its own; empty: none can be called.
  std::function<ToolResult(const std::string& tool, const nlohmann::json& args)> call_tool{};
  RelPath cwd = RelPath::root();  ///< what relative paths start from

  [[nodiscard]] PathOrigin origin() const { return {root, cwd, agent}; }
  /// Whether the time is over or somebody asked for a stop: what the tool still does is dropped.
  [[nodiscard]] bool is_over() const { return stop.stop_requested() || deadline.has_passed(clock); }
  /// Why it is: kTimeout, `call.cancelled` or `tool.timeout`, whose message ends in `remedy`.
  [[nodiscard]] Error interruption(const std::string& remedy) const;
};

/// Cleans one text of an answer before anybody sees it.
using TextSanitizer = std::function<std::string(std::string_view)>;

/// One verb an agent can say.
///
/// Invariant: a tool changes nothing but the overlay of its context, and when it fails it leaves
///            the overlay as it was or the executor restores it.
/// Threads:   immutable after construction; calls on distinct contexts may run side by side.
/// Errors:    run() never throws; a failure is a ToolResult with an error.
class Tool {
 public:
  virtual ~Tool() = default;
  [[nodiscard]] virtual const ToolInfo& info() const = 0;
  /// What a call with these arguments will touch. They are as run() gets them.
  virtual Result<Intent> intent(const nlohmann::json& args, const PathOrigin& origin) const = 0;
  /// Does it. `args` has been validated against info().input_schema, and what that has a `default`
  /// for and the caller left out was put in.
  virtual ToolResult run(const nlohmann::json& args, ToolContext& context) const = 0;
  /// What cleans each text of its answers. Empty: they are shown as they are, which a registry does
  /// not take of a tool that asks others (category api or mcp).
  [[nodiscard]] virtual TextSanitizer sanitizer() const { return {}; }
};

}  // namespace galley
