#include "cli/arguments.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "cli/documents.h"
#include "cli/help.h"
#include "cli/option_table.h"
#include "cli/reference.h"

namespace galley {
namespace {

constexpr int kUsageStatus = 2;

/// Returns the last command that was parsed before an error, or of the whole line.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* found = &app;
  while (!found->get_subcommands().empty()) found = found->get_subcommands().front();
  return *found;
}

bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const HelpRow& row : option_rows(*app)) {
      for (const std::string& name : row.names) {
        if (name.starts_with("--")) names.push_back(name);
      }
    }
  }
  return names;
}

std::string no_such_command(const CLI::App& above, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : shown_commands(above)) names.push_back(command->get_name());
  const bool is_top = above.get_parent() == nullptr;
  return "there is no command '" + (is_top ? "" : above.get_name() + " ") + printable_line(word) +
         "'" + did_you_mean(word, names);
}

std::string no_such_option(const CLI::App& command, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const bool is_global = command.get_parent() == nullptr;
  const std::vector<std::string> names = names_of_options(command);
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    return "'" + printable_line(name) + "' belongs behind '" + command_path(command) + "'";
  }
  const std::string none = (is_global ? "galley" : "'" + command_path(command) + "'") +
                           " has no option '" + printable_line(name) + "'";
  if (command.get_name() == "exec") {
    const OptionTable all;
    if (all.app().get_subcommand("run")->get_option_no_throw(name) != nullptr) {
      return none + "; use 'galley run', which has it";
    }
  }
  if (name == "--last" && command.get_option_no_throw("--turn") != nullptr) {
    return none + "; did you mean '--turn last'?";
  }
  return none + did_you_mean(name, names);
}

std::string complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  std::vector<std::string> extra = app.remaining(true);
  extra.erase(std::find(extra.begin(), extra.end(), "--"), extra.end());
  std::string what = printable_line(error.what());
  const size_t missing = what.find(": 1 required ");
  if (missing != std::string::npos) what = "'" + what.substr(0, missing) + "' needs a value";
  const size_t doubled = what.find(": At Most 1 required ");
  if (doubled != std::string::npos) what = "'" + what.substr(0, doubled) + "' can be given once";
  constexpr std::string_view kUnread = "Could not convert: ";
  if (what.starts_with(kUnread)) {  // all options that are converted are numbers
    const size_t equals = std::min(what.find(" = "), what.size());
    const bool is_whole = what.find_first_not_of("0123456789", equals + 3) == what.npos;
    what = "'" + what.substr(kUnread.size(), equals - kUnread.size()) +
           (is_whole ? "' has too large a number" : "' takes a whole number, 0 or more");
  }
  constexpr std::string_view kRequired = " is required";
  const CLI::Option* required =
      what.ends_with(kRequired)
          ? command.get_option_no_throw(what.substr(0, what.size() - kRequired.size()))
          : nullptr;
  if (required != nullptr) {
    what = argument_name(*required) + std::string(kRequired);
    const auto& examples = command_text(command).examples;
    if (!examples.empty()) what += "; for example: " + std::string(examples.front().line);
  }
  // An unknown option is a better explanation than a missing argument.
  const auto option = std::find_if(extra.begin(), extra.end(), is_option);
  if (option != extra.end()) {
    what = no_such_option(command, *option);
  } else if (!extra.empty() && !shown_commands(command).empty()) {
    what = no_such_command(command, extra.front());
  } else if (!extra.empty()) {
    what = "'" + printable_line(extra.front()) + "' is one argument too many";
    if (command.get_option_no_throw("--tx") != nullptr) what += "; name a transaction with --tx ID";
  } else if (command.get_parent() != nullptr && !shown_commands(command).empty()) {
    what = "'" + command_path(command) + "' takes one of";
    for (const CLI::App* member : shown_commands(command)) what += " " + member->get_name();
  }
  const bool is_top = command.get_parent() == nullptr;
  return "galley: " + what + "\n" + usage_line(command) + "Run '" + command_path(command) +
         (is_top ? " --help' for a list of commands.\n" : " -h' for its options.\n");
}

