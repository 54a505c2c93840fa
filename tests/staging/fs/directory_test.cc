#include "staging/fs/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <functional>
#include <thread>

#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "staging/fs/disk_directory.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

constexpr uint64_t kLimit = 1 << 20U;

RelPath path(std::string_view text) { return *RelPath::parse(text); }

void put(const WritableDirectory& directory, std::string_view name, std::string_view content) {
  auto file = directory.open_writable_file(path(name), OpenMode::kCreateNew, 0644);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE((*file)->write_at(0, content));
}

std::string get(const WritableDirectory& directory, std::string_view name) {
  auto content = read_file(directory, path(name), kLimit);
  return content ? *content : "error: " + content.error().message;
}

/// One way to make an empty Directory; the same facts hold for all of them.
struct Maker {
  const char* name;
  std::function<std::unique_ptr<WritableDirectory>(const std::string& scratch)> make;
};

class DirectoryFacts : public testing::TestWithParam<Maker> {
 protected:
  void SetUp() override { root_ = GetParam().make(scratch_.path()); }
  ScratchDirectory scratch_;
  std::unique_ptr<WritableDirectory> root_;
};

TEST_P(DirectoryFacts, WritesAndReadsAFile) {
  put(*root_, "a", "hello");
  EXPECT_EQ(get(*root_, "a"), "hello");
  const auto stat = root_->stat(path("a"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->kind, FileKind::kRegular);
  EXPECT_EQ(stat->size, 5U);
  EXPECT_EQ(stat->nlink, 1U);
}

TEST_P(DirectoryFacts, AbsentIsAValueOfStatAndAnErrorOfOpen) {
  EXPECT_EQ(root_->stat(path("no"))->kind, FileKind::kAbsent);
  EXPECT_EQ(root_->stat(path("no/deeper"))->kind, FileKind::kAbsent);
  put(*root_, "file", "");
  EXPECT_EQ(root_->stat(path("file/below"))->kind, FileKind::kAbsent);
  const auto opened = root_->open_file(path("no"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(root_->open_writable_directory(path("no")).error().kind, ErrorKind::kNotFound);
}

TEST_P(DirectoryFacts, CreateNewRefusesAnExistingName) {
  put(*root_, "a", "x");
  EXPECT_EQ(root_->open_writable_file(path("a"), OpenMode::kCreateNew).error().os_error, EEXIST);
  ASSERT_TRUE(root_->make_symlink(path("dangling"), "nowhere"));
  EXPECT_EQ(root_->open_writable_file(path("dangling"), OpenMode::kCreateNew).error().os_error,
            EEXIST);
}

TEST_P(DirectoryFacts, ASymlinkInAParentPositionIsRefused) {
  ASSERT_TRUE(root_->make_directory(path("real"), 0755));
  put(*root_, "real/f", "secret");
  ASSERT_TRUE(root_->make_symlink(path("link"), "real"));
  for (const auto& error :
       {root_->open_file(path("link/f")).error(), root_->stat(path("link/f")).error(),
        root_->remove_file(path("link/f")).error(),
        root_->open_writable_directory(path("link")).error(),
        root_->rename(path("link/f"), *root_, path("g"), RenameMode::kReplace).error()}) {
    EXPECT_EQ(error.kind, ErrorKind::kRefused) << error.message;
    EXPECT_EQ(error.reason, "path.through_symlink") << error.message;
  }
  EXPECT_EQ(get(*root_, "real/f"), "secret");
}

TEST_P(DirectoryFacts, ASymlinkIsNeverOpenedAsAFile) {
  put(*root_, "target", "t");
  ASSERT_TRUE(root_->make_symlink(path("link"), "target"));
  EXPECT_EQ(root_->open_file(path("link")).error().reason, "path.is_symlink");
  EXPECT_EQ(root_->open_writable_file(path("link"), OpenMode::kReadWrite).error().reason,
            "path.is_symlink");
  EXPECT_EQ(*root_->read_link(path("link")), "target");
  EXPECT_EQ(root_->stat(path("link"))->kind, FileKind::kSymlink);
}

TEST_P(DirectoryFacts, ADirectoryIsNeverOpenedAsAFile) {
  ASSERT_TRUE(root_->make_directory(path("d"), 0755));
  EXPECT_EQ(root_->open_file(path("d")).error().reason, "path.is_directory");
  EXPECT_EQ(root_->open_writable_file(path("d"), OpenMode::kReadWrite).error().reason,
            "path.is_directory");
}

TEST_P(DirectoryFacts, RenameModesReplaceExchangeOrRefuse) {
  put(*root_, "a", "A");
  put(*root_, "b", "B");
  EXPECT_EQ(root_->rename(path("a"), *root_, path("b"), RenameMode::kNoReplace).error().os_error,
            EEXIST);
  ASSERT_TRUE(root_->rename(path("a"), *root_, path("b"), RenameMode::kExchange));
  EXPECT_EQ(get(*root_, "a"), "B");
  EXPECT_EQ(get(*root_, "b"), "A");
  EXPECT_EQ(root_->rename(path("a"), *root_, path("c"), RenameMode::kExchange).error().os_error,
            ENOENT);
  ASSERT_TRUE(root_->rename(path("a"), *root_, path("b"), RenameMode::kReplace));
  EXPECT_EQ(get(*root_, "b"), "B");
  EXPECT_EQ(root_->stat(path("a"))->kind, FileKind::kAbsent);
}

TEST_P(DirectoryFacts, AFileAndADirectoryCanBeExchanged) {
  put(*root_, "f", "F");
  ASSERT_TRUE(root_->make_directory(path("d"), 0755));
  put(*root_, "d/in", "I");
  ASSERT_TRUE(root_->rename(path("f"), *root_, path("d"), RenameMode::kExchange));
  EXPECT_EQ(get(*root_, "d"), "F");
  EXPECT_EQ(get(*root_, "f/in"), "I");
}

TEST_P(DirectoryFacts, RenameOntoAnotherKindFailsAsInPosix) {
  put(*root_, "f", "F");
  ASSERT_TRUE(root_->make_directory(path("d"), 0755));
  ASSERT_TRUE(root_->make_directory(path("full"), 0755));
  put(*root_, "full/x", "");
  const auto code = [&](const char* from, const char* to) {
    return root_->rename(path(from), *root_, path(to), RenameMode::kReplace).error().os_error;
  };
  EXPECT_EQ(code("f", "d"), EISDIR);
  EXPECT_EQ(code("d", "f"), ENOTDIR);
  EXPECT_EQ(code("d", "full"), ENOTEMPTY);
  EXPECT_EQ(code("full", "full/below"), EINVAL);
  EXPECT_EQ(root_->remove_directory(path("full")).error().os_error, ENOTEMPTY);
  EXPECT_EQ(root_->remove_directory(path("f")).error().os_error, ENOTDIR);
  EXPECT_EQ(root_->remove_file(path("d")).error().os_error, EISDIR);
}

TEST_P(DirectoryFacts, HardLinksShareOneInode) {
  put(*root_, "a", "1");
  ASSERT_TRUE(root_->make_hard_link(path("a"), *root_, path("b")));
  EXPECT_EQ(root_->stat(path("a"))->inode, root_->stat(path("b"))->inode);
  EXPECT_EQ(root_->stat(path("a"))->nlink, 2U);
  auto file = root_->open_writable_file(path("b"), OpenMode::kReadWrite);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(1, "2"));
  EXPECT_EQ(get(*root_, "a"), "12");
  ASSERT_TRUE(root_->remove_file(path("a")));
  EXPECT_EQ((*file)->stat()->nlink, 1U);
}

TEST_P(DirectoryFacts, AnOpenFileStaysWritableAfterARename) {
  put(*root_, "a", "old");
  auto file = root_->open_writable_file(path("a"), OpenMode::kReadWrite);
  ASSERT_TRUE(file);
  ASSERT_TRUE(root_->rename(path("a"), *root_, path("b"), RenameMode::kNoReplace));
  ASSERT_TRUE((*file)->write_at(0, "NEW"));
  EXPECT_EQ(get(*root_, "b"), "NEW");
}

TEST_P(DirectoryFacts, AFileThatAnotherThreadMovesAwayIsOpenedOrMissing) {
  constexpr int kOpens = 30'000;
  for (const auto* name : {"from", "to"}) ASSERT_TRUE(root_->make_directory(path(name), 0755));
  put(*root_, "from/file", "text");
  std::atomic<bool> is_over = false;
  std::thread mover([&] {
    while (!is_over) {
      EXPECT_TRUE(root_->rename(path("from/file"), *root_, path("to/file"), RenameMode::kReplace));
      EXPECT_TRUE(root_->rename(path("to/file"), *root_, path("from/file"), RenameMode::kReplace));
    }
  });
  const auto from = root_->open_directory(path("from"));
  for (int n = 0; n < kOpens; ++n) {
    const auto file = (*from)->open_file(path("file"));
    if (!file && file.error().kind != ErrorKind::kNotFound) {
      ADD_FAILURE() << file.error().message << " at open " << n;
      break;
    }
  }
  is_over = true;
  mover.join();
}

TEST_P(DirectoryFacts, ModesAndAttributesAreKept) {
  put(*root_, "a", "");
  ASSERT_TRUE(root_->set_mode(path("a"), 0751));
  EXPECT_EQ(root_->stat(path("a"))->mode, 0751U);
  const ExtendedAttribute attribute{"user.galley", "value"};
  ASSERT_TRUE(root_->set_attribute(path("a"), attribute));
  EXPECT_THAT(*root_->attributes(path("a")), testing::Contains(attribute));
  auto file = root_->open_writable_file(path("a"), OpenMode::kReadWrite);
  ASSERT_TRUE(file);
  EXPECT_THAT(*(*file)->attributes(), testing::Contains(attribute));
  ASSERT_TRUE((*file)->remove_attribute("user.galley"));
  ASSERT_TRUE((*file)->remove_attribute("user.galley"));
  EXPECT_THAT(*root_->attributes(path("a")), testing::Not(testing::Contains(attribute)));
}

TEST_P(DirectoryFacts, ARenameKeepsTheBirthTimeAndInode) {
  ASSERT_TRUE(root_->make_directory(path("d"), 0700));
  const FileStat made = *root_->stat(path("d"));
  put(*root_, "d/f", "changes the directory");
  ASSERT_TRUE(root_->rename(path("d"), *root_, path("e"), RenameMode::kReplace));
  const FileStat moved = *root_->stat(path("e"));
  EXPECT_EQ(moved.inode, made.inode);
  EXPECT_EQ(moved.birth_ns, made.birth_ns);
  ASSERT_TRUE(root_->make_directory(path("d"), 0700));
  EXPECT_NE(root_->stat(path("d"))->inode, made.inode);
}

TEST_P(DirectoryFacts, ListIsSortedAndHasKinds) {
  put(*root_, "b", "");
  ASSERT_TRUE(root_->make_directory(path("c"), 0755));
  ASSERT_TRUE(root_->make_symlink(path("a"), "b"));
  const auto entries = root_->list();
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 3U);
  EXPECT_EQ((*entries)[0].name, "a");
  EXPECT_EQ((*entries)[0].kind, FileKind::kSymlink);
  EXPECT_EQ((*entries)[1].kind, FileKind::kRegular);
  EXPECT_EQ((*entries)[2].kind, FileKind::kDirectory);
}

TEST_P(DirectoryFacts, ALockExcludesOtherOpenFilesUntilItsFileCloses) {
  auto first = root_->open_writable_file(path("lock"), OpenMode::kOpenOrCreate);
  auto second = root_->open_writable_file(path("lock"), OpenMode::kOpenOrCreate);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(*(*first)->try_lock(LockMode::kExclusive));
  EXPECT_FALSE(*(*second)->try_lock(LockMode::kExclusive));
  EXPECT_FALSE(*(*second)->try_lock(LockMode::kShared));
  first->reset();
  EXPECT_TRUE(*(*second)->try_lock(LockMode::kShared));
}

TEST_P(DirectoryFacts, RemoveTreeRemovesLinksAndNotWhatTheyPointTo) {
  ASSERT_TRUE(make_directories(*root_, path("t/u/v"), 0755));
  put(*root_, "t/u/f", "x");
  ASSERT_TRUE(root_->make_directory(path("outside"), 0755));
  put(*root_, "outside/keep", "k");
  ASSERT_TRUE(root_->make_symlink(path("t/link"), "../outside"));
  ASSERT_TRUE(remove_tree(*root_, path("t")));
  EXPECT_EQ(root_->stat(path("t"))->kind, FileKind::kAbsent);
  EXPECT_EQ(get(*root_, "outside/keep"), "k");
  EXPECT_TRUE(remove_tree(*root_, path("t")));
}

// Limit: kMaxComponents of include/galley/path.h
TEST_P(DirectoryFacts, RemoveTreeRemovesMoreLevelsThanThereAreDescriptors) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit few { 64, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  ASSERT_TRUE(root_->make_directory(path("t"), 0755));
  put(*root_, "t/top", "x");
  auto at = root_->open_writable_directory(path("t"));
  for (int level = 0; level < 2000; ++level) {
    ASSERT_TRUE(at) << at.error().message;
    ASSERT_TRUE((*at)->make_directory(path("d"), 0755));
    at = (*at)->open_writable_directory(path("d"));
  }
  put(**at, "bottom", "x");
  const auto removed = remove_tree(*root_, path("t"));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(root_->stat(path("t"))->kind, FileKind::kAbsent);
  EXPECT_TRUE(root_->list()->empty());
}

TEST_P(DirectoryFacts, RemoveTreeRemovesNamesWithControlCharacters) {
  ASSERT_TRUE(root_->make_directory(path("t"), 0755));
  const auto tree = root_->open_writable_directory(path("t"));
  ASSERT_TRUE(tree);
  const RelPath inner = path("a\x7f");
  ASSERT_TRUE((*tree)->make_directory(inner, 0755));
  const auto opened = (*tree)->open_writable_directory(inner);
  ASSERT_TRUE(opened);
  ASSERT_TRUE((*opened)->open_writable_file(path("two\nlines"), OpenMode::kCreateNew, 0644));
  ASSERT_TRUE(remove_tree(*root_, path("t")));
  EXPECT_EQ(root_->stat(path("t"))->kind, FileKind::kAbsent);
}

/// At each call of a removal, another process also removes the tree, or adds a file.
TEST(RemoveTree, ReachesItsEndWhileOtherProcessesChangeTheTree) {
  const ScratchDirectory scratch;
  const auto raw = open_writable_disk_directory(scratch.path()).value();
  for (const bool adds : {false, true}) {
    for (size_t at = 1;; ++at) {
      ASSERT_TRUE(make_directories(*raw, path("t/u"), 0755));
      put(*raw, "t/f", "x");
      put(*raw, "t/u/f", "x");
      const auto plan = std::make_shared<FaultPlan>();
      plan->at = at;
      plan->before = [&] {
        if (adds) {
          (void)raw->open_writable_file(path("t/more"), OpenMode::kOpenOrCreate, 0644);
        } else {
          EXPECT_TRUE(remove_tree(*raw, path("t")));
        }
      };
      const auto root =
          make_fault_directory(open_writable_disk_directory(scratch.path()).value(), plan);
      const auto removed = remove_tree(*root, path("t"));
      EXPECT_TRUE(removed) << adds << " " << at << ": " << removed.error().message;
      EXPECT_EQ(raw->stat(path("t"))->kind, FileKind::kAbsent) << adds << " " << at;
      if (plan->calls.size() < at) break;
    }
  }
}

TEST_P(DirectoryFacts, MakeDirectoriesIsIdempotentAndRefusesAFileOnTheWay) {
  ASSERT_TRUE(make_directories(*root_, path("a/b/c"), 0755));
  ASSERT_TRUE(make_directories(*root_, path("a/b/c"), 0755));
  put(*root_, "file", "");
  EXPECT_FALSE(make_directories(*root_, path("file/b"), 0755));
}

// Limit: kMaxFileBytes of base/limits.h
TEST_P(DirectoryFacts, ReadFileRefusesAFileOverTheLimit) {
  put(*root_, "a", "12345");
  EXPECT_TRUE(read_file(*root_, path("a"), 5));
  const auto over = read_file(*root_, path("a"), 4);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().reason, "limit.file_size");
}

