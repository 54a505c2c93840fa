// mdoc(7) for mandoc: one sentence per line, lines of at most 80 bytes.

#include <algorithm>

#include "cli/help.h"

namespace galley {
namespace {

constexpr size_t kManualWidth = 76;

/// Escapes a backslash and everything that could begin a macro.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '"') {
      out += "\\(dq";
    } else {
      out.push_back(c);
    }
  }
  if (out.starts_with('.') || out.starts_with('\'')) out.insert(0, "\\&");
  return out;
}

bool ends_sentence(std::string_view word) {
  return word.ends_with('.') || word.ends_with(':') || word.ends_with('?');
}

/// Returns a paragraph: one line per sentence, wrapped if it is long.
std::string paragraph(std::string_view text) {
  std::string out;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) out += plain(line) + "\n";
    line.clear();
  };
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string word(text.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) continue;
    if (!line.empty() && plain(line).size() + 1 + plain(word).size() > kManualWidth) flush();
    line += (line.empty() ? "" : " ") + word;
    if (ends_sentence(word)) flush();
  }
  flush();
  return out;
}

/// Returns the arguments of a macro, one word each.
std::string macro_words(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string option_item(const HelpRow& row) {
  std::string line = ".It";
  for (const std::string& name : row.names) {
    if (line != ".It") line += " ,";
    line += " Fl " + macro_words(name.substr(1));
  }
  if (!row.value.empty()) line += " Ar " + macro_words(row.value);
  return line + "\n" + paragraph(row.about);
}

std::string option_list(const std::vector<HelpRow>& rows) {
  if (rows.empty()) return {};
  std::string text = ".Bl -tag -width Ds\n";
  for (const HelpRow& row : rows) text += option_item(row);
  return text + ".El\n";
}

std::string argument_list(const std::vector<HelpRow>& rows) {
  if (rows.empty()) return {};
  std::string text = ".Bl -tag -width Ds\n";
  for (const HelpRow& row : rows) {
    text += ".It Ar " + macro_words(row.names.front()) + "\n" + paragraph(row.about);
  }
  return text + ".El\n";
}

/// Returns `ID`, `[FILE...]` and the words after `--` for the synopsis of a command.
std::string argument_macro(std::string word) {
  if (word.starts_with("--")) return ".No \\-\\- Ar COMMAND Op Ar ARG ...";
  std::string macro = ".Ar ";
  if (word.starts_with('[')) {
    macro = ".Op Ar ";
    word = word.substr(1, word.size() - 2);
  }
  if (!word.ends_with("...")) return macro + word;
  return macro + word.substr(0, word.size() - 3) + " ...";
}

std::string examples_list(const std::vector<CommandExample>& examples) {
  std::string text;
  for (const CommandExample& example : examples) {
    if (!example.about.empty()) {
      std::string about(example.about);
      text += ".Pp\n" + paragraph(about + ":");
    } else {
      text += ".Pp\n";
    }
    text += ".Dl " + plain(example.line) + "\n";
  }
  return text;
}

void add_command(const CLI::App& command, std::string& text) {
  const std::string words = command_path(command).substr(std::string_view("galley ").size());
  text += ".Ss galley " + words + "\n";
  text += ".Nm galley " + words + "\n.Op Ar options\n";
  for (const std::string& word : argument_words(command)) text += argument_macro(word) + "\n";
  if (!shown_commands(command).empty()) text += ".Ar COMMAND\n";
  text += ".Pp\n" + paragraph(command.get_description() + ".");
  const CommandText& known = command_text(command);
  for (const std::string_view one : known.text) text += ".Pp\n" + paragraph(one);
  text += argument_list(argument_rows(command)) + option_list(option_rows(command));
  text += examples_list(known.examples);
  for (const CLI::App* member : shown_commands(command)) add_command(*member, text);
}

}  // namespace

std::string manual_page(const OptionTable& table) {
  const CommandText& known = command_text("");
  std::string text =
      ".\\\" Made by galley help --man; the text of help is its source.\n"
      ".Dd November 22, 2026\n.Dt GALLEY 1\n.Os\n.Sh NAME\n.Nm galley\n"
      ".Nd transactional workspace editing engine\n"
      ".Sh SYNOPSIS\n.Nm\n.Op Ar options\n.Ar COMMAND\n.Op Ar ARGUMENT ...\n.Sh DESCRIPTION\n";
  bool is_first = true;
  for (const std::string_view one : known.text) {
    text += (is_first ? "" : ".Pp\n") + paragraph(one);
    is_first = false;
  }
  text += ".Sh OPTIONS\nThese stand before the command or after it.\n";
  text += option_list(option_rows(table.app()));
  text += ".Sh COMMANDS\n";
  for (const CLI::App* command : shown_commands(table.app())) add_command(*command, text);
  text += ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n";
  for (const VariableText& variable : variable_texts()) {
    text += ".It Ev " + std::string(variable.name) + "\n" + paragraph(variable.meaning);
  }
  text += ".El\n.Sh EXIT STATUS\n.Bl -tag -width Ds\n";
  for (const ExitStatusText& status : exit_status_texts()) {
    text += ".It " + std::string(status.status) + "\n" + paragraph(status.meaning);
  }
  text += ".El\n.Sh EXAMPLES\n";
  std::string examples = examples_list(known.examples);
  text += examples.substr(std::string_view(".Pp\n").size());
  return text;
}

}  // namespace galley
