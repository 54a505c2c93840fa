#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace galley {

/// The longest time that an option can state, in seconds.
inline constexpr double kLongestS = 1e9;

/// The time of an option such as --timeout, at least a millisecond.
[[nodiscard]] inline std::chrono::milliseconds time_of_option(double seconds) {
  constexpr double kMsPerSecond = 1000;
  const double ms = std::min(seconds, kLongestS) * kMsPerSecond;
  return std::chrono::milliseconds(std::max<int64_t>(1, std::llround(ms)));
}

/// Options before the command.
struct GlobalArguments {
  std::vector<std::string> directories;  ///< -C, each relative to the one before it
  std::string repository;                ///< --repo
  std::string ref;                       ///< --ref; empty: HEAD
  std::string config;                    ///< --config
  std::string agent;                     ///< --agent
  std::string message;                   ///< --reason
  std::string session;                   ///< --session
  std::string color = "auto";            ///< --color: `auto`, `always` or `never`
  bool is_json = false;
  bool is_raw = false;    ///< --raw
  bool is_quiet = false;  ///< -q
  bool no_pager = false;  ///< --no-pager
};

/// Options that show a diff: diff, preview, apply, show, undo --dry-run.
struct DiffArguments {
  bool stat = false;
  bool numstat = false;
  bool name_status = false;
  bool word_diff = false;
  bool ignore_all_space = false;
  bool ignore_space_change = false;
  bool color_moved = false;
  std::optional<uint32_t> context;  ///< -U
  bool side_by_side = false;
  std::string hyperlinks = "auto";  ///< --hyperlinks: `auto`, `always` or `never`
  std::string html;                 ///< --html: a file, or - for standard output; empty: none
  bool is_quiet = false;            ///< --quiet: only the exit status

  /// Whether an option changes how the lines of a diff look. Then the lines are shown.
  [[nodiscard]] bool changes_diff_layout() const {
    return side_by_side || word_diff || color_moved || ignore_all_space || ignore_space_change ||
           context;
  }
};

/// Options of preview and apply. Names and meanings are those of git apply, if it has them.
struct EditArguments {
  std::vector<std::string> inputs;  ///< none: standard input
  std::string format = "auto";
  bool strict = false;
  bool check = false;
  bool reverse = false;
  bool recount = false;
  bool is_complete = false;   ///< --complete
  bool is_truncated = false;  ///< --truncated
  bool unidiff_zero = false;
  bool ignore_whitespace = false;
  bool allow_empty = false;
  bool reject = false;
  std::optional<uint32_t> strip;                      ///< -p
  std::optional<uint32_t> context;                    ///< -C: context lines that must match
  std::string whitespace;                             ///< --whitespace
  std::string directory;                              ///< --directory
  std::vector<std::pair<bool, std::string>> filters;  ///< --include (true), --exclude (false)
  std::vector<std::string> only;                      ///< --only FILE[:HUNK]
  std::vector<std::string> except;
  std::vector<std::string> choose;  ///< --choose ID: of an ambiguous edit

  [[nodiscard]] bool has_filter(bool is_include) const {
    for (const auto& filter : filters) {
      if (filter.first == is_include) return true;
    }
    return false;
  }
};

/// Options of validate that write a verdict for a later job, or use an earlier one.
struct VerdictArguments {
  std::string write;   ///< --verdict
  std::string verify;  ///< --verify
  std::string key;     ///< --key
};

/// Limits of exec and at, within those of galley.toml; 0 means the limit of galley.toml.
struct ExecArguments {
  double timeout_s = 0;
  uint64_t cpu_s = 0;
  uint64_t memory_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t output_bytes = 0;
  uint32_t processes = 0;
  bool keep_on_failure = false;
  bool drops_on_failure = false;
  bool shares_network = false;
  std::vector<std::string> hosts;  ///< --allow-host
  bool is_deterministic = false;
  bool proposes_ignored = false;
  bool is_interactive = false;  ///< -i: forwards stdin, also from a terminal
  bool is_verbose = false;      ///< -v: names the walls
  bool begins = false;          ///< --begin, also of call, edit and stage
  bool commits = false;         ///< --commit
};

/// Options of run: the resources of the program, and the use of its changes.
struct RunArguments {
  std::string name;                      ///< --name
  std::string resume;                    ///< --resume N: the transaction of an interrupted run
  std::vector<std::string> writable;     ///< --allow-write
  std::vector<std::string> layered;      ///< --layer
  std::vector<std::string> environment;  ///< --env NAME[=VALUE]
  std::string detach_keys = "ctrl-p,ctrl-q";
  std::string git_commits;          ///< --git-commits, of commit too: keep, drop; empty: ask
  std::string commit_time = "ask";  ///< acp --commit: ask, turn or session
  bool shares_network = false;
  std::vector<std::string> hosts;  ///< --allow-host
  uint32_t idle_wait_s = 3;        ///< --wait SECONDS, of sync
  bool proposes_ignored = false;
  bool commits = false;
  bool keeps = false;
  bool drops = false;
  // Of a known agent (cli/agent_run.h).
  std::vector<std::string> readable;  ///< folders of its program
  bool has_consent = false;           ///< a person consented to its needs
};

