#include "engine/validators/command_validator.h"
#include "base/limits.h"

#include "doubles/fake_command_runner.h"
#include "engine/validators/fix.h"
#include "validator_fixture.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

CommandResult ended(int code, std::string out = "", std::string err = "") {
  CommandResult result;
  result.exit_code = code;
  result.standard_output.head = std::move(out);
  result.standard_error.head = std::move(err);
  return result;
}

class CommandValidators : public ValidatorFixture {
 protected:
  CommandValidators() {
    runner_ = &fake_;
    base("src/a.c", "int a;\n");
    base("src/b.c", "int b;\n");
  }
  void command(const std::string& more, const std::string& arguments = "\"lint\"") {
    configure("[[validator]]\nname = \"lint\"\ncommand = [" + arguments + "]\n" + more);
  }
  void answer(FakeCommandRunner::Answer answer) { fake_ = FakeCommandRunner(std::move(answer)); }
  std::string error() {
    const auto report = try_run();
    return report ? "passed" : report.error().message;
  }

  FakeCommandRunner fake_;
};

TEST_F(CommandValidators, WithoutARunnerItCannotJudge) {
  runner_ = nullptr;
  command("");
  propose("src/a.c", "int x;\n");
  EXPECT_THAT(error(), HasSubstr("commands cannot be run here"));
}

TEST_F(CommandValidators, ChangedSelectedFilesReplaceThePlaceholder) {
  command("paths = [\"*.c\"]\n", "\"lint\", \"-q\", \"{files}\"");
  propose("src/b.c", "int x;\n");
  propose("src/a.c", "int x;\n");
  propose("-rf.c", "int x;\n");
  propose("README", "x\n");
  EXPECT_THAT(findings(), IsEmpty());
  ASSERT_EQ(fake_.commands().size(), 1U);
  EXPECT_THAT(fake_.commands()[0].argv, ElementsAre("lint", "-q", "./-rf.c", "src/a.c", "src/b.c"));
  EXPECT_EQ(fake_.commands()[0].effects, EffectsRule::kDrop);
  EXPECT_EQ(fake_.commands()[0].network, NetworkAccess::kNone);
  EXPECT_EQ(fake_.commands()[0].limits.wall, std::chrono::milliseconds(60'000));
}

TEST_F(CommandValidators, WithoutSelectedFilesNoCommandRuns) {
  command("paths = [\"*.c\"]\n", "\"lint\", \"{files}\"");
  ASSERT_TRUE(overlay_.remove(rel("src/a.c")));
  EXPECT_THAT(findings(), IsEmpty());
  EXPECT_THAT(fake_.commands(), IsEmpty());
}

TEST_F(CommandValidators, PerFileRunsOnceForEach) {
  command("per_file = true\npaths = [\"*.c\"]\n", "\"lint\", \"--in={file}\"");
  propose("src/a.c", "int x;\n");
  propose("src/b.c", "int x;\n");
  run();
  ASSERT_EQ(fake_.commands().size(), 2U);
  EXPECT_THAT(fake_.commands()[1].argv, ElementsAre("lint", "--in=src/b.c"));
}

TEST_F(CommandValidators, ManyFilesAreSplitOverSeveralCommands) {
  command("", "\"lint\", \"{files}\"");
  const std::string name(200, 'n');
  for (int i = 0; i < 4000; ++i) propose("d/" + name + std::to_string(i), "x");
  run();
  EXPECT_GT(fake_.commands().size(), 1U);
  size_t files = 0;
  for (const auto& one : fake_.commands()) files += one.argv.size() - 1;
  EXPECT_EQ(files, 4000U);
}

TEST_F(CommandValidators, WithoutAParserABadStatusIsOneFindingWithTheOutput) {
  command("");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    return ended(2, "lots\nof text\n", "it broke\n\x1b[0m");
  });
  propose("src/a.c", "int x;\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].message, "`lint` ended with status 2");
  EXPECT_EQ(report.findings[0].output, "lots\nof text\nit broke\n\\x1b[0m");
}

// Limit: kMaxFindingOutputBytes of engine/policy/finding.h
TEST_F(CommandValidators, ALongOutputKeepsItsBeginningAndItsEndInWholeLines) {
  command("");
  for (const size_t line_bytes : {size_t{7}, size_t{100}, size_t{1} << 20U}) {
    std::string lines = "first\n";
    while (lines.size() < 4 * kMaxFindingOutputBytes) lines += std::string(line_bytes, 'x') + "ä\n";
    lines += "last";
    answer([&](const Command&, Overlay&) -> Result<CommandResult> { return ended(2, lines); });
    propose("src/a.c", "int x;\n");
    const std::string output = run().findings.at(0).output;
    EXPECT_LT(output.size(), kMaxFindingOutputBytes + 100);
    EXPECT_TRUE(output.starts_with("first\n"));
    EXPECT_TRUE(output.ends_with("\nlast") || line_bytes > kMaxFindingOutputBytes);
    EXPECT_THAT(output, HasSubstr("\n[... "));
  }
}

TEST_F(CommandValidators, GccDiagnosticsBecomeFindings) {
  command("parser = \"gcc\"\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    return ended(1, "",
                 "In file included from src/b.c:1:\n"
                 "src/a.c:3:7: error: expected ';' before '}' token\n"
                 "/build/view/src/b.c:9: warning: unused variable 'x' [-Wunused-variable]\n"
                 "/usr/include/stdio.h:1:1: note: declared here\n");
  });
  propose("src/a.c", "int x;\n");
  EXPECT_THAT(findings(),
              ElementsAre("lint src/a.c:3:7", "lint.unused-variable src/b.c:9:0", "lint :0:0"));
  const auto report = run();
  EXPECT_EQ(report.findings[1].severity, Severity::kWarning);
  EXPECT_EQ(report.findings[2].severity, Severity::kNote);
  EXPECT_THAT(report.findings[2].message, StartsWith("/usr/include/stdio.h: declared here"));
}

