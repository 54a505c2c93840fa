#pragma once

#include <string_view>
#include <vector>

namespace galley {

struct CommandExample {
  std::string_view line;
  std::string_view about;
};

/// What help and the manual page say of a command beyond its options.
struct CommandText {
  std::string_view command;            ///< `apply`, `policy test`; empty: of galley itself
  std::vector<std::string_view> text;  ///< one paragraph each, one sentence a line
  std::vector<CommandExample> examples;
};

/// The text of a command; one without words when there is none.
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
