#include "cli/option_table.h"

namespace galley {
namespace {

void add_log(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* log =
          table.add("log", "List committed transactions, newest first", kHistoryGroup)) {
    log->add_option("-n,--limit,--max-count", args.limit,
                    "Show at most N; -5 means the same as -n 5")
        ->type_name("N");
    OptionTable::add_list(log, "--path", args.paths,
                          "Only those that changed it, as PATH at the end says")
        ->type_name("PATH");
    log->add_option("--since", args.since, "Only those after this time: 2h, 3d, or 2026-11-21")
        ->type_name("TIME");
    log->add_option("--until", args.until, "Only those up to this time")->type_name("TIME");
    log->add_option("--grep", args.grep, "Only those whose reason has this text")
        ->type_name("TEXT");
    log->add_option("--session", args.of_session, "Only those of this session of an agent")
        ->type_name("ID");
    table.add_choice(log, "--date", args.date, {"utc", "local", "relative"},
                     "How times are shown: utc, local or relative");
    log->add_flag("-p,--patch", args.patch, "Show the diff of each");
    log->add_flag("--oneline", args.oneline, "One line each");
    table.add_diff_options(log);
    log->add_option("words", args.words, "Only those that changed one of these")->type_name("PATH");
  }
  if (CLI::App* turns = table.add("turns", "List what agents did between prompts", kHistoryGroup)) {
    turns->add_option("-n,--limit", args.limit, "Show at most N")->type_name("N");
    turns->add_option("--session", args.of_session, "Only those of this session of an agent")
        ->type_name("ID");
    table.add_choice(turns, "--date", args.date, {"utc", "local", "relative"},
                     "How times are shown: utc, local or relative");
  }
  if (CLI::App* show =
          table.add("show", "Show one committed transaction with its diff", kHistoryGroup)) {
    show->add_option("id", args.id,
                     "Transaction; the newest by default. ID:PATH is a file as it was after it");
    show->add_option("words", args.words, "Only these paths of it")->type_name("PATH");
    table.add_turn(show, "Show each transaction of this turn");
    table.add_diff_options(show);
    table.add_html(show);
  }
}

void add_undo(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* undo = table.add("undo", "Undo a committed transaction", kHistoryGroup)) {
    undo->add_option(
        "id", args.id,
        "Transaction; by default the newest that is not undone. Several are undone one after "
        "the other, the newest first");
    table.add_turn(undo, "Take back this turn: all of it or nothing");
    undo->add_option(
            "--session", args.of_session,
            "Take back all that this session of an agent committed, or nothing; with --turn, "
            "that turn of it")
        ->type_name("ID");
    table.add_dry_run(undo, "Show what it would do");
    OptionTable::add_list(undo, "--path", args.paths, "Take back only this path")
        ->type_name("PATH");
    OptionTable::add_list(undo, "--hunk", args.hunks,
                          "Take back only this hunk of a path, counted from 1")
        ->type_name("PATH:N");
    undo->add_option("words", args.words, "Take back only these paths of it")->type_name("PATH");
    table.add_diff_options(undo);
    table.add_conflict(undo);
    table.add_message(undo);
  }
  if (CLI::App* redo = table.add("redo", "Take back the newest undo", kHistoryGroup)) {
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
  if (CLI::App* blame =
          table.add("blame", "Show which transaction wrote each line", kHistoryGroup)) {
    blame->add_option("path", args.name, "A file")->required();
  }
  if (CLI::App* query =
          table.add("query", "Query the history with SQL, read only", kHistoryGroup)) {
    query->add_option("sql", args.name, "A SELECT statement")->required();
  }
  if (CLI::App* push = table.add("push", "Push a branch to another repository", kHistoryGroup)) {
    push->add_option("remote", args.name, "A remote of --repo, a folder or an address")->required();
  }
  if (CLI::App* at = table.add("at", "Run a command on the tree as it was after a transaction",
                               kHistoryGroup)) {
    at->add_option("id", args.id, "Transaction")->required();
    table.add_exec_options(at);
    at->add_option("words", args.words, "Program and arguments, after --")
        ->type_name("COMMAND")
        ->required();
  }
}

}  // namespace

void add_history_commands(OptionTable& table) {
  add_log(table);
  add_undo(table);
  add_look_back_commands(table);
}

}  // namespace galley
