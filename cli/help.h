#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.h"

namespace galley {

/// One row in a list of options or arguments: `-n, --dry-run`, its value, its description.
struct HelpRow {
  std::vector<std::string> names;  ///< `-n`, `--dry-run`; for an argument only its name
  std::string value;               ///< `FILE`; empty if it takes none
  std::string about;
};

/// Returns the name of a command with its parents: `galley policy test`.
[[nodiscard]] std::string command_path(const CLI::App& command);
/// Returns the name of an argument as in the usage line, without brackets: `ID`.
[[nodiscard]] std::string argument_name(const CLI::Option& argument);
/// Returns the arguments of a command as in its usage line: `ID`, `[FILE...]`.
[[nodiscard]] std::vector<std::string> argument_words(const CLI::App& command);
[[nodiscard]] std::vector<HelpRow> argument_rows(const CLI::App& command);
[[nodiscard]] std::vector<HelpRow> option_rows(const CLI::App& command);
/// Returns the commands that help lists, in the order of the table.
[[nodiscard]] std::vector<const CLI::App*> shown_commands(const CLI::App& app);

/// `usage: galley apply [options] [FILE...]`, with a newline.
[[nodiscard]] std::string usage_line(const CLI::App& command);
/// `-h`: usage, and one line per option.
[[nodiscard]] std::string short_help(const CLI::App& command);
/// `--help` and `galley help`: short help with a description, examples, the global options and the
/// exit statuses.
[[nodiscard]] std::string long_help(const OptionTable& table, const CLI::App& command);
/// `galley help --man`: galley(1) in mdoc(7).
[[nodiscard]] std::string manual_page(const OptionTable& table);

struct CommandExample {
  std::string_view line;
  std::string_view about;
};

/// The text of a command in help and in the manual page, besides its options.
struct CommandText {
  std::string_view command;            ///< `apply`, `policy test`; empty: galley itself
  std::vector<std::string_view> text;  ///< one paragraph each, one sentence a line
  std::vector<CommandExample> examples;
};

/// Returns the text of a command; an empty one if there is none.
[[nodiscard]] const CommandText& command_text(std::string_view command);
[[nodiscard]] const CommandText& command_text(const CLI::App& command);
[[nodiscard]] const std::vector<CommandText>& command_texts();

struct ExitStatusText {
  std::string_view status;
  std::string_view meaning;
};
[[nodiscard]] const std::vector<ExitStatusText>& exit_status_texts();

struct VariableText {
  std::string_view name;
  std::string_view meaning;
};
[[nodiscard]] const std::vector<VariableText>& variable_texts();

}  // namespace galley