TEST_P(DirectoryFacts, LongRunsOfZerosAreWrittenAsHolesAndReadAsZeros) {
  constexpr size_t kMany = size_t{1} << 20U;
  const std::string zeros(kMany, '\0');
  const std::string texts[] = {"",
                               "a",
                               zeros,
                               zeros + "a",
                               "a" + zeros,
                               zeros + "\n",
                               "a" + zeros + "b",
                               "a" + std::string(5000, '\0')};
  for (const std::string& text : texts) {
    const auto file = root_->open_writable_file(path("sparse"), OpenMode::kCreateNew, 0644);
    ASSERT_TRUE(file);
    ASSERT_TRUE(write_with_holes(**file, text));
    EXPECT_TRUE(*read_file(*root_, path("sparse"), 2 * kMany) == text) << text.size();
    struct stat found {};
    if ((*file)->descriptor() >= 0) {
      ASSERT_EQ(fstat((*file)->descriptor(), &found), 0);
      constexpr blkcnt_t kAtMost = (kMany / 2) / 512;
      EXPECT_LE(found.st_blocks, kAtMost) << text.size();
    }
    ASSERT_TRUE(root_->remove_file(path("sparse")));
  }
}

/// The bytes that this process has asked the kernel for (proc_pid_io(5)).
uint64_t bytes_read() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  uint64_t count = 0;
  counts >> name >> count;
  EXPECT_EQ(name, "rchar:");
  return count;
}

