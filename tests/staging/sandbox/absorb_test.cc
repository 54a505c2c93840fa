// Upper layers made by hand: what each object in one means, without a kernel that makes it.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/clock.h"
#include "doubles/fault_directory.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/absorb.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/layer_objects.h"
#include "tests/support/skip_without_walls.h"
#include "tests/support/temp_directory.h"

namespace galley {
namespace {

class AbsorbTest : public testing::Test {
 protected:
  void SetUp() override { skip_without_walls(why_no_upper_layer(upper_.directory())); }

  AbsorbTest() {
    workspace_.write("a", "a");
    workspace_.write("d/b", "b");
    workspace_.write("d/c", "c");
    workspace_.write("d/e/f", "f");
  }

  AbsorbReport absorb(AbsorbRules rules = {}) {
    auto report = absorb_layer(upper_.directory(), scratch_.directory(), overlay_, rules);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    return report ? *std::move(report) : AbsorbReport();
  }

  void make_opaque(const std::string& path) {
    ASSERT_TRUE(
        upper_.directory().set_attribute(rel(path), {"user.overlay.opaque", "y"}).has_value());
  }

  std::vector<std::string> changes() {
    std::vector<std::string> out;
    for (const Change& change : overlay_.changes()) {
      out.push_back((change.is_create()   ? "A "
                     : change.is_delete() ? "D "
                                          : "M ") +
                    change.path.str());
    }
    return out;
  }

  SystemClock clock_;
  TempDirectory workspace_;
  TempDirectory upper_;
  TempDirectory scratch_;
  TempDirectory stage_;
  Overlay overlay_{workspace_.directory(), make_memory_store(), clock_};
};

TEST_F(AbsorbTest, AnEmptyLayerHasNoChange) {
  const AbsorbReport report = absorb();
  EXPECT_EQ(report.staged, 0U);
  EXPECT_TRUE(changes().empty());
  EXPECT_TRUE(overlay_.entries().empty());
}

TEST_F(AbsorbTest, AWhiteoutOfADirectoryDeletesEverythingBelow) {
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("d")).has_value());
  absorb();
  EXPECT_EQ(changes(), (std::vector<std::string>{"D d", "D d/b", "D d/c", "D d/e", "D d/e/f"}));
}

TEST_F(AbsorbTest, AnEffectThatTakesASaveBackIsRefusedForEveryKindOfObject) {
  ASSERT_TRUE(workspace_.directory().make_symlink(rel("l"), "a"));
  for (const char* path : {"a", "l", "late"}) ASSERT_TRUE(overlay_.node(rel(path)));
  workspace_.write("a", "b");
  workspace_.write("late", "x");
  ASSERT_TRUE(workspace_.directory().remove_file(rel("l")));
  ASSERT_TRUE(workspace_.directory().make_symlink(rel("l"), "d"));

  upper_.write("a", "a");
  ASSERT_TRUE(upper_.directory().make_symlink(rel("l"), "a"));
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("late")).has_value());
  const AbsorbReport report = absorb();
  ASSERT_EQ(report.refused.size(), 3U);
  for (const RefusedEffect& refused : report.refused) {
    EXPECT_TRUE(refused.why.starts_with("was saved since this transaction read it")) << refused.why;
  }
  EXPECT_TRUE(changes().empty());

  for (const char* path : {"a", "l", "late"}) ASSERT_TRUE(overlay_.take_save(rel(path)));
  EXPECT_TRUE(absorb().refused.empty());
  EXPECT_EQ(changes(), (std::vector<std::string>{"M a", "M l", "D late"}));
}

TEST_F(AbsorbTest, ADeletedSpecialFileIsLeftIfTheRulesSaySo) {
  ASSERT_EQ(mkfifo((workspace_.path() + "/d/fifo").c_str(), 0600), 0);
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("d")).has_value());
  EXPECT_EQ(absorb().refused.size(), 1U);
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("a")).has_value());
  AbsorbRules rules;
  rules.leaves_special_files = true;
  const AbsorbReport report = absorb(rules);
  EXPECT_TRUE(report.refused.empty());
  EXPECT_EQ(report.left_special, std::vector<std::string>{"d/fifo"});
  EXPECT_EQ(changes(), (std::vector<std::string>{"D a", "D d/b", "D d/c", "D d/e", "D d/e/f"}));
}

