#include "staging/fs/content_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "doubles/fault_directory.h"
#include "staging/fs/disk_directory.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

class ContentPackFacts : public ::testing::Test {
 protected:
  std::shared_ptr<ContentStore> store() {
    return make_disk_store(*open_writable_disk_directory(tree.path()));
  }
  /// Gets it whole and in pieces.
  static std::string got(const std::shared_ptr<ContentStore>& store, const ContentId& id) {
    const auto content = store->get(id);
    std::string result = content ? **content : content.error().reason;
    std::string joined;
    const auto passed = store->read(id, [&joined](std::string_view piece) -> Result<void> {
      joined += piece;
      return {};
    });
    EXPECT_EQ(passed ? joined : passed.error().reason, result);
    return result;
  }
  std::string pack(size_t number) { return tree.read("pack-" + std::to_string(number)); }

  TempDirectory tree;
};

TEST_F(ContentPackFacts, StoredContentsAreFoundAndEqualOnesAreStoredOnce) {
  const auto first = store();
  std::vector<ContentId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(*first->put("content " + std::to_string(i % 10)));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(got(first, ids[static_cast<size_t>(i)]), "content " + std::to_string(i % 10));
    EXPECT_EQ(got(store(), ids[static_cast<size_t>(i)]), "content " + std::to_string(i % 10));
  }
  const size_t before = pack(0).size();
  ASSERT_TRUE(first->put("content 3"));
  EXPECT_EQ(pack(0).size(), before);
  EXPECT_FALSE(tree.exists("pack-1"));
}

/// A command opens the packs of its transaction, and must not read once for each staged content.
TEST_F(ContentPackFacts, FindingOneOfManyContentsReadsPagesAndNotHeads) {
  constexpr int kContents = 1'000;
  ContentId last;
  const auto writer = store();
  for (int i = 0; i < kContents; ++i) last = *writer->put("content " + std::to_string(i));
  const auto plan = std::make_shared<FaultPlan>();
  const auto reader =
      make_disk_store(make_fault_directory(*open_writable_disk_directory(tree.path()), plan));
  EXPECT_EQ(got(reader, last), "content " + std::to_string(kContents - 1));
  const auto reads = std::count_if(plan->calls.begin(), plan->calls.end(),
                                   [](const FaultCall& call) { return call.name == "read_at"; });
  EXPECT_LE(reads, kContents / 40);
}

TEST_F(ContentPackFacts, EachWriterHasAPackAndFindsContentsOfOtherWriters) {
  const auto one = store();
  const auto other = store();
  const ContentId of_one = *one->put("of one");
  const ContentId of_other = *other->put("of the other");
  EXPECT_TRUE(tree.exists("pack-1"));
  EXPECT_EQ(got(one, of_other), "of the other");
  EXPECT_EQ(got(other, of_one), "of one");
  EXPECT_EQ(got(one, *other->put("and more")), "and more");
}

TEST_F(ContentPackFacts, ATruncatedRecordIsRemovedByTheNextWriter) {
  ContentId whole;
  ContentId cut;
  {
    const auto writer = store();
    whole = *writer->put("whole");
    cut = *writer->put("cut short");
  }
  const std::string bytes = pack(0);
  for (size_t size = bytes.size() - 1; size > bytes.size() / 2; --size) {
    tree.write("pack-0", bytes.substr(0, size));
    EXPECT_EQ(got(store(), cut), "stage.content_missing") << size;
    const auto writer = store();
    const ContentId more = *writer->put("more");
    EXPECT_EQ(got(store(), whole), "whole") << size;
    EXPECT_EQ(got(store(), more), "more") << size;
    EXPECT_EQ(got(writer, cut), "stage.content_missing") << size;
  }
}

TEST_F(ContentPackFacts, AContentWithAChangedByteIsNotFound) {
  const ContentId id = *store()->put("some bytes");
  const std::string bytes = pack(0);
  for (size_t at = 0; at < bytes.size() - 1; ++at) {
    std::string changed = bytes;
    changed[at] = changed[at] == 'x' ? 'y' : 'x';
    tree.write("pack-0", changed);
    EXPECT_EQ(got(store(), id), "stage.content_missing") << at;
  }
}

TEST_F(ContentPackFacts, ARecordOverTheSizeLimitIsNotRead) {
  const ContentId id = ContentId::of("x");
  tree.write("pack-0", id.hex() + " 99999999999999999999\nx\n");
  EXPECT_EQ(got(store(), id), "stage.content_missing");
  tree.write("pack-0", id.hex() + " " + std::to_string(kMaxPackedBytes + 1) + "\n" +
                           std::string(kMaxPackedBytes + 1, 'x') + "\n");
  EXPECT_EQ(got(store(), id), "stage.content_missing");
}

