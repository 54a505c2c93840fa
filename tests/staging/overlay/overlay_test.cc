#include "staging/overlay/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "doubles/fault_directory.h"
#include "staging/fs/content_store.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/node_text.h"
#include "staging/overlay/overlay_file.h"
#include "staging/overlay/staged_step.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::ElementsAre;

class OverlayTest : public ::testing::Test {
 protected:
  OverlayTest() {
    tree_.write("a.txt", "alpha\n");
    tree_.write("src/one.c", "one\n", 0755);
    tree_.write("src/two.c", "two\n");
    tree_.write("src/deep/three.c", "three\n");
    EXPECT_TRUE(tree_.directory().make_symlink(rel("link"), "src/one.c"));
    EXPECT_TRUE(tree_.directory().make_symlink(rel("dirlink"), "src"));
  }

  static std::vector<std::string> paths(const ChangeSet& changes) {
    std::vector<std::string> names;
    for (const Change& change : changes) names.push_back(change.path.str());
    return names;
  }
  std::vector<std::string> names_in(const RelPath& directory) {
    std::vector<std::string> names;
    auto entries = overlay_.list(directory);
    EXPECT_TRUE(entries) << entries.error().message;
    for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  static std::string reason(const Result<void>& result) {
    return result ? "done" : result.error().reason;
  }

  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
};

TEST_F(OverlayTest, ReadsThroughAndSeesItsOwnWrites) {
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "alpha\n");
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "beta\n"));
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "beta\n");
  EXPECT_EQ(tree_.read("a.txt"), "alpha\n") << "the workspace is never written";
}

TEST_F(OverlayTest, WritingTheSameBytesIsNotAChange) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "alpha\n"));
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(OverlayTest, AnExistingFileKeepsItsMode) {
  ASSERT_TRUE(overlay_.write(rel("src/one.c"), "changed\n"));
  EXPECT_EQ(overlay_.node(rel("src/one.c"))->mode, 0755u);
}

TEST_F(OverlayTest, ANewFileListsItsMissingParents) {
  ASSERT_TRUE(overlay_.write(rel("x/y/z.txt"), "z"));
  EXPECT_THAT(paths(overlay_.changes()), ElementsAre("x", "x/y", "x/y/z.txt"));
}

TEST_F(OverlayTest, RemovingTheLastFileRemovesTheDirectory) {
  ASSERT_TRUE(overlay_.remove(rel("src/deep/three.c")));
  EXPECT_THAT(paths(overlay_.changes()), ElementsAre("src/deep", "src/deep/three.c"));
  EXPECT_THAT(names_in(rel("src")), ElementsAre("one.c", "two.c"));
}

TEST_F(OverlayTest, ADirectoryThatGotANewFileIsNotPruned) {
  ASSERT_TRUE(overlay_.write(rel("src/deep/four.c"), "4"));
  ASSERT_TRUE(overlay_.remove(rel("src/deep/three.c")));
  EXPECT_THAT(names_in(rel("src/deep")), ElementsAre("four.c"));
}

TEST_F(OverlayTest, ADirectoryWhoseFileCameBackIsNotPruned) {
  ASSERT_TRUE(overlay_.remove(rel("src/one.c")));
  ASSERT_TRUE(overlay_.remove(rel("src/two.c")));
  ASSERT_TRUE(overlay_.write(rel("src/one.c"), "again"));
  ASSERT_TRUE(overlay_.remove(rel("src/deep/three.c")));
  EXPECT_THAT(names_in(rel("src")), ElementsAre("one.c"));
}

TEST_F(OverlayTest, AMoveRecordsItsSource) {
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("b.txt")));
  ASSERT_TRUE(overlay_.move(rel("b.txt"), rel("c.txt")));
  const ChangeSet changes = overlay_.changes();
  ASSERT_THAT(paths(changes), ElementsAre("a.txt", "c.txt"));
  EXPECT_TRUE(changes[0].is_delete());
  EXPECT_EQ(changes[1].renamed_from, rel("a.txt"));
  ASSERT_TRUE(overlay_.move(rel("c.txt"), rel("a.txt")));
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(OverlayTest, TwoFilesCanSwapNames) {
  ASSERT_TRUE(overlay_.move(rel("src/one.c"), rel("tmp")));
  ASSERT_TRUE(overlay_.move(rel("src/two.c"), rel("src/one.c")));
  ASSERT_TRUE(overlay_.move(rel("tmp"), rel("src/two.c")));
  EXPECT_EQ(**overlay_.read(rel("src/one.c")), "two\n");
  EXPECT_EQ(**overlay_.read(rel("src/two.c")), "one\n");
  EXPECT_THAT(paths(overlay_.changes()), ElementsAre("src/one.c", "src/two.c"));
}

