#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/nearest_name.h"
#include "base/printable.h"

namespace galley {
namespace {

constexpr int kUsageStatus = 2;

constexpr const char* kSeeGroup = "Look before you commit";
constexpr const char* kTransactionGroup = "Work in a transaction";
constexpr const char* kHistoryGroup = "Look back and take back";
constexpr const char* kCareGroup = "Set up and keep";

constexpr const char* kFooter = R"(
Exit status: 0 done, 1 the answer is no (refused, conflict, does not apply, findings),
2 usage or malformed input, 3 failure with the tree untouched, 75 failed after the commit
point (the next command decides), 130 interrupted.)";

class CommandLine {
 public:
  CommandLine() {
    app_.name("galley");
    app_.require_subcommand(1);
    app_.footer(kFooter);
    app_.set_version_flag("--version", std::string("galley ") + GALLEY_VERSION);
    add_global();
    add_edit_commands();
    add_transaction_commands();
    add_candidate_commands();
    add_exec_commands();
    add_history_commands();
    add_look_back_commands();
    add_care_commands();
    add_group_commands();
  }

  ParsedArguments parse(int argc, const char* const* argv) {
    ParsedArguments result;
    try {
      app_.parse(argc, argv);
      const CLI::App* command = app_.get_subcommands().front();
      args_.command = command->get_name();
      if (color_ != "auto") {
        args_.global.color = color_ == "always" ? ColorWhen::kAlways : ColorWhen::kNever;
      }
      if (!command->get_subcommands().empty()) {
        args_.subcommand = command->get_subcommands().front()->get_name();
      }
      result.arguments = args_;
    } catch (const CLI::CallForHelp&) {
      result.text = help();
    } catch (const CLI::CallForAllHelp&) {
      result.text = app_.help("", CLI::AppFormatMode::All);
    } catch (const CLI::CallForVersion& version) {
      result.text = std::string(version.what()) + "\n";
    } catch (const CLI::ParseError& error) {
      result.text = complaint(error, argc, argv);
      result.status = kUsageStatus;
    }
    return result;
  }

 private:
  using App = CLI::App;

  App* add(const char* name, const char* about, const char* group) {
    App* command = app_.add_subcommand(name, about);
    command->group(group)->fallthrough();
    return command;
  }

  /// Like CLI::IsMember, without its braces in the help.
  static CLI::Validator one_of(const std::vector<std::string>& words) {
    const auto check = [words](const std::string& word) {
      if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
      return "'" + word + "' is none of " + CLI::detail::join(words, ", ") +
             did_you_mean(word, words);
    };
    return {check, ""};
  }

  void add_global() {
    GlobalArguments& global = args_.global;
    app_.add_option("-C", global.directory, "Work as if started in DIR")->type_name("DIR");
    app_.add_flag("--json", global.is_json, "Print exactly one JSON document");
    app_.add_flag("--raw", global.is_raw,
                  "Show exact bytes on a terminal, too; else it gets control, bidirectional\n"
                  "and invisible characters as \\x1b or <U+202E>");
    app_.add_option("--color", color_, "auto, always or never")
        ->check(one_of({"auto", "always", "never"}))
        ->type_name("WHEN");
    app_.add_option("--config", global.config, "Use this file instead of galley.toml")
        ->type_name("FILE");
    app_.add_option("--agent", global.agent, "Who asks: picks [agents.NAME]")->type_name("NAME");
    app_.add_option("--reason", global.message, "Why; kept with the commit")->type_name("TEXT");
  }

  /// `takes_edits`: --ignore-space-change is git apply's there, about matching, not about showing.
  void add_diff_options(App* command, bool takes_edits = false) {
    DiffArguments& diff = args_.diff;
    command->add_flag("--stat", diff.stat, "Show a summary instead of the diff");
    command->add_flag("--numstat", diff.numstat, "As --stat, for programs");
    command->add_flag("--name-status", diff.name_status, "Show only what happens to which path");
    command->add_flag("--word-diff", diff.word_diff, "Show changed words");
    command->add_flag("--color-moved", diff.color_moved, "Colour moved blocks");
    command->add_flag("-w,--ignore-all-space", diff.ignore_all_space,
                      "Show no white space changes");
    command->add_flag(takes_edits ? "-b" : "-b,--ignore-space-change", diff.ignore_space_change,
                      "Show no changes in the amount of white space");
    command->add_option("-U,--unified", diff.context, "Lines of context")->type_name("N");
  }