/// Refuses options that have an effect only with another one. With `log`, -U means -p, as in git.
void check_effects(const CLI::App& command, Arguments& arguments) {
  const VerdictArguments& verdict = arguments.verdict;
  if (!verdict.key.empty() && verdict.write.empty() && verdict.verify.empty()) {
    throw CLI::RequiresError("--key", "--verdict or --verify");
  }
  const DiffArguments& diff = arguments.diff;
  if (command.get_name() != "log" || diff.stat || diff.numstat || diff.name_status) return;
  if (diff.context) arguments.patch = true;
  if (arguments.patch) return;
  for (const char* name : {"--word-diff", "--color-moved", "--ignore-all-space",
                           "--ignore-space-change", "--side-by-side"}) {
    if (command.get_option(name)->count() > 0) throw CLI::RequiresError(name, "--patch");
  }
}

/// `galley help`: for all commands, or for the command, reason or key that the words name.
ParsedCommandLine help_of(const OptionTable& table, const Arguments& arguments) {
  ParsedCommandLine result;
  if (arguments.show) {
    result.text = manual_page(table);
    return result;
  }
  const bool is_single = arguments.words.size() == 1;
  std::string text = is_single ? word_help(arguments.words.front()) : std::string();
  const CLI::App* command = &table.app();
  for (const std::string& word : arguments.words) {
    if (!text.empty()) break;  // a reason or a key
    const auto all = shown_commands(*command);
    const auto named = std::find_if(all.begin(), all.end(),
                                    [&](const CLI::App* one) { return one->get_name() == word; });
    if (named == all.end()) {
      if (is_single) text = word_help(word, true);
      if (!text.empty()) break;
      const bool is_word = word.find('.') != std::string::npos;
      result.text = "galley: " +
                    (is_word ? "there is no reason or key '" + printable_line(word) + "'" +
                                   word_suggestion(word)
                             : no_such_command(*command, word)) +
                    "\nRun 'galley help' for a list of commands.\n";
      result.status = kUsageStatus;
      return result;
    }
    command = *named;
  }
  if (text.empty()) text = long_help(table, *command);
  result.text = arguments.global.is_json ? reference_document(table) : text;
  return result;
}

/// `galley complete -- WORD...`: the words of an unfinished line are not parsed.
bool is_completion(int argc, const char* const* argv) {
  constexpr int kFirstWord = 3;
  return argc >= kFirstWord && std::string_view(argv[1]) == "complete" &&
         std::string_view(argv[2]) == "--";
}

ParsedCommandLine completion_of(int argc, const char* const* argv) {
  Arguments arguments;
  arguments.command = "complete";
  arguments.words.assign(argv + 3, argv + argc);
  ParsedCommandLine result;
  result.arguments = std::move(arguments);
  return result;
}

/// As in git, `log -5` is `log -n 5`.
std::vector<std::string> with_counts(const OptionTable& table, std::vector<std::string> words) {
  if (table.command_in(words) != "log") return words;
  const auto end = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != end; ++word) {
    const bool is_count =
        is_option(*word) && word->find_first_not_of("0123456789", 1) == std::string::npos;
    if (is_count) word->insert(1, "n");
  }
  return words;
}

/// `preview FILE... -- PATH...`, `diff A..B -- PATH...`: removes the words after `--`.
std::vector<std::string> taken_paths(const OptionTable& table, std::vector<std::string>& words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const std::string command = table.command_in(words);
  if (end == words.end() || (command != "preview" && command != "diff")) return {};
  std::vector<std::string> paths(end + 1, words.end());
  words.erase(end, words.end());
  return paths;
}