TEST_F(OverlayTest, ADirectoryMovesWithEverythingBelow) {
  ASSERT_TRUE(overlay_.write(rel("src/new.c"), "new"));
  ASSERT_TRUE(overlay_.move(rel("src"), rel("lib/code")));
  EXPECT_THAT(names_in(rel("lib/code")), ElementsAre("deep", "new.c", "one.c", "two.c"));
  EXPECT_EQ(**overlay_.read(rel("lib/code/deep/three.c")), "three\n");
  EXPECT_EQ(overlay_.node(rel("src/one.c"))->kind, FileKind::kAbsent);
  EXPECT_EQ(overlay_.node(rel("src"))->kind, FileKind::kAbsent);
}

TEST_F(OverlayTest, AMoveIntoItselfOrOntoSomethingIsRefused) {
  EXPECT_EQ(reason(overlay_.move(rel("src"), rel("src/in"))), "path.into_itself");
  EXPECT_EQ(reason(overlay_.move(rel("a.txt"), rel("src/one.c"))), "path.exists");
  EXPECT_EQ(reason(overlay_.move(rel("none"), rel("x"))), "path.not_found");
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(OverlayTest, ATreeIsRemovedCompletely) {
  ASSERT_TRUE(overlay_.remove_tree(rel("src")));
  EXPECT_EQ(overlay_.node(rel("src/deep/three.c"))->kind, FileKind::kAbsent);
  EXPECT_EQ(overlay_.changes().size(), 5u);
  ASSERT_TRUE(overlay_.write(rel("src"), "now a file"));
  EXPECT_TRUE(overlay_.changes()[0].is_type_change());
}

TEST_F(OverlayTest, ProtectedNamesAreRefused) {
  for (const char* name : {".git/config", ".GIT/x", "sub/.git/hooks/pre-commit", ".galley/lock",
                           ".sage/x", "GIT~1/x", ".git./x", ".g\u200cit/x", ".git::$DATA"}) {
    EXPECT_EQ(reason(overlay_.write(rel(name), "x")), "path.protected") << name;
  }
  EXPECT_TRUE(overlay_.write(rel(".gitignore"), "x"));
  EXPECT_TRUE(overlay_.write(rel("agit/.github/x"), "x"));
}

TEST_F(OverlayTest, PathsThroughLinksAreRefused) {
  EXPECT_EQ(reason(overlay_.write(rel("dirlink/new.c"), "x")), "path.through_symlink");
  ASSERT_TRUE(overlay_.make_symlink(rel("fresh"), "src"));
  EXPECT_EQ(reason(overlay_.write(rel("fresh/new.c"), "x")), "path.through_symlink");
  EXPECT_EQ(reason(overlay_.write(rel("link"), "x")), "path.is_symlink");
}

TEST_F(OverlayTest, AFileBelowAFileIsRefused) {
  EXPECT_EQ(reason(overlay_.write(rel("a.txt/b"), "x")), "path.not_directory");
  ASSERT_TRUE(overlay_.remove(rel("a.txt")));
  EXPECT_TRUE(overlay_.write(rel("a.txt/b"), "x")) << "the file made room";
}

TEST_F(OverlayTest, ADirectoryIsNotAFile) {
  EXPECT_EQ(reason(overlay_.write(rel("src"), "x")), "path.is_directory");
  EXPECT_EQ(overlay_.read(rel("src")).error().reason, "path.is_directory");
  EXPECT_EQ(reason(overlay_.remove(rel("src"))), "path.is_directory");
  EXPECT_EQ(reason(overlay_.remove_directory(rel("src"))), "path.directory_not_empty");
}

TEST_F(OverlayTest, AFileThatChangedAfterItsReadIsAConflictAtTheNextEdit) {
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "alpha\n");
  const Overlay::Entries seen = overlay_.entries();
  Overlay second(tree_.directory(), make_memory_store(), clock_);
  second.restore(seen);
  tree_.write("a.txt", "somebody else\n");
  EXPECT_EQ(reason(second.write(rel("a.txt"), "mine\n")), "conflict.changed_on_disk");
  EXPECT_EQ(second.read(rel("a.txt")).error().reason, "conflict.changed_on_disk");
}

