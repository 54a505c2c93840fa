#include "cli/option_table.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/tool_profile_names.h"
#include "cli/reports.h"

namespace galley {
namespace {

/// Like CLI::IsMember, but without braces in the help.
CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto check = [words](const std::string& word) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return std::string();
    return "'" + word + "' is none of " + CLI::detail::join(words, ", ") +
           did_you_mean(word, words);
  };
  return {check, ""};
}

/// Whether the value of an option may be empty: a text, and the words of another program.
bool may_be_empty(const CLI::Option& option) {
  const bool is_one = option.get_positional() && !option.get_allow_extra_args();
  if (is_one) return false;
  const std::vector<std::string> types = {"TEXT", "ARGUMENT", "COMMAND", "PROGRAM"};
  return std::find(types.begin(), types.end(), option.get_type_name()) != types.end();
}

/// Gives every option that is not a list its words without the mark. Refuses empty names, paths and
/// ids: of a variable that is not set, nothing else must be taken instead.
void check_values(CLI::App& app) {
  const auto complaint = [](const std::string& word) {
    return word.empty() ? "the value is empty; perhaps a variable is not set" : "";
  };
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() == 0) continue;
    if (!option->get_allow_extra_args()) option->transform(unmarked_word);
    if (!may_be_empty(*option)) option->check(complaint);
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    check_values(*command);
  }
}

}  // namespace

std::string marked_word(std::string word) {
  const bool is_list = (word.starts_with('[') && word.ends_with(']')) || word == "{}";
  if (is_list) word.insert(0, 1, kWordMark);
  return word;
}

std::string unmarked_word(std::string word) {
  if (word.starts_with(kWordMark)) word.erase(0, 1);
  return word;
}

OptionTable::OptionTable() {
  add_global();
  add_commands();
  check_values(app_);
}

OptionTable::OptionTable(const std::vector<std::string>& words) : has_all_(false) {
  add_global();
  only_ = command_in(words);
  add_commands();
  check_values(app_);
}

void OptionTable::add_commands() {
  begin_group(kSeeGroup);
  add_edit_commands(*this);
  begin_group(kTransactionGroup);
  add_transaction_commands(*this);
  begin_group(kHistoryGroup);
  add_history_commands(*this);
  begin_group(kMaintenanceGroup);
  add_maintenance_commands(*this);
}

std::string OptionTable::command_in(const std::vector<std::string>& words) const {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].size() < 2 || words[i].front() != '-') return words[i];
    const CLI::Option* option = app_.get_option_no_throw(words[i]);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
  return {};
}

void OptionTable::add_global() {
  app_.name("galley");
  app_.require_subcommand(1);
  // Commands inherit these flags, so they come first.
  app_.set_help_flag("-h", "Show the usage");
  app_.set_help_all_flag("--help", "Show the help in full");
  app_.set_version_flag("--version", std::string("galley ") + GALLEY_VERSION, "Show the version");
  GlobalArguments& global = args_.global;
  add_option(&app_, "-C DIR", global.directories, "Work as if started in DIR")
      ->allow_extra_args(false);
  add_option(&app_, "--repo DIR", global.repository,
             "Work on a branch of the git repository in DIR, which may be\n"
             "bare, without a checkout; each commit is one of git");
  add_option(&app_, "--ref BRANCH", global.ref, "Branch of --repo; default: the one of HEAD");
  app_.add_flag("--json", global.is_json, "Print exactly one JSON document");
  app_.add_flag("--raw", global.is_raw,
                "Show exact bytes on a terminal, too; by default control, bidirectional\n"
                "and invisible characters are shown as \\x1b or <U+202E>");
  app_.add_flag("-q,--quiet", global.is_quiet, "Print only results and errors");
  app_.add_flag("--no-pager", global.no_pager, "Never start a pager");
  add_choice(&app_, "--color WHEN", global.color, {"auto", "always", "never"},
             "auto, always or never");
  add_option(&app_, "--config FILE", global.config, "Use this file instead of galley.toml");
  add_option(&app_, "--agent NAME", global.agent, "Name of the agent: applies [agents.NAME]");
  add_option(&app_, "--reason TEXT", global.message, "Why; recorded with the commit");
  add_option(&app_, "--session ID", global.session, "Id of the agent's session; recorded");
}