TEST_F(CommandValidators, WarningsOfARunThatPassedDoNotBlock) {
  command("parser = \"gcc\"\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    return ended(0, "src/a.c:1:1: warning: hm\n");
  });
  propose("src/a.c", "int x;\n");
  ASSERT_EQ(run().findings.size(), 1U);
  EXPECT_EQ(run().findings[0].severity, Severity::kWarning);
}

TEST_F(CommandValidators, FailedRunWithWarningsOnlyStillBlocks) {
  command("parser = \"gcc\"\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    return ended(1, "src/a.c:1:1: warning: hm\n");
  });
  propose("src/a.c", "int x;\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[1].severity, Severity::kError);
}

TEST_F(CommandValidators, RegexParserUsesNamedGroups) {
  command(
      "parser = \"regex\"\nparser_regex = '^(?P<severity>[EW]): (?P<file>\\S+) line "
      "(?P<line>\\d+): (?P<message>.*)$'\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    return ended(1, "noise\nE: src/a.c line 12: bad thing\nW: src/b.c line 3: odd\n");
  });
  propose("src/a.c", "int x;\n");
  EXPECT_THAT(findings(), ElementsAre("lint src/a.c:12:0", "lint src/b.c:3:0"));
  const auto bad = parse_config(
      "[[validator]]\nname = \"x\"\ncommand = [\"x\"]\n"
      "parser = \"regex\"\nparser_regex = '(a)'\n",
      "galley.toml");
  EXPECT_FALSE(make_validators(*bad, workspace_.directory(), nullptr, nullptr));
}

TEST_F(CommandValidators, ConfiguredExitStatusesDecideTheResult) {
  command("ok_exit = [0, 5]\nfindings_exit = [1]\n");
  propose("src/a.c", "int x;\n");
  const auto answer_with = [&](int code) {
    answer([code](const Command&, Overlay&) -> Result<CommandResult> { return ended(code); });
  };
  answer_with(5);
  EXPECT_THAT(findings(), IsEmpty());
  answer_with(1);
  EXPECT_EQ(run().findings.size(), 1U);
  answer_with(2);
  EXPECT_THAT(error(), HasSubstr("ended with status 2, which means neither"));
  command("");
  answer_with(127);
  EXPECT_THAT(error(), HasSubstr("status 127"));
}