TEST_F(OverlayTest, ASaveOfAFileThatWasOnlyReadIsTakenOnlyIfAsked) {
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "alpha\n");
  ASSERT_TRUE(overlay_.node(rel("new.txt")));
  EXPECT_FALSE(*overlay_.is_saved_since_read(rel("a.txt")));
  tree_.write("a.txt", "saved\n");
  tree_.write("new.txt", "saved\n");
  EXPECT_TRUE(*overlay_.is_saved_since_read(rel("a.txt")));
  EXPECT_TRUE(*overlay_.is_saved_since_read(rel("new.txt")));
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "alpha\n");

  const Overlay::Entries before = overlay_.entries();
  StepScope step(&overlay_);
  ASSERT_TRUE(overlay_.node(rel("a.txt")));
  ASSERT_TRUE(overlay_.take_save(rel("a.txt")));
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "saved\n");
  // The save is no change of the transaction.
  EXPECT_TRUE(step.finish().empty());
  EXPECT_TRUE(restaged_paths(before, overlay_.entries()).empty());
  EXPECT_TRUE(staged_since(before, overlay_).changes().empty());
}

TEST_F(OverlayTest, AWriteOfWhatWasReadOverASaveIsNoSilentNothing) {
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "alpha\n");
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "alpha\n"));
  for (const std::string saved : {"saved\n", "ALPHA\n", ""}) {
    tree_.write("a.txt", saved);
    EXPECT_EQ(reason(overlay_.write(rel("a.txt"), "alpha\n")), "conflict.changed_on_disk");
  }
  ASSERT_TRUE(overlay_.take_save(rel("a.txt")));
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "alpha\n"));
  EXPECT_EQ(overlay_.changes().at(0).before.size, 0U);
  // Also after another change: it would take back that change, and the save would stay.
  tree_.write("a.txt", "saved\n");
  EXPECT_EQ(reason(overlay_.write(rel("a.txt"), "")), "conflict.changed_on_disk");
}

TEST_F(OverlayTest, AStagedFileAndATrackedReadTakeNoSave) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "mine\n"));
  tree_.write("a.txt", "saved\n");
  EXPECT_FALSE(*overlay_.is_saved_since_read(rel("a.txt")));
  ASSERT_TRUE(overlay_.take_save(rel("a.txt")));
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "mine\n");

  overlay_.track_reads();
  const Content first = *overlay_.read(rel("src/two.c"));
  tree_.write("src/two.c", "saved\n");
  ASSERT_TRUE(overlay_.take_save(rel("src/two.c")));
  EXPECT_EQ(**overlay_.read(rel("src/two.c")), *first);
}

TEST_F(OverlayTest, ReadsAreRecorded) {
  ASSERT_TRUE(overlay_.read(rel("a.txt")));
  ASSERT_TRUE(overlay_.node(rel("absent.txt")));
  const auto reads = overlay_.reads();
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0].node.content, ContentId::of("alpha\n"));
  EXPECT_EQ(reads[1].node.kind, FileKind::kAbsent);
}

TEST_F(OverlayTest, TheTextFormKeepsEveryNameAndNoNameCanEndALine) {
  const std::string odd =
      "a\tb\nend \x1b\x7f"
      "30\xff\"\\";
  ASSERT_TRUE(overlay_.write(rel(odd), "x"));
  const std::string text = encode_entries(overlay_.entries());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  const auto decoded = decode_entries(text);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(decoded->contains(rel(odd)));
  for (const std::string_view digits : {"", "4", "41", "0A", "00"}) {
    const std::string bad = "a\x7f" + std::string(digits);
    EXPECT_FALSE(read_path_name(bad)) << bad;
  }
}