TEST_F(AbsorbTest, BitsOfADirectoryThatAChangeDoesNotHaveAreNamed) {
  const auto make = [](const TempDirectory& tree, const char* path, uint32_t mode) {
    const auto made = tree.directory().make_directory(rel(path), 0755);
    ASSERT_TRUE(made || made.error().os_error == EEXIST) << path;
    ASSERT_TRUE(tree.directory().set_mode(rel(path), mode)) << path;
  };
  for (const char* path : {"kept", "less"}) make(workspace_, path, 01777);
  make(workspace_, "group", 02775);
  make(upper_, "d", 01755);          // added
  make(upper_, "kept", 01755);       // as on disk, with another mode
  make(upper_, "less", 0777);        // removed
  make(upper_, "group", 02775);      // as on disk
  make(upper_, "group/in", 02775);   // by the directory above it
  make(upper_, "group/own", 04775);  // a new one
  const AbsorbReport report = absorb();
  EXPECT_EQ(report.other_bits, (std::vector<std::string>{"d", "group/own"}));
  EXPECT_EQ(changes(), (std::vector<std::string>{"A group/in", "A group/own", "M kept"}));
}

TEST_F(AbsorbTest, AFileDoesNotReplaceADirectoryWithASpecialFile) {
  ASSERT_EQ(mkfifo((workspace_.path() + "/d/fifo").c_str(), 0600), 0);
  upper_.write("d", "file");
  AbsorbRules rules;
  rules.leaves_special_files = true;
  EXPECT_EQ(absorb(rules).refused.size(), 1U);
  EXPECT_TRUE(changes().empty());
}

TEST_F(AbsorbTest, ADeletedFileThatCannotBeReadIsRefusedByName) {
  auto plan = std::make_shared<FaultPlan>();
  plan->at = 1;
  plan->os_error = EACCES;
  plan->is_lasting = true;
  plan->affects = [](const FaultCall& call) {
    return call.name == "open_file" && call.path == "d/b";
  };
  const auto faulty =
      make_fault_directory(*open_writable_disk_directory(workspace_.path()), std::move(plan));
  Overlay overlay(*faulty, make_memory_store(), clock_);
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("d")).has_value());
  const auto report = absorb_layer(upper_.directory(), scratch_.directory(), overlay, {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_EQ(report->refused.size(), 1U);
  EXPECT_EQ(report->refused[0].path, "d/b");
  EXPECT_TRUE(overlay.changes().empty());
}

TEST_F(AbsorbTest, AWhiteoutOfAnAbsentPathIsNotAChange) {
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("never-was")).has_value());
  absorb();
  EXPECT_TRUE(changes().empty());
}

TEST_F(AbsorbTest, AnOpaqueDirectoryReplacesAtEveryDepth) {
  upper_.write("d/c", "new c");
  upper_.write("d/e/g", "g");
  make_opaque("d");
  absorb();
  EXPECT_EQ(changes(), (std::vector<std::string>{"D d/b", "M d/c", "D d/e/f", "A d/e/g"}));
}

TEST_F(AbsorbTest, AFileOfOthersInADirectoryThatTheCommandMadeIsNoEffectAfterItsCommit) {
  upper_.write("new/kept", "kept");
  make_opaque("new");
  const auto made = upper_.directory().stat(rel("new"));
  if (!made || made->birth_ns == 0) GTEST_SKIP() << "the file system reports no creation times";
  // A checkpoint commits it. The clock of a file system advances every few milliseconds.
  do {
    std::filesystem::remove_all(workspace_.path() + "/new");
    workspace_.write("new/kept", "kept");
  } while (workspace_.directory().stat(rel("new"))->birth_ns <= made->birth_ns);
  workspace_.write("new/removed", "by the command, after the checkpoint");
  Overlay::Entries basis;
  for (const char* path : {"new", "new/kept", "new/removed"}) {
    const Node node = *overlay_.node(rel(path));
    basis.emplace(rel(path), Overlay::Entry{node, {}, node, {}, {}, {}, {}});
  }
  workspace_.write("new/mine", "a person's");
  overlay_.restore(basis);
  absorb();
  EXPECT_EQ(changes(), (std::vector<std::string>{"D new/removed"}));
}

TEST_F(AbsorbTest, AMergedDirectoryKeepsOtherFiles) {
  upper_.write("d/e/g", "g");
  absorb();
  EXPECT_EQ(changes(), (std::vector<std::string>{"A d/e/g"}));
}

TEST_F(AbsorbTest, TheSameBytesAndModeAreNotAChange) {
  upper_.write("a", "a");
  absorb();
  EXPECT_TRUE(changes().empty());
  EXPECT_TRUE(overlay_.entries().empty());  // not even a read
}

