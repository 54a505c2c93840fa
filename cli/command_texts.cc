#include "cli/command_texts.h"

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
        "An option that means nothing in the format of the document is refused, never ignored."},
       {{"galley preview --stat a.patch b.patch", "two patches, one after the other"},
        {"git diff | galley -C ../other preview", "from standard input"}}},
      {"check",
       {"Asks the gate about a change where it lies in a git repository: in the index, in a "
        "commit, "
        "in a range, in a patch.\n"
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
        "What names nothing is an error."},
       {{"galley apply fix.patch", "commit a patch"},
        {"galley apply -n fix.patch", "only look, as galley preview"},
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
       {{"tx=$(galley begin)", "keep its id"}}},
      {"status", {"Lists open transactions, and what the one of your own changes."}, {}},
      {"diff",
       {"Shows the exact diff that committing the transaction would make.\n"
        "With --html it is a page with what the gate says at the lines. A..B is a range of\n"
        "commits, as galley check --range judges it."},
       {{"galley diff --side-by-side -- src", "old and new lines beside each other, of src"},
        {"galley diff --html=review.html", "one file that a browser shows"},
        {"galley diff --html=review.html main..HEAD", "the same of a branch"}}},
      {"review",
       {"Serves a page on this machine on which each change is accepted, rejected, commented or "
        "edited, and what is left is committed.\n"
        "With --tty each change is asked about at the terminal, with the letters of git add -p."},
       {{"galley review --tty", "y keeps a change, n leaves it out, ? tells the others"}}},
      {"call",
       {"Runs one tool with a JSON object of arguments and stages what it does.\n"
        "The names of tools: galley tools list. With --format the result is written as that system "
        "has it.\n"
        "With --secret NAME, or --secrets FILE, arguments may use $ENV.NAME: its value is taken "
        "from the environment or from that file, and shown nowhere.\n"
        "With --transcript FILE the call is put down with its full contents; galley replay makes "
        "it again.",
        "--capability and --program only narrow what the agent may do.",
        "A call that needs somebody's yes is asked about at the terminal, or says what to "
        "approve."},
       {{"galley call Read '{\"file_path\": \"README.md\"}'", "read through the overlay"},
        {"galley call --cwd src --capability 'fs:read:src/**' Grep '{\"pattern\": \"main\"}'",
         "look only below src"}}},
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
       {{"galley stage fix.patch && galley diff", "look before the commit"}}},
      {"edit",
       {"Opens a file as it is staged in an editor; what is saved is staged.\n"
        "The editor is that of VISUAL or EDITOR."},
       {}},
      {"exec",
       {"Runs a command in a sandbox on the tree as it would be after the commit, and stages what "
        "it "
        "changed.\n"
        "The options bound it; they can only be tighter than galley.toml."},
       {{"galley exec -- make format", "stage what a formatter does"},
        {"galley exec --timeout 60 -- npm test", "not longer than a minute"}}},
      {"run",
       {"Runs a program, a shell or an agent, in a sandbox on the tree as it would be after the "
        "commit, on a terminal of its own. What it changes is staged when it ends, and then it is "
        "asked what becomes of it; elsewhere --commit or --drop say so, and else it is kept.\n"
        "It goes on when the terminal goes away or Ctrl-P Ctrl-Q is typed: galley status lists "
        "it, galley attach takes it up, galley stop ends it.\n"
        "Without a terminal it gets standard input, output and error as they are."},
       {{"galley run -- bash", "a shell whose changes are looked at first"},
        {"galley run --network --allow-write ~/.codex -- codex", "an agent with its own state"},
        {"galley run --layer ~/.codex -- codex", "the same; what it keeps goes with the run"}}},
      {"attach",
       {"Gives this terminal to a program that galley run started and that goes on without one. "
        "Whoever had it before loses it."},
       {{"galley attach codex", "the run that was started with --name codex"}}},
      {"stop",
       {"Ends a program that galley run started, and all that it started. It has five seconds to "
        "end by itself; what it wrote is kept in its transaction."},
       {}},
  };
}

