// Several runs edit overlapping files in random order, with commits of theirs and of others
// between.
//
// The model knows no overlay, no history and no merge. A run sees the tree as it was when it began,
// and its own writes. Its commit is right when the tree afterwards is the tree before with the
// run's
// change made to it, line by line:
//
//     after = before - (seen - mine) + (mine - seen)        no line is in the file twice
//
// `seen` has the lines that the run had at its last checkpoint or at its start. The changes are in
// a serial order, and no line is lost. If that is not possible, the commit is a conflict, names a
// path that both changed, and changes nothing.
#include <galley/workspace.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "tests/engine/pipeline/view_fixture.h"

namespace galley {
namespace {

using Tree = std::map<std::string, std::string>;  ///< files by path
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::optional<std::string> in(const Tree& tree, const std::string& path) {
  const auto found = tree.find(path);
  return found == tree.end() ? std::nullopt : std::optional(found->second);
}

/// The lines of `of` that are in `kept`, in their order.
Lines only(const Lines& of, const std::set<std::string>& kept) {
  Lines lines;
  std::copy_if(of.begin(), of.end(), std::back_inserter(lines),
               [&](const std::string& line) { return kept.contains(line); });
  return lines;
}

class RunViewsProperty : public RunViews {
 protected:
  struct Player {
    std::unique_ptr<TestRun> run;
    Tree seen;           ///< at its last checkpoint, or when it began
    Tree mine;           ///< what its view holds
    std::string origin;  ///< of `moved`, since `seen`; empty: none
  };

  void play(uint32_t seed) {
    random_.seed(seed);
    begin();
    const size_t count = 2 + random_() % 3;
    for (size_t i = 0; i < count; ++i) players_.push_back(new_player());
    for (int step = 0; step < 14 && !HasFailure(); ++step) {
      Player& player = players_[random_() % players_.size()];
      const uint32_t what = random_() % 10;
      if (what < 6) edit(player);
      if (what == 6) edit_beside();
      if (what == 7 || what == 8) commit_run(player);
      if (what == 9 && syncs_ && player.origin.empty()) {
        sync(player);
      } else if (what == 9) {
        change_players(player);
      }
      look(players_[random_() % players_.size()]);
    }
    for (Player& player : players_) commit_run(player);
    for (Player& player : players_) look(player);
    players_.clear();
  }

 private:
  void begin() {
    for (const auto& [path, text] : tree()) {
      auto transaction = workspace_->begin();
      GALLEY_CHECK(transaction->remove(path).has_value() && transaction->commit().has_value());
    }
    Files files;
    for (const char* path : {"a", "b", "d/c"}) {
      Lines lines;
      for (int i = 0; i < 8; ++i) lines.push_back(fresh_line());
      files.emplace_back(path, text_of(lines));
    }
    commit_beside(files);
  }

  std::string fresh_line() { return "line " + std::to_string(++line_count_); }

  Player new_player() {
    Player player{start(), tree(), {}, {}};
    player.mine = player.seen;
    return player;
  }

  Tree tree() const {
    Tree tree;
    for (const char* path : {"a", "b", "d/c", "n0", "n1", "d/n2", "moved"}) {
      if (tree_.exists(path)) tree[path] = tree_.read(path);
    }
    return tree;
  }

  std::string edited(const std::string& text) {
    Lines lines = lines_of(text);
    const size_t at = lines.empty() ? 0 : random_() % lines.size();
    const uint32_t what = random_() % 4;
    if (lines.empty() || what == 0) {
      lines.insert(lines.begin() + static_cast<long>(at), fresh_line());
    } else if (what == 1 && lines.size() > 3) {
      lines.erase(lines.begin() + static_cast<long>(at));
    } else {
      lines[at] = fresh_line();
    }
    return text_of(lines);
  }

  /// A file of this tree; empty when it has none.
  std::string any_file(const Tree& tree) {
    if (tree.empty()) return "";
    return std::next(tree.begin(), static_cast<long>(random_() % tree.size()))->first;
  }

