#pragma once

#include <string_view>
#include <vector>

namespace galley {

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