CLI::App* OptionTable::add(const char* name, const char* about) {
  if (!has_all_ && name != only_) return nullptr;
  CLI::App* command = app_.add_subcommand(name, about);
  command->group(group_)->fallthrough();
  return command;
}

CLI::App* OptionTable::add_group(const char* name, const char* about) {
  CLI::App* group = add(name, about);
  if (group != nullptr) group->group(kMaintenanceGroup)->require_subcommand(1);
  return group;
}

CLI::App* OptionTable::add_member(CLI::App* group, const char* name, const char* about) {
  CLI::App* member = group->add_subcommand(name, about);
  member->fallthrough();
  return member;
}

CLI::Option* OptionTable::add_choice(CLI::App* command, const char* name, std::string& word,
                                     const std::vector<std::string>& words, const char* about) {
  CLI::Option* option = add_option(command, name, word, about)->check(one_of(words));
  choices_[option] = words;
  return option;
}

CLI::Option* OptionTable::add_choice_list(CLI::App* command, const char* name,
                                          std::vector<std::string>& values,
                                          const std::vector<std::string>& words,
                                          const char* about) {
  CLI::Option* option = add_list(command, name, values, about)->check(one_of(words));
  choices_[option] = words;
  return option;
}

CLI::Option* add_list(CLI::App* command, const char* name, std::vector<std::string>& values,
                      const char* about) {
  return add_option(command, name, values, about)->allow_extra_args(false);
}

CLI::Option* add_seconds(CLI::App* command, const char* name, double& seconds, const char* about) {
  const auto complaint = [](const std::string& word) {
    double given = 0;
    const bool is_right =
        CLI::detail::lexical_cast(word, given) && given > 0 && std::isfinite(given);
    return is_right ? std::string() : "'" + word + "' is not a number of seconds above 0";
  };
  return add_option(command, std::string(name) + " N", seconds, about)->check(complaint);
}

CLI::Option* add_size(CLI::App* command, const char* name, uint64_t& bytes, const char* about) {
  const auto complaint = [](std::string& word) {
    const std::string given = word;
    try {
      const bool begins_right =
          !given.empty() && is_digit(given.front()) && CLI::AsSizeValue(false)(word).empty();
      const auto size = number_of<uint64_t>(word);
      if (begins_right && size && *size != UINT64_MAX) return std::string();
    } catch (const CLI::ParseError&) {  // too large
    }
    return "'" + given + "' is not a size: a number of bytes, or one with kb, mb or gb";
  };
  return add_option(command, std::string(name) + " SIZE", bytes, about)
      ->transform(CLI::Validator(complaint, ""));
}

void OptionTable::add_dry_run(CLI::App* command, const char* about) {
  command->add_flag("-n,--dry-run", args_.dry_run, about);
}

std::vector<std::string> OptionTable::choices_of(const CLI::Option& option) const {
  const auto found = choices_.find(&option);
  return found == choices_.end() ? std::vector<std::string>() : found->second;
}

void OptionTable::add_message(CLI::App* command) {
  add_option(command, "-m,--message TEXT", args_.global.message,
             "Why; the same as galley --reason TEXT");
}

void OptionTable::add_tx(CLI::App* command) {
  add_option(command, "--tx ID", args_.tx, "A transaction; the only one of your own by default")
      ->envname("GALLEY_TX");
}

void OptionTable::add_begin(CLI::App* command) {
  command->add_flag("--begin", args_.exec.begins,
                    "Begin a transaction where there is none of your own");
}

void OptionTable::add_transcript(CLI::App* command) {
  add_option(command, "--transcript FILE", args_.transcript,
             "Record every tool call in this file, with its full contents");
}

void OptionTable::add_profile(CLI::App* command) {
  add_choice(command, "--profile NAME", args_.profile,
             {kToolProfileNames.begin(), kToolProfileNames.end()},
             "The names of tools that agents of this kind know");
}

CLI::Option* OptionTable::add_turn(CLI::App* command, const char* about) {
  return add_option(command, "--turn N|N..M|last", args_.turn,
                    std::string(about) + "; galley turns lists them");
}

void OptionTable::add_conflict(CLI::App* command) {
  add_choice(command, "--conflict HOW", args_.conflict, {"stop", "markers"},
             "Of lines that both sides changed: stop, or stage them between markers");
}