  void add_edit_options(App* command) {
    EditArguments& edit = args_.edit;
    command->add_option("input", edit.input, "A patch or edit document; - is standard input")
        ->type_name("FILE");
    command
        ->add_option("--format", edit.format,
                     "auto, unified, apply_patch, search_replace, edits or calls")
        ->check(one_of({"auto", "unified", "apply_patch", "search_replace", "edits", "calls"}))
        ->type_name("FORMAT");
    command->add_flag("--strict", edit.strict, "Apply only exactly where the edit says");
    command->add_flag("--check", edit.check, "Only say whether it applies");
    command->add_flag("-R,--reverse", edit.reverse, "Apply in reverse");
    command->add_flag("--recount", edit.recount, "Ignore the line counts in hunk headers");
    command->add_flag("--unidiff-zero", edit.unidiff_zero, "Take hunks without context");
    command->add_flag("--ignore-whitespace,--ignore-space-change", edit.ignore_whitespace,
                      "Ignore white space in context lines");
    command->add_flag("--allow-empty", edit.allow_empty, "An empty patch is no error");
    command->add_flag("--reject", edit.reject, "Stage what fits, report the rest");
    command->add_option("-p", edit.strip, "Components to take off paths")->type_name("N");
    command->add_option("-C", edit.context, "Context lines that must match")->type_name("N");
    command->add_option("--whitespace", edit.whitespace, "nowarn, warn, fix or error")
        ->check(one_of({"nowarn", "warn", "fix", "error", "error-all"}))
        ->type_name("ACTION");
    command->add_option("--directory", edit.directory, "Put before every path")->type_name("ROOT");
    add_filter(command, "--include", true);
    add_filter(command, "--exclude", false);
    command->add_option("--only", edit.only, "Stage only FILE or FILE:HUNK")->type_name("FILE");
    command->add_option("--except", edit.except, "Stage all but FILE or FILE:HUNK")
        ->type_name("FILE");
    command->add_option("--choose", edit.choose, "Choose a place that an ambiguity named")
        ->type_name("ID");
  }

  void add_filter(App* command, const char* name, bool is_include) {
    command
        ->add_option_function<std::string>(
            name,
            [this, is_include](const std::string& pattern) {
              args_.edit.filters.emplace_back(is_include, pattern);
            },
            is_include ? "Only paths that match" : "Not paths that match")
        ->trigger_on_parse()
        ->type_name("GLOB");
  }

  void add_edit_commands() {
    App* preview =
        add("preview", "Show the diff of an edit and the gate's verdict; write nothing", kSeeGroup);
    add_edit_options(preview);
    add_diff_options(preview, true);
    App* apply = add("apply", "Preview, then commit all of it or nothing", kSeeGroup);
    add_edit_options(apply);
    add_diff_options(apply, true);
    add_conflict(apply);
  }

  void add_conflict(App* command) {
    command
        ->add_option("--conflict", args_.conflict,
                     "Of lines that both sides changed: stop, or stage them between markers")
        ->check(CLI::IsMember({"stop", "markers"}))
        ->type_name("HOW");
  }

  void add_tx(App* command) {
    command->add_option("--tx", args_.tx, "A transaction; the only one of your own by default")
        ->envname("GALLEY_TX")
        ->type_name("ID");
  }

  void add_transaction_commands() {
    add("begin", "Begin a transaction that outlives this command", kTransactionGroup);
    App* status = add("status", "Open transactions and what they change", kTransactionGroup);
    add_tx(status);
    status->add_flag("--all", args_.all, "All open transactions");
    App* diff = add("diff", "The exact diff that a commit would make", kTransactionGroup);
    add_tx(diff);
    add_diff_options(diff);
    App* call = add("call", "Stage one tool call", kTransactionGroup);
    add_tx(call);
    call->add_option("tool", args_.name, "Name of the tool")->required();
    call->add_option("args", args_.input, "JSON object; - is standard input")->required();
    App* validate = add("validate", "Ask the gate", kTransactionGroup);
    add_tx(validate);
    validate->add_flag("--fix", args_.fix,
                       "First stage what the validators with fix = true make of it");
    validate->add_flag(
        "--bisect", args_.bisect,
        "When it is refused, find the smallest part that is, and the largest that passes");
    validate->add_option("--budget", args_.budget_s, "Seconds that --bisect may take (60)")
        ->type_name("N");
    App* approve =
        add("approve", "Say yes beforehand to what a rule asks about", kTransactionGroup);
    add_tx(approve);
    approve
        ->add_option("proposal", args_.proposal,
                     "What was looked at: its id, or the first digits of it")
        ->required();
    approve->add_option("--by", args_.name, "Who says so; for the record")->type_name("NAME");
    App* commit = add("commit", "Commit a transaction: all of it or nothing", kTransactionGroup);
    add_tx(commit);
    commit->add_option("--proposal", args_.proposal, "Commit only if this is what is proposed")
        ->type_name("ID");
    add_conflict(commit);
    App* rollback =
        add("rollback", "Drop a transaction, or go back to a savepoint", kTransactionGroup);
    add_tx(rollback);
    rollback->add_option("--to", args_.to, "Go back to this savepoint")->type_name("NAME");
  }

