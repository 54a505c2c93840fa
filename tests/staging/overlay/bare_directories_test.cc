#include "staging/overlay/overlay.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

class BareDirectories : public ::testing::Test {
 protected:
  BareDirectories() {
    tree_.write("full/a", "a\n");
    tree_.write("full-not/a", "a\n");
    EXPECT_TRUE(make_directories(tree_.directory(), rel("empty/inner"), 0755));
  }

  std::vector<std::string> found() {
    const ChangeSet changes = overlay_.changes();
    std::vector<std::string> names;
    for (const Change* change : bare_directories(changes)) names.push_back(change->path.str());
    return names;
  }

  using Names = std::vector<std::string>;
  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
};

TEST_F(BareDirectories, OfNewDirectoriesOnlyTheDeepestAreNamed) {
  ASSERT_TRUE(overlay_.make_directory(rel("one/two")));
  EXPECT_EQ(found(), Names{"one/two"});
  ASSERT_TRUE(overlay_.write(rel("one/two/file"), "x"));
  EXPECT_EQ(found(), Names{});
  ASSERT_TRUE(overlay_.make_directory(rel("one-more")));
  EXPECT_EQ(found(), Names{"one-more"});
}

TEST_F(BareDirectories, OfRemovedDirectoriesOnlyTheTopmostAreNamed) {
  ASSERT_TRUE(overlay_.remove_tree(rel("empty")));
  EXPECT_EQ(found(), Names{"empty"});
}

TEST_F(BareDirectories, ADirectoryRemovedWithItsFilesIsNotNamed) {
  ASSERT_TRUE(overlay_.remove(rel("full/a")));
  EXPECT_EQ(found(), Names{});
}

TEST_F(BareDirectories, AFileThatBecomesAnEmptyDirectoryIsNamed) {
  ASSERT_TRUE(overlay_.put(rel("full/a"), Node{FileKind::kDirectory, 0755, {}, 0}));
  EXPECT_EQ(found(), Names{"full/a"});
}

TEST_F(BareDirectories, ADirectoryWithANewModeIsNamed) {
  ASSERT_TRUE(overlay_.set_mode(rel("full"), 0700));
  ASSERT_TRUE(overlay_.write(rel("full/a"), "b\n"));
  EXPECT_EQ(found(), Names{"full"});
}

}  // namespace
}  // namespace galley
