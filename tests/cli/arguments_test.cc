#include "cli/arguments.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/option_table.h"

namespace galley {
namespace {

ParsedCommandLine parse(std::vector<const char*> words) {
  words.insert(words.begin(), "galley");
  return parse_arguments(static_cast<int>(words.size()), words.data());
}

Arguments parsed(std::vector<const char*> words) {
  const ParsedCommandLine result = parse(std::move(words));
  EXPECT_TRUE(result.arguments) << result.text;
  return result.arguments.value_or(Arguments());
}

using Words = std::vector<std::string>;

TEST(Arguments, OptionsAfterTheProgramOfARunAreItsOwn) {
  const Arguments run = parsed({"--json", "run", "--env", "A=1", "--commit", "codex", "exec",
                                "--json", "--drop", "--", "-x"});
  EXPECT_EQ(run.words, (Words{"codex", "exec", "--json", "--drop", "--", "-x"}));
  EXPECT_EQ(run.run.environment, Words{"A=1"});
  EXPECT_TRUE(run.run.commits && run.global.is_json && !run.run.drops);
  EXPECT_EQ(parsed({"run", "--env=A=1", "--", "sh", "-c", "a"}).words, (Words{"sh", "-c", "a"}));
  EXPECT_EQ(parsed({"run", "sh"}).words, Words{"sh"});
  EXPECT_FALSE(parse({"run", "--no-such-option", "codex"}).arguments);
  EXPECT_FALSE(parse({"run"}).arguments);
}

TEST(Arguments, OptionTakesOneValueAndTheRestAreArguments) {
  EXPECT_EQ(parsed({"apply", "--only", "a", "m.patch"}).edit.inputs, Words{"m.patch"});
  EXPECT_EQ(parsed({"apply", "--except", "a", "m.patch"}).edit.inputs, Words{"m.patch"});
  EXPECT_EQ(parsed({"apply", "--choose", "a", "m.patch"}).edit.inputs, Words{"m.patch"});
  EXPECT_EQ(parsed({"apply", "--include", "a", "m.patch"}).edit.inputs, Words{"m.patch"});
  EXPECT_EQ(parsed({"apply", "--exclude", "a", "m.patch"}).edit.inputs, Words{"m.patch"});
  EXPECT_EQ(parsed({"undo", "--path", "a", "3"}).id, "3");
  EXPECT_EQ(parsed({"undo", "--hunk", "a:1", "3"}).id, "3");
}

TEST(Arguments, AnEmptyNamePathOrIdIsRefused) {
  const std::vector<std::vector<const char*>> refused = {
      {"--repo", "", "status"},
      {"--ref=", "status"},
      {"-C", "", "status"},
      {"--config", "", "status"},
      {"--session", "", "status"},
      {"--agent", "", "status"},
      {"apply", ""},
      {"apply", "--only", "", "p"},
      {"apply", "--directory=", "p"},
      {"check", "--commit", ""},
      {"diff", ""},
      {"diff", "--tx", ""},
      {"log", "--session", ""},
      {"undo", ""},
      {"undo", "3", ""},
      {"undo", "--turn", ""},
      {"redo", ""},
      {"commit", "--proposal", ""},
      {"rollback", "--execution", ""},
      {"exec", "--allow-host", "", "true"},
      {"jobs", "--nats", "u", ""},
      {"submit", "--nats", ""},
      {"call", "--cwd", "", "a", "{}"},
  };
  for (const auto& words : refused) {
    const ParsedCommandLine result = parse(words);
    EXPECT_EQ(result.status, 2) << CLI::detail::join(words, " ");
    EXPECT_NE(result.text.find("empty"), std::string::npos) << result.text;
  }
  EXPECT_EQ(parsed({"apply", "-m", "", "p"}).edit.inputs, Words{"p"});
  EXPECT_EQ(parsed({"apply", "--message=", "p"}).edit.inputs, Words{"p"});
  EXPECT_EQ(parsed({"apply", "-m", "--x=", "p"}).edit.inputs, Words{"p"});
  EXPECT_EQ(parsed({"blame", "path="}).name, "path=");
  EXPECT_EQ(parsed({"run", "printf", "--x=", "y"}).words, (Words{"printf", "--x=", "y"}));
  EXPECT_EQ(parsed({"exec", "--", "printf", ""}).words, (Words{"printf", ""}));
  EXPECT_EQ(parsed({"run", "printf", ""}).words, (Words{"printf", ""}));
  EXPECT_EQ(parsed({"hook", "run", "pre-push", ""}).words, Words{""});
}

TEST(Arguments, AWordInBracketsIsOneWord) {
  EXPECT_EQ(parsed({"exec", "--", "sh", "-c", "[ -f a,b ]"}).words,
            (Words{"sh", "-c", "[ -f a,b ]"}));
  EXPECT_EQ(parsed({"exec", "--", "printf", "[]", "[ab]", "{}", "x"}).words,
            (Words{"printf", "[]", "[ab]", "{}", "x"}));
  EXPECT_EQ(parsed({"run", "rm", "[a,b]"}).words, (Words{"rm", "[a,b]"}));
  for (const char* const word : {"[a,b]", "[]", "{}", "[[a]]"}) {
    for (const char* const command : {"diff", "log", "exec", "run", "at", "help"}) {
      const auto words = std::string_view(command) == "at"
                             ? std::vector<const char*>{command, "1", word}
                             : std::vector<const char*>{command, word};
      const ParsedCommandLine result = parse(words);
      if (result.arguments) {
        EXPECT_EQ(result.arguments->words, Words{word}) << command;
      }
    }
    EXPECT_EQ(parsed({"undo", "1", word}).words, Words{word});
    EXPECT_EQ(parsed({"apply", word, "x"}).edit.inputs, (Words{word, "x"}));
    EXPECT_EQ(parsed({"apply", "--only", word, "x"}).edit.only, Words{word});
    EXPECT_EQ(parsed({"preview", "x", "--", word}).words, Words{word});
    EXPECT_EQ(parsed({"--reason", word, "log"}).global.message, word);
    EXPECT_EQ(parsed({"call", word, word}).input, word);
    EXPECT_EQ(parsed({"call", word, word}).name, word);
    EXPECT_EQ(parsed({"-C", word, "log"}).global.directories, Words{word});
    const ParsedCommandLine wrong = parse({"begin", word});
    EXPECT_NE(wrong.text.find(word), std::string::npos) << wrong.text;
    EXPECT_EQ(wrong.text.find('\0'), std::string::npos);
  }
}

TEST(Arguments, OptionThatTakesOneValueIsRepeated) {
  const Arguments arguments =
      parsed({"apply", "--only", "a", "x", "--only=b", "--except", "c", "--choose", "d", "y"});
  EXPECT_EQ(arguments.edit.only, (Words{"a", "b"}));
  EXPECT_EQ(arguments.edit.except, Words{"c"});
  EXPECT_EQ(arguments.edit.choose, Words{"d"});
  EXPECT_EQ(arguments.edit.inputs, (Words{"x", "y"}));
  EXPECT_EQ(parsed({"undo", "--path", "a", "--path", "b"}).paths, (Words{"a", "b"}));
  EXPECT_EQ(parsed({"log", "--path", "a", "--path", "b"}).paths, (Words{"a", "b"}));
}

TEST(Arguments, FiltersKeepTheirOrder) {
  const Arguments arguments = parsed({"apply", "--exclude", "a", "--include", "b"});
  ASSERT_EQ(arguments.edit.filters.size(), 2U);
  EXPECT_FALSE(arguments.edit.filters[0].first);
  EXPECT_TRUE(arguments.edit.filters[1].first);
  EXPECT_TRUE(arguments.edit.has_filter(true));
  EXPECT_FALSE(parsed({"apply", "--exclude", "a"}).edit.has_filter(true));
}

TEST(Arguments, GlobalOptionsMayComeBeforeOrAfterTheCommand) {
  EXPECT_EQ(parsed({"--reason", "why", "apply"}).global.message, "why");
  EXPECT_EQ(parsed({"apply", "--reason", "why"}).global.message, "why");
  EXPECT_TRUE(parsed({"log", "-q", "--no-pager"}).global.no_pager);
  // -C of an edit is git apply's.
  EXPECT_EQ(parsed({"-C", "x", "apply", "-C", "2"}).global.directories, Words{"x"});
  EXPECT_EQ(parsed({"-C", "x", "apply", "-C", "2"}).edit.context, 2U);
}

TEST(Arguments, DryRunIsOfferedByCommandsThatChangeSomething) {
  for (const char* command :
       {"apply", "stage", "commit", "rollback", "undo", "redo", "gc", "recover", "init", "trust"}) {
    EXPECT_TRUE(parsed({command, "-n"}).dry_run) << command;
    EXPECT_TRUE(parsed({command, "--dry-run"}).dry_run) << command;
  }
  EXPECT_TRUE(parsed({"pick", "-n", "1"}).dry_run);
}

TEST(Arguments, MistypedWordsGetASuggestion) {
  struct Case {
    std::vector<const char*> words;
    const char* said;
  };
  for (const Case& one :
       {Case{{"--reson", "x", "log"}, "did you mean '--reason'?"},
        Case{{"apply", "--onyl=a"}, "did you mean '--only'?"},
        Case{{"pick", "--dry-rum"}, "did you mean '--dry-run'?"},
        Case{{"undo", "--last"}, "did you mean '--turn last'?"},
        Case{{"log", "--last"}, "'galley log' has no option '--last'"},
        Case{{"aply"}, "did you mean 'apply'?"}, Case{{"tools", "lst"}, "did you mean 'list'?"},
        Case{{"apply", "--format", "unifed"}, "did you mean 'unified'?"},
        Case{{"help", "comit"}, "did you mean 'commit'?"},
        Case{{"help", "path.outsid"}, "did you mean 'path.outside'?"},
        Case{{"help", "policy.moed"}, "did you mean 'policy.mode'?"}}) {
    const ParsedCommandLine result = parse(one.words);
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.text.find(one.said), std::string::npos) << result.text;
  }
}

TEST(Arguments, UsageLineHasTheWholeCommand) {
  EXPECT_TRUE(parse({"apply", "-h"}).text.starts_with("usage: galley apply [options] [FILE...]\n"));
  EXPECT_TRUE(
      parse({"tools", "show", "-h"}).text.starts_with("usage: galley tools show [options] "));
  EXPECT_NE(parse({"pick"}).text.find("usage: galley pick [options] ID\n"), std::string::npos);
  EXPECT_NE(
      parse({"run"}).text.find("galley: PROGRAM is required; for example: galley run -- bash\n"),
      std::string::npos);
  EXPECT_NE(parse({"blame"}).text.find("galley: PATH is required; for example: galley blame "),
            std::string::npos);
  EXPECT_NE(parse({"exec", "--commit", "--keep-on-failure", "x"}).text.find("--keep-on-failure"),
            std::string::npos);
  EXPECT_NE(parse({"undo", "--turn", "1", "--turn", "2"}).text.find("'--turn' can be given once"),
            std::string::npos);
}

TEST(Arguments, HelpAndItsLongOptionAreTheSame) {
  const std::string text = parse({"help", "undo"}).text;
  EXPECT_EQ(text, parse({"undo", "--help"}).text);
  EXPECT_NE(text.find("Examples:"), std::string::npos);
  EXPECT_EQ(parse({"undo", "-h"}).text.find("Examples:"), std::string::npos);
}

TEST(Arguments, HelpOfAReasonHasCodeMeaningAndNextStep) {
  EXPECT_EQ(parse({"help", "path.outside"}).text,
            "path.outside (EPERMISSION)\n\nThe path is outside of the workspace.\n"
            "Use a path inside the workspace.\n");
}

TEST(Arguments, HelpOfAKeyHasDefaultMeaningAndTrust) {
  const std::string text = parse({"help", "policy.mode"}).text;
  EXPECT_TRUE(text.starts_with("policy.mode = \"standard\"\n\nThe actions that tools may take"));
  EXPECT_NE(text.find("Until you trust it: "), std::string::npos) << text;
  EXPECT_EQ(parse({"help", "policy.rule.paths"}).text, parse({"help", "policy.rule[].paths"}).text);
  EXPECT_EQ(parse({"help", "agents.*.capabilities"}).text,
            parse({"help", "agents.NAME.capabilities"}).text);
}

TEST(Arguments, HelpOfATableListsItsKeys) {
  const std::string text = parse({"help", "validator"}).text;
  EXPECT_TRUE(text.starts_with("Keys of galley.toml; ")) << text;
  EXPECT_NE(text.find("\n  validator.builtin\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n  policy."), std::string::npos) << text;
  EXPECT_EQ(text, parse({"help", "[[validator]]"}).text);
  EXPECT_EQ(text, parse({"help", "validator."}).text);
  const std::string agent = parse({"help", "agents.\"*\""}).text;
  EXPECT_NE(agent.find("\n  agents.NAME.capabilities\n"), std::string::npos) << agent;
  EXPECT_TRUE(parse({"help", "policy"}).text.starts_with("usage: galley policy "));
}

TEST(Arguments, HelpAsJsonHasThePartsOfTheReference) {
  const auto document = nlohmann::json::parse(parse({"help", "--json"}).text);
  for (const char* part : {"commands", "keys", "reasons", "profiles", "exit_statuses"}) {
    EXPECT_FALSE(document.at(part).empty()) << part;
  }
}

TEST(Arguments, LogTakesACountAsInGit) {
  EXPECT_EQ(parsed({"log", "-5"}).limit, 5U);
  EXPECT_EQ(parsed({"-C", "x", "log", "-12", "--oneline"}).limit, 12U);
}

TEST(Arguments, UnfinishedLineIsNotParsed) {
  const Arguments arguments = parsed({"complete", "--", "apply", "--onyl", ""});
  EXPECT_EQ(arguments.command, "complete");
  EXPECT_EQ(arguments.words, (Words{"apply", "--onyl", ""}));
}

std::vector<std::string> names_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) names.push_back(option->get_name());
  for (const CLI::App* member : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(member->get_name());
    for (const std::string& name : names_of(*member)) names.push_back("  " + name);
  }
  return names;
}

TEST(OptionTable, ACommandHasTheSameOptionsInItsOwnTable) {
  const OptionTable all;
  for (const CLI::App* command : all.app().get_subcommands([](const CLI::App*) { return true; })) {
    const OptionTable some(Words{"-C", "undo", "--json", command->get_name(), "words"});
    const auto same = some.app().get_subcommands(
        [&](const CLI::App* one) { return one->get_name() == command->get_name(); });
    ASSERT_EQ(same.size(), 1U) << command->get_name();
    EXPECT_EQ(names_of(*same.front()), names_of(*command));
  }
}

TEST(OptionTable, AMistypedCommandIsComparedWithAllCommands) {
  EXPECT_NE(parse({"rolback"}).text.find("'rollback'"), std::string::npos);
  EXPECT_NE(parse({"help", "undo"}).text.find("undo"), std::string::npos);
  EXPECT_NE(parse({"exec", "--help"}).text.find("--timeout"), std::string::npos);
}

}  // namespace
}  // namespace galley
