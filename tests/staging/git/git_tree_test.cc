#include "staging/git/git_tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "staging/git/git_blob_store.h"
#include "staging/overlay/overlay.h"
#include "support/scratch_repository.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

RelPath at(std::string_view text) { return *RelPath::parse(text); }

class GitTreeTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    git("init -q --object-format=" + std::string(GetParam()));
    write("file", "one\n");
    write("run", "#!/bin/sh\n");
    write("dir/inner/deep", "deep\n");
    write("dir.txt", "beside\n");
    fs::permissions(scratch_.path() + "/run", fs::perms::owner_all);
    fs::create_symlink("file", scratch_.path() + "/link");
    git("add -A");
    git("update-index --add --cacheinfo 160000," + std::string(id_digits(), '1') + ",module");
    git("commit -qm first");
    write("file", "not this\n");
  }
  [[nodiscard]] static size_t id_digits() {
    return std::string_view(GetParam()) == "sha1" ? 40 : 64;
  }
  void write(const std::string& name, const std::string& content) { scratch_.write(name, content); }
  void git(const std::string& arguments) { scratch_.git(arguments); }
  GitTree head() {
    objects_ = std::make_shared<const GitObjects>(GitProgram(scratch_.path()));
    const auto tree = objects_->look("HEAD^{tree}");
    EXPECT_TRUE(tree.has_value()) << tree.error().message;
    return GitTree(std::make_shared<const GitTrees>(objects_), tree->id);
  }

  ScratchRepository scratch_;
  std::shared_ptr<const GitObjects> objects_;
};

TEST_P(GitTreeTest, ShowsTheCommittedFilesAndNotTheWorkTree) {
  const GitTree tree = head();
  EXPECT_EQ(*read_file(tree, at("file"), 100), "one\n");
  EXPECT_EQ(*read_file(tree, at("dir/inner/deep"), 100), "deep\n");
  EXPECT_EQ(*tree.read_link(at("link")), "file");
  EXPECT_EQ(read_file(tree, at("file"), 3).error().reason, "limit.file_size");
}

TEST_P(GitTreeTest, DifferencesAreCountedUpToALimit) {
  const std::string before = head().id();
  write("file", "two\n");
  write("dir/inner/more", "more\n");
  fs::remove_all(scratch_.path() + "/run");
  write("run/below/x", "x\n");
  git("add -A");
  git("commit -qm second");
  const std::string after = head().id();
  const GitTrees trees(objects_);
  // file, more, run, run/below/x; and the folders ., dir, dir/inner, run, run/below
  EXPECT_TRUE(differ_in_more(trees, before, after, 4).value());
  EXPECT_FALSE(differ_in_more(trees, before, after, 5).value());
  EXPECT_TRUE(differ_in_more(trees, after, before, 4).value());
  EXPECT_FALSE(differ_in_more(trees, after, before, 5).value());
  EXPECT_FALSE(differ_in_more(trees, after, after, 1).value());
  EXPECT_EQ(differ_in_more(trees, before, std::string(id_digits(), '2'), 5).error().reason,
            "git.no_such_object");
}

TEST_P(GitTreeTest, StatsEqualThoseOfACheckout) {
  const GitTree tree = head();
  EXPECT_EQ(tree.stat(at("file"))->mode, 0644U);
  EXPECT_EQ(tree.stat(at("file"))->size, 4U);
  EXPECT_EQ(tree.stat(at("run"))->mode, 0755U);
  EXPECT_EQ(tree.stat(at("link"))->kind, FileKind::kSymlink);
  EXPECT_EQ(tree.stat(at("dir/inner"))->kind, FileKind::kDirectory);
  EXPECT_EQ(tree.stat(RelPath::root())->kind, FileKind::kDirectory);
  EXPECT_EQ(tree.stat(at("module"))->kind, FileKind::kDirectory);
  EXPECT_NE(tree.stat(at("file"))->inode, tree.stat(at("run"))->inode);
}

