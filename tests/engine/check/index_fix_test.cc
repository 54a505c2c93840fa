#include "engine/check/index_fix.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "engine/check/fix_journal.h"
#include "staging/overlay/overlay.h"
#include "support/rel.h"
#include "support/scratch_repository.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

/// A work tree with one file. Other programs write to it while it is fixed.
class FollowIndexTest : public ::testing::Test {
 protected:
  FollowIndexTest() { tree_.write("sub/a.txt", kJudged, 0755); }

  /// Follows. Right before the rename with each of these numbers another process writes the file.
  Result<std::string> follow(const std::vector<size_t>& renames = {}, int os_error = 0) {
    auto plan = std::make_shared<FaultPlan>();
    plan->os_error = os_error;
    auto opened = open_writable_disk_directory(tree_.path());
    const auto directory = make_fault_directory(*std::move(opened), plan);
    size_t written = 0;
    plan->before = [&] {
      tree_.write("sub/a.txt", "written " + std::to_string(++written) + "\n");
      plan->at = written < renames.size() ? renames[written] : 0;
    };
    plan->at = renames.empty() ? 0 : renames.front();
    // As put_into_index() makes it, on the same file system.
    tree_.write("slot", kFixed, 0755);
    auto followed =
        follow_index(*directory, {rel("sub/a.txt"), kJudged, kFixed, {}}, *directory, rel("slot"));
    renames_.clear();
    for (size_t i = 0; i < plan->calls.size(); ++i) {
      if (plan->calls[i].name == "rename") renames_.push_back(i + 1);
    }
    return followed;
  }
  void put_back() { tree_.write("sub/a.txt", kJudged, 0755); }
  /// The names in the folder of the file.
  [[nodiscard]] std::vector<std::string> beside() const {
    std::vector<std::string> names;
    const auto folder = tree_.directory().open_directory(rel("sub"));
    const auto entries = (*folder)->list();
    for (const DirectoryEntry& entry : *entries) {
      if (entry.name != "a.txt") names.push_back("sub/" + entry.name);
    }
    return names;
  }

  static constexpr const char* kJudged = "judged\n";
  static constexpr const char* kFixed = "fixed\n";
  TempDirectory tree_;
  std::vector<size_t> renames_;  ///< numbers of the calls of the last run that renamed
};

TEST_F(FollowIndexTest, AFileWithTheJudgedContentGetsTheFixAndKeepsItsMode) {
  const auto followed = follow();
  ASSERT_TRUE(followed.has_value()) << followed.error().message;
  EXPECT_EQ(*followed, "");
  EXPECT_EQ(tree_.read("sub/a.txt"), kFixed);
  EXPECT_EQ(tree_.directory().stat(rel("sub/a.txt"))->mode & 0777U, 0755U);
  EXPECT_TRUE(beside().empty());
}

TEST_F(FollowIndexTest, AMissingFileIsLeftAlone) {
  ASSERT_TRUE(tree_.directory().remove_file(rel("sub/a.txt")));
  EXPECT_EQ(follow().value(), "it is not there");
}

TEST_F(FollowIndexTest, AFileThatCannotBeReplacedIsLeftAloneWithTheCause) {
  ASSERT_TRUE(follow().has_value());
  EXPECT_EQ(follow({renames_[0]}, EROFS).value(),
            "it cannot be replaced here (Read-only file system)");
  EXPECT_EQ(follow({renames_[0]}, EXDEV).value(), "it is on another mount than .galley");
}

TEST_F(FollowIndexTest, AFileWithOtherContentIsLeftAlone) {
  tree_.write("sub/a.txt", "other\n");
  const auto followed = follow();
  ASSERT_TRUE(followed.has_value());
  EXPECT_EQ(*followed, "another program wrote it meanwhile");
  EXPECT_EQ(tree_.read("sub/a.txt"), "other\n");
  EXPECT_TRUE(beside().empty());
}

TEST_F(FollowIndexTest, AConcurrentWriteIsPutBack) {
  ASSERT_TRUE(follow().has_value());
  ASSERT_EQ(renames_.size(), 1U);
  put_back();
  const auto followed = follow({renames_[0]});
  ASSERT_TRUE(followed.has_value()) << followed.error().message;
  EXPECT_EQ(*followed, "another program wrote it meanwhile");
  EXPECT_EQ(tree_.read("sub/a.txt"), "written 1\n");
  EXPECT_TRUE(beside().empty());
}

