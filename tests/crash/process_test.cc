#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

#include "crash/cases.h"
#include "staging/fs/disk_directory.h"
#include "staging/overlay/overlay.h"
#include "support/scratch_directory.h"
#include "tests/support/skip_without_walls.h"

namespace galley {
namespace {

/// Puts the rights of root aside, for everything that is done and started meanwhile.
class AsUserOfCases {
 public:
  explicit AsUserOfCases(bool is_wanted) : is_other_(is_wanted) {
    if (!is_other_) return;
    const gid_t groups[] = {kSecondGroup};
    EXPECT_EQ(setgroups(1, groups), 0);
    EXPECT_EQ(setegid(kUserId), 0);
    EXPECT_EQ(seteuid(kUserId), 0);
  }
  ~AsUserOfCases() {
    if (!is_other_) return;
    EXPECT_EQ(seteuid(0), 0);
    EXPECT_EQ(setegid(0), 0);
    EXPECT_EQ(setgroups(0, nullptr), 0);
  }
  AsUserOfCases(const AsUserOfCases&) = delete;
  AsUserOfCases& operator=(const AsUserOfCases&) = delete;

 private:
  bool is_other_;
};

class ProcessFacts : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(
    Of, ProcessFacts,
    testing::Values("change three", "rich", "change three as a user", "rich as a user",
                    "read-only files as a user", "unreadable files as a user",
                    "a folder is closed as a user", "a folder is opened as a user",
                    "a closed folder goes as a user", "a closed folder becomes a file as a user",
                    "a folder is hidden as a user", "foreign groups as a user",
                    "every mode as a user"),
    [](const auto& name) { return name_of_test(crash_case(name.param)); });

TEST_P(ProcessFacts, SigkillOnTheRealDiskLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = crash_case(GetParam());
  if (shape.is_as_user && getuid() != 0) GTEST_SKIP() << "only root may become another user";
  const TreePicture after = picture_after(shape);
  CrashRow row("SIGKILL on disk: " + shape.name);
  for (size_t at = 1;; at += stride_of(shape, 3)) {
    const ScratchDirectory scratch;
    auto directory = open_writable_disk_directory(scratch.path());
    ASSERT_TRUE(directory);
    prepare_tree(shape, **directory);
    const AsUserOfCases as_user(shape.is_as_user);
    prepare_history(**directory);
    const TreePicture before = picture_of(**directory);
    const int status = in_child([&] {
      auto mine = open_writable_disk_directory(scratch.path());
      if (!mine) return 2;
      const auto plan = std::make_shared<FaultPlan>();
      plan->at = at;
      plan->before = [] { raise(SIGKILL); };
      const auto spoiled = make_fault_directory(std::move(*mine), plan);
      const auto outcome = publish(*spoiled, propose_case(shape, *spoiled));
      if (!outcome) std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
      return outcome && std::holds_alternative<Receipt>(*outcome) ? 0 : 1;
    });
    if (status == 0) {
      EXPECT_EQ(difference(picture_of(**directory), after), "");
      break;
    }
    ASSERT_EQ(status, -SIGKILL);
    row.set_calls(at);
    const std::string where = "SIGKILL before call " + std::to_string(at);
    const auto report = reopen(**directory);
    ASSERT_TRUE(report) << where << ": " << report.error().message;
    row.judge(**directory, before, after, where);
    if (HasFailure()) return;
  }
  EXPECT_GT(row.new_trees(), 0U);
}

/// A tmpfs of its own in a mount namespace of its own; 77 where that is not allowed.
constexpr int kSkipped = 77;

/// A user who is not root gets a user namespace, too, which maps their id to itself.
bool enter_mount_namespace() {
  if (unshare(CLONE_NEWNS) == 0) return true;
  const std::string user = std::to_string(getuid()) + " " + std::to_string(getuid()) + " 1";
  const std::string group = std::to_string(getgid()) + " " + std::to_string(getgid()) + " 1";
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  return (std::ofstream("/proc/self/setgroups") << "deny" << std::flush).good() &&
         (std::ofstream("/proc/self/uid_map") << user << std::flush).good() &&
         (std::ofstream("/proc/self/gid_map") << group << std::flush).good();
}

int enter_tmpfs(const std::string& path, const char* options) {
  if (!enter_mount_namespace()) return kSkipped;
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kSkipped;
  if (mount("galley-test", path.c_str(), "tmpfs", MS_NODEV | MS_NOSUID, options) != 0) {
    return kSkipped;
  }
  return 0;
}

int commit_on_full_disk(const std::string& path) {
  constexpr size_t kKiB = 1024;
  constexpr size_t kDiskKiB = 1024;
  size_t failures = 0;
  size_t successes = 0;
  for (size_t free_kib = 0; free_kib <= 128; free_kib += 4) {
    auto directory = open_writable_disk_directory(path);
    if (!directory) return 10;
    for (int i = 0; i < 6; ++i) {
      put_file(**directory, "f" + std::to_string(i), std::string(4 * kKiB, 'o'));
    }
    const std::string first = "before " + std::to_string(free_kib);
    if (!publish(**directory, ChangeBuilder(**directory).write("first", first).proposal())) {
      return 11;
    }
    ChangeBuilder change(**directory);
    for (int i = 0; i < 6; ++i) {
      change.write("f" + std::to_string(i), std::string(4 * kKiB, 'n'));
    }
    const Proposal proposal = change.proposal();
    const auto before = picture_of(**directory);
    {
      std::ofstream filler(path + "/.git-filler", std::ios::binary);
      filler << std::string(kDiskKiB * kKiB, 'x') << std::flush;
    }
    std::error_code ignored;
    const auto full = std::filesystem::file_size(path + "/.git-filler", ignored);
    std::filesystem::resize_file(path + "/.git-filler",
                                 full - std::min<uint64_t>(full, free_kib * kKiB), ignored);
    const auto outcome = publish(**directory, proposal);
    std::filesystem::remove(path + "/.git-filler", ignored);
    const bool is_new = outcome && std::holds_alternative<Receipt>(*outcome);
    if (!reopen(**directory)) return 12;
    auto now = picture_of(**directory);
    if (!is_new && outcome.error().kind != ErrorKind::kUndecided && now != before) return 13;
    if (!is_new && outcome.error().os_error != ENOSPC) return 14;
    if (is_new && now["f5"] != "f 644 " + std::string(4 * kKiB, 'n')) return 15;
    if (!litter_of(**directory).empty()) return 16;
    ++(is_new ? successes : failures);
    if (!remove_tree(**directory, rel(".galley"))) return 17;
  }
  return failures > 0 && successes > 0 ? 0 : 18;
}

TEST(FullDisk, ACommitFitsOrLeavesTheTreeUnchanged) {
  const ScratchDirectory scratch;
  const int status = in_child([&] {
    if (const int code = enter_tmpfs(scratch.path(), "size=1m"); code != 0) return code;
    return commit_on_full_disk(scratch.path());
  });
  if (status == kSkipped) {
    skip_without_walls("no mount namespace may be made here");
    return;
  }
  EXPECT_EQ(status, 0);
}

TEST(Mounts, AFileOnAnotherMountIsRefusedAndNothingMoves) {
  const ScratchDirectory scratch;
  const int status = in_child([&] {
    std::filesystem::create_directory(scratch.path() + "/mounted");
    if (const int code = enter_tmpfs(scratch.path() + "/mounted", "size=1m"); code != 0) {
      return code;
    }
    auto directory = open_writable_disk_directory(scratch.path());
    if (!directory) return 10;
    put_file(**directory, "mounted/f", "old");
    put_file(**directory, "plain", "old");
    const Proposal proposal = ChangeBuilder(**directory).write("plain", "new").proposal();
    ChangeSet changes = proposal.changes();
    Change other = changes[0];
    other.path = rel("mounted/f");
    changes.insert(changes.begin(), other);
    const auto outcome = publish(**directory, Proposal::from(changes, proposal.store()));
    if (outcome) return 11;
    if (outcome.error().reason != "commit.crosses_mount") return 12;
    return picture_of(**directory)["plain"] == "f 644 old" ? 0 : 13;
  });
  if (status == kSkipped) {
    skip_without_walls("no mount namespace may be made here");
    return;
  }
  EXPECT_EQ(status, 0);
}

/// A directory that is to go, or to be renamed, with a mount below it that holds a file or nothing.
int change_directory_with_mount(const std::string& base, bool is_empty, bool is_move) {
  std::filesystem::create_directories(base + "/d/sub/mounted");
  if (const int code = enter_tmpfs(base + "/d/sub/mounted", "size=1m"); code != 0) return code;
  auto directory = open_writable_disk_directory(base);
  if (!directory) return 10;
  put_file(**directory, "d/g", "old");
  if (!is_empty) put_file(**directory, "d/sub/mounted/f", "old");
  const TreePicture before = picture_of(**directory);
  const SystemClock clock;
  Overlay overlay(**directory, make_memory_store(), clock);
  const auto staged = is_move ? overlay.move(rel("d"), rel("e")) : overlay.remove_tree(rel("d"));
  if (!staged) return 11;
  const auto outcome = publish(**directory, Proposal::freeze(overlay));
  if (outcome) return 12;
  if (outcome.error().reason != "commit.crosses_mount") return 13;
  if (outcome.error().kind != ErrorKind::kRefused) return 14;
  if (outcome.error().message.find("mounted") == std::string::npos) return 15;
  if (picture_of(**directory) != before) return 16;
  return litter_of(**directory).empty() ? 0 : 17;
}

TEST(Mounts, ADirectoryWithAMountBelowItIsNeitherRemovedNorMoved) {
  for (const bool is_empty : {true, false}) {
    for (const bool is_move : {true, false}) {
      const ScratchDirectory scratch;
      const int status =
          in_child([&] { return change_directory_with_mount(scratch.path(), is_empty, is_move); });
      if (status == kSkipped) {
        skip_without_walls("no mount namespace may be made here");
        return;
      }
      EXPECT_EQ(status, 0) << (is_empty ? "empty" : "with a file") << (is_move ? ", move" : "");
    }
  }
}

TEST(Mounts, EveryKindOfChangeIsCommittedOnOverlayfs) {
  const ScratchDirectory scratch;
  const CrashCase& shape = crash_case("rich");
  const TreePicture want = picture_after(shape);
  const int status = in_child([&] {
    const std::string base = scratch.path();
    std::filesystem::create_directory(base + "/tmp");
    if (const int code = enter_tmpfs(base + "/tmp", "size=8m"); code != 0) return code;
    for (const auto* name : {"/lower", "/upper", "/work", "/merged"}) {
      std::filesystem::create_directory(base + "/tmp" + name);
    }
    {
      auto lower = open_writable_disk_directory(base + "/tmp/lower");
      if (!lower) return 10;
      shape.prepare(**lower);
    }
    const std::string options = "lowerdir=" + base + "/tmp/lower,upperdir=" + base +
                                "/tmp/upper,workdir=" + base + "/tmp/work,userxattr";
    if (mount("overlay", (base + "/tmp/merged").c_str(), "overlay", 0, options.c_str()) != 0) {
      return kSkipped;
    }
    auto merged = open_writable_disk_directory(base + "/tmp/merged");
    if (!merged) return 11;
    if (!publish(**merged, ChangeBuilder(**merged).write("first", "1").proposal())) return 12;
    const auto outcome = publish(**merged, propose_case(shape, **merged));
    if (!outcome) {
      std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
      return 13;
    }
    if (!std::holds_alternative<Receipt>(*outcome)) return 14;
    if (picture_of(**merged) != want) return 15;
    return reopen(**merged) ? 0 : 16;
  });
  if (status == kSkipped) {
    skip_without_walls("no overlay may be mounted here");
    return;
  }
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace galley
