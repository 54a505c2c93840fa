#include "cli/help.h"

namespace galley {

namespace {

std::vector<CommandText> edit_texts() {
  return {
      {"",
       {"Galley is a transactional workspace editing engine.\n"
        "A patch, an edit document, a tool call or a command proposes a change.\n"
        "Rules and validators judge the change, and then all of it is committed or nothing.\n"
        "What was committed can be undone later."},
       {{"galley preview fix.patch", "the diff and the verdict; nothing is written"},
        {"galley apply fix.patch", "the same, then the commit"},
        {"galley undo", "take the newest commit back"},
        {"galley begin && galley exec -- make format && galley diff",
         "a transaction that outlives the command"}}},
      {"preview",
       {"Reads patches or edit documents, puts them onto an overlay and shows the diff that a "
        "commit "
        "would make, with the verdict of the gate.\n"
        "The workspace is not touched.",
        "Options named as those of git apply mean the same.\n"
        "An option that has no meaning in the format of the document is refused, not ignored."},
       {{"galley preview fix.patch", "the diff and the verdict"},
        {"galley preview --stat a.patch b.patch", "two patches, one after the other"},
        {"git diff | galley -C ../other preview", "from standard input"}}},
      {"check",
       {"Asks the gate about a change of a git repository: the index, a commit, a range or a "
        "patch.\n"
        "Nothing is checked out or stashed; index and work tree stay as they are.",
        "The rules are those of the galley.toml of HEAD, or of the target of a range.\n"
        "A change of galley.toml itself needs a person's approval."},
       {{"galley check", "what git commit would take"},
        {"galley check --range origin/main..HEAD", "what a pull request brings"},
        {"git diff | galley check -", "a patch on HEAD"}}},
      {"apply",
       {"Does what preview does and then commits: all files of all documents or nothing.\n"
        "Several documents are applied in order and are one transaction.",
        "FILE in --only and --except is a path, a directory or a pattern, alone or with the number "
        "or id of a hunk.\n"
        "A name that matches nothing is an error."},
       {{"galley apply fix.patch", "commit a patch"},
        {"galley apply -n fix.patch", "only show it, as galley preview does"},
        {"galley apply --only src --except 'src/*.lock' big.patch", "a part of it"},
        {"galley --reason 'lower the limit' apply edits.json", "with a reason for the log"}}},
  };
}

std::vector<CommandText> transaction_texts() {
  return {
      {"begin",
       {"Prints the id of a new transaction.\n"
        "Stage with galley call and galley exec, look with galley diff, end with galley commit or "
        "galley rollback."},
       {{"galley begin", "print the id of a new transaction"},
        {"tx=$(galley begin)", "keep the id in a variable"},
        {"galley begin -m 'lower the limit'", "with a reason for the log"}}},
      {"status",
       {"Lists open transactions, and the changes of your own one."},
       {{"galley status", "the open transactions"},
        {"galley status --tx 3fa1b2c4", "the changes of one of them"},
        {"galley status --json", "the same for a program"}}},
      {"diff",
       {"Shows the exact diff that committing the transaction would make.\n"
        "With --html it is a page with what the gate says at the lines. A..B is a range of\n"
        "commits, as galley check --range judges it."},
       {{"galley diff", "all staged changes"},
        {"galley diff --side-by-side -- src", "old and new lines next to each other, of src"},
        {"galley diff --html=review.html", "one file that a browser shows"},
        {"galley diff --html=review.html main..HEAD", "the same of a branch"}}},
      {"review",
       {"Serves a page on this machine on which each change is accepted, rejected, commented or "
        "edited, and what is left is committed.\n"
        "With --tty each change is asked about at the terminal, with the letters of git add -p."},
       {{"galley review", "a page in the browser"},
        {"galley review --tty", "at the terminal: y keeps a change, n drops it, ? shows the rest"},
        {"galley review --tx 3fa1b2c4", "one of several open transactions"}}},
      {"call",
       {"Runs one tool with a JSON object of arguments and stages what it does.\n"
        "galley tools list shows the names of tools. With --format the result has the format of "
        "that "
        "system.\n"
        "With --secret NAME, or --secrets FILE, arguments may use $ENV.NAME: its value is taken "
        "from the environment or from that file, and redacted in the answer of a call that uses "
        "it.\n"
        "With --transcript FILE the call is recorded with its full contents; galley replay repeats "
        "it.",
        "--capability and --program only narrow what the agent may do.",
        "A call that needs a person's approval is asked about at the terminal, or the message says "
        "what to approve."},
       {{"galley tools list", "the names of tools"},
        {"galley call Read '{\"file_path\": \"README.md\"}'", "read through the overlay"},
        {"galley call --cwd src --capability 'fs:read:src/**' Grep '{\"pattern\": \"main\"}'",
         "look only below src"}}},
      {"acp",
       {"Runs an agent in the sandbox of galley run, for an editor that speaks the Agent Client "
        "Protocol on standard input and output.\n"
        "Every change of the agent is staged: the editor shows it as a diff, and asks at the end "
        "of each turn which changes to commit. Rejected ones are taken back, and the agent is "
        "told.\n"
        "--commit turn commits without a question what the gate approves, and --commit session "
        "does so when the editor ends the agent."},
       {{"galley acp gemini", "what the editor starts instead of the agent"},
        {"galley acp --commit turn codex", "commit each turn that the gate approves"},
        {"galley acp --layer ~/.bot -- bot --acp", "an agent that Galley does not know"}}},
  };
}

std::vector<CommandText> staging_texts() {
  return {
      {"edits",
       {"Shows how Galley reads a document of edits, without staging it."},
       {{"galley edits explain answer.md", "each edit, step by step"}}},
      {"edits explain",
       {"Shows for people who debug an agent how a document of edits was understood: the formats "
        "of its parts, what was passed over as prose, each leniency, and for each edit the step "
        "by which it was placed, the steps tried before, or the correction.\n"
        "Nothing is staged or changed.",
        "The exit status is 0 if all of it would apply, and 1 if not."},
       {{"galley edits explain answer.md", "one answer of a model"},
        {"galley --json edits explain answer.md", "the same for a program"}}},
      {"stage",
       {"Puts a patch or an edit document into an open transaction, as apply would put it into the "
        "workspace.\n"
        "It is committed with galley commit."},
       {{"galley stage fix.patch && galley diff", "stage a patch and read the result"},
        {"galley stage --begin fix.patch", "begin a transaction if none is open"},
        {"galley stage --check fix.patch", "only say whether it applies"}}},
      {"edit",
       {"Opens a file as it is staged in an editor; what is saved is staged.\n"
        "The editor is that of VISUAL or EDITOR."},
       {{"galley edit README.md", "a file of the open transaction"},
        {"galley edit --begin README.md", "begin a transaction if none is open"},
        {"galley edit --tx 3fa1b2c4 README.md", "a file of one of several transactions"}}},
      {"exec",
       {"Runs a command in a sandbox on the tree as it would be after the commit, and stages what "
        "it "
        "changed.\n"
        "The options set limits, which can only be tighter than those of galley.toml."},
       {{"galley exec -- make format", "stage what a formatter changes"},
        {"galley exec --begin -- make format", "begin a transaction if none is open"},
        {"galley exec --commit -- make format", "commit what it changed when it ends"},
        {"galley exec --timeout 60 -- npm test", "not longer than a minute"}}},
      {"run",
       {"Runs a program, a shell or an agent, in a sandbox on the tree as it would be after the "
        "commit, on a terminal of its own. When it ends, its changes are staged and you are asked "
        "whether to commit (c), keep (k or Enter) or drop (d) them, or to view them first (v). "
        "Without a question, --commit and --drop decide; by default the changes are kept.\n"
        "It continues when the terminal is closed or Ctrl-P Ctrl-Q is typed: galley status lists "
        "it, galley attach connects to it, galley stop ends it.\n"
        "A known agent gets its own state, the network and the rules of its name, if you allow it "
        "once. Any other program is yours: no rules of agents hold for it without --agent.\n"
        "Without a terminal it gets standard input, output and error as they are."},
       {{"galley run -- bash", "a shell whose changes are looked at first"},
        {"galley run codex", "an agent; options after its name are its own"},
        {"galley run --commit claude -p \"fix the tests\"", "the same for a script or for CI"},
        {"galley run --layer ~/.codex codex", "drop what it writes to its state, too"}}},
      {"attach",
       {"Connects this terminal to a program that galley run started. Another terminal that is "
        "connected to it loses it."},
       {{"galley attach", "the only run"},
        {"galley attach codex", "the run that was started with --name codex"},
        {"galley attach --detach-keys ctrl-a,d codex", "with other keys to detach"}}},
      {"stop",
       {"Ends a program that galley run started, and all that it started. It has five seconds to "
        "end by itself; what it wrote is kept in its transaction."},
       {{"galley stop", "the only run"},
        {"galley stop codex", "the run that was started with --name codex"}}},
      {"sync",
       {"Gives a program that galley run started what others committed since it began. Lines of "
        "both are merged into its files; a file in conflict stays as it is, and its lines are "
        "named. Nothing is committed. The program is not paused: galley waits a moment until all "
        "its processes sleep, and refuses if they do not."},
       {{"galley sync", "the only run"},
        {"galley sync codex", "the run that was started with --name codex"}}},
  };
}

std::vector<CommandText> decision_texts() {
  return {
      {"mcp",
       {"Serves agents over the Model Context Protocol: one on standard input and output, or with "
        "--http or --unix several on this machine, until SIGTERM.\n"
        "What they change is staged in a transaction that galley status shows, and is on disk "
        "after galley_commit only.\n"
        "With --agent NAME the rules for that agent hold."},
       {{"galley agents install codex --mcp", "write it into an agent's configuration"},
        {"galley -C ~/project --agent codex mcp", "the command that the agent then runs"},
        {"galley mcp --prefix galley_", "galley_Read, where the agent has its own Read"},
        {"galley mcp --http 7700", "over HTTP; prints the address and a token"}}},
      {"agent-hook",
       {"Judges one call of a tool before an agent makes it: reads the JSON that the agent's hook "
        "is "
        "given on standard input, and answers as that agent expects.\n"
        "An edit is made in memory and judged; one that is refused is denied with the reason. A "
        "command is replaced by galley exec --commit, or as hook.mode says. A call with unknown "
        "effects is denied, and so is one that takes longer than 20 seconds.\n"
        "Edits that were made are recorded, so that galley undo takes them back.\n"
        "galley agents install writes it into an agent's configuration.",
        "An agent may let a call through when its hook fails. galley run cannot be bypassed.\n"
        "The status is 0 when the answer is on standard output, and 2 for a denial whose reason is "
        "on standard error."},
       {{"galley agents install codex --hook", "write it into an agent's configuration"},
        {"galley --agent codex agent-hook < request.json", "what codex would be answered"}}},
      {"agents",
       {"Writes Galley into the configuration of an agent, and removes exactly that again.\n"
        "First it shows what it would write, and asks at the terminal. It never changes entries of "
        "other programs.",
        "Without --mcp, --hook, --commands, --wrapper and --run it does the first three.\n"
        "Without --project and --user it writes into the project; for codex, into your own "
        "configuration."},
       {{"galley agents status", "sessions, what each has staged, and paths that two change"},
        {"galley agents install all -n", "only show what it would write, for each that is found"},
        {"galley agents install codex --mcp --yes", "tools over MCP, without asking"},
        {"galley agents install codex --run", "allow what it needs in galley run"},
        {"galley agents uninstall codex", "remove all again"}}},
      {"validate",
       {"Asks the gate for its verdict on the staged changes; nothing is committed."},
       {{"galley validate", "the verdict and all findings"},
        {"galley validate --fix", "first stage the fixes of the validators"},
        {"galley validate --report sarif=FILE", "a report for another program"}}},
      {"approve",
       {"Approves a proposal before the commit, when a rule asks a person about it.\n"
        "The approval is for exactly this proposal: one more staged byte makes it void.\n"
        "With call-ID it approves one call of a tool, which the caller then repeats."},
       {{"galley approve 3fa1b2c4", "the proposal that galley diff shows"},
        {"galley approve 3fa1b2c4 --by ada", "with your name for the record"},
        {"galley approve call-3fa1b2c4d5e6f708", "the call that a refusal named"}}},
      {"commit",
       {"Commits what is staged if the gate approves: all of it or nothing.\n"
        "With -n it only shows the diff and the verdict."},
       {{"galley commit", "commit the staged changes"},
        {"galley commit -n", "only show the diff and the verdict"},
        {"galley commit --proposal 3fa1b2c4", "only what was reviewed"}}},
      {"savepoint",
       {"Keeps the staged changes under a name. galley rollback --to NAME returns to it."},
       {{"galley savepoint before-rename", "keep the present state"},
        {"galley rollback --to before-rename", "return to it"}}},
      {"fork",
       {"Begins a transaction with the staged changes of another one, to try another way."},
       {{"tx=$(galley fork)", "a copy of your transaction"},
        {"galley pick $tx", "commit the copy and drop the others"}}},
      {"pick",
       {"Commits one of several forks and drops those that came from the same one."},
       {{"galley pick 3fa1b2c4", "commit this one"},
        {"galley pick -n 3fa1b2c4", "show what it would commit and which ones it would drop"}}},
  };
}

std::vector<CommandText> history_texts() {
  return {
      {"rollback",
       {"Drops a transaction with all that is staged in it, or goes back to a savepoint.\n"
        "With --execution it takes back one call by its id on record: out of what is staged, or, "
        "once committed, by an undo of the paths that it changed."},
       {{"galley rollback", "drop your transaction"},
        {"galley rollback --to before-rename", "return to a savepoint"},
        {"galley rollback --execution exec-20240101-123456-abcdef", "take back one call"}}},
      {"replay",
       {"Makes the calls of a transcript again, on another tree, and compares results and tree.\n"
        "With --tx they are staged in that transaction, else nothing is kept. The exit status is 1 "
        "when something differs or could not be replayed, and each is listed."},
       {{"galley -C copy replay session.jsonl", "compare on a copy of the tree"},
        {"galley replay --tx 3fa1b2c4 session.jsonl", "stage the calls in a transaction"},
        {"galley -C copy replay session.jsonl --secret TOKEN", "with a value for $ENV.TOKEN"}}},
      {"show",
       {"Shows a committed transaction with its diff, or a file as it was after it."},
       {{"galley show", "the newest transaction"},
        {"galley show 3 -- src", "what transaction 3 changed below src"},
        {"galley show 3:README.md", "the file as it was after transaction 3"}}},
      {"blame",
       {"Shows which transaction wrote each line of a file."},
       {{"galley blame README.md", "each line with its transaction"},
        {"galley --json blame README.md", "the same for a program"}}},
      {"log",
       {"Lists committed transactions, newest first.\n"
        "PATH is a path, a directory or a pattern."},
       {{"galley log -5 --oneline src", "the last five that touched src, a line each"},
        {"galley log -p --since 2026-11-01T00:00:00Z", "with their diffs, from a day on"},
        {"galley log --grep rename --until 1d --date relative", "by reason and time"}}},
      {"turns",
       {"Lists what agents did between two prompts of a person, newest first: number, time, agent, "
        "session, changed files, state and the beginning of the prompt.\n"
        "Where agents' hooks do not tell of prompts, a commit is a turn."},
       {{"galley turns -n 5 --date relative", "the newest five, with their ages"},
        {"galley show --turn 12 && galley undo --turn 12", "look at one, then take it back"}}},
      {"undo",
       {"Undoes a committed transaction with a new commit, which passes the same gate.\n"
        "Later changes of other lines are kept. If the same lines changed, it is a conflict and "
        "nothing is written."},
       {{"galley undo", "the newest one that is not undone"},
        {"galley undo --path docs 3", "only what transaction 3 did below docs"},
        {"galley undo --hunk README.md:2 3", "only one hunk"},
        {"galley undo --turn last", "what an agent did since the last prompt"},
        {"galley undo --session 7f3a9c1e", "everything that one session of an agent did"}}},
      {"redo",
       {"Takes an undo back."},
       {{"galley redo", "the newest undo"}, {"galley redo -n", "only show what it would do"}}},
      {"query",
       {"Runs one SELECT on the index of the history; nothing can be written.",
        "Tables:\n"
        "transactions (id, time_ns, time, agent, tool, message, proposal, undoes, undone_by, "
        "problem, owner, session, turn, prompt, also_undoes)\n"
        "changes (tx, path, status, from_path, added, removed, is_binary, is_directory, "
        "before_kind, before_mode, before_size, before_content, after_kind, after_mode, "
        "after_size, after_content)\n"
        "Views:\n"
        "log (id, time, agent, tool, message, files, added, removed, undoes, undone_by)\n"
        "files (path, transactions, added, removed, first_time, last_time)\n"
        "agents (agent, transactions, files, added, removed, undone)"},
       {{"galley query \"select agent, files from agents\"", "who changed how many files"},
        {"galley query \"select path from files order by transactions desc limit 5\"",
         "what is changed most often"}}},
      {"at",
       {"Runs a command on the tree as it was right after a transaction."},
       {{"galley at 3 -- make test", "the tests of that state"},
        {"galley at @~1 -- grep -rn printf src", "the state before the newest transaction"}}},
  };
}

std::vector<CommandText> maintenance_texts() {
  return {
      {"serve",
       {"Serves the tools of the workspace until SIGTERM: over gRPC to agents of aiOS, or over "
        "NATS "
        "to those of Nachos.\n"
        "Without --server-config, only programs of your own user may call, at a socket file.",
        "It starts galley-serve-grpc or galley-serve-nats, which have Debian packages of their "
        "own."},
       {{"galley serve --grpc unix:/run/user/1000/galley.sock", "at a socket file of mode 0600"},
        {"galley serve --grpc 0.0.0.0:7443 --server-config server.toml",
         "over TCP, with the certificates that the file names"},
        {"galley serve --nats nats://127.0.0.1:4222", "at the subjects of Nachos"}}},
      {"worker",
       {"Takes jobs from a queue, makes each change on a branch of a git repository, asks the "
        "gate and pushes, until SIGTERM. Each job ends with one receipt. The file of "
        "--server-config names the worker's cache and the repositories that jobs may name "
        "(docs/scale.md).",
        "It starts galley-serve-nats, which has a Debian package of its own."},
       {{"galley worker --nats nats://host:4222 --server-config worker.toml", "one worker"}}},
      {"submit",
       {"Adds a job to the queue and prints its id. A job with the id of an earlier one is that "
        "job. --reason replaces that of the job. With --wait, the status is 0 if the job put its "
        "change on the branch or found it there, and 1 if it ended in another way."},
       {{"galley submit --nats nats://host:4222 job.json", "add it"},
        {"galley submit --nats nats://host:4222 --wait 60 job.json", "and print its receipt"}}},
      {"jobs",
       {"Prints the receipts of jobs that ended, and how many have not. Receipts are kept for 30 "
        "days. With an ID, the status is as of submit --wait, and 3 if the job has not ended."},
       {{"galley jobs --nats nats://host:4222", "all of them, at most 1,000"},
        {"galley jobs --nats nats://host:4222 fix-42", "that of one job"}}},
      {"init",
       {"Writes a galley.toml with the validators that fit the files of the workspace. What it "
        "enables is trusted; without --enable, commands are written as comments."},
       {{"galley init", "write galley.toml"},
        {"galley init -n", "print it instead"},
        {"galley init --enable", "with the formatters, linters and tests enabled"}}},
      {"trust",
       {"Trusts the commands and rights of galley.toml, after a person has reviewed them. Without "
        "trust, commands are not run and rights are not given, and changes that a validator with a "
        "command should judge are refused."},
       {{"galley trust", "show what it runs and allows, and ask"},
        {"galley trust --show", "only show it"},
        {"galley trust --revoke", "end the trust in this workspace"}}},
      {"grant",
       {"Gives an agent a capability in addition to galley.toml."},
       {{"galley grant codex 'fs:write:src/**'", "write below src"},
        {"galley grant codex exec:git", "run git"}}},
      {"revoke",
       {"Takes a capability from an agent, also one that galley.toml gives."},
       {{"galley revoke codex exec:git", "stop it from running git"},
        {"galley grants", "list all decisions"}}},
      {"grants",
       {"Lists the capabilities that people granted and revoked here."},
       {{"galley grants", "all of them, oldest first"}, {"galley grants --json", "for a program"}}},
      {"tools",
       {"Lists the tools that can be called. Adds the programs of a folder or the tools of an MCP "
        "server, after a person has reviewed them."},
       {{"galley tools list", "the tools that can be called"},
        {"galley tools add -n examples/aios-pack", "only show what they are and may do"},
        {"galley tools add --mcp docs -- python3 docs_server.py", "the tools of an MCP server"},
        {"galley tools add --mcp docs --url https://docs.example/mcp", "of one over HTTP"}}},
      {"recover",
       {"Finishes or reverts commits that a crash interrupted.\n"
        "Every command that opens the workspace does this first; this one shows what it did."},
       {{"galley recover", "finish or revert, and show it"},
        {"galley recover -n", "only show what it would do"},
        {"galley recover --adopt", "adopt a .galley that came with a copy"}}},
  };
}

std::vector<CommandText> checking_texts() {
  return {
      {"push",
       {"Pushes the branch of --repo to another repository, where others must not have moved it.\n"
        "If it fails, nothing is lost: give the same command again later."},
       {{"galley --repo r.git --ref main push origin", "a remote of the repository"},
        {"galley --repo r.git --ref main push ../team.git", "a folder or an address"}}},
      {"gc",
       {"Removes leftovers of dead processes, and history beyond the limits of galley.toml."},
       {{"galley gc -n", "only show what it would remove"}, {"galley gc", "remove it"}}},
      {"doctor",
       {"Checks journals, audit log, disk use and the sandbox of this machine."},
       {{"galley doctor", "check everything"},
        {"galley doctor --repair", "repair what can be repaired without loss"}}},
      {"audit",
       {"Checks the chain of the audit log, or prints its records for other programs."},
       {{"galley audit verify", "check the chain of records"},
        {"galley audit export agent-trace", "one JSON object a line"}}},
      {"policy",
       {"Explains and tests the path and effect rules of galley.toml."},
       {{"galley policy explain src/main.c", "which rules apply to a path"},
        {"galley --agent codex policy explain .github/ci.yml", "the same for an agent"},
        {"galley policy test expectations.toml", "check a table of expectations"}}},
      {"rescue",
       {"Lists files of other programs that a commit or a recovery moved aside."},
       {{"galley rescue list", "their names"},
        {"galley rescue show NAME", "print one"},
        {"galley rescue drop NAME", "delete one permanently"}}},
      {"completions",
       {"Prints a completion script for a shell.\n"
        "The installed package has them in their places already."},
       {{"source <(galley completions bash)", "in ~/.bashrc"},
        {"galley completions zsh > ~/.zfunc/_galley", "in a directory of $fpath"},
        {"galley completions fish > ~/.config/fish/completions/galley.fish", ""}}},
      {"hook",
       {"Writes hooks of git that ask the same gate as every other command: what is staged at "
        "`git commit`, what is new at `git push`, the whole push on the server.\n"
        "They honour core.hooksPath. An existing hook is kept next to the new one and runs first; "
        "uninstall puts it back."},
       {{"galley hook install", "in a clone, its usual hooks; in a bare repository, pre-receive"},
        {"galley hook install -n --hook pre-commit", "what would be done, of one hook"},
        {"galley hook run pre-commit", "for a hook manager's own file"}}},
      {"help",
       {"Shows what --help shows; without a command, the list of commands."},
       {{"galley help apply", "one command"},
        {"galley help path.outside", "the reason of an error"},
        {"galley help --man | man -l -", "the manual page"}}},
  };
}

}  // namespace

const std::vector<CommandText>& command_texts() {
  static const std::vector<CommandText> kTexts = [] {
    std::vector<CommandText> all = edit_texts();
    for (const auto& group : {transaction_texts(), staging_texts(), decision_texts(),
                              history_texts(), maintenance_texts(), checking_texts()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return kTexts;
}

const CommandText& command_text(std::string_view command) {
  static const CommandText kNone = {};
  for (const CommandText& text : command_texts()) {
    if (text.command == command) return text;
  }
  return kNone;
}

const std::vector<ExitStatusText>& exit_status_texts() {
  static const std::vector<ExitStatusText> kTexts = {
      {"0", "done"},
      {"1", "refused, conflict, does not apply, or findings"},
      {"2", "wrong usage or malformed input"},
      {"3", "failure; nothing was committed, unless only the output failed"},
      {"75", "failed after the commit point; the next command completes or reverts it"},
      {"130", "interrupted"}};
  return kTexts;
}

const std::vector<VariableText>& variable_texts() {
  static const std::vector<VariableText> kTexts = {
      {"GALLEY_TX", "id of the transaction, as with --tx"},
      {"GALLEY_PAGER, PAGER", "what shows long results on a terminal; less by default"},
      {"GALLEY_EDITOR_LINK",
       "where links of --hyperlinks lead: file, vscode, or an address with {path} and {line}"},
      {"GALLEY_APPROVED", "ids of proposals that galley check takes as approved by a person"},
      {"GALLEY_HOOK_TIMEOUT", "seconds that galley agent-hook may take; 20 at most"},
      {"GALLEY_GIT_TIMEOUT", "seconds that one command of git may take; 300 by default"},
      {"GALLEY_TRUST", "hash of the configuration to trust where no person can be asked"},
      {"NO_COLOR", "with any value: no colours"}};
  return kTexts;
}

}  // namespace galley