TEST_F(CommandValidators, TimeoutSignalAndMissingProgramMeanItCannotJudge) {
  command("");
  propose("src/a.c", "int x;\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.breach = LimitBreach{LimitKind::kWall, 60'000, 60'001};
    return result;
  });
  EXPECT_THAT(error(), HasSubstr("60001 ms"));
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_signal = 11;
    return result;
  });
  EXPECT_THAT(error(), HasSubstr("signal 11"));
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    return fail(ErrorKind::kNotFound, "sandbox.program_not_found", "no program `lint`");
  });
  EXPECT_THAT(error(), HasSubstr("no program `lint`"));
}

TEST_F(CommandValidators, OnlyNewOmitsFindingsOfTheUnchangedTree) {
  command("parser = \"gcc\"\nonly_new = true\n");
  answer([](const Command&, Overlay& overlay) -> Result<CommandResult> {
    const bool is_proposed = **overlay.read(rel("src/a.c")) != "int a;\n";
    std::string output = "src/a.c:1:1: error: old\n";
    if (is_proposed) {
      output = "src/a.c:5:1: error: old\nsrc/a.c:6:1: error: old\nsrc/a.c:7:1: error: fresh\n";
    }
    return ended(1, output);
  });
  // Its old line is the fifth now.
  propose("src/a.c", "1\n2\n3\n4\nint a;\n6\n7\n");
  EXPECT_THAT(findings(), ElementsAre("lint src/a.c:6:1", "lint src/a.c:7:1"))
      << "the same message on a line that the proposal wrote is new";
  propose("src/a.c", "1\n2\n3\n4\nint b;\n6\n7\n");
  EXPECT_THAT(findings(), ElementsAre("lint src/a.c:5:1", "lint src/a.c:6:1", "lint src/a.c:7:1"))
      << "though the base has the same message, on a line that went";
}

// Limit: kMaxParsedFindings of base/limits.h
TEST_F(CommandValidators, OnlyNewKeepsThatNotAllFindingsWereRead) {
  command("parser = \"gcc\"\nonly_new = true\n");
  std::string output;
  for (size_t i = 1; i <= limits::kMaxParsedFindings + 50; ++i) {
    output += "src/b.c:" + std::to_string(i) + ":1: error: old\n";
  }
  answer([output](const Command&, Overlay&) -> Result<CommandResult> { return ended(1, output); });
  base("src/b.c", std::string(limits::kMaxParsedFindings + 50, '\n'));
  propose("src/a.c", "int x;\n");
  const auto report = run();
  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].rule, kTooManyFindings);
  EXPECT_EQ(report.findings[0].severity, Severity::kError);
}

TEST_F(CommandValidators, OnlyNewWithoutAParserComparesOnlyTheStatus) {
  command("only_new = true\n");
  int runs = 0;
  int base_status = 1;
  answer([&](const Command&, Overlay& overlay) -> Result<CommandResult> {
    const bool is_proposed = **overlay.read(rel("src/a.c")) != "int a;\n";
    return ended(is_proposed ? 1 : base_status, "", "ran in " + std::to_string(++runs) + " s\n");
  });
  propose("src/a.c", "int x;\n");
  for (int i = 0; i < 3; ++i) {
    const auto report = run();
    ASSERT_EQ(report.findings.size(), 1U);
    EXPECT_EQ(report.findings[0].severity, Severity::kNote);
    EXPECT_EQ(report.findings[0].rule, "lint.only_status");
  }
  for (const int status : {0, 2}) {
    base_status = status;
    ASSERT_EQ(run().findings.size(), 1U);
    EXPECT_EQ(run().findings[0].severity, Severity::kError);
  }
}

