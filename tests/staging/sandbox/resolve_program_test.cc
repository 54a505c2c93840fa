#include "staging/sandbox/resolve_program.h"

#include <gtest/gtest.h>

#include "tests/support/temp_directory.h"

namespace galley {
namespace {

TEST(ResolveProgram, BareNameIsLookedUpOnThePath) {
  const auto found = resolve_program("sh", kProgramPath, "/workspace", RelPath::root());
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->path.ends_with("/sh"));
  EXPECT_EQ(found->real.front(), '/');
  EXPECT_FALSE(found->is_in_workspace);
}

TEST(ResolveProgram, RelativePathEntriesAreNeverSearched) {
  const auto found = resolve_program("sh", ".:bin:", "/workspace", RelPath::root());
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().reason, "sandbox.program_not_found");
}

TEST(ResolveProgram, NameWithSlashIsBelowTheWorkingDirectory) {
  const auto found = resolve_program("../tool.sh", kProgramPath, "/workspace", rel("a/b"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->path, "/workspace/a/tool.sh");
  EXPECT_TRUE(found->is_in_workspace);
}

TEST(ResolveProgram, APathThatLeavesTheWorkspaceIsResolvedOutside) {
  const auto found = resolve_program("../../../bin/sh", kProgramPath, "/workspace", rel("a/b"));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->path, "/bin/sh");
  EXPECT_FALSE(found->is_in_workspace);
}

TEST(ResolveProgram, TheErrorOfAMissingProgramNamesTheSearchPath) {
  const auto found =
      resolve_program("no-such-program-here", kProgramPath, "/workspace", RelPath::root());
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(found.error().message.find("/usr/bin"), std::string::npos);
}

TEST(ResolveProgram, AFileThatCannotBeExecutedIsNotReportedAsMissing) {
  for (const char* name : {"/etc/passwd", "/usr/bin"}) {
    const auto found = resolve_program(name, kProgramPath, "/workspace", RelPath::root());
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().reason, "sandbox.program_not_runnable") << name;
  }
  const auto named = resolve_program("passwd", "/etc", "/workspace", RelPath::root());
  ASSERT_FALSE(named.has_value());
  EXPECT_EQ(named.error().reason, "sandbox.program_not_runnable");
  // The message shows nothing of a path outside of the view.
  const auto hidden = resolve_program("/proc/self/status", kProgramPath, "/w", RelPath::root());
  ASSERT_FALSE(hidden.has_value());
  EXPECT_EQ(hidden.error().reason, "sandbox.program_not_found");
}

TEST(ResolveProgram, EmptyOrNulNameIsInvalid) {
  for (const std::string& name : {std::string(), std::string("a\0b", 3)}) {
    const auto found = resolve_program(name, kProgramPath, "/workspace", RelPath::root());
    ASSERT_FALSE(found.has_value());
    EXPECT_EQ(found.error().reason, "sandbox.bad_command");
  }
}

TEST(CommandMatches, RuleIsAPrefixOfWords) {
  const ResolvedProgram git{"/usr/bin/git", "/usr/bin/git", false};
  EXPECT_TRUE(command_matches("git push", git, {"git", "push", "origin"}));
  EXPECT_TRUE(command_matches("/usr/bin/git push", git, {"git", "push"}));
  EXPECT_TRUE(command_matches("git", git, {"/usr/bin/git", "log"}));
  EXPECT_FALSE(command_matches("git push", git, {"git", "pushy"}));
  EXPECT_FALSE(command_matches("git push", git, {"git"}));
  EXPECT_FALSE(command_matches("", git, {"git"}));
  EXPECT_TRUE(command_matches("* push", git, {"git", "push"}));
}

TEST(CommandMatches, ARuleMatchesEveryNameOfTheProgram) {
  const ResolvedProgram link{"/usr/bin/vi", "/usr/bin/vim.basic", false};
  EXPECT_TRUE(command_matches("vim.basic", link, {"vi"}));
  EXPECT_TRUE(command_matches("/usr/bin/vim.basic", link, {"vi"}));
  EXPECT_TRUE(command_matches("vi", link, {"/usr/bin/vi"}));
}

}  // namespace
}  // namespace galley
