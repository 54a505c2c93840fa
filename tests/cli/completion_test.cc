#include "cli/completion.h"

#include <gtest/gtest.h>

#include "cli/help.h"

namespace galley {
namespace {

using Words = std::vector<std::string>;

Words words_for(const Words& line) {
  const OptionTable table;
  Words words;
  for (const CompletionCandidate& candidate : complete(table, line).candidates) {
    words.push_back(candidate.word);
  }
  return words;
}

ValueSource source_for(const Words& line) { return complete(OptionTable(), line).source; }

TEST(Completion, OffersCommandsOptionsAndValues) {
  EXPECT_EQ(words_for({"appl"}), Words{"apply"});
  EXPECT_EQ(words_for({"tools", ""}),
            (Words{"list", "show", "check", "validate", "add", "trust", "remove"}));
  EXPECT_EQ(words_for({"apply", "--onl"}), Words{"--only"});
  EXPECT_EQ(words_for({"log", "--reas"}), Words{"--reason"});
  EXPECT_EQ(words_for({"apply", "--format", "uni"}), Words{"unified"});
  EXPECT_EQ(words_for({"--color", "a"}), (Words{"auto", "always"}));
  EXPECT_EQ(words_for({"--color=n"}), Words{"--color=never"});
  EXPECT_EQ(words_for({"help", "aud"}), Words{"audit"});
  EXPECT_EQ(words_for({"help", "audit", "v"}), Words{"verify"});
  EXPECT_EQ(words_for({"completions", "z"}), Words{"zsh"});
  EXPECT_EQ(words_for({"complet"}), Words{"completions"});
  EXPECT_EQ(words_for({"agents", "install", "cla"}), Words{"claude"});
  EXPECT_EQ(words_for({"agent-hook", "--allow"}), Words{"--allow-tool"});
}

TEST(Completion, CompletesALineThatBashSplitsAtEquals) {
  EXPECT_EQ(words_for({"--color", "=", "n"}), Words{"never"});
  EXPECT_EQ(words_for({"--color", "="}), (Words{"auto", "always", "never"}));
  EXPECT_EQ(words_for({"--color", "=", "never", "appl"}), Words{"apply"});
}

TEST(Completion, NamesTheSourceOfOtherValues) {
  EXPECT_EQ(source_for({"undo", ""}), ValueSource::kHistory);
  EXPECT_EQ(source_for({"commit", "--tx", ""}), ValueSource::kOpenTransactions);
  EXPECT_EQ(source_for({"pick", ""}), ValueSource::kOpenTransactions);
  EXPECT_EQ(source_for({"call", ""}), ValueSource::kTools);
  EXPECT_EQ(source_for({"tools", "show", ""}), ValueSource::kTools);
  EXPECT_EQ(source_for({"apply", "--only", "a", ""}), ValueSource::kFiles);
  EXPECT_EQ(source_for({"apply", "x.patch", ""}), ValueSource::kFiles);
  EXPECT_EQ(source_for({"-C", ""}), ValueSource::kDirectories);
  EXPECT_EQ(source_for({"run", "--layer", ""}), ValueSource::kDirectories);
  EXPECT_EQ(source_for({"run", "--allow-write", ""}), ValueSource::kDirectories);
  EXPECT_EQ(source_for({"exec", "--", ""}), ValueSource::kFiles);
  EXPECT_EQ(source_for({"--reason", ""}), ValueSource::kNone);
  EXPECT_EQ(complete(OptionTable(), {"-C", "x", "-C", "y", "undo", "3"}).directories,
            (Words{"x", "y"}));
  EXPECT_EQ(complete(OptionTable(), {"apply", "-C", "3", ""}).directories, Words());
}

TEST(Completion, OffersNothingThatAShellWouldEvaluate) {
  for (const char* word :
       {"$(id)", "`id`", "a b", "a;b", "a\tb", "a\nb", "~root", "*", "\\", "'", "\"", ""}) {
    EXPECT_FALSE(is_plain_word(word)) << word;
  }
  EXPECT_TRUE(is_plain_word("--only"));
  EXPECT_TRUE(is_plain_word("mcp__github__create-issue"));
}

TEST(Help, EveryTextBelongsToACommand) {
  const OptionTable table;
  Words paths = {"galley"};
  for (const CLI::App* command : shown_commands(table.app())) {
    paths.push_back(command_path(*command));
    for (const CLI::App* member : shown_commands(*command)) paths.push_back(command_path(*member));
  }
  for (const CommandText& text : command_texts()) {
    const std::string path =
        text.command.empty() ? "galley" : "galley " + std::string(text.command);
    EXPECT_NE(std::find(paths.begin(), paths.end(), path), paths.end()) << path;
  }
}

TEST(Help, EachCommandBeginsWithAVerbAndItsExamplesAndFits80Columns) {
  const OptionTable table;
  const Words no_verbs = {"A", "An", "The", "One", "All", "What", "Which", "Who", "It", "Its"};
  const auto check = [&](const CLI::App& command) {
    const std::string path = command_path(command);
    const std::string about = command.get_description();
    EXPECT_EQ(std::count(no_verbs.begin(), no_verbs.end(), about.substr(0, about.find(' '))), 0)
        << path << ": " << about;
    for (const std::string& text : {short_help(command), long_help(table, command)}) {
      for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
        const std::string line = text.substr(begin, text.find('\n', begin) - begin);
        EXPECT_LE(line.size(), 80U) << path << ": " << line;
      }
    }
  };
  check(table.app());
  for (const CLI::App* command : shown_commands(table.app())) {
    check(*command);
    for (const CLI::App* member : shown_commands(*command)) check(*member);
    const std::string text = long_help(table, *command);
    const size_t examples = text.find("\nExamples:\n  ");
    EXPECT_LT(examples, text.find("\nOptions")) << command_path(*command);
  }
}

}  // namespace
}  // namespace galley
