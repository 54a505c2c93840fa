// A mounted overlay keeps what it shows of paths that are pinned, whatever is then done to the
// layer below it. Each test looks at a path in the view before, so that overlayfs has it cached,
// and not.
#include "staging/sandbox/view_pins.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "staging/sandbox/absorb.h"
#include "tests/support/scripted_view.h"
#include "tests/support/skip_without_walls.h"
#include "tests/support/temp_directory.h"

namespace galley {
namespace {

/// Whether the view has looked at a path before it was pinned.
enum class Cached : uint8_t { kNo, kYes };

/// Whether the system call at which a traced process has stopped is the end of mkdirat(2).
bool has_made_directory(pid_t stopped, std::map<pid_t, uint64_t>& entered) {
  struct __ptrace_syscall_info call {};
  if (ptrace(PTRACE_GET_SYSCALL_INFO, stopped, sizeof call, &call) <= 0) return false;
  if (call.op == PTRACE_SYSCALL_INFO_ENTRY) entered[stopped] = call.entry.nr;
  return call.op == PTRACE_SYSCALL_INFO_EXIT && entered[stopped] == SYS_mkdirat;
}

/// Does `work` in a process, and kills that process when it, or a child of it, has made a
/// directory. Returns after the end of both, and whether a directory was made.
bool kill_after_mkdir(const std::function<void()>& work) {
  const pid_t committer = fork();
  GALLEY_CHECK(committer >= 0);
  if (committer == 0) {
    (void)ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    (void)raise(SIGSTOP);
    work();
    _exit(0);
  }
  int status = 0;
  GALLEY_CHECK(waitpid(committer, &status, 0) == committer && WIFSTOPPED(status));
  const intptr_t options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
                           PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
  GALLEY_CHECK(ptrace(PTRACE_SETOPTIONS, committer, nullptr, options) == 0);
  GALLEY_CHECK(ptrace(PTRACE_SYSCALL, committer, nullptr, nullptr) == 0);
  bool is_made = false;
  std::set<pid_t> living = {committer};
  std::map<pid_t, uint64_t> entered;
  while (!living.empty()) {
    const pid_t stopped = waitpid(-1, &status, __WALL);
    if (stopped < 0) break;
    if (!WIFSTOPPED(status)) {
      living.erase(stopped);
      continue;
    }
    living.insert(stopped);
    if (WSTOPSIG(status) == (SIGTRAP | 0x80) && has_made_directory(stopped, entered)) {
      is_made = true;
      (void)kill(committer, SIGKILL);
    }
    (void)ptrace(PTRACE_SYSCALL, stopped, nullptr, nullptr);
  }
  return is_made;
}

class ViewPins : public testing::TestWithParam<Cached> {
 protected:
  void SetUp() override {
    workspace_.write("f", "one");
    workspace_.write("g", "two");
    workspace_.write("d/x", "x");
    workspace_.write("d/e/y", "y");
    ASSERT_TRUE(workspace_.directory().make_symlink(rel("l"), "f").has_value());
    for (const char* name : {"upper", "work"}) {
      ASSERT_TRUE(run_.directory().make_directory(rel(name), 0755).has_value());
    }
    view_.emplace(workspace_.path(), run_.path());
    skip_without_walls(view_->missing());
  }

  /// Looks at these in the view, if they are to be cached.
  void look(const std::vector<std::string>& paths) const {
    if (GetParam() == Cached::kNo) return;
    for (const std::string& path : paths) {
      (void)view_->read(path);
      (void)view_->list(path);
      (void)view_->call({"link", path});
    }
  }

  void pin(const std::vector<std::string>& changed, const std::vector<std::string>& fresh = {}) {
    std::map<RelPath, Change> changes;
    for (const std::string& path : changed) {
      changes[rel(path)].before.kind = FileKind::kRegular;  // whatever: it is there
    }
    for (const std::string& path : fresh) changes[rel(path)];
    ChangeSet set;
    for (auto& [path, change] : changes) {
      change.path = path;
      set.push_back(change);
    }
    const auto upper = run_.directory().open_writable_directory(rel("upper"));
    ASSERT_TRUE(upper.has_value());
    const auto mount = view_->mount();
    const auto pinned = pin_view({*mount, **upper}, set);
    ASSERT_TRUE(pinned.has_value()) << pinned.error().message;
  }