void OptionTable::add_git_commits(CLI::App* command) {
  add_choice(command, "--git-commits WHAT", args_.run.git_commits, {"keep", "drop"},
             "Keep or drop the commits of git that were made inside");
}

void OptionTable::add_reports(CLI::App* command) {
  const auto check = [](const std::string& word) {
    const auto request = report_requests({word});
    return request ? std::string() : request.error().message;
  };
  add_list(command, "--report FORMAT[=FILE]", args_.reports,
           "Also write the judgement as FORMAT, to standard output or a file")
      ->check(CLI::Validator(check, ""));
}

void OptionTable::add_verdicts(CLI::App* command) {
  add_option(command, "--verdict FILE", args_.verdict.write, "Write the verdict for a later job");
  add_option(command, "--verify FILE", args_.verdict.verify,
             "Take the answer of this verdict, if it is about the same; run nothing");
  add_option(command, "--key FILE", args_.verdict.key,
             "Sign the verdict, or have it signed, with this key");
}

void OptionTable::add_diff_options(CLI::App* command, bool takes_edits) {
  DiffArguments& diff = args_.diff;
  command->add_flag("--stat", diff.stat,
                    takes_edits ? "Only show a summary, instead of the diff"
                                : "Show a summary instead of the diff");
  command->add_flag("--numstat", diff.numstat, "As --stat, for programs");
  command->add_flag("--name-status", diff.name_status, "Show only what happens to which path");
  command->add_flag("--word-diff", diff.word_diff, "Show changed words");
  command->add_flag("--color-moved", diff.color_moved, "Colour moved blocks");
  command->add_flag("-w,--ignore-all-space", diff.ignore_all_space, "Show no white space changes");
  command->add_flag(takes_edits ? "-b" : "-b,--ignore-space-change", diff.ignore_space_change,
                    "Show no changes in the amount of white space");
  command->add_flag("--side-by-side", diff.side_by_side, "Show old and new lines side by side");
  add_choice(command, "--hyperlinks WHEN", diff.hyperlinks, {"auto", "always", "never"},
             "Make places links that an editor opens: auto, always or never");
  add_option(command, "-U,--unified N", diff.context, "Lines of context");
}

void OptionTable::add_html(CLI::App* command) {
  command
      ->add_flag("--html{-}", args_.diff.html,
                 "Show it as one HTML page, with findings at their lines, in FILE\n"
                 "(--html=FILE) or on standard output")
      ->type_name("FILE");
}

void OptionTable::add_quiet(CLI::App* command, const char* about) {
  command->add_flag("--quiet", args_.diff.is_quiet, about);
}

CLI::Option* add_hosts(CLI::App* command, std::vector<std::string>& hosts) {
  return add_list(
      command, "--allow-host HOST", hosts,
      "Let it reach this host through a proxy, and no other; *.HOST names those below it, "
      "HOST:PORT one port");
}

void OptionTable::add_exec_options(CLI::App* command) {
  ExecArguments& exec = args_.exec;
  command->add_flag("-i,--interactive", exec.is_interactive,
                    "Pass on what is typed at the terminal, too");
  command->add_flag("-v,--verbose", exec.is_verbose,
                    "Say how it ended and behind which walls it ran");
  CLI::Option* network =
      command->add_flag("--network", exec.shares_network, "Give it the host's network");
  command
      ->add_flag("--deterministic", exec.is_deterministic,
                 "A fixed time, zone and locale, and no network")
      ->excludes(network);
  add_hosts(command, exec.hosts)->excludes(network);
  add_seconds(command, "--timeout", exec.timeout_s, "Seconds it may run");
  add_option(command, "--cpu N", exec.cpu_s, "Seconds of processor time of all its processes");
  add_option(command, "--processes N", exec.processes, "Processes and threads at once");
  add_size(command, "--memory", exec.memory_bytes, "Memory of all its processes, such as 512mb");
  add_size(command, "--file-size", exec.file_bytes, "Of any one file it writes");
  add_size(command, "--written", exec.written_bytes, "Written by all its processes");
  add_size(command, "--output", exec.output_bytes, "Kept of each of stdout and stderr");
}

}  // namespace galley
