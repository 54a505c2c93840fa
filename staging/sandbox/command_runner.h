#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/overlay/overlay.h"

namespace galley {

class InputRelay;
class LiveRun;
struct LiveOptions;

/// Limits of one command. 0 means no limit only for the fields whose comment says this.
struct CommandLimits {
  std::chrono::milliseconds wall{120'000};
  std::chrono::milliseconds grace{2'000};           ///< between SIGTERM and SIGKILL
  std::chrono::seconds cpu{0};                      ///< of all processes together; 0: none
  uint64_t max_memory_bytes = uint64_t{4} << 30U;   ///< resident, of all processes; 0: none
  uint32_t max_processes = 512;                     ///< processes and threads at once
  uint64_t max_file_bytes = uint64_t{1} << 30U;     ///< of any one file
  uint64_t max_written_bytes = uint64_t{4} << 30U;  ///< written by all processes; 0: none
  uint32_t max_open_files = 1024;                   ///< per process
  uint64_t max_stdout_bytes = uint64_t{1} << 20U;   ///< kept; bytes in the middle are only counted
  uint64_t max_stderr_bytes = uint64_t{1} << 20U;
  uint64_t max_private_bytes = uint64_t{1} << 30U;  ///< for the private /tmp and /dev/shm, each
};

/// The limits that one command asks for, with the fields of CommandLimits. The runner chooses the
/// values of absent fields.
struct AskedLimits {
  std::optional<std::chrono::milliseconds> wall;
  std::optional<std::chrono::milliseconds> grace;
  std::optional<std::chrono::seconds> cpu;
  std::optional<uint64_t> max_memory_bytes;
  std::optional<uint32_t> max_processes;
  std::optional<uint64_t> max_file_bytes;
  std::optional<uint64_t> max_written_bytes;
  std::optional<uint32_t> max_open_files;
  std::optional<uint64_t> max_stdout_bytes;
  std::optional<uint64_t> max_stderr_bytes;
  std::optional<uint64_t> max_private_bytes;

  /// Returns these limits, with CommandLimits' default for each absent one.
  [[nodiscard]] CommandLimits with_defaults() const;
};

enum class NetworkAccess : uint8_t {
  kNone,  ///< a private network with only a loopback device
  kHost,  ///< the host's network; requires a grant of the policy
};

/// How the files are handled that a command creates, changes and deletes.
enum class EffectsRule : uint8_t {
  kStageOnSuccess,  ///< staged when it exits with 0, else dropped
  kStageAlways,     ///< staged whatever its exit status (not after a timeout or a quota)
  kDrop,            ///< never staged: validators
};

/// Which programs the processes of a command may execute. The command's own program may always be
/// executed; the caller checks it.
struct ProgramRules {
  bool is_restricted = false;  ///< only `allowed`, and what those need to start
  /// Absolute paths of files, and of directories, which end in `/` and include everything below.
  std::vector<std::string> allowed;
  std::vector<std::string> denied;     ///< absolute paths of files of the host
  std::vector<std::string> unchecked;  ///< rules that cannot be enforced, for people
};

enum class OutputStream : uint8_t { kStdout, kStderr };

/// One program to run on the proposed tree.
struct Command {
  std::vector<std::string> argv;  ///< argv[0]: a name to look up on PATH, or a path
  /// argv is {"sh", "-c", TEXT}. Models write the text for bash, so bash runs it where that exists
  /// and the policy lets it run as it does `sh`.
  bool is_shell = false;
  RelPath working_directory = RelPath::root();
  std::map<std::string, std::string> environment;  ///< added to the scrubbed one
  std::string input;                               ///< its stdin; empty: /dev/null
  std::shared_ptr<InputRelay> input_relay;         ///< its stdin instead, if given
  AskedLimits limits;
  NetworkAccess network = NetworkAccess::kNone;
  /// Hosts that it may reach without the host's network (egress_proxy.h). Needs namespaces.
  std::vector<std::string> hosts = {};
  EffectsRule effects = EffectsRule::kStageOnSuccess;
  /// Names or paths of the only programs that may be executed, including `argv[0]`. Absent: this
  /// does not restrict them.
  std::optional<std::vector<std::string>> only_programs = {};
  ProgramRules walls;             ///< from only_programs and the policy (engine/calls/programs.h)
  bool is_deterministic = false;  ///< fixed SOURCE_DATE_EPOCH, TZ, locale; no network
  bool propose_ignored = false;   ///< stage git-ignored outputs too
  std::vector<RelPath> keep;      ///< directories whose contents persist between runs, not staged
  std::string keep_name;          ///< owner of those directories: a validator's name
  std::vector<RelPath> collect;   ///< files to return after the run, even if effects are dropped
  /// More folders of the host that only this command sees, read-only. The paths are absolute; the
  /// folders contain the command's own files.
  std::vector<std::string> readable = {};
  /// Called on the thread of run() with the kept output: the head as it arrives, the tail when the
  /// command has ended.
  std::function<void(OutputStream, std::string_view)> on_output;
  /// Whether on_output gets every byte as it arrives, including bytes that are not kept.
  bool passes_all_output = false;
  /// Called before the tail with the number of omitted bytes, unless that is 0.
  std::function<void(OutputStream, uint64_t)> on_left_out;
  std::stop_token stop;  ///< a request kills the whole process tree
  /// A request also kills the whole process tree, but is not a failure. Earlier changes are staged
  /// if `effects` stages commands that end by a signal.
  std::stop_token end = {};
};

/// The kept part of one output stream.
struct CapturedOutput {
  std::string head;
  std::string tail;            ///< empty unless bytes were omitted
  uint64_t omitted_bytes = 0;  ///< between head and tail
  /// Returns both parts, with a line between them that states the number of missing bytes.
  [[nodiscard]] std::string text() const;
};

/// How a command was isolated.
enum class SandboxLevel : uint8_t {
  kNamespaces,  ///< namespaces, overlay, Landlock if the kernel has it, seccomp
  kCopy,        ///< a copy of the tree, Landlock and seccomp; no namespaces
  kNone,        ///< a fake in tests
};
[[nodiscard]] std::string_view sandbox_level_name(SandboxLevel level);

enum class LimitKind : uint8_t {
  kWall,
  kCpu,
  kMemory,
  kWritten,
  kFileSize,
  kCancelled,
  kReadBack,  ///< the command ended in time, but its effects could not be read in time
};

/// Time that reading back the effects may take after the command's wall limit.
inline constexpr std::chrono::milliseconds kReadBackGrace{5'000};

/// The limit that ended a command.
struct LimitBreach {
  LimitKind kind = LimitKind::kWall;
  uint64_t limit = 0;   ///< milliseconds, seconds or bytes
  uint64_t figure = 0;  ///< the value that was reached, in the same unit
  /// Returns an Error whose message has both figures: kTimeout `sandbox.timeout`,
  /// `sandbox.cancelled`, `sandbox.read_back`; kQuota `sandbox.quota_*`.
  [[nodiscard]] Error error() const;
};

/// An object that a command made and that a change set cannot represent.
struct RefusedEffect {
  std::string path;  ///< bytes as found
  std::string why;   ///< one clause: "is a FIFO"
};

/// What ended with a command although it was not an effect of it: nothing of this is staged.
struct LostWithCommand {
  uint32_t processes = 0;  ///< that it left in the background
  std::string process;     ///< the name of one of them
  uint32_t files = 0;      ///< in its private temporary directory, up to a limit
  std::string file;        ///< the path of one of them; may be empty
  /// One sentence for each of the two that is not empty, with the remedy.
  [[nodiscard]] std::vector<std::string> sentences() const;
};

/// Shells report a program that signal n ended as exit status kSignalStatusBase + n.
inline constexpr int kSignalStatusBase = 128;

/// Before the names of AbsorbReport::other_bits.
inline constexpr const char* kOtherBitsNote =
    "setuid, setgid and sticky bits of directories are never changed: ";

struct CommandResult {
  std::optional<int> exit_code;    ///< absent when a signal ended it
  std::optional<int> exit_signal;  ///< present when a signal ended it
  std::optional<LimitBreach> breach;
  CapturedOutput standard_output;
  CapturedOutput standard_error;
  SandboxLevel level = SandboxLevel::kNone;
  /// For people: "namespaces, overlay, landlock 7, seccomp"; for a copy instead of namespaces also
  /// the reason.
  std::string walls;
  bool restricts_programs = false;  ///< ProgramRules::is_restricted was enforced
  /// Program rules that were checked only for the first program, not for programs that it started.
  std::vector<std::string> unchecked;

  bool effects_staged = false;  ///< false: the effects were dropped
  uint64_t staged_paths = 0;
  uint64_t ignored_paths = 0;    ///< git-ignored: kept in the scratch layer, not proposed
  uint64_t protected_paths = 0;  ///< .git, .galley or .sage: dropped
  std::string ignored_path;      ///< the first, if there is one
  std::vector<std::string> protected_names;  ///< as in AbsorbReport
  std::vector<std::string> other_bits;       ///< as in AbsorbReport
  std::string full_folder;  ///< where it wrote, if no space was left there at its end; else empty
  std::vector<RefusedEffect> refused;      ///< not empty: nothing was staged
  std::vector<std::string> refused_hosts;  ///< `host:port` that were asked for, not in `hosts`
  std::map<RelPath, std::string> collected;
  LostWithCommand lost;

  std::chrono::nanoseconds wall{0};
  std::chrono::nanoseconds cpu{0};
  uint64_t peak_memory_bytes = 0;
  uint64_t written_bytes = 0;

  /// Says what the command did that is not staged, one sentence for each kind, with the remedy.
  [[nodiscard]] std::vector<std::string> losses() const;
  [[nodiscard]] bool succeeded() const {
    return exit_code.has_value() && *exit_code == 0 && !breach;
  }
};

/// The seam for running programs on the proposed tree.
///
/// Invariant: the workspace is never written. The changes of a command reach only the overlay, all
///            of them or none.
/// Threads:   run() may be called from several threads at once, on distinct overlays.
/// Errors:    an Error means that the command could not be run or that its effects could not be
///            read. The result says how the command ended. `sandbox.unavailable` (kRefused) names
///            the missing feature of this machine and the remedy; kNotFound
///            `sandbox.program_not_found`; kInvalid `sandbox.bad_command`.
class CommandRunner {
 public:
  virtual ~CommandRunner() = default;
  /// Runs `command` on the tree that `overlay` proposes, and stages its effects in it according to
  /// `command.effects`. After an Error the overlay is unchanged.
  virtual Result<CommandResult> run(const Command& command, Overlay& overlay) = 0;
  /// Starts `command` on the tree that `overlay` proposes, and returns while it runs. Nothing is
  /// staged: it writes to the layers that the options name.
  virtual Result<std::unique_ptr<LiveRun>> start(const Command& command, const LiveOptions& options,
                                                 const Overlay& overlay);
};

class Proposal;

/// Returns a new overlay of the same tree as `proposal`. Each validator has its own, on its own
/// thread; the changes() of a fixer's overlay are its result.
[[nodiscard]] Overlay overlay_of(const Proposal& proposal, const Directory& workspace,
                                 const Clock& clock);

}  // namespace galley
