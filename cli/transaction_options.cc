#include "base/text.h"
#include "cli/option_table.h"
#include "tools/shapes.h"

namespace galley {
namespace {

constexpr uint32_t kMostWaitSeconds = 86'400;

void add_call_options(OptionTable& table, CLI::App* call) {
  CallArguments& about = table.arguments().call;
  add_list(call, "--secret NAME", about.secrets,
           "Give the tool this environment variable as $ENV.NAME");
  add_option(call, "--secrets FILE", about.secrets_file,
             "Take $ENV.NAME from this file of mode 0600");
  add_list(call, "--env NAME=VALUE", about.environment,
           "Set this in the environment of its commands");
  add_list(call, "--capability CAPABILITY", about.capabilities,
           "Allow only this, of what the agent may do (fs:read:src/**)");
  add_list(call, "--program NAME", about.programs,
           "Let its commands start only this program, of those that the agent may");
  add_option(call, "--cwd DIR", about.cwd, "Start relative paths and commands in this folder");
  add_option(call, "--task ID", about.task, "Id of the task; for the record");
  add_option(call, "--goal ID", about.goal, "Id of the goal; for the record");
  add_option(call, "--call-id ID", about.call_id,
             "Id of the call in the caller's system; for the record");
  add_seconds(call, "--timeout", about.timeout_s,
              "Seconds it may take; by default, the tool's own limit");
  call->add_flag("--deterministic", about.is_deterministic,
                 "Give its commands a fixed time, zone and locale, and no network");
  table.add_choice(call, "--format NAME", table.arguments().shape, tool_shape_names(),
                   "Print the result in the format of this system");
  table.add_dry_run(call, "Show what it would stage; stage nothing");
  table.add_transcript(call);
}

void add_stage_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* begin = table.add("begin", "Begin a transaction that outlives this command")) {
    table.add_message(begin);
  }
  if (CLI::App* status = table.add("status", "Show open transactions and what they change")) {
    table.add_tx(status);
    status->add_flag("--all", args.all, "Show all; this is the default");
  }
  if (CLI::App* diff = table.add("diff", "Show the exact diff that a commit would make")) {
    table.add_tx(diff);
    table.add_diff_options(diff);
    table.add_html(diff);
    table.add_quiet(diff, "Print nothing: the exit status is 1 when something differs");
    table.add_turn(diff, "Show what this turn changed, as one diff")->excludes("--tx");
    add_option(diff, "words PATH", args.words,
               "Show only these paths; with A..B before them, of a range of commits");
  }
  if (CLI::App* review = table.add("review", "Review each change of a transaction, then commit")) {
    table.add_tx(review);
    review->add_flag("--tty", args.tty, "Ask about each change at the terminal");
    add_option(review, "--port N", args.port,
               "Serve the page on this port; any free one by default");
    review->add_flag("--open", args.opens, "Open the page: $BROWSER or xdg-open")
        ->excludes(
            review->add_flag("--no-open", args.stays_closed,
                             "Do not, on a terminal with a display, where it opens by itself"));
  }
  if (CLI::App* call = table.add("call", "Run one tool; stage what it changes")) {
    table.add_tx(call);
    table.add_begin(call);
    call->add_option("tool", args.name, "Name of the tool")->required();
    call->add_option("args", args.input, "JSON object; - is standard input")->required();
    table.add_profile(call);
    add_call_options(table, call);
  }
  if (CLI::App* edit = table.add("edit", "Edit a staged file in $VISUAL or $EDITOR")) {
    table.add_tx(edit);
    table.add_begin(edit);
    edit->add_option("path", args.name, "A file")->required();
  }
}

void add_gate_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* validate = table.add("validate", "Ask the gate for its verdict; commit nothing")) {
    table.add_tx(validate);
    table.add_reports(validate);
    table.add_verdicts(validate);
    validate->add_flag("--fix", args.fix,
                       "First stage the fixes of the validators with fix = true");
    CLI::Option* bisect = validate->add_flag(
        "--bisect", args.bisect,
        "If it is refused, find the smallest refused part and the largest part that passes");
    add_option(validate, "--budget N", args.budget_s, "Seconds that --bisect may take (60)")
        ->needs(bisect);
  }
  if (CLI::App* approve =
          table.add("approve", "Approve a proposal or a call that a rule asks about")) {
    table.add_tx(approve);
    approve
        ->add_option(
            "proposal", args.proposal,
            "Id of the reviewed proposal, or the first digits of an open transaction's; or "
            "call-ID of a call")
        ->required();
    add_option(approve, "--by NAME", args.name, "Name of the person; for the record");
  }
  if (CLI::App* commit = table.add("commit", "Commit a transaction: all of it or nothing")) {
    table.add_tx(commit);
    table.add_message(commit);
    add_option(commit, "--proposal PROPOSAL", args.proposal,
               "Commit only if this is what is proposed");
    table.add_conflict(commit);
    table.add_git_commits(commit);
    table.add_dry_run(commit, "Show the diff and the gate's verdict; commit nothing");
  }
}