TEST_P(DirectoryFacts, HolesArePassedOnAsZerosUnread) {
  constexpr uint64_t kSize = uint64_t{16} << 20U;
  const auto file = root_->open_writable_file(path("sparse"), OpenMode::kCreateNew, 0644);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->write_at(kSize / 2, "data"));
  ASSERT_TRUE((*file)->truncate(kSize));
  std::string expected(kSize, '\0');
  expected.replace(kSize / 2, 4, "data");
  std::string whole;
  const auto add = [&](uint64_t at, std::string_view piece) -> Result<void> {
    EXPECT_EQ(at, whole.size());
    whole += piece;
    return {};
  };
  const uint64_t before = bytes_read();
  const auto stat = read_in_pieces(*root_, path("sparse"), kSize, add);
  const uint64_t read = bytes_read() - before;
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->size, kSize);
  EXPECT_TRUE(whole == expected);
  if ((*file)->descriptor() >= 0) {
    EXPECT_LT(read, kSize / 4);
  }
  std::string part;
  const auto size = read_in_pieces(**root_->open_file(path("sparse")), kSize / 2 - 1, 4,
                                   [&](uint64_t /*at*/, std::string_view piece) -> Result<void> {
                                     part += piece;
                                     return {};
                                   });
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, 4U);
  EXPECT_EQ(part, std::string("\0dat", 4));
  EXPECT_EQ(read_in_pieces(*root_, path("sparse"), kSize - 1, add).error().reason,
            "limit.file_size");
}