TEST_F(FollowIndexTest, ASecondConcurrentWriteIsKeptNextToTheFileAndNamed) {
  ASSERT_TRUE(follow().has_value());
  put_back();
  ASSERT_TRUE(follow({renames_[0]}).has_value());
  ASSERT_EQ(renames_.size(), 2U);
  put_back();
  const auto followed = follow({renames_[0], renames_[1]});
  ASSERT_FALSE(followed.has_value());
  EXPECT_EQ(followed.error().kind, ErrorKind::kConflict);
  EXPECT_EQ(followed.error().reason, "check.file_changed");
  EXPECT_EQ(tree_.read("sub/a.txt"), "written 1\n");
  ASSERT_EQ(beside().size(), 1U);
  EXPECT_EQ(tree_.read(beside().front()), "written 2\n");
  EXPECT_NE(followed.error().message.find(beside().front()), std::string::npos)
      << followed.error().message;
}

/// A repository with two staged files that are fixed, and all that a fix may leave behind.
class KilledFix : public ::testing::Test {
 protected:
  void SetUp() override {
    scratch_.init();
    scratch_.write("start", "x\n");
    scratch_.commit("first");
    scratch_.write("a.txt", "judged a\n");
    scratch_.write("sub/b.txt", "judged b\n");
    scratch_.write("other.txt", "judged c\n");
    scratch_.git("add -A");
    scratch_.write("other.txt", "and more\n");
    work_tree_ = open_writable_disk_directory(scratch_.path()).value();
    Overlay overlay(*work_tree_, make_memory_store(), clock_);
    for (const char* name : {"a.txt", "sub/b.txt"}) {
      ASSERT_TRUE(overlay.write(rel(name), std::string("fixed ") + name + "\n").has_value());
    }
    fix_ = Proposal::freeze(overlay);
    (void)StateDirectory::open_or_create(*work_tree_).value();
    index_ = read(".git/index");
    old_ = state();
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    return read_file(*work_tree_, rel(name), 1U << 20U).value_or("none");
  }
  /// Index, files and names; `.galley` without what a fix keeps there counts for nothing.
  [[nodiscard]] std::string state() const {
    std::string text = scratch_.output_of("ls-files --stage");
    for (const char* name : {"a.txt", "sub/b.txt", "other.txt"}) text += read(name);
    for (const char* folder : {"", "sub", ".git"}) text += names_in(folder);
    return text;
  }
  [[nodiscard]] std::string names_in(const std::string& folder) const {
    std::string names;
    std::unique_ptr<Directory> opened;
    if (!folder.empty()) opened = work_tree_->open_directory(rel(folder)).value();
    const Directory& listed = opened == nullptr ? *work_tree_ : *opened;
    const auto entries = listed.list().value();
    for (const DirectoryEntry& entry : entries) names += entry.name + " ";
    return names + "\n";
  }
  void put_back() {
    scratch_.write(".git/index", index_);
    scratch_.write("a.txt", "judged a\n");
    scratch_.write("sub/b.txt", "judged b\n");
  }
  /// Fixes, and is dead from call number `at` on, or only that call fails; returns the number of
  /// calls.
  size_t fix_until(size_t at, int os_error = 0) {
    auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = at > 0 && os_error == 0;
    plan->os_error = os_error;
    return fix_with(plan);
  }
  size_t fix_with(const std::shared_ptr<FaultPlan>& plan) {
    const bool is_whole = plan->at == 0;
    put_.reset();
    const auto work_tree =
        make_fault_directory(open_writable_disk_directory(scratch_.path()).value(), plan);
    const auto opened = StateDirectory::open_or_create(*work_tree);
    if (opened) {
      const FixPlaces places{
          *work_tree, *opened, clock_, [&](const std::string& path) {
            return Result<std::unique_ptr<WritableDirectory>>(
                make_fault_directory(open_writable_disk_directory(path).value(), plan));
          }};
      put_ = put_into_index(git_, layout_(), *fix_, places);
      EXPECT_TRUE(put_->has_value() || !is_whole) << put_->error().message;
    }
    return plan->calls.size();
  }
  /// Fixes, and is dead before the first file is exchanged.
  void leave_half_done() {
    const auto whole = std::make_shared<FaultPlan>();
    (void)fix_with(whole);
    put_back();
    size_t renames = 0;
    for (size_t i = 0; i < whole->calls.size(); ++i) {
      const bool is_exchange = whole->calls[i].name == "rename" && ++renames == 3;
      if (is_exchange) (void)fix_until(i + 1);
    }
    const StateDirectory state = StateDirectory::open_or_create(*work_tree_).value();
    const std::string folder = ".galley/" + fix_folder(state).str() + "/";
    slot_ = folder + "0";
    journal_ = folder + "journal";
    ASSERT_NE(read(journal_), "none");
    ASSERT_EQ(read(slot_), "fixed a.txt\n");
  }
  Result<std::optional<std::string>> finish() {
    const StateDirectory state = StateDirectory::open_or_create(*work_tree_).value();
    return finish_interrupted_fix(scratch_.path(), state, clock_);
  }
  [[nodiscard]] GitLayout layout_() const { return git_.layout().value(); }