TEST_F(AbsorbTest, ComparesWithTheStagedViewNotTheBase) {
  ASSERT_TRUE(overlay_.write(rel("a"), "staged").has_value());
  upper_.write("a", "a");  // the command put the base back
  const AbsorbReport report = absorb();
  EXPECT_EQ(report.staged, 1U);
  EXPECT_TRUE(changes().empty());
}

TEST_F(AbsorbTest, HardLinksBecomeSeparateFiles) {
  upper_.write("one", "same");
  ASSERT_EQ(link((upper_.path() + "/one").c_str(), (upper_.path() + "/two").c_str()), 0);
  absorb();
  EXPECT_EQ(changes(), (std::vector<std::string>{"A one", "A two"}));
  EXPECT_EQ(overlay_.node(rel("one"))->mode, overlay_.node(rel("two"))->mode);
}

TEST_F(AbsorbTest, ARefusalLeavesTheOverlayUnchanged) {
  ASSERT_TRUE(overlay_.write(rel("a"), "staged").has_value());
  const auto before = overlay_.entries();
  upper_.write("aa", "x");
  ASSERT_EQ(mkfifo((upper_.path() + "/pipe").c_str(), 0600), 0);
  const AbsorbReport report = absorb();
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(overlay_.entries(), before);
}

TEST_F(AbsorbTest, OverlayFeaturesThatWereNotRequestedAreRefused) {
  ASSERT_TRUE(upper_.directory().make_directory(rel("d"), 0755).has_value());
  ASSERT_TRUE(upper_.directory()
                  .set_attribute(rel("d"), {"user.overlay.redirect", "/elsewhere"})
                  .has_value());
  EXPECT_EQ(absorb().refused.size(), 1U);
}

TEST_F(AbsorbTest, ProtectedNamesAreCountedAndDropped) {
  upper_.write(".git/config", "x");
  upper_.write("d/.Git/config", "x");
  upper_.write(".galley/lock", "x");
  upper_.write("d/.sage/config", "x");
  const AbsorbReport report = absorb();
  EXPECT_EQ(report.protected_paths, 4U);
  const std::vector<std::string> names = {".galley", ".git", "d/.Git", "d/.sage"};
  EXPECT_EQ(report.protected_names, names);
  EXPECT_EQ(report.new_protected, (std::vector<std::string>{"d/.Git", "d/.sage"}));
  EXPECT_TRUE(changes().empty());
}

// Limit: kMaxProtectedNames of staging/sandbox/absorb.h
TEST_F(AbsorbTest, OnlyTheFirstProtectedNamesAreKept) {
  const size_t most = AbsorbReport::kMaxProtectedNames;
  for (size_t i = 0; i <= most; ++i) {
    upper_.write("d/" + std::string(1, static_cast<char>('a' + i)) + "/.git/config", "x");
  }
  const AbsorbReport report = absorb();
  EXPECT_EQ(report.protected_paths, most + 1);
  ASSERT_EQ(report.protected_names.size(), most);
  EXPECT_EQ(report.protected_names.back(), "d/e/.git");
}

TEST_F(AbsorbTest, DirectoryWithAForeignRepositoryIsNotDeleted) {
  workspace_.write("d/vendor/.git/HEAD", "x");
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("d")).has_value());
  const AbsorbReport report = absorb();
  ASSERT_EQ(report.refused.size(), 1U);
  EXPECT_EQ(report.refused[0].path, "d/vendor/.git");
  EXPECT_TRUE(changes().empty());
}

TEST_F(AbsorbTest, IgnoredOutputsMoveIntoScratchAndStayMerged) {
  AbsorbRules rules;
  rules.is_ignored = [](const RelPath& path, bool, const Deadline&) {
    const bool is_ignored = path.str() == "out" || path.is_below(rel("out"));
    return is_ignored ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
  };
  scratch_.write("out/old", "old");
  upper_.write("out/new", "new");
  upper_.write("kept", "k");
  const AbsorbReport report = absorb(rules);
  EXPECT_EQ(report.ignored, 1U);
  EXPECT_EQ(changes(), (std::vector<std::string>{"A kept"}));
  EXPECT_EQ(*read_file(scratch_.directory(), rel("out/old"), 10), "old");
  EXPECT_EQ(*read_file(scratch_.directory(), rel("out/new"), 10), "new");
}