// The ids and texts below were made by a version that knew no owners.
TEST_F(OverlayTest, WithoutAnOwnerIdAndTextAreThoseOfEarlierVersions) {
  Change change{rel("a"), {}, {FileKind::kRegular, 0644, ContentId::of("x\n"), 2}, {}, {}, {}};
  const ContentId old = change_set_id({change});
  EXPECT_EQ(old.hex(), "2b84c7f62a3b31f62e30b9c19b2579ad4668922bb500d40864af26cee8a956d9");
  std::string text;
  append_node(text, change.after);
  EXPECT_EQ(text, "1 644 2 " + ContentId::of("x\n").hex());
  change.after.owner = Node::Owner{1000, 1001};
  const ContentId given = change_set_id({change});
  EXPECT_NE(given, old);
  change.after.owner = Node::Owner{1001, 1000};
  EXPECT_NE(change_set_id({change}), given);
  text.clear();
  append_node(text, change.after);
  Node read;
  ASSERT_TRUE(read_node(text, read));
  EXPECT_EQ(read, change.after);
  for (const char* tail : {" 1", " 1 2 3", " 1 -2", " 1 4294967296", " 1 "}) {
    EXPECT_FALSE(read_node("1 644 2 " + ContentId::of("x\n").hex() + tail, read)) << tail;
  }
}

TEST_F(OverlayTest, AStagedOwnerStaysWithThePath) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const Node::Owner old = overlay_.owner(rel("a.txt"))->value();
  const Node::Owner given{old.uid + 1, old.gid + 2};
  EXPECT_EQ(overlay_.set_owner(rel("a.txt"), {given.uid, given.gid}), true);
  EXPECT_EQ(overlay_.set_owner(rel("a.txt"), {{}, given.gid}), false);
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "beta\n"));
  ASSERT_TRUE(overlay_.set_mode(rel("a.txt"), 0600));
  Node node = *overlay_.node(rel("a.txt"));
  node.owner.reset();
  ASSERT_TRUE(overlay_.put(rel("a.txt"), node));
  ASSERT_TRUE(overlay_.copy(rel("a.txt"), rel("copy.txt")));
  EXPECT_FALSE(overlay_.node(rel("copy.txt"))->owner);
  ASSERT_EQ(paths(overlay_.changes()), (std::vector<std::string>{"a.txt", "copy.txt"}));
  EXPECT_EQ(overlay_.changes()[0].before.owner, old);
  EXPECT_EQ(overlay_.changes()[0].after.owner, given);
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("moved.txt")));
  EXPECT_EQ(overlay_.node(rel("moved.txt"))->owner, given);
  EXPECT_EQ(*overlay_.owner(rel("moved.txt")), given);
  const auto decoded = decode_entries(encode_entries(overlay_.entries()));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->find(rel("moved.txt"))->second.now.owner, given);
}

TEST_F(OverlayTest, AnOwnerThatIsSetBackIsNoChange) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const Node::Owner old = overlay_.owner(rel("src"))->value();
  StepScope scope(&overlay_);
  EXPECT_EQ(overlay_.set_owner(rel("src"), {old.uid + 1, {}}), true);
  const ChangeSet step = scope.finish();
  ASSERT_EQ(paths(step), std::vector<std::string>{"src"});
  EXPECT_EQ(step[0].before.owner, old);
  EXPECT_EQ(overlay_.set_owner(rel("src"), {old.uid, {}}), true);
  EXPECT_TRUE(overlay_.changes().empty());
  EXPECT_FALSE(overlay_.node(rel("src"))->owner);
}

TEST_F(OverlayTest, OnlyFilesAndDirectoriesGetAnOwner) {
  const auto why = [this](const char* path, const Overlay::OwnerWish& wish) {
    const auto set = overlay_.set_owner(rel(path), wish);
    return set ? std::string("done") : set.error().reason;
  };
  EXPECT_EQ(why("link", {1, 1}), "path.is_symlink");
  EXPECT_EQ(why("none", {1, 1}), "path.not_found");
  EXPECT_EQ(why(".git/config", {1, 1}), "path.protected");
  ASSERT_TRUE(overlay_.write(rel("new.txt"), "new\n"));
  EXPECT_EQ(why("new.txt", {::geteuid(), {}}), "owner.incomplete");
  EXPECT_EQ(why("new.txt", {::geteuid(), ::getegid()}), "done");
  if (::geteuid() == 0) return;
  EXPECT_EQ(why("a.txt", {0, {}}), "owner.not_permitted");
  EXPECT_FALSE(overlay_.node(rel("a.txt"))->owner);
}