  ScratchRepository scratch_;
  GitProgram git_{scratch_.path()};
  SystemClock clock_;
  std::unique_ptr<WritableDirectory> work_tree_;
  std::optional<Proposal> fix_;
  std::optional<Result<IndexFix>> put_;
  std::string index_;
  std::string old_;
  std::string slot_;  ///< of a.txt
  std::string journal_;
};

TEST_F(KilledFix, IsCompletedByTheNextCommandOrHadNoEffect) {
  const size_t calls = fix_until(0);
  ASSERT_GT(calls, 40U);
  const std::string fixed = state();
  ASSERT_NE(fixed, old_);
  EXPECT_NE(fixed.find("fixed sub/b.txt"), std::string::npos);
  size_t was_fixed = 0;
  for (size_t at = 1; at <= calls; ++at) {
    put_back();
    (void)fix_until(at);
    ASSERT_TRUE(finish().has_value()) << "killed at call " << at;
    const std::string now = state();
    EXPECT_TRUE(now == old_ || now == fixed) << "killed at call " << at << ":\n" << now;
    was_fixed += now == fixed ? 1 : 0;
    EXPECT_FALSE(finish().value()) << "nothing is left to do";
  }
  EXPECT_GT(was_fixed, 0U);
  EXPECT_LT(was_fixed, calls);
}

TEST_F(KilledFix, TheNewFileKeepsOwnerAttributesAndMode) {
  const std::string file = "a.txt";
  ASSERT_TRUE(work_tree_->set_attribute(rel(file), {"user.note", "hello"}).has_value());
  const bool may_give = ::geteuid() == 0;
  ASSERT_TRUE(!may_give || work_tree_->set_owner(rel(file), 1234, 1234).has_value());
  ASSERT_TRUE(work_tree_->set_mode(rel(file), 0640).has_value());
  const FileStat before = work_tree_->stat(rel(file)).value();
  (void)fix_until(0);
  ASSERT_EQ(read(file), "fixed a.txt\n");
  const FileStat after = work_tree_->stat(rel(file)).value();
  EXPECT_EQ(after.uid, before.uid);
  EXPECT_EQ(after.gid, before.gid);
  EXPECT_EQ(after.mode, before.mode);
  EXPECT_EQ(work_tree_->attributes(rel(file)).value(),
            (std::vector<ExtendedAttribute>{{"user.note", "hello"}}));
  EXPECT_TRUE((*put_)->warnings.empty());
}

TEST_F(KilledFix, BrokenHardLinksAreAWarning) {
  const std::string other = "other name";
  ASSERT_TRUE(work_tree_->make_hard_link(rel("a.txt"), *work_tree_, rel(other)).has_value());
  (void)fix_until(0);
  EXPECT_EQ(read(other), "judged a\n");
  EXPECT_EQ((*put_)->warnings,
            std::vector<std::string>{"'a.txt' had other hard links; they keep the old content"});
}

TEST_F(KilledFix, AFailureAfterTheIndexWasReplacedIsAWarning) {
  const size_t calls = fix_until(0);
  size_t warnings = 0;
  for (size_t at = 1; at <= calls; ++at) {
    put_back();
    (void)fix_until(at, EIO);
    const bool is_fixed = scratch_.output_of("show :a.txt") == "fixed a.txt\n";
    const bool is_done = put_ && put_->has_value();
    EXPECT_EQ(is_done, is_fixed) << "call " << at << " failed";
    if (is_done && is_fixed) {
      EXPECT_EQ((*put_)->staged.size(), 2U);
      warnings += (*put_)->warnings.size();
    }
    ASSERT_TRUE(finish().has_value()) << "call " << at << " failed";
  }
  EXPECT_GT(warnings, 0U);
}

