#include "engine/stages/savepoints.h"

#include <gtest/gtest.h>

#include "tests/support/temp_directory.h"

namespace galley {
namespace {

#define OK(expression) ASSERT_TRUE((expression).has_value())

/// A workspace with stages that look as `.galley/stage/<id>/` does.
class SavepointsTest : public testing::Test {
 protected:
  SavepointsTest() {
    workspace_.write("a.txt", "1\n");
    open("parent");
  }
  void open(const std::string& id) {
    GALLEY_CHECK(make_directories(stages_.directory(), rel(id + "/contents"), 0700).has_value());
  }
  std::unique_ptr<WritableDirectory> stage(const std::string& id) {
    return *stages_.directory().open_writable_directory(rel(id));
  }
  std::shared_ptr<ContentStore> store(const std::string& id) {
    return make_disk_store(*stages_.directory().open_writable_directory(rel(id + "/contents")));
  }
  Overlay overlay(const std::string& id) { return {workspace_.directory(), store(id), clock_}; }
  std::vector<std::string> names(const std::string& id) {
    std::vector<std::string> all;
    const auto list = list_savepoints(*stage(id));
    EXPECT_TRUE(list.has_value());
    for (const Savepoint& one : *list) all.push_back(one.name);
    return all;
  }
  using Names = std::vector<std::string>;

  TempDirectory workspace_;
  TempDirectory stages_;
  SystemClock clock_;
};

TEST_F(SavepointsTest, ASavepointIsRestoredAndLaterOnesAreDropped) {
  Overlay view = overlay("parent");
  OK(view.write(rel("a.txt"), "2\n"));
  OK(make_savepoint(*stage("parent"), "first", view.entries(), clock_));
  OK(view.write(rel("b/c.txt"), "c\n"));
  OK(make_savepoint(*stage("parent"), "second one", view.entries(), clock_));
  OK(view.remove(rel("a.txt")));
  OK(make_savepoint(*stage("parent"), "third", view.entries(), clock_));
  EXPECT_EQ(names("parent"), (Names{"first", "second one", "third"}));
  EXPECT_EQ(list_savepoints(*stage("parent"))->at(1).changes, 2U) << "b/c.txt stands for b";

  auto entries = entries_at_savepoint(*stage("parent"), "first");
  OK(entries);
  view.restore(*entries);
  OK(drop_savepoints_after(*stage("parent"), "first"));
  EXPECT_EQ(**view.read(rel("a.txt")), "2\n");
  EXPECT_EQ(view.node(rel("b/c.txt"))->kind, FileKind::kAbsent);
  EXPECT_EQ(view.changes().size(), 1U);
  EXPECT_EQ(names("parent"), (Names{"first"}));
}

TEST_F(SavepointsTest, TheNewestSavepointOfANameIsRestored) {
  Overlay view = overlay("parent");
  OK(view.write(rel("a.txt"), "2\n"));
  OK(make_savepoint(*stage("parent"), "same", view.entries(), clock_));
  OK(view.write(rel("a.txt"), "3\n"));
  OK(make_savepoint(*stage("parent"), "same", view.entries(), clock_));
  view.restore(*entries_at_savepoint(*stage("parent"), "same"));
  EXPECT_EQ(**view.read(rel("a.txt")), "3\n");
}

TEST_F(SavepointsTest, UnknownSavepointsAndBadNamesAreErrors) {
  EXPECT_TRUE(names("parent").empty());
  OK(make_savepoint(*stage("parent"), "one", {}, clock_));
  const auto missing = entries_at_savepoint(*stage("parent"), "two");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().reason, "savepoint.not_found");
  EXPECT_NE(missing.error().message.find("one"), std::string::npos);
}

// Limit: kMaxSavepointNameBytes of engine/stages/savepoints.h
TEST_F(SavepointsTest, AnEmptyNameALineBreakAndALongNameAreRefused) {
  OK(make_savepoint(*stage("parent"), std::string(kMaxSavepointNameBytes, 'x'), {}, clock_));
  for (const std::string& name :
       {std::string(), std::string("a\nb"), std::string(kMaxSavepointNameBytes + 1, 'x')}) {
    EXPECT_EQ(make_savepoint(*stage("parent"), name, {}, clock_).error().reason,
              "savepoint.bad_name");
  }
}

// Limit: kMaxSavepoints of engine/stages/savepoints.h
TEST_F(SavepointsTest, ATransactionHasAThousandAtMost) {
  OK(make_savepoint(*stage("parent"), "first", {}, clock_));
  for (size_t i = 2; i <= kMaxSavepoints; ++i) {
    stages_.write("parent/savepoints/" + std::to_string(i), "");
  }
  EXPECT_EQ(make_savepoint(*stage("parent"), "one more", {}, clock_).error().reason,
            "limit.savepoints");
}

TEST_F(SavepointsTest, DamagedSavepointIsRefused) {
  OK(make_savepoint(*stage("parent"), "one", {}, clock_));
  stages_.write("parent/savepoints/1", "galley savepoint 1\n12\none\nrubbish\n");
  EXPECT_EQ(entries_at_savepoint(*stage("parent"), "one").error().reason, "stage.damaged");
}

TEST_F(SavepointsTest, ForksOfReturnsAllStagesThatShareAFork) {
  for (const char* id : {"child1", "child2", "grandchild", "stranger"}) open(id);
  OK(note_fork(*stage("child1"), "parent"));
  OK(note_fork(*stage("child2"), "parent"));
  OK(note_fork(*stage("grandchild"), "child2"));
  const Names all = {"child1", "child2", "grandchild", "parent"};
  EXPECT_EQ(*forks_of(stages_.directory(), "grandchild"), all);
  EXPECT_EQ(*forks_of(stages_.directory(), "parent"), all);
  EXPECT_EQ(*forks_of(stages_.directory(), "stranger"), Names{"stranger"});
  OK(remove_tree(stages_.directory(), rel("parent")));
  EXPECT_EQ(*forks_of(stages_.directory(), "child1"), (Names{"child1", "child2", "grandchild"}));
}

}  // namespace
}  // namespace galley
