#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace galley {
namespace {

constexpr size_t kTextWidth = 80;
constexpr size_t kNameWidth = 28;

bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

/// Returns the name of an option's value, without the additions of CLI11's checks.
std::string value_name(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "UINT" || type == "INT" || type == "FLOAT") return "N";
  return type == "PATH:N" ? type : type.substr(0, type.find(':'));
}

}  // namespace

std::string argument_name(const CLI::Option& option) {
  const std::string type = value_name(option);
  return type.empty() || type == "TEXT" ? upper(option.get_name(true)) : type;
}

namespace {

std::string wrapped(std::string_view text, size_t indent, size_t column) {
  std::string out;
  size_t at = column;
  bool is_first = true;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!is_first && at + 1 + word.size() > kTextWidth) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
      is_first = true;
    }
    out += (is_first ? "" : " ") + std::string(word);
    at += word.size() + (is_first ? 0 : 1);
    is_first = false;
  }
  return out + "\n";
}

std::string row_text(const std::string& head, const std::string& about) {
  std::string line = "  " + head;
  if (line.size() + 2 > kNameWidth) {
    line += "\n" + std::string(kNameWidth, ' ');
  } else {
    line.append(kNameWidth - line.size(), ' ');
  }
  return line + wrapped(about, kNameWidth, kNameWidth);
}

std::string rows_text(const std::string& title, const std::vector<HelpRow>& rows) {
  if (rows.empty()) return {};
  std::string text = "\n" + title + ":\n";
  for (const HelpRow& row : rows) {
    std::string head = fmt::format("{}", fmt::join(row.names, ", "));
    if (!row.value.empty()) head += " " + row.value;
    text += row_text(head, row.about);
  }
  return text;
}

std::string commands_text(const CLI::App& app) {
  std::string text;
  std::string group;
  for (const CLI::App* command : shown_commands(app)) {
    if (command->get_group() != group) {
      group = command->get_group();
      text += "\n" + (app.get_parent() == nullptr ? group : "Commands") + ":\n";
    }
    text += row_text(command->get_name(), command->get_description());
  }
  return text;
}

std::string words_after_galley(const CLI::App& command) {
  const std::string path = command_path(command);
  const size_t space = path.find(' ');
  return space == std::string::npos ? "" : path.substr(space + 1);
}

std::string head(const CLI::App& command) {
  return usage_line(command) + "\n" + wrapped(command.get_description(), 0, 0);
}

/// The most used forms of a command, before everything else.
std::string examples_text(const std::vector<CommandExample>& examples) {
  std::string text;
  for (const CommandExample& example : examples) {
    text += (text.empty() ? "\nExamples:\n  " : "  ") + std::string(example.line) + "\n";
    if (!example.about.empty()) text += "      " + std::string(example.about) + "\n";
  }
  return text;
}

std::string rows_of(const CLI::App& command) {
  return rows_text("Arguments", argument_rows(command)) + commands_text(command) +
         rows_text("Options", option_rows(command));
}

}  // namespace

std::string command_path(const CLI::App& command) {
  if (command.get_parent() == nullptr) return "galley";
  return command_path(*command.get_parent()) + " " + command.get_name();
}

const CommandText& command_text(const CLI::App& command) {
  return command_text(words_after_galley(command));
}

std::vector<std::string> argument_words(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || !is_shown(*option)) continue;
    std::string word = argument_name(*option);
    if (word == "COMMAND") {
      words.emplace_back("-- COMMAND [ARG...]");
      continue;
    }
    if (option->get_expected_max() > 1) word += "...";
    words.push_back(option->get_required() ? word : "[" + word + "]");
  }
  return words;
}

std::vector<HelpRow> argument_rows(const CLI::App& command) {
  std::vector<HelpRow> rows;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || !is_shown(*option)) continue;
    rows.push_back({{argument_name(*option)}, "", option->get_description()});
  }
  return rows;
}

std::vector<HelpRow> option_rows(const CLI::App& command) {
  std::vector<HelpRow> rows;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || !is_shown(*option)) continue;
    const bool is_help = option == command.get_help_ptr() || option == command.get_help_all_ptr();
    if (is_help && command.get_parent() != nullptr) continue;  // listed for galley only
    HelpRow row;
    for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
    if (option->get_items_expected_max() > 0) {
      row.value = value_name(*option);
    }
    row.about = option->get_description();
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  std::vector<const CLI::App*> shown;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (!command->get_group().empty()) shown.push_back(command);
  }
  // By group, in the order of the first command of each group.
  std::vector<std::string> groups;
  for (const CLI::App* command : shown) {
    if (std::find(groups.begin(), groups.end(), command->get_group()) == groups.end()) {
      groups.push_back(command->get_group());
    }
  }
  const auto rank = [&](const CLI::App* command) {
    return std::find(groups.begin(), groups.end(), command->get_group()) - groups.begin();
  };
  std::stable_sort(shown.begin(), shown.end(), [&](const CLI::App* left, const CLI::App* right) {
    return rank(left) < rank(right);
  });
  return shown;
}

std::string usage_line(const CLI::App& command) {
  std::string line = "usage: " + command_path(command);
  if (command.get_parent() == nullptr) return line + " [options] COMMAND [ARGUMENT...]\n";
  line += " [options]";
  if (!shown_commands(command).empty()) return line + " COMMAND\n";
  for (const std::string& word : argument_words(command)) line += " " + word;
  return line + "\n";
}

std::string short_help(const CLI::App& command) {
  const std::string words = words_after_galley(command);
  return head(command) + rows_of(command) +
         (words.empty() ? "\n'galley help COMMAND' says more about a command.\n"
                        : "\n'galley help " + words +
                              "' says more.\n'galley -h' lists the options of every command.\n");
}

std::string long_help(const OptionTable& table, const CLI::App& command) {
  const std::string words = words_after_galley(command);
  const CommandText& known = command_text(command);
  std::string text = head(command) + examples_text(known.examples);
  for (const std::string_view paragraph : known.text) text += "\n" + wrapped(paragraph, 0, 0);
  text += rows_of(command);
  if (!words.empty()) text += rows_text("Options of every command", option_rows(table.app()));
  text += "\nExit status:\n";
  for (const ExitStatusText& status : exit_status_texts()) {
    text += fmt::format("  {:<5} {}\n", status.status, status.meaning);
  }
  return text;
}

}  // namespace galley
