#include "engine/commit/publisher.h"

#include <gtest/gtest.h>

#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "engine/commit/history_reader.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/user_state.h"
#include "support/commit_fixture.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

/// Every test runs in memory and on the disk.
class PublisherFacts : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      auto opened = open_writable_disk_directory(scratch_.path());
      ASSERT_TRUE(opened);
      workspace_ = std::move(*opened);
    } else {
      workspace_ = make_memory_directory();
    }
  }
  const WritableDirectory& ws() const { return *workspace_; }
  Receipt must_publish(const Proposal& proposal) {
    auto outcome = publish(ws(), proposal);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome) return {};
    const auto* conflict = std::get_if<Conflict>(&*outcome);
    EXPECT_EQ(conflict, nullptr) << conflict->paths[0].message;
    return conflict == nullptr ? std::get<Receipt>(*outcome) : Receipt();
  }
  Conflict must_conflict(const Proposal& proposal) {
    auto outcome = publish(ws(), proposal);
    EXPECT_TRUE(outcome) << outcome.error().message;
    if (!outcome || !std::holds_alternative<Conflict>(*outcome)) {
      ADD_FAILURE() << "no conflict";
      return {};
    }
    return std::get<Conflict>(*outcome);
  }

  ScratchDirectory scratch_;
  std::unique_ptr<WritableDirectory> workspace_;
};

INSTANTIATE_TEST_SUITE_P(On, PublisherFacts, testing::Values(false, true),
                         [](const auto& where) { return where.param ? "Disk" : "Memory"; });

TEST_P(PublisherFacts, EveryKindOfChangeIsPublished) {
  put_file(ws(), "changed", "old", 0751);
  put_file(ws(), "deleted", "gone");
  put_file(ws(), "renamed", "same");
  put_file(ws(), "swap_a", "A");
  put_file(ws(), "swap_b", "B");
  put_file(ws(), "mode", "m");
  put_file(ws(), "file_to_dir", "f");
  put_file(ws(), "dir_to_file/in", "i");
  put_file(ws(), "dir_to_file/sub/deep", "d");
  put_file(ws(), "file_to_link", "x");
  ASSERT_TRUE(ws().make_symlink(rel("link_to_file"), "changed"));
  ASSERT_TRUE(ws().make_symlink(rel("link_to_link"), "changed"));
  put_file(ws(), "emptied/only", "o");
  put_file(ws(), "untouched", "u");

  ChangeBuilder change(ws());
  change.write("changed", "new", 0751).remove("deleted").rename("renamed", "moved/here");
  change.directory("moved").rename("swap_a", "swap_b").rename("swap_b", "swap_a");
  change.mode("mode", 0755).directory("file_to_dir").write("file_to_dir/child", "c");
  change.remove("dir_to_file/in").remove("dir_to_file/sub").remove("dir_to_file/sub/deep");
  change.write("dir_to_file", "now a file").link("file_to_link", "untouched");
  change.write("link_to_file", "real").link("link_to_link", "untouched");
  change.remove("emptied/only").remove("emptied").directory("new/empty").directory("new");
  change.write("created", "fresh", 0600);
  const Receipt receipt = must_publish(change.proposal());

  const TreePicture want = {{"changed", "f 751 new"},
                            {"moved", "d 755 "},
                            {"moved/here", "f 644 same"},
                            {"swap_a", "f 644 B"},
                            {"swap_b", "f 644 A"},
                            {"mode", "f 755 m"},
                            {"file_to_dir", "d 755 "},
                            {"file_to_dir/child", "f 644 c"},
                            {"dir_to_file", "f 644 now a file"},
                            {"file_to_link", "l untouched"},
                            {"link_to_file", "f 644 real"},
                            {"link_to_link", "l untouched"},
                            {"new", "d 755 "},
                            {"new/empty", "d 755 "},
                            {"created", "f 600 fresh"},
                            {"untouched", "f 644 u"}};
  EXPECT_EQ(picture_of(ws()), want);
  EXPECT_EQ(receipt.id, TxId{1});
  EXPECT_EQ(receipt.changes.size(), change.proposal().changes().size());
  EXPECT_TRUE(reopen(ws())->is_clean());
  EXPECT_EQ(picture_of(ws()), want);
}

