#include "engine/commit/state_directory.h"

#include <gtest/gtest.h>

#include <functional>

#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "doubles/model_directory.h"
#include "engine/commit/blob_store.h"
#include "engine/commit/state_format.h"
#include "support/commit_fixture.h"

namespace galley {
namespace {

using UnsyncedOutcome = PowerLossModel::UnsyncedOutcome;

void expect_not_believed(const WritableDirectory& workspace, const std::string& why) {
  for (const auto& error : {StateDirectory::open(workspace).error(),
                            StateDirectory::open_or_create(workspace).error()}) {
    EXPECT_EQ(error.reason, "state.not_believed");
    EXPECT_EQ(error.kind, ErrorKind::kRefused);
    EXPECT_NE(error.message.find(why), std::string::npos) << error.message;
  }
}

TEST(StateFormat, MatchesOnlyTheFolderThatItWasWrittenFor) {
  FileStat folder;
  folder.inode = 12;
  folder.birth_ns = 34;
  StateFormat format{random_workspace_id()};
  ASSERT_TRUE(bind_to_folder(format, folder));
  const auto parsed = StateFormat::parse(format.text());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->id, format.id);
  EXPECT_TRUE(*was_created_for(*parsed, folder));
  FileStat copy = folder;
  copy.inode = 13;
  EXPECT_FALSE(*was_created_for(*parsed, copy));
  copy = folder;
  copy.birth_ns = 35;
  EXPECT_FALSE(*was_created_for(*parsed, copy));
}

TEST(StateFormat, VersionOneMatchesNoFolder) {
  const std::string id = uuid_text(random_workspace_id());
  const auto first = StateFormat::parse("galley 1 " + id + "\n");
  ASSERT_TRUE(first);
  EXPECT_FALSE(*was_created_for(*first, FileStat{}));
  for (const std::string& bad :
       {"galley 2 " + id + "\n", "galley 2 " + id + " 0 5\n", "galley 2 " + id + " 1 2 3\n",
        "galley 1 " + id + " 1 2\n", "galley 2 " + id + " 1 2", std::string("galley 1 \n"),
        "galley 3 " + id + " 1 2\n", std::string()}) {
    EXPECT_FALSE(StateFormat::parse(bad)) << bad;
  }
  EXPECT_TRUE(is_newer_format("galley 3 " + id + "\n"));
  EXPECT_FALSE(is_newer_format("galley 2 " + id + "\n"));
}

TEST(StateDirectory, IsTrustedWhereItWasMade) {
  const auto workspace = make_memory_directory();
  EXPECT_FALSE(StateDirectory::open(*workspace)->has_value());
  const auto made = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(made) << made.error().message;
  const auto again = StateDirectory::open(*workspace);
  ASSERT_TRUE(again && *again);
  EXPECT_EQ((*again)->workspace_id(), made->workspace_id());
  EXPECT_EQ(StateDirectory::open_foreign(*workspace).error().reason, "state.nothing_to_adopt");
}

TEST(StateDirectory, IsNotTrustedInAnotherFolder) {
  const auto workspace = make_memory_directory();
  ASSERT_TRUE(StateDirectory::open_or_create(*workspace));
  ASSERT_TRUE(workspace->rename(rel(".galley"), *workspace, rel("was"), RenameMode::kReplace));
  ASSERT_TRUE(workspace->make_directory(rel(".galley"), 0700));
  for (const char* name : {"j", "undo", "slot", "wait", "format", ".gitignore"}) {
    ASSERT_TRUE(workspace->rename(rel(std::string("was/") + name), *workspace,
                                  rel(std::string(".galley/") + name), RenameMode::kReplace));
  }
  expect_not_believed(*workspace, "not made here");
  auto foreign = StateDirectory::open_foreign(*workspace);
  ASSERT_TRUE(foreign) << foreign.error().message;
  ASSERT_TRUE(foreign->adopt(*workspace));
  const auto adopted = StateDirectory::open(*workspace);
  ASSERT_TRUE(adopted && *adopted);
  EXPECT_EQ((*adopted)->workspace_id(), foreign->workspace_id());
}

TEST(StateDirectory, CanBeAdoptedWithoutItsEmptyFolders) {
  const auto workspace = make_memory_directory();
  ASSERT_TRUE(StateDirectory::open_or_create(*workspace));
  ASSERT_TRUE(workspace->set_mode(rel(".galley"), 0777));
  for (const char* name : {".galley/undo", ".galley/slot"}) {
    ASSERT_TRUE(workspace->remove_directory(rel(name)));
  }
  auto foreign = StateDirectory::open_foreign(*workspace);
  ASSERT_TRUE(foreign) << foreign.error().message;
  ASSERT_TRUE(foreign->adopt(*workspace));
  EXPECT_TRUE(StateDirectory::open(*workspace)->has_value());
  ASSERT_TRUE(workspace->set_mode(rel(".galley"), 0777));
  ASSERT_TRUE(workspace->remove_directory(rel(".galley/j")));
  EXPECT_EQ(StateDirectory::open_foreign(*workspace).error().reason, "state.not_adoptable");
}

TEST(StateDirectory, ModeIsRestoredWhenOthersCanOnlyEnterIt) {
  const auto workspace = make_memory_directory();
  ASSERT_TRUE(StateDirectory::open_or_create(*workspace));
  for (const uint32_t mode : {0750U, 0755U, 0711U}) {
    ASSERT_TRUE(workspace->set_mode(rel(".galley"), mode));
    EXPECT_TRUE(StateDirectory::open(*workspace)->has_value());
    EXPECT_EQ(workspace->stat(rel(".galley"))->mode & 07777, 0700U);
  }
  ASSERT_TRUE(workspace->set_mode(rel(".galley/undo"), 0770));
  ASSERT_TRUE(workspace->set_mode(rel(".galley"), 0755));
  expect_not_believed(*workspace, "0700");
}

TEST(StateDirectory, IsNotTrustedWhenOthersCanChangeOrOwnIt) {
  const auto workspace = make_memory_directory();
  ASSERT_TRUE(StateDirectory::open_or_create(*workspace));
  for (const uint32_t mode : {0770U, 0722U, 0777U}) {
    ASSERT_TRUE(workspace->set_mode(rel(".galley"), mode));
    expect_not_believed(*workspace, "0700");
  }
  ASSERT_TRUE(workspace->set_mode(rel(".galley"), 02700));
  EXPECT_TRUE(StateDirectory::open(*workspace)->has_value());
  ASSERT_TRUE(workspace->set_owner(rel(".galley"), 4711, 4711));
  expect_not_believed(*workspace, "another user");
  EXPECT_EQ(StateDirectory::open_foreign(*workspace).error().reason, "state.not_adoptable");
}

TEST(StateDirectory, AChangedGitignoreIsNotTrustedAndAMissingOneIsRestored) {
  const auto workspace = make_memory_directory();
  ASSERT_TRUE(StateDirectory::open_or_create(*workspace));
  ASSERT_TRUE(workspace->remove_file(rel(".galley/.gitignore")));
  ASSERT_TRUE(StateDirectory::open(*workspace)->has_value());
  EXPECT_EQ(read_file(*workspace, rel(".galley/.gitignore"), 10).value(), "*\n");
  put_file(*workspace, ".galley/.gitignore", "!*\n");
  expect_not_believed(*workspace, ".gitignore");
  ASSERT_TRUE(StateDirectory::open_foreign(*workspace)->adopt(*workspace));
  EXPECT_TRUE(StateDirectory::open(*workspace)->has_value());
  EXPECT_EQ(read_file(*workspace, rel(".galley/.gitignore"), 10).value(), "*\n");
}

TEST(UnboundState, IsListedAndCanBeAdopted) {
  const auto workspace = make_memory_directory();
  const auto state = StateDirectory::open_or_create(*workspace);
  ASSERT_TRUE(state);
  EXPECT_TRUE(unbound_state(*state)->empty());
  const auto put = [&](const RelPath& place) {
    ASSERT_TRUE(make_directories(state->root(), place.parent(), 0700));
    put_file(state->root(), place.str(), "x");
  };
  put(state->own("rescue/1/a"));
  EXPECT_TRUE(unbound_state(*state)->empty());
  put(rel("rescue/1/b"));
  put(rel("rescue/2/b"));
  put(rel("git-commits"));
  auto unbound = *unbound_state(*state);
  ASSERT_EQ(unbound.size(), 3U);
  EXPECT_EQ(unbound[1].place, "rescue/1");
  EXPECT_NE(describe_unbound(unbound).find(".galley/git-commits and 2 more"), std::string::npos);
  EXPECT_EQ(bind_state(*state, unbound[1]).error().reason, "state.changed") << "it has one";
  ASSERT_TRUE(bind_state(*state, unbound[0]));
  ASSERT_TRUE(bind_state(*state, unbound[2]));
  EXPECT_EQ(unbound_state(*state)->size(), 1U);
  for (const char* place : {"rescue/1/a", "rescue/2/b", "links/git-commits"}) {
    EXPECT_EQ(state->root().stat(state->own(place))->kind, FileKind::kRegular) << place;
  }
}

TEST(StateDirectory, AnInterruptedCreationIsCompleted) {
  const auto workspace = make_memory_directory();
  ASSERT_TRUE(workspace->make_directory(rel(".galley"), 0700));
  ASSERT_TRUE(workspace->make_directory(rel(".galley/j"), 0700));
  put_file(*workspace, ".galley/format.cut", "gall");
  EXPECT_FALSE(StateDirectory::open(*workspace)->has_value());
  put_file(*workspace, ".galley/j/1.j", "a journal");
  expect_not_believed(*workspace, "no 'format'");
  ASSERT_TRUE(workspace->remove_file(rel(".galley/j/1.j")));
  EXPECT_TRUE(StateDirectory::open_or_create(*workspace));
}

/// Runs `work` killed before each of its calls; then `rely` in full, a power cut that loses all
/// that was not synced, and `check`.
void kill_rely_and_cut(const std::function<void(const WritableDirectory&)>& prepare,
                       const std::function<void(const WritableDirectory&)>& work,
                       const std::function<void(const WritableDirectory&)>& rely,
                       const std::function<void(const WritableDirectory&)>& check) {
  for (size_t at = 1;; ++at) {
    SCOPED_TRACE("killed before call " + std::to_string(at));
    auto tree = std::make_shared<MemoryTree>();
    prepare(*open_memory_tree(tree));
    PowerLossModel model(tree);
    auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    work(*make_fault_directory(open_memory_tree(tree), plan));
    if (!plan->is_dead) break;  // it has no more calls
    rely(*open_memory_tree(tree));
    std::vector<UnsyncedOutcome> outcomes;
    for (const auto& pending : model.pending()) {
      // The model knows no object with two names, so what takes one away is not lost.
      const bool is_removal = !pending.is_content && pending.inodes.empty();
      outcomes.push_back(is_removal ? UnsyncedOutcome::kWhole : UnsyncedOutcome::kLost);
    }
    const auto left = model.after_power_loss(outcomes);
    ASSERT_NE(left, nullptr);
    check(*open_memory_tree(left));
  }
}

TEST(StateDirectory, AnInterruptedCreationIsSyncedBeforeUse) {
  kill_rely_and_cut([](const WritableDirectory& workspace) { put_file(workspace, "a", "old"); },
                    [](const WritableDirectory& workspace) {
                      static_cast<void>(StateDirectory::open_or_create(workspace));
                    },
                    [](const WritableDirectory& workspace) {
                      const auto done =
                          publish(workspace, ChangeBuilder(workspace).write("a", "new").proposal());
                      ASSERT_TRUE(done && std::holds_alternative<Receipt>(*done));
                    },
                    [](const WritableDirectory& workspace) {
                      ASSERT_TRUE(reopen(workspace, "next boot"));
                      EXPECT_EQ(read_file(workspace, rel("a"), 100).value(), "new");
                      EXPECT_EQ(workspace.stat(rel(".galley/format"))->nlink, 1U);
                    });
}

TEST(BlobStore, AnInterruptedBlobIsSyncedBeforeUse) {
  const std::string content = "large enough for a test";
  const ContentId id = ContentId::of(content);
  kill_rely_and_cut([](const WritableDirectory&) {},
                    [&](const WritableDirectory& state) {
                      static_cast<void>(write_blob(state, rel("blob/own"), id, content));
                    },
                    [&](const WritableDirectory& state) {
                      ASSERT_TRUE(write_blob(state, rel("blob/own"), id, content));
                    },
                    [&](const WritableDirectory& state) {
                      const auto found = read_blob(state, rel("blob/own"), id);
                      ASSERT_TRUE(found) << found.error().message;
                      EXPECT_EQ(**found, content);
                    });
}

TEST(BlobStore, AnInterruptedDeltaIsSyncedBeforeUse) {
  const std::string base(3000, 'b');
  const std::string content = std::string(base).insert(1000, "x");
  const ContentId id = ContentId::of(content);
  const ReplacedContent replaced{ContentId::of(base), base};
  kill_rely_and_cut(
      [&](const WritableDirectory& state) {
        ASSERT_TRUE(write_blob(state, rel("blob/own"), replaced.id, base));
      },
      [&](const WritableDirectory& state) {
        static_cast<void>(write_blob(state, rel("blob/own"), id, content, replaced));
      },
      [&](const WritableDirectory& state) {
        ASSERT_TRUE(write_blob(state, rel("blob/own"), id, content, replaced));
      },
      [&](const WritableDirectory& state) {
        const auto found = read_blob(state, rel("blob/own"), id);
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(**found, content);
      });
}

TEST(BlobStore, ADamagedBlobIsRewritten) {
  const auto state = make_memory_directory();
  const std::string content = "large enough for a test";
  const ContentId id = ContentId::of(content);
  put_file(*state, "blob/own/" + id.hex().substr(0, 2) + "/" + id.hex(), "large eno");
  ASSERT_TRUE(write_blob(*state, rel("blob/own"), id, content));
  EXPECT_EQ(**read_blob(*state, rel("blob/own"), id), content);
}

}  // namespace
}  // namespace galley
