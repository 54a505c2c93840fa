#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"

namespace galley {

/// The table of commands and options: what parsing, help, completions and the man page are made of.
///
/// Ownership: owns the arguments that its options write to.
class OptionTable {
 public:
  /// The table of all commands.
  OptionTable();
  /// A table that has the command which `words`, the arguments of the program, name; of the others
  /// it may have some. Making all of them takes longer than many a command.
  explicit OptionTable(const std::vector<std::string>& words);
  OptionTable(const OptionTable&) = delete;
  OptionTable& operator=(const OptionTable&) = delete;

  [[nodiscard]] CLI::App& app() { return app_; }
  [[nodiscard]] const CLI::App& app() const { return app_; }
  [[nodiscard]] Arguments& arguments() { return args_; }

  /// Returns the first of `words` that is neither an option of galley nor the value of one.
  [[nodiscard]] std::string command_in(const std::vector<std::string>& words) const;
  /// Returns whether the table is to have one of these commands.
  [[nodiscard]] bool wants(std::initializer_list<std::string_view> commands) const;

  CLI::App* add(const char* name, const char* about, const char* group);
  /// A command that consists of others: `tools`, whose members are `tools list`, `tools show`.
  CLI::App* add_group(const char* name, const char* about);
  CLI::App* add_member(CLI::App* group, const char* name, const char* about);

  /// An option that takes one of these words.
  CLI::Option* add_choice(CLI::App* command, const char* name, std::string& word,
                          const std::vector<std::string>& words, const char* about);

  /// The same for one that may be given again.
  CLI::Option* add_choice_list(CLI::App* command, const char* name,
                               std::vector<std::string>& values,
                               const std::vector<std::string>& words, const char* about);

  /// The words that an option takes; none when it takes any.
  [[nodiscard]] std::vector<std::string> choices_of(const CLI::Option& option) const;

  /// An option that takes one value and may be given again: what follows the value is not its.
  static CLI::Option* add_list(CLI::App* command, const char* name,
                               std::vector<std::string>& values, const char* about);

  // What several commands take.
  void add_dry_run(CLI::App* command, const char* about);
  void add_message(CLI::App* command);
  void add_tx(CLI::App* command);
  /// --begin: of what stages, where there is no transaction yet.
  void add_begin(CLI::App* command);
  /// --transcript: calls with their full contents, in a file.
  void add_transcript(CLI::App* command);
  void add_profile(CLI::App* command);
  void add_conflict(CLI::App* command);
  /// --git-commits: what becomes of commits of git that a run made.
  void add_git_commits(CLI::App* command);
  /// `takes_edits`: --ignore-space-change is git apply's there, about matching, not about showing.
  void add_diff_options(CLI::App* command, bool takes_edits = false);
  /// --report: the judgement in the formats of other programs.
  void add_reports(CLI::App* command);
  /// --verdict, --verify, --key: a judgement that another job made or will need.
  void add_verdicts(CLI::App* command);
  void add_html(CLI::App* command);
  void add_quiet(CLI::App* command, const char* about);
  /// Bounds that a command is given; they can only be tighter than galley.toml's.
  void add_exec_options(CLI::App* command);

 private:
  void add_global();
  void add_commands();

  Arguments args_;
  bool has_all_ = true;
  std::string only_;  ///< unless it has all
  std::map<const CLI::Option*, std::vector<std::string>> choices_;
  CLI::App app_{"Galley proofs every edit before it is printed: all of a change lands, or none."};
};

inline constexpr const char* kSeeGroup = "Look before you commit";
inline constexpr const char* kTransactionGroup = "Work in a transaction";
inline constexpr const char* kHistoryGroup = "Look back and take back";
inline constexpr const char* kCareGroup = "Set up and keep";

// The commands, one file a group.
void add_edit_commands(OptionTable& table);
void add_transaction_commands(OptionTable& table);
void add_history_commands(OptionTable& table);
void add_care_commands(OptionTable& table);

}  // namespace galley