TEST_P(PublisherFacts, TheHistoryHasBothImagesAndTheReason) {
  put_file(ws(), "a", "old");
  CommitMeta meta{"agent", "apply", "because", {}, {"{\"audit\":1}"}};
  const Proposal proposal = ChangeBuilder(ws()).write("a", "new").write("b", "B").proposal();
  ASSERT_TRUE(publish(ws(), proposal, test_options(), meta));
  const auto state = StateDirectory::open(ws());
  ASSERT_TRUE(state && *state);
  EXPECT_EQ(*committed_ids(**state), std::vector<TxId>{TxId{1}});
  const auto loaded = load_committed(**state, TxId{1});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->journal.meta.agent, "agent");
  EXPECT_EQ(loaded->journal.meta.message, "because");
  EXPECT_EQ(loaded->journal.meta.audit, meta.audit);
  ASSERT_EQ(loaded->changes.size(), 2U);
  EXPECT_EQ(**loaded->store->get(loaded->changes[0].before.content), "old");
  EXPECT_EQ(**loaded->store->get(loaded->changes[0].after.content), "new");
  EXPECT_EQ(loaded->changes[1].before.kind, FileKind::kAbsent);
  EXPECT_EQ(load_committed(**state, TxId{2}).error().reason, "history.not_found");
}

TEST_P(PublisherFacts, TheHistoryHasTheContentOfAFileWhoseModeChanged) {
  put_file(ws(), "script", "#!/bin/sh\n");
  ChangeBuilder change(ws());
  change.mode("script", 0755);
  const Receipt receipt = must_publish(change.proposal());
  const auto state = StateDirectory::open(ws());
  ASSERT_TRUE(state && *state);
  const auto loaded = load_committed(**state, receipt.id);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto content = loaded->store->get(ContentId::of("#!/bin/sh\n"));
  ASSERT_TRUE(content) << content.error().message;
  EXPECT_EQ(**content, "#!/bin/sh\n");
}

TEST_P(PublisherFacts, IdsAreConsecutiveAcrossPublishers) {
  for (uint64_t i = 1; i <= 3; ++i) {
    const auto receipt = must_publish(ChangeBuilder(ws()).write("a", std::to_string(i)).proposal());
    EXPECT_EQ(receipt.id, TxId{i});
  }
}

TEST_P(PublisherFacts, AChangedBaseIsAConflictAndTheTreeIsUnchanged) {
  put_file(ws(), "a", "old");
  put_file(ws(), "b", "old");
  const Proposal proposal = ChangeBuilder(ws()).write("a", "new").write("b", "new").proposal();
  put_file(ws(), "b", "OLD");
  const auto before = picture_of(ws());
  const Conflict conflict = must_conflict(proposal);
  ASSERT_EQ(conflict.paths.size(), 1U);
  EXPECT_EQ(conflict.paths[0].path, rel("b"));
  EXPECT_EQ(conflict.paths[0].found.content, ContentId::of("OLD"));
  EXPECT_EQ(picture_of(ws()), before);
}

TEST_P(PublisherFacts, SavingTheSameBytesIsNotAConflict) {
  put_file(ws(), "a", "old");
  const Proposal proposal = ChangeBuilder(ws()).write("a", "new").proposal();
  save_file(ws(), "a", "old");
  must_publish(proposal);
  EXPECT_EQ(picture_of(ws())["a"], "f 644 new");
}

TEST_P(PublisherFacts, EveryKindOfChangedBaseIsAConflict) {
  put_file(ws(), "f", "f");
  put_file(ws(), "d/in", "i");
  ASSERT_TRUE(ws().make_symlink(rel("l"), "f"));
  const auto base = picture_of(ws());
  const Proposal removed_directory = ChangeBuilder(ws()).remove("d").remove("d/in").proposal();
  const Proposal created = ChangeBuilder(ws()).write("n", "n").proposal();
  const Proposal deleted = ChangeBuilder(ws()).remove("f").proposal();
  const Proposal relinked = ChangeBuilder(ws()).link("l", "d").proposal();
  const Proposal nested = ChangeBuilder(ws()).write("d/new", "x").proposal();

  put_file(ws(), "d/extra", "e");
  EXPECT_EQ(must_conflict(removed_directory).paths[0].path, rel("d"));
  ASSERT_TRUE(ws().remove_file(rel("d/extra")));
  put_file(ws(), "n", "mine");
  EXPECT_EQ(must_conflict(created).paths[0].path, rel("n"));
  ASSERT_TRUE(ws().remove_file(rel("n")));
  ASSERT_TRUE(ws().set_mode(rel("f"), 0600));
  EXPECT_NE(must_conflict(deleted).paths[0].message.find("mode"), std::string::npos);
  ASSERT_TRUE(ws().set_mode(rel("f"), 0644));
  ASSERT_TRUE(ws().remove_file(rel("l")));
  ASSERT_TRUE(ws().make_symlink(rel("l"), "elsewhere"));
  EXPECT_EQ(must_conflict(relinked).paths[0].path, rel("l"));
  ASSERT_TRUE(ws().remove_file(rel("l")));
  ASSERT_TRUE(ws().make_symlink(rel("l"), "f"));
  ASSERT_TRUE(remove_tree(ws(), rel("d")));
  EXPECT_NE(must_conflict(nested).paths[0].message.find("is gone"), std::string::npos);
  put_file(ws(), "d/in", "i");
  EXPECT_EQ(picture_of(ws()), base);
}

