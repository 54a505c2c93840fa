#include "staging/sandbox/change_set_layer.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/layer_homes.h"
#include "tests/support/skip_without_walls.h"
#include "tests/support/temp_directory.h"

namespace galley {
namespace {

/// A workspace, an overlay over it, and a layer that shows the overlay.
class ChangeSetLayerTest : public testing::Test {
 protected:
  void SetUp() override { skip_without_walls(why_no_upper_layer(workspace_.directory())); }

  ChangeSetLayerTest() {
    put_file("keep.txt", "keep");
    put_file("src/a.c", "a");
    put_file("src/b.c", "b");
    put_file("src/deep/c.c", "c");
  }

  void put_file(const std::string& path, const std::string& text) {
    ASSERT_TRUE(make_directories(workspace_.directory(), rel(path).parent(), 0755).has_value());
    auto file = workspace_.directory().open_writable_file(rel(path), OpenMode::kOpenOrCreate, 0644);
    ASSERT_TRUE(file.has_value());
    ASSERT_TRUE((*file)->truncate(0).has_value());
    ASSERT_TRUE((*file)->write_at(0, text).has_value());
  }

  static std::unique_ptr<WritableDirectory> open(const TempDirectory& temp) {
    auto opened = open_writable_disk_directory(temp.path());
    GALLEY_CHECK(opened.has_value());
    return *std::move(opened);
  }

  void show() {
    const auto shown = layer_.show(overlay_.changes(), *overlay_.store());
    ASSERT_TRUE(shown.has_value()) << shown.error().message;
  }

  /// `w` whiteout, `d` directory, `l` link, otherwise the text; empty when absent.
  std::string at(const std::string& path) {
    const std::string whole = layer_directory_.path() + "/" + path;
    struct stat found {};
    if (lstat(whole.c_str(), &found) != 0) return "";
    if (S_ISCHR(found.st_mode) && found.st_rdev == makedev(0, 0)) return "w";
    if (S_ISDIR(found.st_mode)) return "d";
    if (S_ISLNK(found.st_mode)) return "l";
    auto text = read_file(layer_directory_.directory(), rel(path), 1 << 20);
    return text ? "=" + *text : "?";
  }

  SystemClock clock_;
  TempDirectory workspace_;
  TempDirectory layer_directory_;
  Overlay overlay_{workspace_.directory(), make_memory_store(), clock_};
  ChangeSetLayer layer_{open(layer_directory_), workspace_.directory()};
};

TEST_F(ChangeSetLayerTest, ShowsOnlyWhatChanged) {
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "A").has_value());
  ASSERT_TRUE(overlay_.write(rel("new/dir/n.txt"), "N").has_value());
  ASSERT_TRUE(overlay_.put(rel("src/b.c"), Node{}).has_value());
  ASSERT_TRUE(overlay_.make_symlink(rel("link"), "keep.txt").has_value());
  show();
  EXPECT_EQ(at("src/a.c"), "=A");
  EXPECT_EQ(at("src/b.c"), "w");
  EXPECT_EQ(at("new/dir/n.txt"), "=N");
  EXPECT_EQ(at("link"), "l");
  EXPECT_EQ(at("keep.txt"), "");
  EXPECT_EQ(at("src/deep"), "");
}

TEST_F(ChangeSetLayerTest, MergedParentsHaveTheModeOfTheWorkspace) {
  ASSERT_TRUE(workspace_.directory().set_mode(rel("src"), 0751).has_value());
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "A").has_value());
  show();
  const auto stat = layer_directory_.directory().stat(rel("src"));
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->mode, 0751U);
}

TEST_F(ChangeSetLayerTest, ReadOnlyDirectoriesCanHoldChanges) {
  ASSERT_TRUE(overlay_.make_directory(rel("locked"), 0555).has_value());
  ASSERT_TRUE(overlay_.write(rel("locked/x"), "x").has_value());
  show();
  ASSERT_TRUE(overlay_.write(rel("locked/y"), "y").has_value());
  show();
  EXPECT_EQ(at("locked/x"), "=x");
  EXPECT_EQ(at("locked/y"), "=y");
  EXPECT_EQ(layer_directory_.directory().stat(rel("locked"))->mode, 0555U);
}

