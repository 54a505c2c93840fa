#pragma once

#include <galley/config.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/glob.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/policy/capability.h"
#include "engine/policy/finding.h"
#include "engine/policy/grant_book.h"
#include "engine/policy/tool_config.h"
#include "staging/fs/directory.h"
#include "staging/placing/place.h"

namespace galley {

/// A rule's decision about an effect.
enum class Decision : uint8_t { kAllow, kAsk, kDeny };
[[nodiscard]] std::string_view decision_name(Decision decision);

/// An operation on a path, for rules. A change of mode is a modify. A move is a delete of the old
/// path and a create of the new path.
enum class PathOperation : uint8_t { kCreate, kModify, kDelete };
[[nodiscard]] std::string_view operation_name(PathOperation operation);

/// How much tools may do without a question. The table is in security_mode.h.
enum class SecurityMode : uint8_t { kStrict, kStandard, kPermissive };

/// `[[policy.rule]]`: the last rule that matches a path decides.
struct PathRule {
  std::string name;  ///< `rule at galley.toml:12` if the file gives none
  bool has_name = false;
  GlobList paths;
  std::vector<std::string> agents;        ///< empty: every agent; `*` and `?` match
  std::vector<PathOperation> operations;  ///< empty: all
  Decision decision = Decision::kDeny;
  std::string reason;  ///< shown when the rule refuses
  uint32_t line = 0;   ///< of its table in galley.toml
};

/// A rule about an effect, with its line in galley.toml; 0 for a default.
template <class T>
struct EffectRule {
  T value{};
  uint32_t line = 0;
};

/// `[policy.effects]`: rules about a change set as a whole, or about special kinds of paths.
struct EffectRules {
  EffectRule<std::optional<uint64_t>> max_files;          ///< paths changed in one proposal
  EffectRule<std::optional<uint64_t>> max_changed_bytes;  ///< sum of the new contents
  EffectRule<std::optional<uint64_t>> max_deletes;
  EffectRule<std::optional<uint64_t>> max_deleted_bytes;
  Decision over_limit = Decision::kDeny;  ///< the decision if one of these four limits is exceeded
  EffectRule<Decision> executable_bit{Decision::kAllow};
  EffectRule<Decision> owners{Decision::kAllow};
  EffectRule<Decision> symlinks{Decision::kAllow};
  EffectRule<Decision> type_changes{Decision::kAllow};
  EffectRule<Decision> binaries{Decision::kAllow};
  EffectRule<Decision> submodules{Decision::kAllow};  ///< .gitmodules
  EffectRule<Decision> case_collisions{Decision::kDeny};
  EffectRule<Decision> git_directories{Decision::kAsk};  ///< folders that look like a repository
};

/// `[policy]`.
struct PolicyConfig {
  SecurityMode mode = SecurityMode::kStandard;
  Decision default_decision = Decision::kAllow;  ///< for a path that no rule matches
  uint32_t default_line = 0;
  std::vector<PathRule> rules;
  GlobList protected_paths;  ///< always denied, even if a rule allows them
  uint32_t protected_line = 0;
  EffectRules effects;
};

/// `[agents.NAME]`: the most that one agent may do; the rules apply in addition.
struct AgentProfile {
  std::string name;
  Capabilities capabilities;
  bool has_capabilities = false;   ///< false: not limited by capabilities
  std::vector<std::string> tools;  ///< tools it may call; empty: all
  std::string tool_profile;        ///< the tool names that it uses (docs/tools.md); empty: none
  uint32_t line = 0;
};

/// `[limits]`: limits of size. Exceeding one is an Error of kind kQuota, not a refusal.
struct LimitsConfig {
  uint64_t max_file_bytes = 0;   ///< 0: the built-in bound
  uint64_t max_patch_bytes = 0;  ///< 0: the built-in bound
};

/// How the output of a command validator is parsed: by format or by program.
enum class OutputParser : uint8_t {
  kNone,
  kGcc,
  kRegex,
  kSarif,
  kJunit,
  kClang,
  kPython,  ///< tracebacks and syntax errors
  kPytest,
  kRuff,
  kMypy,
  kEslint,
  kTsc,
  kGo,
  kCargo,
  kRustc,
  kJavac,
  kShellcheck
};
[[nodiscard]] std::string_view parser_name(OutputParser parser);

/// `[[validator]]`: a built-in one or a command.
struct ValidatorConfig {
  std::string name;
  std::string builtin;               ///< `json`, …; empty for a command
  std::vector<std::string> command;  ///< program and arguments; `{files}`, `{file}` are replaced
  GlobList paths;                    ///< empty: the built-in's own, or every path
  bool has_paths = false;
  std::vector<std::string> agents;       ///< empty: every agent
  Severity severity = Severity::kError;  ///< kError blocks, kWarning and kNote only inform
  uint32_t line = 0;
  bool is_trusted = true;  ///< false: an untrusted command; it is never run