/// Options of call, besides tool and arguments.
struct CallArguments {
  std::vector<std::string> secrets;       ///< --secret
  std::string secrets_file;               ///< --secrets
  std::vector<std::string> environment;   ///< --env NAME=VALUE
  std::vector<std::string> capabilities;  ///< --capability
  std::vector<std::string> programs;      ///< --program
  std::string task;                       ///< --task
  std::string goal;                       ///< --goal
  std::string call_id;                    ///< --call-id
  std::string cwd;                        ///< --cwd
  double timeout_s = 0;                   ///< --timeout; 0: the tool's own
  bool is_deterministic = false;          ///< --deterministic
};

/// Options of tools add --mcp. The command of the server is in `words`.
struct McpServerArguments {
  std::string name;                   ///< --mcp
  std::string url;                    ///< --url
  std::vector<std::string> headers;   ///< --header
  std::vector<std::string> readable;  ///< --readable
  bool is_read_only = false;          ///< --read-only
};

/// Options of check: the changes to judge.
struct CheckArguments {
  bool staged = false;
  bool worktree = false;
  std::string commit;  ///< --commit REV
  std::string range;   ///< --range A..B
  std::string patch;   ///< a file; `-` is standard input
  bool only_new = false;
};

/// Options of agents and agent-hook: which files of an agent, and what a hook allows.
struct AgentArguments {
  bool mcp = false;
  bool hook = false;
  bool commands = false;
  bool wrapper = false;
  bool run = false;
  bool project = false;
  bool user = false;
  bool yes = false;                       ///< --yes: without asking
  bool follow = false;                    ///< of status
  std::vector<std::string> allow;         ///< --allow-tool
  std::vector<std::string> file_servers;  ///< --file-server
};

/// Options of mcp: where it serves.
struct McpServingArguments {
  std::string http;                     ///< --http [ADDRESS:PORT]; empty: not over HTTP
  std::string socket;                   ///< --unix FILE
  std::string token_file;               ///< --token-file
  std::vector<std::string> workspaces;  ///< --workspace
};

/// Options of serve, worker, submit and jobs.
struct ServeArguments {
  std::string grpc;     ///< --grpc ADDRESS
  std::string nats;     ///< --nats URL
  std::string config;   ///< --server-config FILE
  std::string job;      ///< the file of submit
  uint32_t wait_s = 0;  ///< --wait SECONDS, of submit
};

/// All arguments of the command line, one group of fields per command. `command` tells which groups
/// are used.
struct Arguments {
  GlobalArguments global;
  std::string command;
  std::string subcommand;  ///< of tools, audit, policy, hook, rescue, agents
  DiffArguments diff;
  EditArguments edit;
  VerdictArguments verdict;
  ExecArguments exec;
  RunArguments run;
  CallArguments call;
  CheckArguments check;
  AgentArguments agents;
  McpServerArguments mcp;
  McpServingArguments serving;
  ServeArguments serve;
  std::string tx;                    ///< --tx
  std::string id;                    ///< of show, undo, at, attach, stop
  std::string name;                  ///< a tool, savepoint, path or SQL text
  std::string input;                 ///< a file or text
  std::string shape;                 ///< tools, call --format: empty is Galley's own
  bool manifest = false;             ///< tools show --manifest
  std::string proposal;              ///< commit --proposal
  bool autocommit = false;           ///< mcp --autocommit
  std::string prefix;                ///< mcp --prefix, agent-hook --prefix
  std::vector<std::string> words;    ///< after `--`, or several paths
  std::vector<std::string> paths;    ///< --path
  std::vector<std::string> hunks;    ///< --hunk
  std::string transcript;            ///< call, apply --transcript
  std::string profile;               ///< --profile of call and tools; empty: the agent's
  std::string to;                    ///< rollback --to
  std::string execution;             ///< rollback --execution
  bool with_later = false;           ///< rollback --with-later
  std::string since;                 ///< log --since
  std::string until;                 ///< log --until
  std::string grep;                  ///< log --grep
  std::string of_session;            ///< --session of log, turns and undo
  std::string turn;                  ///< --turn of diff, show, undo and redo
  std::string date = "utc";          ///< log --date: `utc`, `local` or `relative`
  bool patch = false;                ///< log -p
  bool oneline = false;              ///< log --oneline
  std::string conflict = "stop";     ///< commit, apply, undo … --conflict: `stop` or `markers`
  std::optional<uint64_t> limit;     ///< log -n; absent: all
  std::vector<std::string> reports;  ///< --report FORMAT[=FILE]
  bool dry_run = false;
  bool adopt = false;
  bool all = false;
  bool force = false;
  bool enables = false;  ///< init --enable
  bool repair = false;
  bool tty = false;           ///< review --tty
  uint32_t port = 0;          ///< review --port; 0: any
  bool opens = false;         ///< review --open
  bool stays_closed = false;  ///< review --no-open
  bool list = false;          ///< trust --list
  bool show = false;          ///< trust --show
  bool revoke = false;        ///< trust --revoke
  bool fix = false;           ///< validate, apply, preview --fix
  bool bisect = false;        ///< validate --bisect
  uint32_t budget_s = 0;      ///< validate --budget; 0: the default
};

/// The result of parsing: arguments to run, or text to print and an exit status.
struct ParsedCommandLine {
  std::optional<Arguments> arguments;
  std::string text;
  int status = 0;
  bool is_whole = false;  ///< the text does not depend on commands that the table lacks
};

[[nodiscard]] ParsedCommandLine parse_arguments(int argc, const char* const* argv);

}  // namespace galley
