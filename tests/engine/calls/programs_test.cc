#include "engine/calls/programs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/temp_directory.h"

namespace galley {
namespace {

/// A folder of PATH, and a workspace with programs of the same names.
class ProgramsTest : public ::testing::Test {
 protected:
  ProgramsTest() {
    scratch_.write("bin/git", "#!/bin/sh\n", 0755);
    scratch_.write("other/git", "#!/bin/sh\n", 0755);
    scratch_.write("work/tools/git", "#!/bin/sh\n", 0755);
    scratch_.write("work/sub/tools/git", "#!/bin/sh\n", 0755);
    bin_ = scratch_.path() + "/bin";
    work_ = scratch_.path() + "/work";
  }

  /// Returns the reason of the refusal, or "runs".
  std::string run(const std::string& toml, const std::string& agent, const std::string& program,
                  const std::string& folder = "", const std::string& search_path = "") {
    const auto config = parse_config(toml, "galley.toml");
    EXPECT_TRUE(config) << config.error().message;
    Programs programs(*config, Principals(agent), work_);
    Command command;
    command.argv = {program, "status"};
    if (!folder.empty()) command.working_directory = RelPath::parse(folder).value();
    const auto checked = programs.check(command, search_path.empty() ? bin_ : search_path);
    return checked ? "runs" : checked.error().reason;
  }
  std::string run_allowed(const std::string& rule, const std::string& program,
                          const std::string& folder = "") {
    return run("[sandbox]\nallow = [\"" + rule + "\"]\n", "", program, folder);
  }
  std::string run_capable(const std::string& rule, const std::string& program,
                          const std::string& folder = "") {
    return run("[agents.bot]\ncapabilities = [\"exec:" + rule + "\"]\n", "bot", program, folder);
  }

  TempDirectory scratch_;
  std::string bin_;
  std::string work_;
};

TEST_F(ProgramsTest, ANameAllowsTheProgramInPathAndNoFileOfTheWorkspace) {
  for (const std::string& called : {std::string("git"), bin_ + "/git"}) {
    EXPECT_EQ(run_allowed("git", called), "runs") << called;
    EXPECT_EQ(run_capable("git", called), "runs") << called;
  }
  for (const std::string& called : {std::string("tools/git"), std::string("./tools/git"),
                                    work_ + "/tools/git", scratch_.path() + "/other/git"}) {
    EXPECT_EQ(run_allowed("git", called), "command.not_allowed") << called;
    EXPECT_EQ(run_allowed("git status", called), "command.not_allowed") << called;
    EXPECT_EQ(run_capable("git", called), "command.no_capability") << called;
    EXPECT_EQ(run_allowed("*", called), "runs") << called;
    EXPECT_EQ(run_capable("*", called), "runs") << called;
  }
}

TEST_F(ProgramsTest, APathAllowsTheFileOfTheWorkspaceFromAnyFolder) {
  for (const char* rule : {"tools/git", "tools/*"}) {
    EXPECT_EQ(run_capable(rule, "tools/git"), "runs") << rule;
    EXPECT_EQ(run_capable(rule, "../tools/git", "sub"), "runs") << rule;
    EXPECT_EQ(run_capable(rule, "tools/git", "sub"), "command.no_capability") << rule;
  }
  for (const char* rule : {"tools/git", "./tools/git", "tools/git status", "tools/"}) {
    EXPECT_EQ(run_allowed(rule, "tools/git"), "runs") << rule;
    EXPECT_EQ(run_allowed(rule, "../tools/git", "sub"), "runs") << rule;
    EXPECT_EQ(run_allowed(rule, "tools/git", "sub"), "command.not_allowed") << rule;
  }
}

TEST_F(ProgramsTest, AFolderOfPathInTheWorkspaceGivesNoNames) {
  const std::string search_path = work_ + "/tools";
  EXPECT_EQ(run("[sandbox]\nallow = [\"git\"]\n", "", "git", "", search_path),
            "command.not_allowed");
  EXPECT_EQ(run("[agents.bot]\ncapabilities = [\"exec:git\"]\n", "bot", "git", "", search_path),
            "command.no_capability");
}

TEST_F(ProgramsTest, ANameDeniesEachProgramOfThatName) {
  for (const char* called : {"git", "tools/git"}) {
    EXPECT_EQ(run("[sandbox]\ndeny = [\"git\"]\n", "", called), "command.denied") << called;
    EXPECT_EQ(run("[agents.bot]\ncapabilities = [\"exec:*\", \"!exec:git\"]\n", "bot", called),
              "command.no_capability")
        << called;
  }
}

}  // namespace
}  // namespace galley