TEST_P(PublisherFacts, AParentReplacedByALinkIsAConflict) {
  put_file(ws(), "d/f", "f");
  const Proposal proposal = ChangeBuilder(ws()).write("d/f", "new").proposal();
  ASSERT_TRUE(ws().rename(rel("d"), ws(), rel("real"), RenameMode::kNoReplace));
  ASSERT_TRUE(ws().make_symlink(rel("d"), "real"));
  const auto before = picture_of(ws());
  const auto outcome = publish(ws(), proposal);
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto* conflict = std::get_if<Conflict>(&*outcome);
  ASSERT_NE(conflict, nullptr);
  ASSERT_EQ(conflict->paths.size(), 1U);
  EXPECT_EQ(conflict->paths[0].path, rel("d/f"));
  EXPECT_EQ(conflict->paths[0].message, "'d/f' lies behind a symbolic link now");
  EXPECT_EQ(picture_of(ws()), before);
}

/// At each call of a commit another program makes the file that the commit is about to make.
TEST_P(PublisherFacts, AFileMadeDuringACommitIsAConflictThatNamesItsPath) {
  size_t late = 0;
  for (size_t at = 1;; ++at) {
    const auto tree = std::make_shared<MemoryTree>();
    const ScratchDirectory scratch;
    const auto open = [&] {
      return GetParam() ? open_writable_disk_directory(scratch.path()).value()
                        : open_memory_tree(tree);
    };
    const auto raw = open();
    const Proposal proposal = ChangeBuilder(*raw).write("n", "ours").proposal();
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->before = [&] {
      (void)raw->open_writable_file(rel("n"), OpenMode::kCreateNew, kPrivateFile);
    };
    const auto outcome = publish(*make_fault_directory(open(), plan), proposal);
    ASSERT_TRUE(outcome) << at << ": " << outcome.error().message;
    if (plan->calls.size() < at) break;
    const auto* conflict = std::get_if<Conflict>(&*outcome);
    if (conflict == nullptr) continue;
    const std::string& message = conflict->paths.at(0).message;
    EXPECT_TRUE(message.starts_with("'n' ")) << message;
    EXPECT_EQ(message.find("cannot "), message.npos) << message;
    late += message.find("while it was being committed") != message.npos ? 1 : 0;
  }
  EXPECT_GE(late, 1U);
}

TEST_P(PublisherFacts, RefusedProposalsDoNotCreateTheStateDirectory) {
  put_file(ws(), "a", "a");
  const auto empty = publish(ws(), ChangeBuilder(ws()).proposal());
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().reason, "commit.empty");
  const auto hook = publish(ws(), ChangeBuilder(ws()).write(".git/hooks/x", "evil").proposal());
  ASSERT_FALSE(hook);
  EXPECT_EQ(hook.error().reason, "path.protected");
  EXPECT_EQ(ws().stat(rel(".galley"))->kind, FileKind::kAbsent);
}

TEST_P(PublisherFacts, AttributesOfAChangedFileAreKept) {
  put_file(ws(), "a", "old", 0640);
  ASSERT_TRUE(ws().set_attribute(rel("a"), {"user.note", "kept"}));
  must_publish(ChangeBuilder(ws()).write("a", "new", 0640).proposal());
  const auto attributes = ws().attributes(rel("a"));
  ASSERT_TRUE(attributes);
  EXPECT_EQ(
      std::count(attributes->begin(), attributes->end(), ExtendedAttribute{"user.note", "kept"}),
      1);
  EXPECT_EQ(picture_of(ws())["a"], "f 640 new");
}