TEST_F(AbsorbTest, ADeletedIgnoredFileIsHiddenInScratch) {
  AbsorbRules rules;
  rules.is_ignored = [](const RelPath& path, bool, const Deadline&) {
    return path.str() == "a" ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
  };
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("a")).has_value());
  absorb(rules);
  EXPECT_TRUE(changes().empty());
  EXPECT_TRUE(is_whiteout(scratch_.directory(), rel("a")));
}

/// `out` is ignored, but `out/tracked` is in git's index.
IgnoreAnswer mixed(const RelPath& path, bool is_directory, const Deadline&) {
  if (path.str() == "out" && is_directory) return IgnoreAnswer::kHoldsTracked;
  const bool is_ignored = path.is_below(rel("out")) && path.str() != "out/tracked";
  return is_ignored ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
}

TEST_F(AbsorbTest, TrackedFilesOfAnIgnoredFolderAreProposed) {
  AbsorbRules rules;
  rules.is_ignored = mixed;
  workspace_.write("out/tracked", "1");
  upper_.write("out/tracked", "2");
  upper_.write("out/new", "new");
  const AbsorbReport report = absorb(rules);
  EXPECT_EQ(report.ignored, 1U);
  EXPECT_EQ(changes(), (std::vector<std::string>{"M out/tracked"}));
  EXPECT_EQ(*read_file(scratch_.directory(), rel("out/new"), 10), "new");
}

TEST_F(AbsorbTest, DeletingAnIgnoredFolderDeletesItsTrackedFiles) {
  AbsorbRules rules;
  rules.is_ignored = mixed;
  workspace_.write("out/tracked", "1");
  workspace_.write("out/built", "1");
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("out")).has_value());
  const AbsorbReport report = absorb(rules);
  EXPECT_EQ(report.ignored, 1U);
  EXPECT_EQ(changes(), (std::vector<std::string>{"D out/tracked"}));
  EXPECT_TRUE(is_whiteout(scratch_.directory(), rel("out/built")));
}

TEST_F(AbsorbTest, AProposedFileInAnIgnoredFolderStaysProposed) {
  AbsorbRules rules;
  rules.is_ignored = [](const RelPath&, bool, const Deadline&) { return IgnoreAnswer::kIgnored; };
  workspace_.write("out/built", "1");
  ASSERT_TRUE(overlay_.write(rel("out/forced"), "1").has_value());
  upper_.write("out/forced", "2");
  upper_.write("out/built", "2");
  absorb(rules);
  EXPECT_EQ(**overlay_.read(rel("out/forced")), "2");
  EXPECT_EQ(changes(), (std::vector<std::string>{"A out/forced"}));
}

TEST_F(AbsorbTest, AProposedFileThatIsIgnoredStaysProposed) {
  AbsorbRules rules;
  rules.is_ignored = [](const RelPath&, bool, const Deadline&) { return IgnoreAnswer::kIgnored; };
  ASSERT_TRUE(overlay_.write(rel("forced"), "1").has_value());
  upper_.write("forced", "2");
  absorb(rules);
  EXPECT_EQ(**overlay_.read(rel("forced")), "2");
}