  void edit(Player& player) {
    const std::string path = any_file(player.mine);
    const uint32_t what = random_() % 12;
    if (path.empty() || what == 0) {
      const std::string made = std::vector<std::string>{"n0", "n1", "d/n2"}[random_() % 3];
      if (player.mine.contains(made)) return;
      (void)player.run->call({"mkdir", "d"});
      const std::string text = fresh_line() + "\n";
      ASSERT_EQ(player.run->call({"write", made, text}), "ok") << made;
      player.mine[made] = text;
    } else if (what == 1) {
      ASSERT_EQ(player.run->call({"remove", path}), "ok") << path;
      player.mine.erase(path);
    } else if (what == 2 && !player.mine.contains("moved")) {
      ASSERT_EQ(player.run->call({"move", path, "moved"}), "ok") << path;
      player.mine["moved"] = player.mine[path];
      if (player.seen.contains(path) && !player.seen.contains("moved")) player.origin = path;
      player.mine.erase(path);
    } else {
      const std::string text = edited(player.mine[path]);
      const char* how = random_() % 2 == 0 ? "save" : "write";
      ASSERT_EQ(player.run->call({how, path, text}), "ok") << path;
      player.mine[path] = text;
    }
  }

  void edit_beside() {
    const Tree now = tree();
    const std::string path = any_file(now);
    if (path.empty()) return;
    if (random_() % 5 == 0) {
      commit_beside({{path, std::nullopt}});
    } else {
      commit_beside({{path, edited(now.at(path))}});
    }
  }

  void change_players(Player& player) {
    commit_run(player);
    player.run->end();
    auto left = workspace_->resume(player.run->id());
    ASSERT_TRUE(left.has_value()) << left.error().message;
    ASSERT_TRUE(left->rollback().has_value());
    player = new_player();
  }

  /// The view shows the tree at the begin of the run, with its own writes.
  void look(const Player& player) {
    for (const char* path : {"a", "b", "d/c", "n0", "n1", "d/n2", "moved"}) {
      const auto mine = in(player.mine, path);
      const std::string shown = player.run->view().read(path);
      ASSERT_EQ(shown, mine ? "ok" + *mine : "E2") << path;
    }
  }

  void commit_run(Player& player) {
    const Tree before = tree();
    const auto outcome = commit(player.run->id());
    ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
    const Tree after = tree();
    if (const auto* conflict = std::get_if<Conflict>(&*outcome)) {
      ++conflicts_;
      ASSERT_EQ(after, before);
      ASSERT_FALSE(conflict->paths.empty());
      for (const ConflictPath& path : conflict->paths) check_conflict(player, before, path);
      return;
    }
    if (std::holds_alternative<NothingToCommit>(*outcome)) {
      ASSERT_EQ(after, before);
    } else {
      ASSERT_TRUE(std::holds_alternative<Receipt>(*outcome));
      ++commits_;
      std::set<std::string> paths;
      for (const Tree* side :
           std::initializer_list<const Tree*>{&before, &after, &player.mine, &player.seen}) {
        for (const auto& [path, text] : *side) paths.insert(path);
      }
      for (const std::string& path : paths) check_path(player, before, after, path);
    }
    player.seen = player.mine;
    player.origin.clear();
  }

  /// The run takes over the commits of others. Its own later changes start from them.
  void sync(Player& player) {
    const Tree theirs = tree();
    auto transaction = workspace_->resume(player.run->id());
    ASSERT_TRUE(transaction.has_value()) << transaction.error().message;
    const auto done = inner(*transaction).sync_run();
    ASSERT_TRUE(done.has_value()) << done.error().message;
    ASSERT_EQ(tree(), theirs);
    for (const RelPath& path : done->skipped) EXPECT_EQ(path.str(), "") << "was skipped";
    std::set<std::string> left;
    for (const PathConflict& conflict : done->conflicts) left.insert(conflict.path.str());
    syncs_merged_ += done->merged.size();
    syncs_left_ += left.size();
    for (const char* path : {"a", "b", "d/c", "n0", "n1", "d/n2", "moved"}) {
      const auto seen = in(player.seen, path);
      const auto mine = in(player.mine, path);
      const auto other = in(theirs, path);
      SCOPED_TRACE(std::string("sync of ") + path);
      if (left.contains(path)) {
        EXPECT_NE(mine, seen) << path;
        EXPECT_NE(other, seen) << path;
        continue;
      }
      const std::string shown = player.run->view().read(path);
      const auto now = shown == "E2" ? std::nullopt : std::optional(shown.substr(2));
      if (mine == seen) {
        EXPECT_EQ(now, other) << path;
      } else if (other == seen || other == mine) {
        EXPECT_EQ(now, mine) << path;
      } else {
        ASSERT_TRUE(seen && mine && other && now) << path << ": no merge of lines could be";
        check_lines(lines_of(*seen), lines_of(*mine), lines_of(*other), lines_of(*now));
      }
      set(player.mine, path, now);
      set(player.seen, path, other);
    }
  }