TEST_F(CommandValidators, ACommandThatReportsAMissingProgramCannotJudge) {
  propose("src/a.c", "int x;\n");
  const auto said = [&](const std::string& arguments, const std::string& words) {
    command("only_new = true\n", arguments);
    answer([words](const Command&, Overlay&) -> Result<CommandResult> {
      return ended(words.starts_with("make") ? 2 : 1, "", words);
    });
    return error();
  };
  const std::string python = "\"python3\", \"-m\", \"pytest\"";
  EXPECT_THAT(said(python, "/usr/bin/python3: No module named pytest\n"), HasSubstr("No module"));
  EXPECT_EQ(said(python, "ModuleNotFoundError: No module named 'answer'\n"), "passed");
  EXPECT_EQ(said("\"python3\", \"x.py\"", "x: No module named pytest\n"), "passed");
  EXPECT_THAT(said("\"make\", \"test\"", "make: *** [Makefile:2: test] Error 127\n"),
              HasSubstr("Error 127"));
  EXPECT_EQ(said("\"make\", \"test\"", "make: *** [Makefile:2: test] Error 1\n"), "passed");
}

TEST_F(CommandValidators, OnlyNewFollowsARename) {
  command("parser = \"gcc\"\nonly_new = true\n");
  answer([](const Command&, Overlay& overlay) -> Result<CommandResult> {
    const bool is_proposed = overlay.node(rel("src/a.c"))->kind == FileKind::kAbsent;
    return ended(1, std::string(is_proposed ? "src/z.c" : "src/a.c") + ":1:1: error: old\n");
  });
  ASSERT_TRUE(overlay_.move(rel("src/a.c"), rel("src/z.c")));
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(CommandValidators, ResultsAreCachedByTheVisibleInputs) {
  MemoryValidatorCache cache;
  cache_ = &cache;
  command("inputs = [\"*.c\"]\n");
  propose("src/a.c", "int x;\n");
  EXPECT_FALSE(run().was_cached);
  EXPECT_TRUE(run().was_cached);
  EXPECT_EQ(fake_.commands().size(), 1U);
  base("notes.txt", "not an input\n");
  propose("other.txt", "not an input\n");
  EXPECT_FALSE(run().was_cached) << "the changed files are part of what it is asked about";
  EXPECT_TRUE(run().was_cached);
  base("src/b.c", "int changed_on_disk;\n");
  EXPECT_FALSE(run().was_cached);
  propose("src/a.c", "int y;\n");
  EXPECT_FALSE(run().was_cached);
  command("inputs = [\"*.c\"]\nenvironment = { A = \"1\" }\n");
  EXPECT_FALSE(run().was_cached);
}

TEST_F(CommandValidators, ResultsAreCachedByWhatElseTheCommandSees) {
  MemoryValidatorCache cache;
  cache_ = &cache;
  propose("src/a.c", "int x;\n");
  const std::string one = "[[validator]]\nname = \"lint\"\ncommand = [\"lint\"]\n";
  const std::string passed = "[sandbox]\nenvironment = [\"GALLEY_TEST_MODE\"]\n" + one;
  for (const char* value : {"lax", "strict"}) {
    ::setenv("GALLEY_TEST_MODE", value, 1);
    configure(passed);
    EXPECT_FALSE(run().was_cached) << value;
    EXPECT_TRUE(run().was_cached) << value;
  }
  ::unsetenv("GALLEY_TEST_MODE");
  configure(passed);
  EXPECT_FALSE(run().was_cached) << "unset";
  configure("[sandbox]\nreadable = [\"/opt\"]\n" + one);
  EXPECT_FALSE(run().was_cached) << "readable";
  ASSERT_TRUE(workspace_.directory().make_directory(rel("empty"), 0755));
  EXPECT_FALSE(run().was_cached) << "an empty folder";
}

TEST_F(CommandValidators, AFailedJudgementIsNotCached) {
  MemoryValidatorCache cache;
  cache_ = &cache;
  command("");
  propose("src/a.c", "int x;\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> { return ended(127); });
  EXPECT_FALSE(try_run());
  answer([](const Command&, Overlay&) -> Result<CommandResult> { return ended(0); });
  EXPECT_FALSE(run().was_cached);
}

TEST_F(CommandValidators, SarifIsReadFromAFile) {
  command("parser = \"sarif\"\nparser_file = \"out.sarif\"\n");
  propose("src/a.c", "int x;\n");
  answer([](const Command& command, Overlay&) -> Result<CommandResult> {
    EXPECT_THAT(command.collect, ElementsAre(rel("out.sarif")));
    CommandResult result = ended(0);
    result.collected[rel("out.sarif")] =
        R"({"version":"2.1.0","runs":[{"results":[
            {"ruleId":"R1","level":"error","message":{"text":"bad"},"locations":[{
              "physicalLocation":{"artifactLocation":{"uri":"src/a%2Ec"},
              "region":{"startLine":4,"startColumn":2}}}]},
            {"ruleId":"R2","message":{"text":"hm"}},
            {"ruleId":"R3","baselineState":"unchanged","message":{"text":"old"}},
            {"ruleId":"R4","suppressions":[{}],"message":{"text":"ok"}}]}]})";
    return result;
  });
  EXPECT_THAT(findings(), ElementsAre("lint.R1 src/a.c:4:2", "lint.R2 :0:0"));
  answer([](const Command&, Overlay&) -> Result<CommandResult> { return ended(0); });
  EXPECT_THAT(error(), HasSubstr("did not write out.sarif"));
}

