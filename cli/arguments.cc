#include "cli/arguments.h"

#include <algorithm>

#include "base/nearest_name.h"
#include "base/printable.h"
#include "cli/option_table.h"

namespace galley {
namespace {

constexpr int kUsageStatus = 2;

std::string innermost_help(const CLI::App& app) {
  const CLI::App* innermost = &app;
  while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
  return innermost->help();
}

std::string first_word(int argc, const char* const* argv) {
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

std::optional<std::string> nearest_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return nearest_name(word, names);
}

std::string complaint(const CLI::App& app, const CLI::ParseError& error, int argc,
                      const char* const* argv) {
  std::string text = "galley: " + printable_line(error.what());
  if (app.get_subcommands().empty()) {
    const std::string word = first_word(argc, argv);
    if (!word.empty()) {
      text = "galley: there is no command '" + printable_line(word) + "'";
      const auto near = nearest_command(app, word);
      if (near) text += "; did you mean '" + *near + "'?";
    }
  }
  return text + "\nRun 'galley --help' for what can be said.\n";
}

/// `log -5` is `log -n 5`, as git has it.
std::vector<std::string> with_counts(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (first_word(argc, argv) != "log") return words;
  const auto end = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != end; ++word) {
    const bool is_count = word->size() > 1 && word->front() == '-' &&
                          word->find_first_not_of("0123456789", 1) == std::string::npos;
    if (is_count) word->insert(1, "n");
  }
  return words;
}

}  // namespace

ParsedArguments parse_arguments(int argc, const char* const* argv) {
  OptionTable table;
  CLI::App& app = table.app();
  ParsedArguments result;
  try {
    std::vector<std::string> words = with_counts(argc, argv);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
    const CLI::App* command = app.get_subcommands().front();
    Arguments& arguments = table.arguments();
    arguments.command = command->get_name();
    if (!command->get_subcommands().empty()) {
      arguments.subcommand = command->get_subcommands().front()->get_name();
    }
    result.arguments = arguments;
  } catch (const CLI::CallForHelp&) {
    result.text = innermost_help(app);
  } catch (const CLI::CallForAllHelp&) {
    result.text = app.help("", CLI::AppFormatMode::All);
  } catch (const CLI::CallForVersion& version) {
    result.text = std::string(version.what()) + "\n";
  } catch (const CLI::ParseError& error) {
    result.text = complaint(app, error, argc, argv);
    result.status = kUsageStatus;
  }
  return result;
}

}  // namespace galley
