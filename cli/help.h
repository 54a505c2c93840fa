#pragma once

#include <string>
#include <vector>

#include "cli/option_table.h"

namespace galley {

/// One row of a list of options or arguments: `-n, --dry-run`, what it takes, what it does.
struct HelpRow {
  std::vector<std::string> names;  ///< `-n`, `--dry-run`; of an argument its name alone
  std::string value;               ///< `FILE`; empty when it takes none
  std::string about;
};

/// `galley apply`: the command with those it belongs to.
[[nodiscard]] std::string command_path(const CLI::App& command);
/// The arguments of a command as its usage line has them: `ID`, `[FILE...]`.
[[nodiscard]] std::vector<std::string> argument_words(const CLI::App& command);
[[nodiscard]] std::vector<HelpRow> argument_rows(const CLI::App& command);
[[nodiscard]] std::vector<HelpRow> option_rows(const CLI::App& command);
/// Those that help names, in the order of the table.
[[nodiscard]] std::vector<const CLI::App*> shown_commands(const CLI::App& app);

/// `usage: galley apply [options] [FILE...]`, with a newline.
[[nodiscard]] std::string usage_line(const CLI::App& command);
/// `-h`: usage, one line an option.
[[nodiscard]] std::string short_help(const CLI::App& command);
/// `--help` and `galley help`: the same with what it is for, examples, the options of every command
/// and the exit statuses.
[[nodiscard]] std::string long_help(const OptionTable& table, const CLI::App& command);
/// `galley help --man`: galley(1) in the language of mdoc(7).
[[nodiscard]] std::string manual_page(const OptionTable& table);

}  // namespace galley