TEST_F(CommandValidators, AProposedReportIsNotThatOfTheCommand) {
  command("parser = \"sarif\"\nparser_file = \"out.sarif\"\n");
  propose("src/a.c", "int x;\n");
  propose("out.sarif", R"({"version": "2.1.0", "runs": []})");
  answer([](const Command& command, Overlay& overlay) -> Result<CommandResult> {
    CommandResult result = ended(0);
    const auto report = overlay.read(command.collect.front());
    if (report) result.collected[command.collect.front()] = **report;
    return result;
  });
  EXPECT_THAT(error(), HasSubstr("did not write out.sarif"));
}

TEST_F(CommandValidators, JunitFailuresBecomeFindings) {
  command("parser = \"junit\"\n");
  propose("src/a.c", "int x;\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    return ended(1, R"(<testsuites><testsuite name="s">
      <testcase classname="K" name="ok"/>
      <testcase classname="K" name="bad" file="src/a.c" line="7"><failure message="1 != 2"/></testcase>
      <testcase name="worse"><error>boom</error></testcase>
      </testsuite></testsuites>)");
  });
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].message, "K.bad: 1 != 2");
  EXPECT_EQ(report.findings[0].path, "src/a.c");
  EXPECT_EQ(report.findings[0].line, 7U);
  EXPECT_EQ(report.findings[1].rule, "lint.test_error");
}

TEST_F(CommandValidators, CutOffDocumentMeansItCannotJudge) {
  command("parser = \"sarif\"\n");
  propose("src/a.c", "int x;\n");
  answer([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result = ended(0, "{\"runs\":[");
    result.standard_output.omitted_bytes = 10;
    return result;
  });
  EXPECT_THAT(error(), HasSubstr("raise max_output_bytes"));
}

TEST_F(CommandValidators, WhatIsCutOffOfLinesIsAFindingThatBlocksACommandThatComplains) {
  propose("src/a.c", "int x;\n");
  const auto severity_of = [&](int status, bool cuts_errors, const std::string& more) {
    command("parser = \"gcc\"\n" + more);
    answer([=](const Command&, Overlay&) -> Result<CommandResult> {
      CommandResult result = ended(status, "src/a.c:1:1: warning: w\n");
      (cuts_errors ? result.standard_error : result.standard_output).omitted_bytes = 10;
      return result;
    });
    for (const Finding& one : run().findings) {
      if (one.rule == kTooManyFindings) return one.severity;
    }
    return Severity::kNote;
  };
  EXPECT_EQ(severity_of(1, false, ""), Severity::kError);
  EXPECT_EQ(severity_of(1, true, ""), Severity::kError);
  EXPECT_EQ(severity_of(1, false, "only_new = true\n"), Severity::kError);
  EXPECT_EQ(severity_of(0, false, ""), Severity::kWarning);
}