std::vector<CommandText> decision_texts() {
  return {
      {"mcp",
       {"Serves agents over the Model Context Protocol: one JSON message a line on standard input "
        "and output, until the input ends.\n"
        "What they change is staged in a transaction that galley status shows, and is on disk "
        "after "
        "galley_commit only.\n"
        "With --agent NAME the rules for that agent hold."},
       {{"galley mcp -C ~/project --agent codex", "as an agent's configuration names it"}}},
      {"agent-hook",
       {"Judges one call of a tool before an agent makes it: reads the JSON that the agent's hook "
        "is "
        "given on standard input, and answers as that agent expects.\n"
        "An edit is made in memory and judged; one that is refused is denied with the reason. A "
        "command is replaced by galley exec, which stages what it does. Whatever cannot be told is "
        "denied, and so is what takes longer than 20 seconds.\n"
        "galley agents install writes it into an agent's configuration.",
        "Hooks let calls through when they fail: galley run is the wall, a hook is advice.\n"
        "The status is 0 when the answer is on standard output, and 2 for a no whose reason is on "
        "standard error."},
       {{"galley agent-hook --agent codex < request.json", "what codex would be answered"}}},
      {"agents",
       {"Writes Galley into the configuration of an agent, and takes just that out again.\n"
        "What would be written is shown, and asked about at the terminal, first. Entries of others "
        "are never changed.",
        "Without --mcp, --hook and --wrapper both of the first are meant.\n"
        "Without --project and --user: the project, but codex's configuration is yours."},
       {{"galley agents list", "which agents are configured, and where"},
        {"galley agents install claude -n", "only show what it would write"},
        {"galley agents install codex --mcp --yes", "tools over MCP, without asking"},
        {"galley agents uninstall codex", "take both out again"}}},
      {"validate", {"Asks the gate for its verdict on what is staged; nothing is committed."}, {}},
      {"approve",
       {"Says yes beforehand to what a rule asks a person about.\n"
        "It holds for exactly this proposal: one more staged byte makes it void.\n"
        "With call-ID it says yes to one call of a tool, which its caller then repeats."},
       {{"galley approve call-3fa1b2c4d5e6f708", "the call that a refusal named"}}},
      {"commit",
       {"Commits what is staged if the gate approves: all of it or nothing.\n"
        "With -n it only shows the diff and the verdict."},
       {{"galley commit --proposal 3fa1b2c4", "only what was reviewed"}}},
      {"pick", {"Commits one of several forks and drops those that came from the same one."}, {}},
  };
}