/// Whether `word` is an option of the command, of one of its subcommands or of every command, and
/// takes a value.
bool takes_value(const OptionTable& table, const std::string& command, const std::string& word) {
  const auto is_named = [&](const CLI::App* app) { return app->get_name() == command; };
  std::vector<const CLI::App*> apps = table.app().get_subcommands(is_named);
  if (!apps.empty()) {
    const auto inner = apps.front()->get_subcommands([](const CLI::App* /*any*/) { return true; });
    apps.insert(apps.end(), inner.begin(), inner.end());
  }
  apps.push_back(&table.app());
  for (const CLI::App* app : apps) {
    const CLI::Option* option = app->get_option_no_throw(word);
    if (option != nullptr) return option->get_items_expected_max() > 0;
  }
  return false;
}

/// `run [OPTIONS] PROGRAM ARGUMENTS`, or acp: puts `--` before the program, which has options too.
std::vector<std::string> with_program(const OptionTable& table, std::vector<std::string> words) {
  const std::string command = table.command_in(words);
  if (command != "run" && command != "acp") return words;
  bool is_in_run = false;
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (is_option(words[i])) {
      if (takes_value(table, command, words[i])) ++i;
    } else if (is_in_run) {
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
      break;
    } else {
      is_in_run = true;
    }
  }
  return words;
}

/// CLI11 takes the word after `--ref=` for the value of the option: makes the empty value a word.
std::vector<std::string> with_empty_values(const OptionTable& table,
                                           std::vector<std::string> words) {
  const std::string command = table.command_in(words);
  for (size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const bool is_empty = words[i].starts_with("--") && words[i].find('=') == words[i].size() - 1;
    if (is_option(words[i]) && takes_value(table, command, words[i])) {
      ++i;  // the value may look like an option
    } else if (is_empty && takes_value(table, command, words[i].substr(0, words[i].size() - 1))) {
      words[i].pop_back();
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(++i), std::string());
    }
  }
  return words;
}

ParsedCommandLine parse_with(OptionTable& table, const std::vector<std::string>& given) {
  CLI::App& app = table.app();
  ParsedCommandLine result;
  try {
    std::vector<std::string> words =
        with_empty_values(table, with_program(table, with_counts(table, given)));
    const std::vector<std::string> paths = taken_paths(table, words);
    std::reverse(words.begin(), words.end());  // CLI11 expects this order
    std::transform(words.begin(), words.end(), words.begin(), marked_word);
    app.parse(std::move(words));
    const CLI::App* command = app.get_subcommands().front();
    Arguments& arguments = table.arguments();
    for (auto* list : {&arguments.words, &arguments.edit.inputs}) {
      std::transform(list->begin(), list->end(), list->begin(), unmarked_word);
    }
    arguments.command = command->get_name();
    arguments.words.insert(arguments.words.end(), paths.begin(), paths.end());
    if (!command->get_subcommands().empty()) {
      arguments.subcommand = command->get_subcommands().front()->get_name();
    }
    check_effects(*command, arguments);
    if (arguments.command == "help") return help_of(table, arguments);
    result.arguments = arguments;
  } catch (const CLI::CallForHelp&) {
    result.text = short_help(innermost(app));
  } catch (const CLI::CallForAllHelp&) {
    result.text = long_help(table, innermost(app));
  } catch (const CLI::CallForVersion& version) {
    const bool is_json = app.get_option("--json")->count() > 0;
    result.text =
        is_json ? document_text(
                      {{"schema", "galley.version/1"}, {"ok", true}, {"version", GALLEY_VERSION}})
                : std::string(version.what()) + "\n";
    result.is_whole = true;
  } catch (const CLI::ParseError& error) {
    result.text = complaint(app, error);
    std::erase(result.text, kWordMark);
    result.status = kUsageStatus;
  }
  return result;
}

}  // namespace

ParsedCommandLine parse_arguments(int argc, const char* const* argv) {
  if (is_completion(argc, argv)) return completion_of(argc, argv);
  if (argc == 1) {
    ParsedCommandLine result;
    result.text = short_help(OptionTable().app());
    result.status = kUsageStatus;
    return result;
  }
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  OptionTable some(words);
  ParsedCommandLine result = parse_with(some, words);
  if (result.arguments || result.is_whole) return result;
  // Help and error messages mention other commands as well.
  OptionTable all;
  return parse_with(all, words);
}

}  // namespace galley