  // Built-in validators; 0 or empty when the validator does not use it.
  uint64_t max_bytes = 0;             ///< size
  std::string style = "keep";         ///< line_endings: `keep`, `lf`, `crlf`
  std::vector<std::string> patterns;  ///< forbidden_text: RE2 patterns
  std::string rules_file;             ///< secrets: a gitleaks-format rule file, workspace path
  bool allow_comments = false;        ///< json

  // Command validators.
  bool is_per_file = false;
  uint32_t timeout_ms = 60'000;
  uint64_t max_output_bytes = uint64_t{4} << 20U;
  OutputParser parser = OutputParser::kNone;
  std::string parser_regex;  ///< for kRegex: groups file, line, column, severity, message
  std::string parser_file;   ///< read this file after the run instead of stdout
  std::string trust_with = "galley trust";  ///< how a person trusts it, for messages
  bool only_new = false;
  bool fix = false;
  std::vector<int> ok_exit = {0};   ///< exit statuses that mean "no findings"
  std::vector<int> findings_exit;   ///< statuses that mean "see the findings"; empty: all others
  std::vector<std::string> keep;    ///< directories whose contents persist between runs
  std::vector<std::string> inputs;  ///< globs of its input files, for the cache; empty: all files
  bool is_cached = true;
  bool allows_network = false;
  std::map<std::string, std::string> environment;
};

/// `[findings]`: which findings are suppressed.
struct FindingsConfig {
  std::string baseline;                         ///< workspace path of a baseline; empty: none
  Decision added_suppressions{Decision::kAsk};  ///< the decision about a proposed suppression
  bool suppress_secrets = false;                ///< whether a comment may suppress a secret
};

/// `[owners]`: who must approve changes of which paths.
struct OwnersConfig {
  bool is_required = false;        ///< whether a change of an owned path needs approval
  std::string file;                ///< a CODEOWNERS file; empty: where GitHub and GitLab look
  std::vector<std::string> lines;  ///< CODEOWNERS lines, added after those of the file
};

/// `[history]`: the transactions that gc keeps. The newest one is always kept.
struct HistoryConfig {
  uint64_t keep_transactions = 1000;         ///< 0: no limit
  uint64_t keep_days = 90;                   ///< 0: no limit
  uint64_t keep_bytes = uint64_t{1} << 30U;  ///< 0: no limit
};

enum class Durability : uint8_t { kFull, kGroup, kNone };
enum class Isolation : uint8_t { kSnapshot, kSerializable };
enum class HardLinks : uint8_t { kBreak, kRefuse };
enum class OnConflict : uint8_t { kRefuse, kMerge };

/// `[commit]`.
struct CommitConfig {
  Durability durability = Durability::kFull;
  Isolation isolation = Isolation::kSnapshot;
  HardLinks hard_links = HardLinks::kBreak;
  OnConflict on_conflict = OnConflict::kMerge;
  uint32_t lock_timeout_ms = 10'000;
  std::vector<std::string> before_apply;  ///< hook command, empty: none
  std::vector<std::string> after_apply;
};

enum class SandboxFallback : uint8_t { kRefuse, kCopy };

/// `[sandbox]`.
struct SandboxConfig {
  SandboxFallback fallback = SandboxFallback::kRefuse;
  bool allows_network = false;
  bool propose_ignored = false;  ///< propose git-ignored outputs too
  bool is_deterministic = false;
  uint32_t timeout_ms = 120'000;
  uint32_t grace_ms = 2'000;  ///< between SIGTERM and SIGKILL
  uint64_t max_memory_bytes = uint64_t{4} << 30U;
  uint32_t max_processes = 512;
  uint64_t max_file_bytes = uint64_t{1} << 30U;
  uint64_t max_written_bytes = uint64_t{4} << 30U;
  uint64_t max_output_bytes = uint64_t{1} << 20U;  ///< each of stdout and stderr
  uint32_t max_cpu_seconds = 0;                    ///< 0: no limit
  uint32_t max_open_files = 1024;
  uint32_t max_parallel = 0;       ///< validators at once; 0: the number of cores
  std::vector<std::string> allow;  ///< programs; empty: all except those in deny
  std::vector<std::string> deny;
  std::vector<std::string> environment;  ///< names of variables that are passed through
  std::vector<std::string> readable;     ///< folders of the host, `~/` is the home
};

/// How an agent's hook treats the changes of a command.
enum class HookMode : uint8_t {
  kCommit,  ///< commits them when the command ends
  kStage,   ///< collects them in the agent's transaction
};

/// `[hook]`.
struct HookConfig {
  HookMode mode = HookMode::kCommit;
  bool drop_on_failure = false;  ///< whether the changes of a command that failed are dropped
  bool asks = false;             ///< whether a person is asked before each command
};

/// `[secrets]`.
struct SecretsConfig {
  bool in_files = false;  ///< whether a secret may be written into a file
};

/// `[edits]`.
struct EditsConfig {
  MatchStep max_step = MatchStep::kMended;  ///< the last match step that an edit may need
  std::vector<std::string> strict;          ///< leniencies that edits must not need
  uint32_t max_fuzz = 2;                    ///< context lines that may be dropped at each end
  uint32_t max_offset = 0;                  ///< lines; 0: no limit
};

/// The contents of galley.toml. A default-constructed value is the configuration without a file.
struct Config {
  std::string file;  ///< `galley.toml`, or empty without a file
  ContentId text;    ///< of galley.toml as load_config() found it; none without the file
  /// How records name the file if it is another one than galley.toml: its path and SHA-256.
  std::string other_file;
  /// Whether edits may change galley.toml. Only a person's own configuration can set this, a
  /// workspace cannot.
  bool configuration_is_editable = false;
  /// Whether edits by an agent may change the configuration of agents (agent_files.h). Only a
  /// person's own configuration can set this too.
  bool agent_files_are_editable = false;
  PolicyConfig policy;
  std::map<std::string, AgentProfile> agents;
  LimitsConfig limits;
  std::vector<ValidatorConfig> validators;
  FindingsConfig findings;
  OwnersConfig owners;
  HistoryConfig history;
  CommitConfig commit;
  SandboxConfig sandbox;
  EditsConfig edits;
  HookConfig hook;
  SecretsConfig secrets;
  /// Capabilities that people granted and revoked in this workspace; null without a grant store.
  std::shared_ptr<const GrantBook> grants;
  std::map<std::string, ToolConfig> tools;  ///< `[tools.NAME]`, by the name of the tool
  /// The untrusted entries that run programs or widen rights, one line each. They are ignored
  /// (trust_part.h). Empty if the whole configuration is in force.
  std::vector<std::string> not_trusted;
};

/// Reads galley.toml of a workspace. Returns the defaults if the file does not exist.
/// Errors: kInvalid `config.syntax`, `config.unknown_key`, `config.type`, `config.value`;
///         each message is `galley.toml:LINE:COLUMN: …` and says what is expected.
[[nodiscard]] Result<Config> load_config(const Directory& root);

/// As load_config, for another file that the caller names (`--config`).
/// Errors: also those of read_host_file().
[[nodiscard]] Result<Config> load_other_config(const std::string& file);

/// As load_config, for a given text. Messages call it `file`.
[[nodiscard]] Result<Config> parse_config(std::string_view text, std::string_view file);

}  // namespace galley