TEST_P(PublisherFacts, ARenameKeepsTheInode) {
  put_file(ws(), "a", "same");
  const uint64_t inode = ws().stat(rel("a"))->inode;
  must_publish(ChangeBuilder(ws()).rename("a", "b").proposal());
  EXPECT_EQ(ws().stat(rel("b"))->inode, inode);
}

TEST_P(PublisherFacts, UntouchedFilesKeepTheirTimestampsAndChangedOnesAreNew) {
  put_file(ws(), "a", "old");
  put_file(ws(), "b", "b");
  const FileStat a = *ws().stat(rel("a"));
  const FileStat b = *ws().stat(rel("b"));
  must_publish(ChangeBuilder(ws()).write("a", "new").proposal());
  EXPECT_EQ(*ws().stat(rel("b")), b);
  EXPECT_GT(ws().stat(rel("a"))->mtime_ns, a.mtime_ns);
}

TEST_P(PublisherFacts, ContentChangesBreakHardLinksWithAWarningOrAreRefused) {
  put_file(ws(), "a", "old");
  ASSERT_TRUE(ws().make_hard_link(rel("a"), ws(), rel("b")));
  const Proposal proposal = ChangeBuilder(ws()).write("a", "new").proposal();
  PublisherOptions refuse = test_options();
  refuse.hard_links = HardLinks::kRefuse;
  const auto refused = publish(ws(), proposal, refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "commit.hard_link");
  EXPECT_EQ(picture_of(ws())["a"], "f 644 old");
  const Receipt receipt = must_publish(proposal);
  ASSERT_EQ(receipt.warnings.size(), 1U);
  EXPECT_NE(receipt.warnings[0].find("hard links"), std::string::npos);
  EXPECT_EQ(picture_of(ws())["a"], "f 644 new");
  EXPECT_EQ(picture_of(ws())["b"], "f 644 old");
}

TEST_P(PublisherFacts, ModeChangesBreakHardLinksWithAWarningOrAreRefused) {
  put_file(ws(), "a", "same");
  ASSERT_TRUE(ws().make_hard_link(rel("a"), ws(), rel("b")));
  const Proposal proposal = ChangeBuilder(ws()).mode("a", 0755).proposal();
  PublisherOptions refuse = test_options();
  refuse.hard_links = HardLinks::kRefuse;
  const auto refused = publish(ws(), proposal, refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "commit.hard_link");
  const Receipt receipt = must_publish(proposal);
  ASSERT_EQ(receipt.warnings.size(), 1U);
  EXPECT_NE(receipt.warnings[0].find("the old mode"), std::string::npos);
  EXPECT_EQ(picture_of(ws())["a"], "f 755 same");
  EXPECT_EQ(picture_of(ws())["b"], "f 644 same");
}

TEST_P(PublisherFacts, ARenameWithAChangeBreaksHardLinksWithAWarningOrIsRefused) {
  put_file(ws(), "a", "same");
  ASSERT_TRUE(ws().make_hard_link(rel("a"), ws(), rel("b")));
  ChangeBuilder changes(ws());
  changes.rename("a", "c").write("c", "new");
  const Proposal proposal = changes.proposal();
  PublisherOptions refuse = test_options();
  refuse.hard_links = HardLinks::kRefuse;
  const auto refused = publish(ws(), proposal, refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "commit.hard_link");
  const Receipt receipt = must_publish(proposal);
  ASSERT_EQ(receipt.warnings.size(), 1U);
  EXPECT_NE(receipt.warnings[0].find("the old content"), std::string::npos);
  EXPECT_EQ(picture_of(ws())["c"], "f 644 new");
  EXPECT_EQ(picture_of(ws())["b"], "f 644 same");
}

// Limit: kMaxImageBytes of engine/commit/journal.h
TEST_P(PublisherFacts, ContentsOverAMegabyteGoToBlobs) {
  const std::string large(kMaxImageBytes + 1, 'x');
  put_file(ws(), "a", large);
  must_publish(ChangeBuilder(ws()).write("a", large + "y").proposal());
  EXPECT_EQ(ws().stat(rel("a"))->size, large.size() + 1);
  const auto state = StateDirectory::open(ws());
  const auto loaded = load_committed(**state, TxId{1});
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_TRUE(loaded->journal.images.empty());
  EXPECT_EQ(**loaded->store->get(loaded->changes[0].before.content), large);
}

