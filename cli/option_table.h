#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/arguments.h"

namespace galley {

/// No argument of a program can have this byte.
inline constexpr char kWordMark = '\0';

/// CLI11 takes the word `[a,b]` for a list of two, and `{}` for an empty list. A marked word is
/// neither. Options that are not lists take the mark off themselves; a caller takes it off lists.
[[nodiscard]] std::string marked_word(std::string word);
[[nodiscard]] std::string unmarked_word(std::string word);

/// Adds an option, or an argument. `name` is as in the usage: `--secrets FILE`, `words PATH`.
template <class T>
CLI::Option* add_option(CLI::App* command, const std::string& name, T& value,
                        const std::string& about) {
  const size_t blank = name.find(' ');
  CLI::Option* option = command->add_option(name.substr(0, blank), value, about);
  return blank == name.npos ? option : option->type_name(name.substr(blank + 1));
}
/// Adds an option that takes one value and may be repeated. Words after the value do not belong to
/// the option.
CLI::Option* add_list(CLI::App* command, const char* name, std::vector<std::string>& values,
                      const char* about);
/// Adds an option that takes a number of seconds above 0.
CLI::Option* add_seconds(CLI::App* command, const char* name, double& seconds, const char* about);
/// Adds an option that takes a number of bytes, with or without a unit.
CLI::Option* add_size(CLI::App* command, const char* name, uint64_t& bytes, const char* about);
/// Adds --allow-host.
CLI::Option* add_hosts(CLI::App* command, std::vector<std::string>& hosts);

/// The table of commands and options. Parsing, help, completions and the man page use it.
///
/// Ownership: owns the Arguments in which it stores the options.
class OptionTable {
 public:
  /// The table of all commands.
  OptionTable();
  /// Makes a table with the command that `words` (the program's arguments) name. Other commands may
  /// be missing, because making all of them takes longer than many commands run.
  explicit OptionTable(const std::vector<std::string>& words);
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  [[nodiscard]] CLI::App& app() { return app_; }
  [[nodiscard]] const CLI::App& app() const { return app_; }
  [[nodiscard]] Arguments& arguments() { return args_; }

  /// Returns the first word that is neither a global option nor its value.
  [[nodiscard]] std::string command_in(const std::vector<std::string>& words) const;

  /// Says to which group of the help the next commands belong.
  void begin_group(const char* group) { group_ = group; }
  /// Adds a command. Returns null if the table needs it not: then it gets no options.
  CLI::App* add(const char* name, const char* about);
  /// Adds a command with subcommands: `tools`, whose members are `tools list`, `tools show`.
  CLI::App* add_group(const char* name, const char* about);
  CLI::App* add_member(CLI::App* group, const char* name, const char* about);

  /// Adds an option that takes one of these words.
  CLI::Option* add_choice(CLI::App* command, const char* name, std::string& word,
                          const std::vector<std::string>& words, const char* about);

  /// The same for an option that may be repeated.
  CLI::Option* add_choice_list(CLI::App* command, const char* name,
                               std::vector<std::string>& values,
                               const std::vector<std::string>& words, const char* about);

  /// Returns the words that an option takes; empty if it takes any.
  [[nodiscard]] std::vector<std::string> choices_of(const CLI::Option& option) const;

  // Options that several commands share.
  void add_dry_run(CLI::App* command, const char* about);
  void add_message(CLI::App* command);
  void add_tx(CLI::App* command);
  /// --begin: for commands that stage, if no transaction is open.
  void add_begin(CLI::App* command);
  /// --transcript: writes calls with their full contents to a file.
  void add_transcript(CLI::App* command);
  void add_profile(CLI::App* command);
  CLI::Option* add_turn(CLI::App* command, const char* about);
  void add_conflict(CLI::App* command);
  /// --git-commits: keeps or drops the git commits of a run.
  void add_git_commits(CLI::App* command);
  /// With `takes_edits`, --ignore-space-change has the meaning of git apply: it affects matching.
  void add_diff_options(CLI::App* command, bool takes_edits = false);
  /// --report: writes the judgement in formats of other programs.
  void add_reports(CLI::App* command);
  /// --verdict, --verify, --key: exchange a judgement with another job.
  void add_verdicts(CLI::App* command);
  void add_html(CLI::App* command);
  void add_quiet(CLI::App* command, const char* about);
  /// Limits for a command. They can only be tighter than those of galley.toml.
  void add_exec_options(CLI::App* command);

 private:
  void add_global();
  void add_commands();

  Arguments args_;
  bool has_all_ = true;
  const char* group_ = "";
  std::string only_;  ///< unless has_all_
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
  CLI::App app_{
      "Checks every edit before it reaches your files: commits all of a change or nothing."};
};

inline constexpr const char* kSeeGroup = "Preview and apply";
inline constexpr const char* kTransactionGroup = "Work in a transaction";
inline constexpr const char* kHistoryGroup = "History and undo";
inline constexpr const char* kMaintenanceGroup = "Setup and maintenance";

// The commands, one file per group.
void add_edit_commands(OptionTable& table);
void add_transaction_commands(OptionTable& table);
void add_history_commands(OptionTable& table);
void add_maintenance_commands(OptionTable& table);

}  // namespace galley