// Limit: kMaxPackedBytes of staging/fs/content_store.h
TEST_F(ContentPackFacts, AContentOverTheLimitIsASeparateFile) {
  const auto writer = store();
  const ContentId packed = *writer->put(std::string(kMaxPackedBytes, 'a'));
  const ContentId alone = *writer->put(std::string(kMaxPackedBytes + 1, 'a'));
  EXPECT_FALSE(tree.exists(packed.hex()));
  EXPECT_TRUE(tree.exists(alone.hex()));
  EXPECT_EQ(got(store(), packed).size(), kMaxPackedBytes);
  EXPECT_EQ(got(store(), alone).size(), kMaxPackedBytes + 1);
}

// Limit: kMaxPackBytes of staging/fs/content_store.h
TEST_F(ContentPackFacts, AFullPackIsFollowedByAnother) {
  const auto writer = store();
  std::vector<ContentId> ids;
  for (size_t i = 0; i <= kMaxPackBytes / kMaxPackedBytes; ++i) {
    ids.push_back(*writer->put(std::to_string(i) + std::string(kMaxPackedBytes - 4, 'b')));
  }
  EXPECT_TRUE(tree.exists("pack-1"));
  EXPECT_FALSE(tree.exists("pack-2"));
  for (const ContentId& id : ids)
    EXPECT_EQ(got(writer, id).substr(0, 6).find("stage"), std::string::npos);
  EXPECT_EQ(got(store(), ids.front()), "0" + std::string(kMaxPackedBytes - 4, 'b'));
}

// Limit: kMaxPacks of staging/fs/content_store.h
TEST_F(ContentPackFacts, WhenAllPacksAreLockedAContentIsASeparateFile) {
  const auto directory = *open_writable_disk_directory(tree.path());
  std::vector<std::unique_ptr<WritableFile>> held;
  for (size_t number = 0; number < kMaxPacks; ++number) {
    held.push_back(*directory->open_writable_file(rel("pack-" + std::to_string(number)),
                                                  OpenMode::kCreateNew, 0600));
    ASSERT_TRUE(*held.back()->try_lock(LockMode::kExclusive));
  }
  const ContentId id = *store()->put("alone");
  EXPECT_TRUE(tree.exists(id.hex()));
  EXPECT_EQ(got(store(), id), "alone");
}

// Limit: kMaxPackedContents of staging/fs/content_store.h
TEST_F(ContentPackFacts, WhenThePackedContentsReachTheirLimitAContentIsASeparateFile) {
  std::string records;
  for (size_t i = 0; i < kMaxPackedContents; ++i) {
    records += ContentId::of(std::to_string(i)).hex() + " 0\n\n";
  }
  const ContentId last = ContentId::of("behind them");
  tree.write("pack-0", records + last.hex() + " 11\nbehind them\n");
  EXPECT_EQ(got(store(), last), "stage.content_missing");
  const auto writer = store();
  const ContentId id = *writer->put("alone");
  EXPECT_TRUE(tree.exists(id.hex()));
  EXPECT_EQ(got(writer, id), "alone");
}

/// The number of files that this process has open.
size_t open_files() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

TEST(MemoryStore, LargeAdoptedFilesStayOnTheDiskAndLeaveDescriptorsForOthers) {
  constexpr uint64_t kLarge = uint64_t{8} << 20U;
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (const rlim_t most : {before.rlim_cur, rlim_t{open_files() + 20}}) {
    TempDirectory tree;
    const auto store = make_memory_store();
    std::vector<ContentId> ids;
    const size_t open_before = open_files();
    const struct rlimit few = {most, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (int i = 0; i < 36; ++i) {
      const RelPath name = *RelPath::parse("file" + std::to_string(i));
      {
        const auto file = tree.directory().open_writable_file(name, OpenMode::kCreateNew);
        ASSERT_TRUE((*file)->write_at(0, std::to_string(i)));
        ASSERT_TRUE((*file)->truncate(kLarge));
      }
      ids.push_back(ContentId::of(*read_file(tree.directory(), name, kLarge)));
      ASSERT_TRUE(store->adopt(ids.back(), tree.directory(), name)) << i;
      ASSERT_TRUE(tree.directory().remove_file(name));
    }
    const size_t held = open_files() - open_before;
    EXPECT_GT(held, 0U);
    EXPECT_LE(held, std::min<size_t>(32, most / 2));
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto content = store->get(ids[i]);
      ASSERT_TRUE(content) << i;
      EXPECT_EQ((*content)->size(), kLarge);
      EXPECT_EQ((*content)->c_str(), std::to_string(i));
      EXPECT_EQ(*store->get(ids[i]), *content) << "a copy that is in use is shared";
    }
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  }
}

TEST(MemoryStore, AFileThatHasAnotherNameIsCopied) {
  TempDirectory tree;
  const auto store = make_memory_store();
  const std::string text(size_t{9} << 20U, 'a');
  tree.write("a", text);
  std::filesystem::create_hard_link(tree.path() + "/a", tree.path() + "/b");
  const ContentId id = ContentId::of(text);
  ASSERT_TRUE(store->adopt(id, tree.directory(), *RelPath::parse("a")));
  tree.write("b", "changed");
  EXPECT_TRUE(**store->get(id) == text);
}

}  // namespace
}  // namespace galley
