#include "engine/stages/run_folder.h"

#include <gtest/gtest.h>

#include "support/temp_directory.h"

namespace galley {
namespace {

// Limit: kMaxRunNameBytes of engine/stages/run_folder.h
TEST(RunName, IsShortPlainAndNotTheIdOfATransaction) {
  EXPECT_TRUE(check_run_name(std::string(kMaxRunNameBytes, 'x')).has_value());
  for (const std::string& name :
       {std::string(kMaxRunNameBytes + 1, 'x'), std::string(), std::string("-x"),
        std::string("a b"), std::string("a/b"), std::string("x\x1b")}) {
    EXPECT_EQ(check_run_name(name).error().reason, "run.name") << name;
  }
}

// Limit: kMaxRunNoteBytes of engine/stages/run_folder.h
TEST(RunFolder, ANoteBeyondTheLimitIsRefusedAndTheOldOneStays) {
  const TempDirectory tree;
  const auto state = StateDirectory::open_or_create(tree.directory());
  ASSERT_TRUE(state.has_value()) << state.error().message;
  const auto folder = RunFolder::hold(*state, "0000000000aa");
  ASSERT_TRUE(folder.has_value()) << folder.error().message;
  RunNote note;
  note.tx = "0000000000aa";
  note.argv = {"sh"};
  ASSERT_TRUE(folder->write_note(note).has_value());
  note.argv.emplace_back(kMaxRunNoteBytes, 'x');
  EXPECT_EQ(folder->write_note(note).error().reason, "limit.run_note");
  EXPECT_EQ(folder->note()->argv, (std::vector<std::string>{"sh"}));
}

}  // namespace
}  // namespace galley
