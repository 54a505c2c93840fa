#include "cli/option_table.h"

namespace galley {
namespace {

void add_log(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* log = table.add("log", "List committed transactions, newest first")) {
    add_option(log, "-n,--limit,--max-count N", args.limit,
               "Show at most N; -5 means the same as -n 5");
    add_list(log, "--path PATH", args.paths, "Only those that changed it, as PATH at the end says");
    add_option(log, "--since TIME", args.since,
               "Only those after this time: 2h, 3d, or 2026-11-21");
    add_option(log, "--until TIME", args.until, "Only those up to this time");
    add_option(log, "--grep TEXT", args.grep, "Only those whose reason has this text");
    add_option(log, "--session ID", args.of_session, "Only those of this session of an agent");
    table.add_choice(log, "--date", args.date, {"utc", "local", "relative"},
                     "How times are shown: utc, local or relative");
    log->add_flag("-p,--patch", args.patch, "Show the diff of each");
    log->add_flag("--oneline", args.oneline, "One line each");
    table.add_diff_options(log);
    add_option(log, "words PATH", args.words, "Only those that changed one of these");
  }
  if (CLI::App* turns = table.add("turns", "List what agents did between prompts")) {
    add_option(turns, "-n,--limit N", args.limit, "Show at most N");
    add_option(turns, "--session ID", args.of_session, "Only those of this session of an agent");
    table.add_choice(turns, "--date", args.date, {"utc", "local", "relative"},
                     "How times are shown: utc, local or relative");
  }
  if (CLI::App* show = table.add("show", "Show one committed transaction with its diff")) {
    show->add_option("id", args.id,
                     "Transaction; the newest by default. ID:PATH is a file as it was after it");
    add_option(show, "words PATH", args.words, "Only these paths of it");
    table.add_turn(show, "Show each transaction of this turn");
    table.add_diff_options(show);
    table.add_html(show);
  }
}

void add_undo(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* undo = table.add("undo", "Undo a committed transaction")) {
    undo->add_option(
        "id", args.id,
        "Transaction; by default the newest that is not undone. Several are undone one after "
        "the other, the newest first");
    table.add_turn(undo, "Take back this turn: all of it or nothing");
    add_option(undo, "--session ID", args.of_session,
               "Take back all that this session of an agent committed, or nothing; with --turn, "
               "that turn of it");
    table.add_dry_run(undo, "Show what it would do");
    add_list(undo, "--path PATH", args.paths, "Take back only this path");
    add_list(undo, "--hunk PATH:N", args.hunks,
             "Take back only this hunk of a path, counted from 1");
    add_option(undo, "words PATH", args.words, "Take back only these paths of it");
    table.add_diff_options(undo);
    table.add_conflict(undo);
    table.add_message(undo);
  }
  if (CLI::App* redo = table.add("redo", "Take back the newest undo")) {
    CLI::Option* undone = redo->add_option("id", args.id, "The undo; the newest by default");
    table.add_turn(redo, "Bring back this turn: all of it or nothing")->excludes(undone);
    table.add_dry_run(redo, "Show what it would do");
    table.add_diff_options(redo);
    table.add_conflict(redo);
    table.add_message(redo);
  }
}

void add_look_back_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* blame = table.add("blame", "Show which transaction wrote each line")) {
    blame->add_option("path", args.name, "A file")->required();
  }
  if (CLI::App* query = table.add("query", "Query the history with SQL, read only")) {
    query->add_option("sql", args.name, "A SELECT statement")->required();
  }
  if (CLI::App* push = table.add("push", "Push a branch to another repository")) {
    push->add_option("remote", args.name, "A remote of --repo, a folder or an address")->required();
  }
  if (CLI::App* at = table.add("at", "Run a command on the tree as it was after a transaction")) {
    at->add_option("id", args.id, "Transaction")->required();
    table.add_exec_options(at);
    add_option(at, "words COMMAND", args.words, "Program and arguments, after --")->required();
  }
}

}  // namespace

void add_history_commands(OptionTable& table) {
  add_log(table);
  add_undo(table);
  add_look_back_commands(table);
}

}  // namespace galley