TEST_F(ChangeSetLayerTest, DeletedDirectoryIsOneWhiteout) {
  ASSERT_TRUE(overlay_.remove_tree(rel("src")).has_value());
  show();
  EXPECT_EQ(at("src"), "w");
}

TEST_F(ChangeSetLayerTest, DirectoryMadeAgainDoesNotBringBackItsFiles) {
  ASSERT_TRUE(overlay_.remove_tree(rel("src")).has_value());
  show();
  ASSERT_TRUE(overlay_.write(rel("src/only.c"), "o").has_value());
  show();
  EXPECT_EQ(at("src/only.c"), "=o");
  EXPECT_EQ(at("src/a.c"), "w");
  EXPECT_EQ(at("src/b.c"), "w");
  EXPECT_EQ(at("src/deep"), "w");
}

TEST_F(ChangeSetLayerTest, FileBecomesDirectoryAndBack) {
  ASSERT_TRUE(overlay_.put(rel("keep.txt"), Node{}).has_value());
  ASSERT_TRUE(overlay_.write(rel("keep.txt/in"), "i").has_value());
  show();
  EXPECT_EQ(at("keep.txt"), "d");
  EXPECT_EQ(at("keep.txt/in"), "=i");
  overlay_.restore({});
  ASSERT_TRUE(overlay_.write(rel("keep.txt"), "again").has_value());
  show();
  EXPECT_EQ(at("keep.txt"), "=again");
}

TEST_F(ChangeSetLayerTest, AnUndoneChangeDisappears) {
  ASSERT_TRUE(overlay_.write(rel("new/dir/n.txt"), "N").has_value());
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "A").has_value());
  show();
  overlay_.restore({});
  show();
  EXPECT_EQ(at("new"), "");
  EXPECT_EQ(at("src/a.c"), "");
}

TEST_F(ChangeSetLayerTest, SameChangesAgainWriteNothing) {
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "A").has_value());
  show();
  const auto before = layer_directory_.directory().stat(rel("src/a.c"));
  ASSERT_TRUE(overlay_.write(rel("other.txt"), "o").has_value());
  show();
  const auto after = layer_directory_.directory().stat(rel("src/a.c"));
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->inode, after->inode);
  EXPECT_EQ(before->mtime_ns, after->mtime_ns);
  EXPECT_EQ(at("other.txt"), "=o");
}

TEST_F(ChangeSetLayerTest, AFileHasTheTimeAtWhichItWasWritten) {
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "A").has_value());
  const Node node = overlay_.changes()[0].after;
  for (const int64_t written : {1'000'000'000'000'000'005, 2'000'000'000'000'000'007}) {
    ASSERT_TRUE(overlay_.put(rel("src/a.c"), node, Change::WriteTime{written, true}).has_value());
    show();
    EXPECT_EQ(layer_directory_.directory().stat(rel("src/a.c"))->mtime_ns, written);
  }
}

TEST_F(ChangeSetLayerTest, AFolderThatBecameALinkShowsTheStagedFilesBelow) {
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "new").has_value());
  ASSERT_TRUE(overlay_.remove(rel("src/b.c")).has_value());
  ASSERT_TRUE(overlay_.write(rel("src/deep/d.c"), "d").has_value());
  const WritableDirectory& disk = workspace_.directory();
  ASSERT_TRUE(disk.rename(rel("src"), disk, rel("moved"), RenameMode::kNoReplace).has_value());
  ASSERT_TRUE(disk.make_symlink(rel("src"), "moved").has_value());
  show();
  EXPECT_EQ(at("src") + at("src/a.c") + at("src/b.c") + at("src/deep/d.c"), "d=new=d");
}

}  // namespace
}  // namespace galley