TEST_P(PublisherFacts, TheHooksRunBeforeAndAfterTheSwaps) {
  put_file(ws(), "a", "old");
  std::vector<std::string> seen;
  PublisherOptions options = test_options();
  options.before_apply = [&] { seen.push_back(picture_of(ws())["a"]); };
  options.after_apply = [&] { seen.push_back(picture_of(ws())["a"]); };
  ASSERT_TRUE(publish(ws(), ChangeBuilder(ws()).write("a", "new").proposal(), options));
  EXPECT_EQ(seen, (std::vector<std::string>{"f 644 old", "f 644 new"}));
}

TEST_P(PublisherFacts, ACommitThatIsStoppedBeforeItsCommitPointHasNoEffect) {
  put_file(ws(), "a", "old");
  const Proposal proposal = ChangeBuilder(ws()).write("a", "new").proposal();
  std::stop_source stop;
  PublisherOptions options = test_options();
  options.stop = stop.get_token();
  options.records = [&](TxId) -> Result<std::vector<std::string>> {
    stop.request_stop();
    return std::vector<std::string>();
  };
  const auto stopped = publish(ws(), proposal, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().reason, "commit.cancelled");
  EXPECT_EQ(picture_of(ws())["a"], "f 644 old");
  EXPECT_EQ(must_publish(proposal).id, TxId{1});
}

TEST_P(PublisherFacts, ASaveJustBeforeTheSwapIsCaughtAndPutBack) {
  put_file(ws(), "a", "old a");
  put_file(ws(), "b", "old b");
  PublisherOptions options = test_options();
  options.before_apply = [&] { save_file(ws(), "b", "user's save"); };
  const auto outcome = publish(
      ws(), ChangeBuilder(ws()).write("a", "new").write("b", "new").write("c", "new").proposal(),
      options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Conflict>(*outcome));
  const TreePicture want = {{"a", "f 644 old a"}, {"b", "f 644 user's save"}};
  EXPECT_EQ(picture_of(ws()), want);
  const auto state = StateDirectory::open(ws());
  EXPECT_TRUE((*state)->journals().list()->empty());
  EXPECT_TRUE((*state)->slots().list()->empty());
}

TEST_P(PublisherFacts, ATimeoutNamesTheHolderOfTheLock) {
  const auto state = StateDirectory::open_or_create(ws());
  ASSERT_TRUE(state);
  const SystemClock clock;
  const auto lock = WriterLock::take(*state, clock, std::chrono::milliseconds(0));
  ASSERT_TRUE(lock);
  PublisherOptions options = test_options();
  options.lock_timeout = std::chrono::milliseconds(20);
  const auto outcome = publish(ws(), ChangeBuilder(ws()).write("a", "a").proposal(), options);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().reason, "commit.locked");
  EXPECT_NE(outcome.error().message.find("process " + std::to_string(getpid())), std::string::npos)
      << outcome.error().message;
}