TEST_F(OverlayTest, ListingsAreRecordedWhenReadsAreTracked) {
  ASSERT_TRUE(overlay_.list(RelPath::root()));
  EXPECT_TRUE(overlay_.reads().empty());
  overlay_.track_reads();
  ASSERT_TRUE(overlay_.list(rel("src")));
  ASSERT_TRUE(overlay_.list(RelPath::root()));
  ASSERT_TRUE(overlay_.node_without_content(rel("absent.txt")));
  ASSERT_TRUE(overlay_.write(rel("src/new.c"), "x"));
  const auto decoded = decode_entries(encode_entries(overlay_.entries()));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, overlay_.entries());
  const auto reads = Proposal::freeze(overlay_).reads();
  ASSERT_EQ(reads.size(), 3u);
  EXPECT_TRUE(reads[0].path.is_root());
  EXPECT_TRUE(reads[0].listing);
  EXPECT_EQ(reads[1].path, rel("absent.txt"));
  EXPECT_EQ(reads[2].path, rel("src"));
  EXPECT_EQ(overlay_.changes().size(), 1u);
  EXPECT_THAT(names_in(rel("src")), ElementsAre("deep", "new.c", "one.c", "two.c"));
  EXPECT_THAT(names_in(RelPath::root()), ::testing::Contains("src"));
}

TEST_F(OverlayTest, AListingIdCoversNamesAndKindsExceptProtectedNames) {
  const DirectoryEntry file{"a", FileKind::kRegular};
  const DirectoryEntry directory{"b", FileKind::kDirectory};
  const DirectoryEntry state{".galley", FileKind::kDirectory};
  EXPECT_EQ(listing_id({file, directory}), listing_id({directory, state, file}));
  EXPECT_NE(listing_id({file}), listing_id({file, directory}));
  EXPECT_NE(listing_id({file}), listing_id({{"a", FileKind::kDirectory}}));
}

TEST_F(OverlayTest, RestoreUndoesLaterChanges) {
  const Overlay::Entries saved = overlay_.entries();
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "beta\n"));
  ASSERT_TRUE(overlay_.remove(rel("src/deep/three.c")));
  overlay_.restore(saved);
  EXPECT_TRUE(overlay_.changes().empty());
  EXPECT_THAT(names_in(rel("src")), ElementsAre("deep", "one.c", "two.c"));
}

TEST_F(OverlayTest, EveryKindOfDifferenceChangesTheProposalId) {
  std::vector<ContentId> ids;
  ids.push_back(Proposal::freeze(overlay_).id());
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "b"));
  ids.push_back(Proposal::freeze(overlay_).id());
  ASSERT_TRUE(overlay_.set_mode(rel("a.txt"), 0600));
  ids.push_back(Proposal::freeze(overlay_).id());
  ASSERT_TRUE(overlay_.make_symlink(rel("l"), "a"));
  ids.push_back(Proposal::freeze(overlay_).id());
  ASSERT_TRUE(overlay_.make_directory(rel("d")));
  ids.push_back(Proposal::freeze(overlay_).id());
  for (size_t i = 0; i < ids.size(); ++i) {
    for (size_t j = i + 1; j < ids.size(); ++j) EXPECT_NE(ids[i], ids[j]) << i << " " << j;
  }
}

TEST_F(OverlayTest, EncodedEntriesDecodeUnchanged) {
  ASSERT_TRUE(overlay_.write(rel("src/deep/three.c"), "3"));
  ASSERT_TRUE(overlay_.move(rel("a.txt"), rel("name with space")));
  ASSERT_TRUE(overlay_.make_symlink(rel("l"), "a"));
  ASSERT_TRUE(overlay_.copy(rel("src/one.c"), rel("copy")));
  const std::string text = encode_entries(overlay_.entries());
  const auto back = decode_entries(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, overlay_.entries());
}

TEST_F(OverlayTest, ADamagedTextFormIsRefused) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "3"));
  const std::string text = encode_entries(overlay_.entries());
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(decode_entries(text.substr(0, length))) << length;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(decode_entries(bad)) << i;
  }
}

TEST_F(OverlayTest, TimesThatAloneDifferAreAppendedToTheTextForm) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "1"));
  ASSERT_TRUE(overlay_.write(rel("b.txt"), "2"));
  std::string text = encode_entries(overlay_.entries());
  AppendableEntries known = appendable_entries(overlay_.entries(), text);
  Overlay::Entries later = overlay_.entries();
  later.change(rel("a.txt")).written = {5, true};
  later.change(rel("b.txt")).now.mode = 0600;
  text += encode_more_entries(known, later);
  const auto read = decode_appendable_entries(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries, later);
  EXPECT_EQ(read->entries.at(rel("a.txt")).written.ns, 5);
  EXPECT_EQ(encode_more_entries(known, later), "");
}