TEST_F(CommandValidators, SettingsReachTheRunner) {
  command(
      "network = true\nkeep = [\"build\"]\ntimeout_ms = 5\nmax_output_bytes = \"1 KiB\"\n"
      "environment = { CI = \"1\" }\n");
  propose("src/a.c", "int x;\n");
  run();
  const Command& sent = fake_.commands().at(0);
  EXPECT_EQ(sent.network, NetworkAccess::kHost);
  EXPECT_THAT(sent.keep, ElementsAre(rel("build")));
  EXPECT_EQ(sent.keep_name, "lint");
  EXPECT_EQ(sent.limits.wall, std::chrono::milliseconds(5));
  EXPECT_EQ(sent.limits.max_stdout_bytes, 1024U);
  EXPECT_EQ(sent.environment.at("CI"), "1");
}

class Fixers : public CommandValidators {
 protected:
  Fixers() {
    command("fix = true\npaths = [\"*.c\"]\n", "\"fmt\", \"{files}\"");
    answer([](const Command& command, Overlay& overlay) -> Result<CommandResult> {
      for (size_t i = 1; i < command.argv.size(); ++i) {
        GALLEY_TRY(overlay.write(rel(command.argv[i]), "formatted\n"));
      }
      GALLEY_TRY(overlay.write(rel("src/b.c"), "not asked for\n"));
      return ended(0);
    });
    propose("src/a.c", "int   x;\n");
    propose("README", "hello\n");
  }
};

TEST_F(Fixers, InTheGateAChangeOfAFixerIsAFinding) {
  EXPECT_THAT(findings(), ElementsAre("lint.would_change src/a.c:0:0"));
  EXPECT_EQ(**overlay_.read(rel("src/a.c")), "int   x;\n");
}

TEST_F(Fixers, FormattedFileHasNoFinding) {
  propose("src/a.c", "formatted\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Fixers, ChangesToSelectedFilesAreStagedAndOthersLeftOut) {
  const auto fixed = fix_staged(config_, overlay_, {fake_, clock_, "", {}, {}});
  ASSERT_TRUE(fixed) << fixed.error().message;
  ASSERT_EQ(fixed->runs.size(), 1U);
  EXPECT_THAT(fixed->runs.front().changed, ElementsAre(rel("src/a.c")));
  ASSERT_EQ(fixed->runs.front().left_out.size(), 1U);
  EXPECT_EQ(fixed->runs.front().left_out.front().path, rel("src/b.c"));
  EXPECT_EQ(**overlay_.read(rel("src/a.c")), "formatted\n");
  EXPECT_EQ(**overlay_.read(rel("src/b.c")), "int b;\n");
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Fixers, AFixerThatReplacesTheFileLeavesItsMode) {
  propose("src/a.c", "int   y;\n");
  ASSERT_TRUE(overlay_.set_mode(rel("src/a.c"), 0755));
  answer([](const Command&, Overlay& overlay) -> Result<CommandResult> {
    GALLEY_TRY(overlay.remove(rel("src/a.c")));
    GALLEY_TRY(overlay.write(rel("src/a.c"), "formatted\n"));
    GALLEY_TRY(overlay.set_mode(rel("src/a.c"), 0644));
    return ended(0);
  });
  ASSERT_TRUE(fix_staged(config_, overlay_, {fake_, clock_, "", {}, {}}));
  const Node& fixed = overlay_.entries().at(rel("src/a.c")).now;
  EXPECT_EQ(fixed.content, ContentId::of("formatted\n"));
  EXPECT_EQ(fixed.mode, 0755U);
  EXPECT_THAT(findings(), IsEmpty()) << "a mode alone is nothing to mend";
}

TEST_F(Fixers, BrokenFixerStagesNothing) {
  answer([](const Command&, Overlay& overlay) -> Result<CommandResult> {
    GALLEY_TRY(overlay.write(rel("src/a.c"), "half"));
    return ended(127);
  });
  EXPECT_FALSE(fix_staged(config_, overlay_, {fake_, clock_, "", {}, {}}));
  EXPECT_EQ(**overlay_.read(rel("src/a.c")), "int   x;\n");
}

}  // namespace
}  // namespace galley