void add_rollback_command(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* rollback = table.add(
          "rollback", "Drop a transaction, go back to a savepoint, or take back one call")) {
    table.add_tx(rollback);
    CLI::Option* to = add_option(rollback, "--to NAME", args.to, "Go back to this savepoint");
    CLI::Option* execution = add_option(rollback, "--execution ID", args.execution,
                                        "Take back only what this call changed")
                                 ->excludes(to);
    rollback
        ->add_flag("--with-later", args.with_later, "Take back later calls that built on it, too")
        ->needs(execution);
    table.add_dry_run(rollback, "Only say what would be dropped");
  }
}

void add_replay_command(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* replay =
          table.add("replay", "Repeat the calls of a transcript and compare the results")) {
    table.add_tx(replay);
    replay->add_option("file", args.input, "A transcript; - is standard input")->required();
    add_list(replay, "--secret NAME", args.call.secrets,
             "Give tools this environment variable as $ENV.NAME");
  }
}

void add_candidate_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* savepoint = table.add("savepoint", "Name what is staged now")) {
    table.add_tx(savepoint);
    savepoint->add_option("name", args.name, "Name of the savepoint")->required();
  }
  if (CLI::App* fork = table.add("fork", "Begin a copy of a transaction, to try another way")) {
    table.add_tx(fork);
  }
  if (CLI::App* pick = table.add("pick", "Commit one of several forks and drop the others")) {
    pick->add_option("id", args.id, "The transaction to commit")->required();
    table.add_message(pick);
    table.add_conflict(pick);
    table.add_dry_run(pick, "Show what it would commit, and which ones it would drop");
  }
}

void add_mcp_command(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* mcp = table.add(
          "mcp", "Serve agents over the Model Context Protocol, on stdin and stdout or HTTP")) {
    add_list(mcp, "--tools NAME", args.words, "Show only these tools of galley tools list");
    table.add_profile(mcp);
    add_list(mcp, "--secret NAME", args.call.secrets,
             "Give tools this environment variable as $ENV.NAME");
    add_option(mcp, "--secrets FILE", args.call.secrets_file,
               "Take $ENV.NAME from this file of mode 0600");
    add_option(mcp, "--prefix TEXT", args.prefix,
               "Put this before the names of the workspace's tools");
    mcp->add_flag("--autocommit", args.autocommit,
                  "Commit each call that changes something, if the gate approves");
    CLI::Option* http =
        add_option(mcp, "--http PORT", args.serving.http,
                   "Serve over HTTP on this port, or ADDRESS:PORT; any free one by default")
            ->expected(0, 1)
            ->default_str("0");
    CLI::Option* socket =
        add_option(mcp, "--unix FILE", args.serving.socket, "Serve over HTTP on this socket file")
            ->excludes(http);
    add_option(mcp, "--token-file FILE", args.serving.token_file,
               "Take the token from this file of mode 0600; else one is made and printed")
        ->needs(http);
    add_list(mcp, "--workspace DIR", args.serving.workspaces,
             "Serve this directory at /mcp/NAME, where NAME is its last part")
        ->check([http, socket](const std::string&) {
          return http->empty() && socket->empty() ? "--workspace needs --http or --unix" : "";
        });
  }
}

void add_serve_command(OptionTable& table) {
  ServeArguments& args = table.arguments().serve;
  if (CLI::App* serve =
          table.add("serve", "Serve the tools of the workspace to platforms of agents")) {
    CLI::Option* grpc = add_option(serve, "--grpc ADDRESS", args.grpc,
                                   "Serve over gRPC at unix:PATH, or HOST:PORT with TLS");
    add_option(serve, "--nats URL", args.nats, "Serve over this NATS server")->excludes(grpc);
    add_option(serve, "--server-config FILE", args.config,
               "Take who may call, and when to commit, from this file");
    table.add_profile(serve);
  }
}

/// --nats and --server-config of a command about jobs.
void add_queue(CLI::App* command, ServeArguments& args) {
  add_option(command, "--nats URL", args.nats, "The NATS server with the queue of jobs")
      ->required();
  add_option(command, "--server-config FILE", args.config,
             "Take credentials and the limits of a worker from this file");
}

void add_job_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* worker =
          table.add("worker", "Perform the jobs of a queue on branches of git repositories")) {
    add_queue(worker, args.serve);
  }
  if (CLI::App* submit = table.add("submit", "Add a job to the queue of the workers")) {
    add_queue(submit, args.serve);
    add_option(submit, "file FILE", args.serve.job, "The job as JSON; standard input by default");
    add_option(submit, "--wait SECONDS", args.serve.wait_s,
               "Wait so long for the job's receipt, and print it")
        ->check([](const std::string& word) {
          const auto seconds = number_of<uint32_t>(word);
          const bool is_good = seconds && *seconds <= kMostWaitSeconds;
          return is_good ? std::string() : "'" + word + "' is not a number of seconds up to a day";
        });
  }
  if (CLI::App* jobs = table.add("jobs", "List the receipts of jobs, one JSON object per line")) {
    add_queue(jobs, args.serve);
    add_option(jobs, "id ID", args.id, "Only that of this job");
  }
}