std::vector<CommandText> history_texts() {
  return {
      {"rollback",
       {"Drops a transaction with all that is staged in it, or goes back to a savepoint.\n"
        "With --execution it takes back one call by its id on record: out of what is staged, or, "
        "once committed, by an undo of the paths that it changed."},
       {{"galley rollback --execution exec-20240101-123456-abcdef", "one call, and no other"}}},
      {"replay",
       {"Makes the calls of a transcript again, on another tree, and compares results and tree.\n"
        "With --tx they are staged in that transaction, else nothing is kept. The exit status is 1 "
        "when something differs or could not be replayed, and each is listed."},
       {{"galley -C copy replay session.jsonl --secret TOKEN", "with a value for $ENV.TOKEN"}}},
      {"log",
       {"Lists committed transactions, newest first.\n"
        "PATH is a path, a directory or a pattern."},
       {{"galley log -5 --oneline src", "the last five that touched src, a line each"},
        {"galley log -p --since 2026-11-01T00:00:00Z", "with their diffs, from a day on"},
        {"galley log --grep rename --until yesterday --date relative", "by reason and time"}}},
      {"undo",
       {"Takes a committed transaction back, by a commit of its own that passes the same gate.\n"
        "Lines that changed since are merged where they are apart; else it is a conflict and "
        "nothing "
        "is written."},
       {{"galley undo", "the newest one that stands"},
        {"galley undo --path docs 3", "only what transaction 3 did below docs"},
        {"galley undo --hunk README.md:2 3", "only one hunk"}}},
      {"redo", {"Takes an undo back."}, {}},
      {"query",
       {"Runs one SELECT on the index of the history; nothing can be written.",
        "Tables:\n"
        "transactions (id, time_ns, time, agent, tool, message, proposal, undoes, undone_by, "
        "problem, owner)\n"
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
      {"at", {"Runs a command on the tree as it was right after a transaction."}, {}},
  };
}

std::vector<CommandText> maintenance_texts() {
  return {
      {"init",
       {"Writes a galley.toml with the validators that fit what is found in the workspace. What "
        "it switches on is trusted; commands are comments in it without --enable."},
       {{"galley init -n", "print it instead"},
        {"galley init --enable", "with its formatters, linters and tests switched on"}}},
      {"trust",
       {"A configuration that runs commands or widens what is allowed counts only after a person "
        "has "
        "looked at it."},
       {}},
      {"tools",
       {"Lists the tools that can be called, and lets the programs of a folder or the tools of an "
        "MCP server be called after a person has looked at them."},
       {{"galley tools add -n examples/aios-pack", "only show what they are and may do"},
        {"galley tools add --mcp docs -- python3 docs_server.py", "the tools of an MCP server"}}},
      {"recover",
       {"Finishes or takes back what a crash left.\n"
        "Every command that opens the workspace does this first; this one says what it did."},
       {}},
      {"completions",
       {"Prints a completion script for a shell.\n"
        "The installed package has them in their places already."},
       {{"source <(galley completions bash)", "in ~/.bashrc"},
        {"galley completions zsh > ~/.zfunc/_galley", "in a directory of $fpath"},
        {"galley completions fish > ~/.config/fish/completions/galley.fish", ""}}},
      {"hook",
       {"Writes hooks of git that ask the same gate as every other command: what is staged at "
        "`git commit`, what is new at `git push`, the whole push on the server.\n"
        "They honour core.hooksPath. A hook that exists is kept beside and runs first; uninstall "
        "puts it back."},
       {{"galley hook install", "in a clone, its usual hooks; in a bare repository, pre-receive"},
        {"galley hook install -n --hook pre-commit", "what would be done, of one hook"},
        {"galley hook run pre-commit", "for a hook manager's own file"}}},
      {"help", {"Shows what --help shows; without a command, the list of commands."}, {}},
  };
}

}  // namespace

const std::vector<CommandText>& command_texts() {
  static const std::vector<CommandText> kTexts = [] {
    std::vector<CommandText> all = edit_texts();
    for (const auto& group :
         {transaction_texts(), decision_texts(), history_texts(), maintenance_texts()}) {
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
      {"1", "the answer is no: refused, conflict, does not apply, findings"},
      {"2", "wrong usage or malformed input"},
      {"3", "failure; nothing was committed, unless only the output could not be written"},
      {"75", "failed after the commit point; the next command decides"},
      {"130", "interrupted"}};
  return kTexts;
}

const std::vector<VariableText>& variable_texts() {
  static const std::vector<VariableText> kTexts = {
      {"GALLEY_TX", "the transaction that --tx would name"},
      {"GALLEY_PAGER, PAGER", "what shows long results on a terminal; less by default"},
      {"GALLEY_EDITOR_LINK",
       "where links of --hyperlinks lead: file, vscode, or an address with {path} and {line}"},
      {"GALLEY_APPROVED", "ids of proposals that galley check takes as approved by a person"},
      {"GALLEY_HOOK_TIMEOUT", "seconds that galley agent-hook may take; 20 at most"},
      {"GALLEY_GIT_TIMEOUT", "seconds that one command of git may take; 300 by default"},
      {"GALLEY_TRUST", "hash of the configuration to trust where nobody can be asked"},
      {"NO_COLOR", "with any value: no colours"}};
  return kTexts;
}

}  // namespace galley