TEST_F(KilledFix, LaterWritesOfOtherProgramsStay) {
  const size_t calls = fix_until(0);
  for (size_t at = 1; at <= calls; ++at) {
    put_back();
    (void)fix_until(at);
    scratch_.write("a.txt", "mine\n");
    ASSERT_TRUE(finish().has_value()) << "killed at call " << at;
    EXPECT_EQ(read("a.txt"), "mine\n") << "killed at call " << at;
  }
}

TEST_F(KilledFix, BytesThatAnExchangeCaughtStay) {
  const auto plan = std::make_shared<FaultPlan>();
  (void)fix_with(plan);
  std::vector<size_t> renames;
  for (size_t i = 0; i < plan->calls.size(); ++i) {
    if (plan->calls[i].name == "rename") renames.push_back(i + 1);
  }
  ASSERT_GE(renames.size(), 3U) << "the index and two files";
  for (const size_t rename : renames) {
    for (const int later : {1, 2, 3}) {
      for (const int os_error : {0, EIO}) {
        put_back();
        const auto fault = std::make_shared<FaultPlan>();
        fault->at = rename;
        fault->before = [&] {
          fault->kills = fault->at != rename && os_error == 0;
          fault->os_error = fault->at != rename ? os_error : 0;
          if (fault->at != rename) return;
          scratch_.write("a.txt", "theirs\n");
          fault->at = rename + static_cast<size_t>(later);
        };
        (void)fix_with(fault);
        ASSERT_TRUE(finish().has_value());
        EXPECT_EQ(read("a.txt"), "theirs\n")
            << "written before call " << rename << ", fault " << os_error << " at +" << later;
      }
    }
  }
}

TEST_F(KilledFix, WhatItCaughtStaysWhileAFileCannotBeReplaced) {
  leave_half_done();
  scratch_.write("a.txt", "fixed a.txt\n");
  scratch_.write(slot_, "theirs\n");
  const auto plan = std::make_shared<FaultPlan>();
  plan->at = 1;
  plan->os_error = EACCES;
  plan->is_lasting = true;
  plan->affects = [](const FaultCall& call) { return call.name == "rename"; };
  const auto stuck =
      make_fault_directory(open_writable_disk_directory(scratch_.path()).value(), plan);
  const StateDirectory state = StateDirectory::open_or_create(*stuck).value();
  const auto tried = finish_index_fix(git_, {*stuck, state, clock_});
  ASSERT_FALSE(tried.has_value());
  EXPECT_EQ(tried.error().reason, "check.fix_not_finished");
  EXPECT_EQ(read(slot_), "theirs\n");
  ASSERT_TRUE(finish().has_value());
  EXPECT_EQ(read("a.txt"), "theirs\n");
}

TEST_F(KilledFix, AFileThatCannotBeReplacedIsLeftAlone) {
  for (const int os_error : {EACCES, EBUSY, EPERM, EXDEV}) {
    put_back();
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = 1;
    plan->os_error = os_error;
    plan->is_lasting = true;
    plan->affects = [](const FaultCall& call) { return call.name == "rename" && call.path == "0"; };
    (void)fix_with(plan);
    ASSERT_TRUE(put_ && *put_);
    EXPECT_EQ((*put_)->staged.size(), 2U);
    EXPECT_EQ((*put_)->followed, std::vector<RelPath>{rel("sub/b.txt")});
    EXPECT_TRUE((*put_)->unreplaced.contains(rel("a.txt")));
    EXPECT_EQ((*put_)->warnings, std::vector<std::string>());
    EXPECT_EQ(scratch_.output_of("show :a.txt"), "fixed a.txt\n");
    EXPECT_EQ(read("a.txt"), "judged a\n");
    EXPECT_FALSE(finish().value()) << "the journal is closed";
  }
}

TEST_F(KilledFix, IsCompletedWithoutAFileThatCannotBeReplaced) {
  leave_half_done();
  const auto plan = std::make_shared<FaultPlan>();
  plan->at = 1;
  plan->os_error = EXDEV;
  plan->is_lasting = true;
  plan->affects = [](const FaultCall& call) { return call.name == "rename" && call.path == "0"; };
  const auto stuck =
      make_fault_directory(open_writable_disk_directory(scratch_.path()).value(), plan);
  const StateDirectory state = StateDirectory::open_or_create(*stuck).value();
  EXPECT_EQ(finish_index_fix(git_, {*stuck, state, clock_}).value(),
            "a fix of the index that was ended halfway is finished; 'a.txt' differs from the "
            "index: it is on another mount than .galley");
  EXPECT_EQ(read("a.txt"), "judged a\n");
  EXPECT_EQ(read("sub/b.txt"), "fixed sub/b.txt\n");
  EXPECT_FALSE(finish().value());
}