  static void set(Tree& tree, const std::string& path, const std::optional<std::string>& text) {
    tree.erase(path);
    if (text) tree[path] = *text;
  }

  static void check_conflict(const Player& player, const Tree& before, const ConflictPath& path) {
    const std::string& name = path.path.str();
    if (name == "d" || name == player.origin) return;
    if (name == "moved" && !player.origin.empty()) return;
    EXPECT_NE(in(player.mine, name), in(player.seen, name))
        << name << ": the run did not change it";
    EXPECT_NE(in(before, name), in(player.seen, name)) << name << ": nobody else changed it";
  }

  static void check_path(const Player& player, const Tree& before, const Tree& after,
                         const std::string& path) {
    const auto seen = in(player.seen, path);
    const auto mine = in(player.mine, path);
    const auto theirs = in(before, path);
    const auto now = in(after, path);
    const bool is_moved = path == "moved" && !player.origin.empty();
    const auto edited = is_moved ? in(before, player.origin) : std::nullopt;
    if (is_moved && mine && now && edited && edited != in(player.seen, player.origin)) {
      // Changes of others under the old name move to the new one.
      check_lines(lines_of(player.seen.at(player.origin)), lines_of(*mine), lines_of(*edited),
                  lines_of(*now));
    } else if (path == player.origin && !mine) {
      EXPECT_EQ(now, mine) << path;
    } else if (mine == seen) {
      EXPECT_EQ(now, theirs) << path;
    } else if (theirs == seen || theirs == mine) {
      EXPECT_EQ(now, mine) << path;
    } else {
      ASSERT_TRUE(seen && mine && theirs && now) << path << ": no merge of lines could be";
      check_lines(lines_of(*seen), lines_of(*mine), lines_of(*theirs), lines_of(*now));
    }
  }

  static void check_lines(const Lines& seen, const Lines& mine, const Lines& theirs,
                          const Lines& now) {
    const std::set<std::string> of_seen(seen.begin(), seen.end());
    const std::set<std::string> of_mine(mine.begin(), mine.end());
    std::set<std::string> expected;
    for (const std::string& line : theirs) {
      if (!of_seen.contains(line) || of_mine.contains(line)) expected.insert(line);
    }
    for (const std::string& line : mine) {
      if (!of_seen.contains(line)) expected.insert(line);
    }
    const std::set<std::string> of_now(now.begin(), now.end());
    EXPECT_EQ(of_now, expected);
    EXPECT_EQ(now.size(), of_now.size()) << "a line is in the file twice";
    // Lines are in the order in which they were written, by any writer.
    const std::set<std::string> of_theirs(theirs.begin(), theirs.end());
    EXPECT_EQ(only(now, of_mine), only(mine, of_now));
    EXPECT_EQ(only(now, of_theirs), only(theirs, of_now));
  }

  std::mt19937 random_;
  std::vector<Player> players_;
  int line_count_ = 0;

 protected:
  int commits_ = 0;
  int conflicts_ = 0;
  bool syncs_ = false;  ///< runs take over the commits of others between
  size_t syncs_merged_ = 0;
  size_t syncs_left_ = 0;
};

TEST_F(RunViewsProperty, EveryResultIsASerialOrderOrAConflictAndNothingIsLost) {
  const char* asked = std::getenv("GALLEY_RUN_VIEW_SEEDS");
  const uint32_t seeds = asked != nullptr ? static_cast<uint32_t>(std::atoi(asked)) : 40;
  for (uint32_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    play(seed);
  }
  RecordProperty("commits", commits_);
  RecordProperty("conflicts", conflicts_);
  EXPECT_GT(commits_, 0);
  EXPECT_GT(conflicts_, 0);
}

TEST_F(RunViewsProperty, SyncsBetweenLoseNothingEither) {
  syncs_ = true;
  for (uint32_t seed = 1001; seed <= 1040 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    play(seed);
  }
  EXPECT_GT(commits_, 0);
  EXPECT_GT(syncs_merged_, 0U);
  EXPECT_GT(syncs_left_, 0U);
}

}  // namespace
}  // namespace galley