/// Another user owns the directory, and gives its name to a script of theirs in the last instant.
TEST(DirectoryOwners, AFileThatTakesTheNameOfADirectoryIsNeverGivenAway) {
  if (!is_root_user()) GTEST_SKIP() << "only root can give files away";
  constexpr uint32_t kAttacker = 54401;
  const auto publish_with = [&](size_t attack_at, size_t kill_at, bool is_undone) {
    const auto tree = std::make_shared<MemoryTree>();
    const auto raw = open_memory_tree(tree);
    put_file(*raw, "up/d/f", "f");
    put_file(*raw, "z", "z");
    const RelPath directory = rel("up/d");
    EXPECT_TRUE(raw->set_owner(directory, kAttacker, kAttacker));
    EXPECT_TRUE(raw->set_mode(directory, 04755));
    const Proposal proposal =
        ChangeBuilder(*raw).give("up/d", kGivenUser).write("z", "new").proposal();
    const auto attack = [&] {
      EXPECT_TRUE(raw->rename(directory, *raw, rel("up/old"), RenameMode::kNoReplace));
      put_file(*raw, "up/d", "#!/bin/sh", 0755);
      EXPECT_TRUE(raw->set_owner(directory, kAttacker, kAttacker));
      if (is_undone) save_file(*raw, "z", "mine");
    };
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = kill_at == 0 ? attack_at : kill_at;
    plan->kills = kill_at != 0;
    if (kill_at == 0) plan->before = attack;
    static_cast<void>(publish(*make_fault_directory(open_memory_tree(tree), plan), proposal));
    bool is_over = plan->calls.size() < plan->at;
    if (kill_at != 0 && !is_over) {
      const auto later = std::make_shared<FaultPlan>();
      later->at = attack_at;
      later->before = attack;
      static_cast<void>(reopen(*make_fault_directory(open_memory_tree(tree), later), "next boot"));
      is_over = later->calls.size() < attack_at;
    }
    const FileStat found = raw->stat(directory).value();
    if (found.kind != FileKind::kRegular) return !is_over;
    EXPECT_EQ(found.uid, kAttacker) << attack_at << " " << kill_at;
    EXPECT_EQ(found.mode, 0755U) << attack_at << " " << kill_at;
    return !is_over;
  };
  size_t attacks = 0;
  for (const bool is_undone : {false, true}) {
    for (size_t at = 1; publish_with(at, 0, is_undone); ++at) ++attacks;
  }
  size_t calls = attacks / 2;
  for (size_t kill = 1; kill <= calls; ++kill) {
    for (size_t at = 1; publish_with(at, kill, false); ++at) ++attacks;
  }
  EXPECT_GT(attacks, 2 * calls);
}

TEST(DirectoryOwners, ARecoveryThatMayNotSetAnOwnerSaysSoAndALaterOneSetsIt) {
  if (!is_root_user()) GTEST_SKIP() << "only root can give files away";
  size_t refusals = 0;
  for (size_t kill = 1;; ++kill) {
    const auto tree = std::make_shared<MemoryTree>();
    const auto raw = open_memory_tree(tree);
    put_file(*raw, "a", "a");
    put_file(*raw, "d/f", "f");
    const auto old = picture_of(*raw);
    const int64_t time = raw->stat(rel("a")).value().mtime_ns;
    const Proposal proposal =
        ChangeBuilder(*raw).give("a", kGivenUser).give("d", kGivenUser).proposal();
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = kill;
    plan->kills = true;
    static_cast<void>(publish(*make_fault_directory(open_memory_tree(tree), plan), proposal));
    if (plan->calls.size() < kill) break;
    tree->user = MemoryUser{};  // root without CAP_CHOWN
    const auto recovered = reopen(*raw);
    tree->user.reset();
    if (!recovered) {
      ++refusals;
      EXPECT_EQ(recovered.error().reason, "owner.not_permitted") << recovered.error().message;
      EXPECT_NE(recovered.error().message.find(std::to_string(kGivenUser)), std::string::npos);
      ASSERT_TRUE(reopen(*raw));
    }
    const auto found = picture_of(*raw);
    const TreePicture given = {{"a", "f given 644 a"}, {"d", "d given 755 "}, {"d/f", "f 644 f"}};
    EXPECT_TRUE(found == old || found == given) << kill;
    EXPECT_EQ(raw->stat(rel("a")).value().mtime_ns, time) << kill;
  }
  EXPECT_GT(refusals, 0U);
}

TEST(DirectoryOwners, AfterARebootTheOwnerThatAnotherProgramSetStays) {
  if (!is_root_user()) GTEST_SKIP() << "only root can give files away";
  constexpr uint32_t kThirdUser = 54402;
  const auto raw = make_memory_directory();
  put_file(*raw, "a", "a");
  put_file(*raw, "b", "b");
  ChangeBuilder change(*raw);
  change.give("a", kGivenUser).write("b", "new").give("b", kGivenUser);
  const auto published = publish(*raw, change.proposal());
  ASSERT_TRUE(published) << published.error().message;
  for (const char* name : {"a", "b"})
    ASSERT_TRUE(raw->set_owner(rel(name), kThirdUser, kThirdUser));
  const auto recovered = reopen(*raw, "next boot");
  ASSERT_TRUE(recovered) << recovered.error().message;
  for (const char* name : {"a", "b"})
    EXPECT_EQ(raw->stat(rel(name)).value().uid, kThirdUser) << name;
}

}  // namespace
}  // namespace galley