TEST_F(OverlayTest, OnlyChangedEntriesAreAppendedToTheTextForm) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "1"));
  const std::string whole = encode_entries(overlay_.entries());
  AppendableEntries known = appendable_entries(overlay_.entries(), whole);
  std::string text = whole;
  EXPECT_EQ(encode_more_entries(known, overlay_.entries()), "");
  ASSERT_TRUE(overlay_.write(rel("new/b.txt"), "2"));
  text += encode_more_entries(known, overlay_.entries());
  const Overlay::Entries two = overlay_.entries();
  const size_t end_of_two = text.size();
  Overlay::Entries less = two;
  less.erase(rel("new/b.txt"));
  less.change(rel("a.txt")).now.mode = 0600;
  text += encode_more_entries(known, less);
  const auto read = decode_appendable_entries(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries, less);
  EXPECT_EQ(read->whole_bytes, whole.size());
  EXPECT_EQ(read->bytes, text.size());
  EXPECT_EQ(read->last_line, known.last_line);
  EXPECT_FALSE(decode_entries(text)) << "a savepoint has no blocks";
  // A block that was cut short was not saved; one that was changed is noticed.
  for (size_t length = whole.size(); length < text.size(); ++length) {
    const auto cut = decode_appendable_entries(text.substr(0, length));
    ASSERT_TRUE(cut) << length;
    EXPECT_EQ(cut->bytes, length < end_of_two ? whole.size() : end_of_two) << length;
    if (length >= end_of_two) {
      EXPECT_EQ(cut->entries, two) << length;
    }
  }
  for (size_t i = 0; i < end_of_two; ++i) {
    std::string bad = text;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(decode_appendable_entries(bad)) << i;
  }
}

TEST(OverlayCost, ACallAmongManyStagedPathsCopiesOnlyAFewNodes) {
  TempDirectory tree;
  SystemClock clock;
  Overlay overlay(tree.directory(), make_memory_store(), clock);
  constexpr int kFiles = 3000;
  uint64_t most = 0;
  for (int i = 0; i < kFiles; ++i) {
    const uint64_t made = shared_map_nodes_made;
    const Overlay::Entries before = overlay.entries();
    StepScope step(&overlay);
    ASSERT_TRUE(overlay.write(rel("f" + std::to_string(i)), "text\n"));
    EXPECT_EQ(restaged_paths(before, overlay.entries()).size(), 1U);
    EXPECT_EQ(step.finish().size(), 1U);
    const Overlay::Entries now = overlay.entries();
    overlay.restore(before);
    overlay.restore(now);
    most = std::max(most, shared_map_nodes_made - made);
  }
  EXPECT_EQ(overlay.entries().size(), static_cast<size_t>(kFiles));
  EXPECT_LE(most, 20U) << "the way down a tree of 3,000";
}

TEST(OverlayCost, OnlyNamedPathsAreAccessed) {
  TempDirectory tree;
  for (int i = 0; i < 100; ++i) tree.write("src/" + std::to_string(i), "text\n");
  const auto plan = std::make_shared<FaultPlan>();
  auto opened = open_writable_disk_directory(tree.path());
  ASSERT_TRUE(opened);
  const auto workspace = make_fault_directory(*std::move(opened), plan);
  SystemClock clock;
  Overlay overlay(*workspace, make_memory_store(), clock);
  EXPECT_TRUE(plan->calls.empty());
  ASSERT_TRUE(overlay.write(rel("src/7"), "other\n", {}));
  EXPECT_EQ(Proposal::freeze(overlay).changes().size(), 1U);
  ASSERT_FALSE(plan->calls.empty());
  for (const FaultCall& call : plan->calls) {
    EXPECT_THAT(call.path, ::testing::AnyOf("", "src", "src/7", "7")) << call.name;
  }
}

TEST(DiskStore, ReturnsStoredContentsAndDetectsDamage) {
  TempDirectory tree;
  auto opened = open_writable_disk_directory(tree.path());
  ASSERT_TRUE(opened);
  const auto store = make_disk_store(*std::move(opened));
  const std::string bytes(kMaxPackedBytes + 1, 'b');  // a file of its own
  const auto id = store->put(bytes);
  ASSERT_TRUE(id);
  EXPECT_EQ(**store->get(*id), bytes);
  tree.write(id->hex(), std::string(bytes.size(), 'z'));
  EXPECT_EQ(store->get(*id).error().reason, "stage.content_missing");
}

}  // namespace
}  // namespace galley