TEST_F(AbsorbTest, AContentMovesIntoTheDiskStoreWithItsInode) {
  std::shared_ptr<WritableDirectory> stage = *open_writable_disk_directory(stage_.path());
  Overlay overlay(workspace_.directory(), make_disk_store(stage), clock_);
  upper_.write("big", std::string(100'000, 'x'));
  struct stat before {};
  ASSERT_EQ(lstat((upper_.path() + "/big").c_str(), &before), 0);
  const auto report = absorb_layer(upper_.directory(), scratch_.directory(), overlay, {});
  ASSERT_TRUE(report.has_value());
  struct stat after {};
  const std::string id = overlay.node(rel("big"))->content.hex();
  ASSERT_EQ(lstat((stage_.path() + "/" + id).c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ((*overlay.read(rel("big")))->size(), 100'000U);
}

TEST_F(AbsorbTest, AFileWithSeveralNamesIsHashedAndStoredOnce) {
  std::shared_ptr<WritableDirectory> stage = *open_writable_disk_directory(stage_.path());
  Overlay overlay(workspace_.directory(), make_disk_store(stage), clock_);
  upper_.write("n0", "");
  // Hashed under each of its names this would take a minute.
  ASSERT_EQ(truncate((upper_.path() + "/n0").c_str(), 64 << 20), 0);
  for (int i = 1; i < 400; ++i) {
    const std::string name = upper_.path() + "/n" + std::to_string(i);
    ASSERT_EQ(link((upper_.path() + "/n0").c_str(), name.c_str()), 0);
  }
  const auto report = absorb_layer(upper_.directory(), scratch_.directory(), overlay, {});
  ASSERT_TRUE(report.has_value()) << report.error().message;
  EXPECT_EQ(report->staged, 400U);
  EXPECT_EQ(overlay.node(rel("n399"))->size, 64U << 20U);
  struct stat kept {};
  const std::string id = overlay.node(rel("n0"))->content.hex();
  ASSERT_EQ(lstat((stage_.path() + "/" + id).c_str(), &kept), 0);
  EXPECT_EQ(kept.st_size, 64 << 20);
  EXPECT_LT(kept.st_blocks, 2048) << "its holes were written";
  EXPECT_EQ(stage->list()->size(), 1U);
}

TEST_F(AbsorbTest, AnIgnoredFileThatWasMovedIsProposed) {
  workspace_.write("d/x.log", "log");
  workspace_.write("d/empty.log", "");
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("a")).has_value());
  ASSERT_TRUE(make_whiteout(upper_.directory(), rel("d")).has_value());
  upper_.write("moved/b", "b");
  upper_.write("moved/x.log", "log");
  upper_.write("moved/empty.log", "");
  upper_.write("moved/other.log", "new");
  upper_.write("out.log/sub/a", "a");
  upper_.write("out.log/sub/new", "n");
  AbsorbRules rules;
  rules.is_ignored = [](const RelPath& path, bool, const Deadline&) {
    const bool is_ignored = path.str().find(".log") != std::string::npos;
    return is_ignored ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
  };
  for (const bool is_live : {true, false}) {
    rules.is_live = is_live;
    Overlay overlay(workspace_.directory(), make_memory_store(), clock_);
    const auto report = absorb_layer(upper_.directory(), scratch_.directory(), overlay, rules);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->ignored, 2U);
    EXPECT_EQ((*overlay.read(rel("moved/x.log")))->size(), 3U);
    EXPECT_EQ((*overlay.read(rel("moved/empty.log")))->size(), 0U);
    EXPECT_EQ((*overlay.read(rel("out.log/sub/a")))->size(), 1U);
    EXPECT_EQ(overlay.node(rel("moved/other.log"))->kind, FileKind::kAbsent);
    EXPECT_EQ(overlay.node(rel("out.log/sub/new"))->kind, FileKind::kAbsent);
  }
  EXPECT_EQ(scratch_.directory().stat(rel("out.log/sub/new"))->kind, FileKind::kRegular);
  EXPECT_EQ(scratch_.directory().stat(rel("moved/other.log"))->kind, FileKind::kRegular);
}

TEST_F(AbsorbTest, APassedDeadlineLeavesTheOverlayUnchanged) {
  upper_.write("new", "x");
  AbsorbRules rules;
  rules.clock = &clock_;
  rules.deadline = Deadline::after(clock_, std::chrono::milliseconds(-1));
  const auto report = absorb_layer(upper_.directory(), scratch_.directory(), overlay_, rules);
  ASSERT_FALSE(report.has_value());
  EXPECT_EQ(report.error().kind, ErrorKind::kTimeout);
  EXPECT_TRUE(changes().empty());
}

TEST_F(AbsorbTest, ADeepTreeIsRefusedByNameWithFewDescriptors) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit few { 64, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  auto at = upper_.directory().open_writable_directory(RelPath::root());
  for (int level = 0; level < 1000; ++level) {
    ASSERT_TRUE(at.has_value());
    ASSERT_TRUE((*at)->make_directory(rel("d"), 0755).has_value());
    at = (*at)->open_writable_directory(rel("d"));
  }
  const auto report = absorb_layer(upper_.directory(), scratch_.directory(), overlay_, {});
  AbsorbRules ignored;
  ignored.is_ignored = [](const RelPath&, bool, const Deadline&) { return IgnoreAnswer::kIgnored; };
  scratch_.write("d/d/d/old", "x");
  const auto stashed = absorb_layer(upper_.directory(), scratch_.directory(), overlay_, ignored);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  ASSERT_EQ(report->refused.size(), 1U);
  EXPECT_NE(report->refused[0].why.find("256 components"), std::string::npos);
  EXPECT_TRUE(changes().empty());
  EXPECT_TRUE(stashed.has_value()) << stashed.error().message;
}

}  // namespace
}  // namespace galley