  void add_candidate_commands() {
    App* savepoint = add("savepoint", "Name what is staged now", kTransactionGroup);
    add_tx(savepoint);
    savepoint->add_option("name", args_.name, "Name of the savepoint")->required();
    App* fork = add("fork", "Begin a copy of a transaction, to try another way", kTransactionGroup);
    add_tx(fork);
    App* pick = add("pick", "Commit one of several forks and drop the others", kTransactionGroup);
    pick->add_option("id", args_.id, "The transaction to commit")->required();
    add_conflict(pick);
  }

  /// Bounds that a command is given; they can only be tighter than galley.toml's.
  void add_exec_options(App* command) {
    ExecArguments& exec = args_.exec;
    const auto add_size = [command](const char* name, uint64_t& bytes, const char* about) {
      command->add_option(name, bytes, about)
          ->transform(CLI::AsSizeValue(false))
          ->type_name("SIZE");
    };
    command->add_flag("--network", exec.shares_network, "Give it the host's network");
    command->add_flag("--deterministic", exec.is_deterministic,
                      "A fixed time, zone and locale, and no network");
    command->add_option("--timeout", exec.timeout_s, "Seconds it may run")
        ->check(CLI::PositiveNumber)
        ->type_name("N");
    command->add_option("--cpu", exec.cpu_s, "Seconds of processor time of all its processes")
        ->type_name("N");
    command->add_option("--processes", exec.processes, "Processes and threads at once")
        ->type_name("N");
    add_size("--memory", exec.memory_bytes, "Memory of all its processes, such as 512mb");
    add_size("--file-size", exec.file_bytes, "Of any one file it writes");
    add_size("--written", exec.written_bytes, "Written by all its processes");
    add_size("--output", exec.output_bytes, "Kept of each of stdout and stderr");
  }

  void add_exec_commands() {
    App* exec =
        add("exec", "Run a command on the proposed tree; stage what it changes", kTransactionGroup);
    add_tx(exec);
    exec->add_flag("--keep-on-failure", args_.exec.keep_on_failure,
                   "Stage the changes of a command that failed too");
    exec->add_flag("--propose-ignored", args_.exec.proposes_ignored, "Stage what git ignores too");
    add_exec_options(exec);
    exec->add_option("words", args_.words, "Program and arguments, after --")->required();
  }

  void add_history_commands() {
    App* log = add("log", "Committed transactions, newest first", kHistoryGroup);
    log->add_option("-n,--limit", args_.limit, "At most so many")->type_name("N");
    log->add_option("--path", args_.paths, "Only those that changed it")->type_name("PATH");
    log->add_option("--since", args_.since, "Only those after this time (RFC 3339)")
        ->type_name("TIME");
    App* show = add("show", "One committed transaction with its diff", kHistoryGroup);
    show->add_option("id", args_.id, "Transaction; the newest by default");
    add_diff_options(show);
    App* undo = add("undo", "Take a committed transaction back", kHistoryGroup);
    undo->add_option("id", args_.id, "Transaction; the newest one that stands by default");
    undo->add_flag("-n,--dry-run", args_.dry_run, "Show what it would do");
    undo->add_option("--path", args_.paths, "Take back only this path")->type_name("PATH");
    undo->add_option("--hunk", args_.hunks, "Take back only this hunk")->type_name("ID");
    add_diff_options(undo);
    add_conflict(undo);
    App* redo = add("redo", "Take the newest undo back", kHistoryGroup);
    redo->add_option("id", args_.id, "The undo; the newest by default");
    redo->add_flag("-n,--dry-run", args_.dry_run, "Show what it would do");
    add_diff_options(redo);
    add_conflict(redo);
  }

  void add_look_back_commands() {
    App* blame = add("blame", "Which transaction wrote each line", kHistoryGroup);
    blame->add_option("path", args_.name, "A file")->required();
    App* query = add("query", "Ask the history in SQL (read only)", kHistoryGroup);
    query->add_option("sql", args_.name, "A SELECT statement")->required();
    App* at = add("at", "Run a command on the tree as it was after a transaction", kHistoryGroup);
    at->add_option("id", args_.id, "Transaction")->required();
    add_exec_options(at);
    at->add_option("words", args_.words, "Program and arguments, after --")->required();
  }