void add_agent_hook_command(OptionTable& table) {
  if (CLI::App* hook =
          table.add("agent-hook", "Judge the tool call that an agent's hook sends on stdin")) {
    add_list(hook, "--allow-tool NAME", table.arguments().agents.allow,
             "Let calls of this tool pass unjudged; NAME* means all that begin with NAME");
    add_list(hook, "--file-server NAME", table.arguments().agents.file_servers,
             "Judge edits of this MCP server as those of the protocol's file system server");
    add_option(hook, "--prefix TEXT", table.arguments().prefix, "That of galley mcp --prefix");
  }
}

void add_exec_command(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* exec =
          table.add("exec", "Run a command on the proposed tree; stage what it changes")) {
    table.add_tx(exec);
    table.add_begin(exec);
    exec->add_flag("--keep-on-failure", args.exec.keep_on_failure,
                   "Stage the changes of a command that failed too");
    exec->add_flag("--propose-ignored", args.exec.proposes_ignored, "Stage what git ignores too");
    exec->add_flag("--commit", args.exec.commits,
                   "Commit its changes when it ends, whatever its status, if the gate approves")
        ->excludes("--begin");
    exec->add_flag("--drop-on-failure", args.exec.drops_on_failure,
                   "With --commit: drop the changes of a command that failed")
        ->needs("--commit");
    exec->get_option("--keep-on-failure")->excludes("--commit");
    table.add_exec_options(exec);
    add_option(exec, "words COMMAND", args.words, "Program and arguments, after --")->required();
  }
}

void add_detach_keys(OptionTable& table, CLI::App* command) {
  add_option(command, "--detach-keys KEYS", table.arguments().run.detach_keys,
             "Keys that detach from it: ctrl-p,ctrl-q, or others, or none");
}

/// Options for the host's network, folders and variables, of `run` and `acp`.
void add_reach_options(OptionTable& table, CLI::App* run) {
  Arguments& args = table.arguments();
  CLI::Option* network =
      run->add_flag("--network", args.run.shares_network, "Give it the host's network");
  add_hosts(run, args.run.hosts)->excludes(network);
  add_list(run, "--allow-write PATH", args.run.writable,
           "Let it write this folder of the host, such as its own state");
  add_list(run, "--layer PATH", args.run.layered,
           "The same, but drop what it writes there with the transaction");
  add_list(run, "--env NAME[=VALUE]", args.run.environment,
           "Set this in its environment; a name alone copies its value");
}

void add_acp_command(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* acp =
          table.add("acp", "Run an agent for an editor that speaks the Agent Client Protocol")) {
    add_reach_options(table, acp);
    add_option(acp, "--commit ask|turn|session", args.run.commit_time,
               "When to commit: ask after each turn, at the end of a turn, or of the session");
    add_option(acp, "words PROGRAM", args.words,
               "An agent or another program, with its own arguments")
        ->required();
  }
}

void add_run_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* run = table.add(
          "run", "Run a shell or an agent on the proposed tree, on a terminal of its own")) {
    add_option(run, "--name NAME", args.run.name, "A name for attach, stop and status");
    add_option(run, "--resume N", args.run.resume,
               "Continue in the transaction of a run that has ended");
    add_reach_options(table, run);
    run->add_flag("--propose-ignored", args.run.proposes_ignored, "Stage what git ignores too");
    CLI::Option* commit =
        run->add_flag("--commit", args.run.commits, "Commit what it changed at the end");
    CLI::Option* keep =
        run->add_flag("--keep", args.run.keeps, "Keep it staged at the end, without a question");
    CLI::Option* drop = run->add_flag("--drop", args.run.drops, "Drop it at the end");
    commit->excludes(keep)->excludes(drop);
    keep->excludes(drop);
    table.add_git_commits(run);
    add_detach_keys(table, run);
    add_option(run, "words PROGRAM", args.words,
               "An agent or another program, with its own arguments")
        ->required();
  }
  if (CLI::App* attach =
          table.add("attach", "Give this terminal to a program that galley run started")) {
    add_option(attach, "id N", args.id,
               "Name of the run, or the first digits of its id; the only one by default");
    add_detach_keys(table, attach);
  }
  if (CLI::App* stop =
          table.add("stop", "End a program that galley run started; keep what it changed")) {
    add_option(stop, "id N", args.id,
               "Name of the run, or the first digits of its id; the only one by default");
  }
  if (CLI::App* sync =
          table.add("sync", "Give a program that galley run started what others committed")) {
    add_option(sync, "--wait SECONDS", args.run.idle_wait_s,
               "Wait so long until the program is idle, else refuse (default 3, 0: do not wait)");
    add_option(sync, "id N", args.id,
               "Name of the run, or the first digits of its id; the only one by default");
  }
}

}  // namespace

void add_transaction_commands(OptionTable& table) {
  add_stage_commands(table);
  add_gate_commands(table);
  add_rollback_command(table);
  add_replay_command(table);
  add_candidate_commands(table);
  add_exec_command(table);
  add_run_commands(table);
  add_acp_command(table);
  add_mcp_command(table);
  add_serve_command(table);
  add_job_commands(table);
  add_agent_hook_command(table);
}

}  // namespace galley