TEST_F(KilledFix, ACaughtLinkStays) {
  leave_half_done();
  ASSERT_TRUE(work_tree_->remove_file(rel(slot_)).has_value());
  ASSERT_TRUE(work_tree_->make_symlink(rel(slot_), "theirs").has_value());
  ASSERT_TRUE(finish().has_value());
  const std::string names = names_in("");
  const size_t at = names.find(".galley-fix-");
  ASSERT_NE(at, std::string::npos) << names;
  EXPECT_EQ(work_tree_->read_link(rel(names.substr(at, names.find(' ', at) - at))).value(),
            "theirs");
}

TEST_F(KilledFix, AJournalThatCannotBeReadKeepsWhatItCaught) {
  leave_half_done();
  scratch_.write(slot_, "theirs\n");
  scratch_.write(journal_, "galley fix 2 abc\n");
  const auto tried = finish();
  ASSERT_FALSE(tried.has_value());
  EXPECT_EQ(tried.error().reason, "check.fix_journal");
  EXPECT_EQ(read(slot_), "theirs\n");
}

TEST_F(KilledFix, TheIndexLockOfAnotherGitIsRespected) {
  scratch_.write(".git/index.lock", "git's own");
  const auto state = StateDirectory::open_or_create(*work_tree_).value();
  const auto put = put_into_index(git_, layout_(), *fix_, {*work_tree_, state, clock_});
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().reason, "git.index_locked");
  EXPECT_EQ(read(".git/index.lock"), "git's own");
  EXPECT_EQ(read("a.txt"), "judged a\n");
  EXPECT_FALSE(finish().value());
}

TEST_F(KilledFix, GitMayRunInAFolderOfTheWorkTree) {
  scratch_.git("update-index --skip-worktree sub/b.txt");
  const auto state = StateDirectory::open_or_create(*work_tree_).value();
  const GitProgram below(scratch_.path() + "/sub");
  const auto put = put_into_index(below, layout_(), *fix_, {*work_tree_, state, clock_});
  ASSERT_TRUE(put.has_value()) << put.error().message;
  EXPECT_EQ(put->staged, (std::vector<RelPath>{rel("a.txt"), rel("sub/b.txt")}));
  EXPECT_EQ(put->followed, put->staged);
  EXPECT_EQ(scratch_.output_of("show :a.txt"), "fixed a.txt\n");
  EXPECT_EQ(scratch_.output_of("show :sub/b.txt"), "fixed sub/b.txt\n");
  EXPECT_EQ(read("sub/b.txt"), "fixed sub/b.txt\n");
  EXPECT_EQ(scratch_.output_of("ls-files -v sub"), "S sub/b.txt\n");
}

TEST_F(KilledFix, TheFlagsOfAnEntryStay) {
  scratch_.git("update-index --assume-unchanged a.txt");
  scratch_.git("update-index --skip-worktree sub/b.txt");
  const std::string flags = scratch_.output_of("ls-files -v");
  ASSERT_EQ(flags, "h a.txt\nH other.txt\nH start\nS sub/b.txt\n");
  const auto state = StateDirectory::open_or_create(*work_tree_).value();
  const auto put = put_into_index(git_, layout_(), *fix_, {*work_tree_, state, clock_});
  ASSERT_TRUE(put.has_value()) << put.error().message;
  EXPECT_EQ(scratch_.output_of("show :sub/b.txt"), "fixed sub/b.txt\n");
  EXPECT_EQ(scratch_.output_of("ls-files -v"), flags);
}

TEST(FixJournals, KeepEveryName) {
  const auto folder = make_memory_directory();
  const std::string odd = "a\tb\nfile x \x7f\x1b\xff\nend 0";
  FixJournal journal;
  journal.nonce = "n";
  journal.indexes = {"/w\norld/.git/index"};
  journal.files = {{rel(odd), "old", "new", ContentId::of("a"), ContentId::of("b")}};
  ASSERT_TRUE(write_fix_journal(*folder, journal));
  const auto read = read_fix_journal(*folder);
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->indexes, journal.indexes);
  ASSERT_EQ((*read)->files.size(), 1U);
  EXPECT_EQ((*read)->files[0].path.str(), odd);
}

}  // namespace
}  // namespace galley