  /// A new inode under the name, as the publisher makes one.
  void replace(const std::string& path, const std::string& text) const {
    workspace_.write(path + ".new", text);
    ASSERT_TRUE(
        workspace_.directory()
            .rename(rel(path + ".new"), workspace_.directory(), rel(path), RenameMode::kReplace)
            .has_value());
  }
  /// Out of the way, and alive: as slots and graveyard keep it.
  void bury(const std::string& path) const {
    ASSERT_TRUE(workspace_.directory()
                    .rename(rel(path), grave_.directory(), rel("buried"), RenameMode::kNoReplace)
                    .has_value());
  }

  /// The changes of the view to the tree that it was mounted on.
  std::vector<std::string> effects(const Overlay::Entries& seen) const {
    Overlay overlay(workspace_.directory(), make_memory_store(), clock_);
    overlay.restore(seen);
    const auto upper = run_.directory().open_writable_directory(rel("upper"));
    AbsorbRules rules;
    rules.is_live = true;
    const auto report = absorb_layer(**upper, **upper, overlay, rules);
    EXPECT_TRUE(report.has_value()) << report.error().message;
    std::vector<std::string> paths;
    for (const Change& change : overlay.changes()) paths.push_back(change.path.str());
    return paths;
  }

  SystemClock clock_;
  TempDirectory workspace_;
  TempDirectory run_;
  TempDirectory grave_;
  std::optional<ScriptedView> view_;
};

TEST_P(ViewPins, AReplacedFileKeepsItsOldContent) {
  look({"f"});
  pin({"f"});
  replace("f", "changed");
  EXPECT_EQ(view_->read("f"), "okone");
}

TEST_P(ViewPins, AFileThatIsOpenInTheViewKeepsItsOldContent) {
  ASSERT_EQ(view_->call({"hold", "f"}), "ok");
  pin({"f"});
  replace("f", "changed");
  EXPECT_EQ(view_->call({"held"}), "okone");
}

TEST_P(ViewPins, WritingToAPinnedFileReachesTheViewOnly) {
  look({"f"});
  pin({"f"});
  replace("f", "changed");
  EXPECT_EQ(view_->call({"append", "f", " more"}), "ok");
  EXPECT_EQ(view_->read("f"), "okone more");
  EXPECT_EQ(workspace_.read("f"), "changed");
}

TEST_P(ViewPins, RemovedFileStays) {
  look({"f", ""});
  pin({"f"});
  bury("f");
  EXPECT_EQ(view_->read("f"), "okone");
  EXPECT_EQ(view_->list(""), "ok d f g l");
}

TEST_P(ViewPins, ModeStays) {
  look({"f"});
  pin({"f"});
  ASSERT_TRUE(workspace_.directory().set_mode(rel("f"), 0755).has_value());
  EXPECT_EQ(view_->call({"mode", "f"}), "ok" + std::to_string(0644));
}

TEST_P(ViewPins, SymbolicLinkStays) {
  look({"l"});
  pin({"l"});
  bury("l");
  ASSERT_TRUE(workspace_.directory().make_symlink(rel("l"), "g").has_value());
  EXPECT_EQ(view_->call({"link", "l"}), "okf");
}

TEST_P(ViewPins, ANewFileDoesNotAppearAndItsNameCanBeUsed) {
  look({"new", "d/new", "d"});
  pin({}, {"new", "d/new"});
  workspace_.write("new", "of somebody");
  workspace_.write("d/new", "of somebody");
  EXPECT_EQ(view_->read("new"), "E2");
  EXPECT_EQ(view_->list(""), "ok d f g l");
  EXPECT_EQ(view_->list("d"), "ok e x");
  EXPECT_EQ(view_->call({"write", "new", "mine"}), "ok");
  EXPECT_EQ(view_->call({"save", "d/new", "mine"}), "ok");
  EXPECT_EQ(view_->read("new"), "okmine");
  EXPECT_EQ(view_->read("d/new"), "okmine");
  EXPECT_EQ(workspace_.read("new"), "of somebody");
}

TEST_P(ViewPins, ANewDirectoryDoesNotAppearAndItsNameCanBeUsed) {
  look({"n", "n/z"});
  pin({}, {"n", "n/z"});
  workspace_.write("n/z", "of somebody");
  EXPECT_EQ(view_->list("n"), "E2");
  EXPECT_EQ(view_->call({"mkdir", "n"}), "ok");
  EXPECT_EQ(view_->list("n"), "ok");
  EXPECT_EQ(view_->call({"write", "n/z", "mine"}), "ok");
  EXPECT_EQ(workspace_.read("n/z"), "of somebody");
}

TEST_P(ViewPins, ARemovedDirectoryStaysWithItsContents) {
  look({"d", "d/e", "d/e/y"});
  pin({"d/e", "d/e/y"});
  bury("d/e/y");
  ASSERT_TRUE(workspace_.directory()
                  .rename(rel("d/e"), grave_.directory(), rel("directory"), RenameMode::kNoReplace)
                  .has_value());
  EXPECT_EQ(view_->list("d/e"), "ok y");
  EXPECT_EQ(view_->read("d/e/y"), "oky");
  EXPECT_EQ(view_->call({"write", "d/e/z", "z"}), "ok");
  EXPECT_EQ(view_->list("d/e"), "ok y z");
}

TEST_P(ViewPins, TheWorkingDirectoryOfAProgramStays) {
  ASSERT_EQ(view_->call({"enter", "d/e"}), "ok");
  look({"d/e/y"});
  pin({"d/e", "d/e/y"});
  bury("d/e/y");
  ASSERT_TRUE(workspace_.directory()
                  .rename(rel("d/e"), grave_.directory(), rel("directory"), RenameMode::kNoReplace)
                  .has_value());
  EXPECT_EQ(view_->call({"here"}), "ok y");
}

TEST_P(ViewPins, FileThatBecomesADirectoryStaysAFile) {
  look({"f", "f/in"});
  pin({"f"}, {"f/in"});
  bury("f");
  workspace_.write("f/in", "in");
  EXPECT_EQ(view_->read("f"), "okone");
}

TEST_P(ViewPins, DirectoryThatBecomesAFileStaysADirectory) {
  look({"d/e", "d/e/y"});
  pin({"d/e", "d/e/y"});
  ASSERT_TRUE(workspace_.directory()
                  .rename(rel("d/e"), grave_.directory(), rel("directory"), RenameMode::kNoReplace)
                  .has_value());
  workspace_.write("d/e", "a file");
  EXPECT_EQ(view_->list("d/e"), "ok y");
  EXPECT_EQ(view_->read("d/e/y"), "oky");
}

TEST_P(ViewPins, ADirectoryMadeAgainBelowShowsNothingNew) {
  look({"d/e", "d/e/y"});
  pin({"d/e", "d/e/y"});
  ASSERT_TRUE(workspace_.directory()
                  .rename(rel("d/e"), grave_.directory(), rel("directory"), RenameMode::kNoReplace)
                  .has_value());
  pin({}, {"d/e", "d/e/q"});
  workspace_.write("d/e/q", "new");
  EXPECT_EQ(view_->list("d/e"), "ok y");
}

TEST_P(ViewPins, ChangesOfTheViewItselfAreKept) {
  ASSERT_EQ(view_->call({"write", "new", "mine"}), "ok");
  ASSERT_EQ(view_->call({"remove", "f"}), "ok");
  ASSERT_EQ(view_->call({"save", "g", "mine"}), "ok");
  pin({"f", "g"}, {"new"});
  workspace_.write("new", "of somebody");
  replace("f", "changed");
  replace("g", "changed");
  EXPECT_EQ(view_->read("new"), "okmine");
  EXPECT_EQ(view_->read("f"), "E2");
  EXPECT_EQ(view_->read("g"), "okmine");
}

TEST_P(ViewPins, ADirectoryThatTheViewMadeAgainShowsNothingNew) {
  ASSERT_EQ(view_->call({"remove", "d/e/y"}), "ok");
  ASSERT_EQ(view_->call({"rmdir", "d/e"}), "ok");
  ASSERT_EQ(view_->call({"mkdir", "d/e"}), "ok");
  ASSERT_EQ(view_->call({"mkdir", "d/e/in"}), "ok");
  look({"d/e/new", "d/e/in/new"});
  pin({}, {"d/e/new", "d/e/in", "d/e/in/new"});
  workspace_.write("d/e/new", "of somebody");
  workspace_.write("d/e/in/new", "of somebody");
  EXPECT_EQ(view_->list("d/e"), "ok in");
  EXPECT_EQ(view_->list("d/e/in"), "ok");
  EXPECT_EQ(view_->call({"write", "d/e/new", "mine"}), "ok");
  EXPECT_EQ(view_->list("d/e"), "ok in new");
}

TEST_P(ViewPins, ADirectoryMadeInBothPlacesShowsNothingNew) {
  ASSERT_EQ(view_->call({"mkdir", "n"}), "ok");
  ASSERT_EQ(view_->call({"mkdir", "n/in"}), "ok");
  look({"n", "n/new", "n/in/new"});
  pin({}, {"n", "n/new", "n/in", "n/in/new"});
  workspace_.write("n/new", "of somebody");
  workspace_.write("n/in/new", "of somebody");
  EXPECT_EQ(view_->list("n"), "ok in");
  EXPECT_EQ(view_->list("n/in"), "ok");
  EXPECT_EQ(view_->call({"write", "n/new", "mine"}), "ok");
  EXPECT_EQ(view_->list("n"), "ok in new");
}

TEST_P(ViewPins, NothingIsMadeBelowALinkOfTheView) {
  ASSERT_EQ(view_->call({"remove", "d/e/y"}), "ok");
  ASSERT_EQ(view_->call({"rmdir", "d/e"}), "ok");
  ASSERT_EQ(view_->call({"symlink", "d/e", "../.."}), "ok");
  pin({"d/e/y"}, {"d/e/new"});
  EXPECT_FALSE(workspace_.exists("new"));
  EXPECT_EQ(view_->call({"link", "d/e"}), "ok../..");
}

TEST_P(ViewPins, ACommitterKilledWhileItHidesANewNameLeavesNothing) {
  look({"new"});
  ASSERT_TRUE(kill_after_mkdir([&] { pin({}, {"new"}); }));
  EXPECT_EQ(view_->list(""), "ok d f g l");
  pin({}, {"new"});
  workspace_.write("new", "of somebody");
  EXPECT_EQ(view_->list(""), "ok d f g l");
  EXPECT_EQ(view_->call({"write", "new", "mine"}), "ok");
}

TEST_P(ViewPins, PinsAreNotEffectsOfTheCommand) {
  look({"f", "new"});
  Overlay before(workspace_.directory(), make_memory_store(), clock_);
  for (const char* path : {"f", "l", "d/e", "d/e/y", "new"}) {
    ASSERT_TRUE(before.node(rel(path)).has_value());
  }
  pin({"f", "l", "d/e", "d/e/y"}, {"new"});
  EXPECT_EQ(effects(before.entries()), std::vector<std::string>());
  replace("f", "changed");
  workspace_.write("new", "of somebody");
  EXPECT_EQ(effects(before.entries()), std::vector<std::string>());
}

TEST_P(ViewPins, AnotherMountIsRefused) {
  const TempDirectory other;
  for (const char* name : {"upper", "work"}) {
    ASSERT_TRUE(other.directory().make_directory(rel(name), 0755).has_value());
  }
  const auto upper = other.directory().open_writable_directory(rel("upper"));
  const auto mount = view_->mount();
  Change change;
  change.path = rel("f");
  change.before.kind = FileKind::kRegular;
  const auto pinned = pin_view({*mount, **upper}, {change});
  ASSERT_FALSE(pinned.has_value());
  EXPECT_EQ(pinned.error().reason, "run.not_its_view");
  const auto no_overlay = pin_view({workspace_.directory(), **upper}, {change});
  ASSERT_FALSE(no_overlay.has_value());
  EXPECT_EQ(no_overlay.error().reason, "run.not_its_view");
}

INSTANTIATE_TEST_SUITE_P(Looked, ViewPins, testing::Values(Cached::kNo, Cached::kYes),
                         [](const auto& tested) {
                           return tested.param == Cached::kYes ? "At" : "NotAt";
                         });

}  // namespace
}  // namespace galley