TEST_P(DirectoryFacts, TheTimeOfTheLastModificationCanBeSet) {
  put(*root_, "a", "hello");
  const auto file = root_->open_writable_file(path("a"), OpenMode::kOpenOrCreate, 0644);
  ASSERT_TRUE(file);
  constexpr int64_t kThen = 1'234'567'890'123'456'789;
  ASSERT_TRUE((*file)->set_modified(kThen));
  EXPECT_EQ(root_->stat(path("a"))->mtime_ns, kThen);
  EXPECT_EQ(get(*root_, "a"), "hello");
}

std::unique_ptr<WritableDirectory> open_or_die(const std::string& scratch,
                                               PathResolution resolution) {
  auto opened = open_writable_disk_directory(scratch, resolution);
  EXPECT_TRUE(opened);
  return std::move(*opened);
}

INSTANTIATE_TEST_SUITE_P(
    All, DirectoryFacts,
    testing::Values(
        Maker{"Openat2",
              [](const std::string& d) { return open_or_die(d, PathResolution::kBest); }},
        Maker{"Walk", [](const std::string& d) { return open_or_die(d, PathResolution::kWalk); }},
        Maker{"Memory", [](const std::string&) { return make_memory_directory(); }}),
    [](const auto& maker) { return maker.param.name; });

}  // namespace
}  // namespace galley