  void add_care_commands() {
    App* init = add("init", "Write a galley.toml for what is found here", kCareGroup);
    init->add_flag("-n,--dry-run", args_.dry_run, "Print it instead");
    init->add_flag("--force", args_.force, "Replace an existing one");
    App* trust =
        add("trust", "Let what galley.toml runs or widens count, as it stands", kCareGroup);
    trust->add_flag("--show", args_.show, "Only show it, with its hash for GALLEY_TRUST");
    trust->add_flag("--list", args_.list, "What you trust, everywhere");
    trust->add_flag("--revoke", args_.revoke, "Trust this workspace no longer");
    App* recover = add("recover", "Finish or take back what a crash left", kCareGroup);
    recover->add_flag("-n,--dry-run", args_.dry_run, "Only say what it would do");
    recover->add_flag("--adopt", args_.adopt, "Take over a .galley that is not believed");
    App* gc = add("gc", "Clear what dead processes and old history left", kCareGroup);
    gc->add_flag("-n,--dry-run", args_.dry_run, "Only say what it would clear");
    App* doctor = add("doctor", "Check the workspace and what this machine offers", kCareGroup);
    doctor->add_flag("--repair", args_.repair, "Mend what can be mended");
  }

  App* add_group(const char* name, const char* about) {
    App* group = add(name, about, kCareGroup);
    group->require_subcommand(1);
    return group;
  }

  App* add_member(App* group, const char* name, const char* about) {
    App* member = group->add_subcommand(name, about);
    member->fallthrough();
    return member;
  }

  void add_group_commands() {
    App* tools = add_group("tools", "The tools that can be called");
    add_member(tools, "list", "One line a tool");
    add_member(tools, "show", "One tool with its schemas")
        ->add_option("name", args_.name, "Name of the tool")
        ->required();
    App* audit = add_group("audit", "The record of every call and outcome");
    add_member(audit, "verify", "Check the chain of records");
    add_member(audit, "export", "Print it for other programs, one JSON object a line")
        ->add_option("format", args_.input, "aios or agent-trace")
        ->check(one_of({"aios", "agent-trace"}))
        ->required();
    App* policy = add_group("policy", "Path and effect rules");
    App* explain = add_member(policy, "explain", "Which rules speak about a path");
    explain->add_option("path", args_.name, "A path")->required();
    add_member(policy, "test", "Check a table of expectations")
        ->add_option("file", args_.input, "A TOML file")
        ->required();
    App* rescue = add_group("rescue", "Bytes of others that were moved aside");
    add_member(rescue, "list", "What is there");
    add_member(rescue, "show", "Print one")->add_option("name", args_.name, "Its name")->required();
    add_member(rescue, "drop", "Delete one for good")
        ->add_option("name", args_.name, "Its name")
        ->required();
  }

  [[nodiscard]] std::string help() const {
    const App* innermost = &app_;
    while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
    return innermost->help();
  }

  [[nodiscard]] std::string complaint(const CLI::ParseError& error, int argc,
                                      const char* const* argv) const {
    std::string text = "galley: " + printable_line(error.what());
    if (app_.get_subcommands().empty()) {
      const std::string word = first_word(argc, argv);
      if (!word.empty()) {
        text = "galley: there is no command '" + printable_line(word) + "'";
        const auto near = nearest_command(word);
        if (near) text += "; did you mean '" + *near + "'?";
      }
    }
    return text + "\nRun 'galley --help' for what can be said.\n";
  }

  static std::string first_word(int argc, const char* const* argv) {
    for (int i = 1; i < argc; ++i) {
      std::string word = argv[i];
      if (word == "-C" || word == "--color" || word == "--config" || word == "--agent" ||
          word == "--reason") {
        ++i;
      } else if (!word.empty() && word[0] != '-') {
        return word;
      }
    }
    return {};
  }

  [[nodiscard]] std::optional<std::string> nearest_command(const std::string& word) const {
    std::vector<std::string> names;
    for (const App* command : app_.get_subcommands(nullptr)) names.push_back(command->get_name());
    return nearest_name(word, names);
  }

  Arguments args_;
  std::string color_ = "auto";
  CLI::App app_{"Galley proofs every edit before it is printed: all of a change lands, or none."};
};

}  // namespace

ParsedArguments parse_arguments(int argc, const char* const* argv) {
  CommandLine line;
  return line.parse(argc, argv);
}

}  // namespace galley