TEST_P(GitTreeTest, AMissingPathIsAbsent) {
  const GitTree tree = head();
  EXPECT_EQ(tree.stat(at("nothing"))->kind, FileKind::kAbsent);
  EXPECT_EQ(tree.stat(at("dir/nothing/below"))->kind, FileKind::kAbsent);
  EXPECT_EQ(tree.stat(at("file/below"))->kind, FileKind::kAbsent);
  EXPECT_EQ(tree.stat(at("module/below"))->kind, FileKind::kAbsent);
  EXPECT_EQ(tree.open_file(at("nothing")).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(tree.stat(at("link/below")).error().reason, "path.through_symlink");
  EXPECT_EQ(tree.open_file(at("link")).error().reason, "path.is_symlink");
  EXPECT_EQ(tree.open_file(at("dir")).error().reason, "path.is_directory");
}

TEST_P(GitTreeTest, ListsNamesInOrder) {
  const auto names = head().list();
  ASSERT_TRUE(names.has_value());
  std::string all;
  for (const DirectoryEntry& entry : *names) all += entry.name + " ";
  EXPECT_EQ(all, "dir dir.txt file link module run ");
  const auto inner = head().open_directory(at("dir/inner"));
  ASSERT_TRUE(inner.has_value());
  EXPECT_EQ((*inner)->list()->front().name, "deep");
  EXPECT_TRUE((*head().open_directory(at("module")))->list()->empty());
}

TEST_P(GitTreeTest, CanBeTheBaseOfAnOverlay) {
  const GitTree tree = head();
  const SystemClock clock;
  Overlay overlay(tree, make_memory_store(), clock);
  ASSERT_TRUE(overlay.write(at("file"), "two\n").has_value());
  ASSERT_TRUE(overlay.remove(at("dir/inner/deep")).has_value());
  const ChangeSet changes = overlay.changes();
  std::string all;
  for (const Change& change : changes) all += change.path.str() + " ";
  EXPECT_EQ(all, "dir dir/inner dir/inner/deep file ");
}

TEST_P(GitTreeTest, ABlobIsFoundByItsContent) {
  const GitTree tree = head();
  GitBlobStore store(objects_);
  const auto added = store.add(tree.entry(at("file"))->id);
  ASSERT_TRUE(added.has_value());
  EXPECT_EQ(added->content, ContentId::of("one\n"));
  EXPECT_EQ(**store.get(ContentId::of("one\n")), "one\n");
  EXPECT_EQ(store.get(ContentId::of("never")).error().reason, "stage.content_missing");
}

// Limit: kMaxKeptBytes of staging/git/git_blob_store.h
TEST_P(GitTreeTest, ABlobThatIsNotKeptIsReadAgain) {
  const std::string large(GitBlobStore::kMaxKeptBytes, 'x');
  write("large", large);
  git("add large");
  const GitTree tree = head();
  GitBlobStore store(objects_);
  const auto id = objects_->look(":large");
  ASSERT_TRUE(id.has_value());
  ASSERT_TRUE(store.add(id->id).has_value());
  EXPECT_EQ(**store.get(ContentId::of(large)), large);
}

// Limit: kMaxKeptFileBytes of staging/git/git_blob_store.h
TEST_P(GitTreeTest, AFileThatIsNotKeptIsReadAgain) {
  GitBlobStore store(objects_);
  std::string file;
  size_t reads = 0;
  const auto keep = [&](const std::string& bytes, bool is_large) {
    file = bytes;
    const Content content = is_large ? nullptr : std::make_shared<const std::string>(bytes);
    store.keep_file(
        ContentId::of(bytes), content,
        [&]() -> Result<std::string> {
          ++reads;
          return file;
        },
        "a/file");
  };
  keep("kept", false);
  keep("large", true);
  EXPECT_EQ(**store.get(ContentId::of("large")), "large");
  EXPECT_EQ(reads, 1U);
  const std::string much(GitBlobStore::kMaxKeptFileBytes - 3, 'x');  // with the first, one too many
  keep(much, false);
  EXPECT_EQ(**store.get(ContentId::of("kept")), "kept");
  EXPECT_EQ(reads, 1U);
  EXPECT_EQ(**store.get(ContentId::of(much)), much);
  EXPECT_EQ(reads, 2U);
  file += "y";
  const auto changed = store.get(ContentId::of(much));
  EXPECT_EQ(changed.error().reason, "check.file_changed");
  EXPECT_EQ(changed.error().path, "a/file");
}

TEST_P(GitTreeTest, AnObjectOverTheLimitIsNotRead) {
  write("large", std::string(size_t{8} << 20U, 'x'));
  git("add large");
  (void)head();
  size_t read = 0;
  const GitObjects::Take take = [&](std::string_view some) { read += some.size(); };
  EXPECT_EQ(objects_->read(":large", take, 100).error().reason, "limit.file_size");
  EXPECT_EQ(read, 0U);
  GitBlobStore store(objects_);
  EXPECT_EQ(store.add(objects_->look(":large")->id, 100).error().kind, ErrorKind::kQuota);
  EXPECT_EQ(*objects_->content(":file", "blob", 4), "one\n") << "another reader goes on";
  EXPECT_EQ(objects_->content(":file", "tree", 4).error().reason, "git.wrong_type");
}

TEST_P(GitTreeTest, ManyBlobsAreReadInOrderUpToTheFirstFailure) {
  // Contents larger than a pipe, and more names than one request has.
  constexpr size_t kCount = 150;
  std::vector<std::string> contents;
  for (size_t i = 0; i < kCount; ++i) {
    contents.push_back(std::to_string(i) + std::string(i % 7 == 0 ? 100'000 : i, 'x') + "\n");
    write("many/" + std::to_string(i), contents.back());
  }
  git("add many");
  (void)head();
  std::vector<std::string> names;
  for (size_t i = 0; i < kCount; ++i) {
    names.push_back(objects_->look(":many/" + std::to_string(i))->id);
  }
  std::vector<GitBlobStore::Wanted> wanted;
  for (const std::string& name : names) wanted.push_back({name, UINT64_MAX});
  GitBlobStore whole(objects_);
  ASSERT_EQ(whole.add_each(wanted), kCount);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(whole.add(names[i])->content, ContentId::of(contents[i])) << i;
  }
  const std::string unknown(id_digits(), '0');
  for (const size_t failing : {size_t{0}, size_t{63}, size_t{64}, size_t{149}}) {
    std::vector<GitBlobStore::Wanted> asked;
    for (size_t i = 0; i < kCount; ++i) {
      asked.push_back({i == failing ? unknown : names[i], UINT64_MAX});
    }
    GitBlobStore store(objects_);
    EXPECT_EQ(store.add_each(asked), failing);
    EXPECT_EQ(store.add(unknown).error().reason, "git.no_such_object");
    EXPECT_EQ(store.add(names[149])->content, ContentId::of(contents[149]));
  }
  GitBlobStore store(objects_);
  const std::vector<GitBlobStore::Wanted> too_large = {{names[1], 100}, {names[7], 100}};
  EXPECT_EQ(store.add_each(too_large), 1U);
  EXPECT_EQ(store.add(names[7], 100).error().reason, "limit.file_size");
}

TEST_P(GitTreeTest, AnUnknownNameIsAnErrorAndTheReaderGoesOn) {
  (void)head();
  EXPECT_EQ(objects_->look("nowhere").error().reason, "git.no_such_object");
  EXPECT_EQ(objects_->look("a\nb").error().reason, "git.bad_revision");
  EXPECT_TRUE(objects_->look("HEAD").has_value()) << "the reader goes on";
}

INSTANTIATE_TEST_SUITE_P(BothHashes, GitTreeTest, ::testing::Values("sha1", "sha256"));

}  // namespace
}  // namespace galley
