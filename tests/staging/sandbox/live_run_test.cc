#include "staging/sandbox/live_run.h"

#include <gtest/gtest.h>

#include <limits>

#include "doubles/memory_directory.h"
#include "support/rel.h"

namespace galley {
namespace {

/// A directory with the file `f`, whose time changes at each of the first `changes_` looks.
class ChangingDirectory final : public Directory {
 public:
  explicit ChangingDirectory(int changes) : changes_(changes) {
    const auto file = files_->open_writable_file(rel("f"), OpenMode::kCreateNew, 0644);
    GALLEY_CHECK(file.has_value() && (*file)->write_at(0, "text").has_value());
  }
  Result<std::unique_ptr<Directory>> open_directory(const RelPath& path) const override {
    return files_->open_directory(path);
  }
  Result<std::unique_ptr<File>> open_file(const RelPath& path) const override {
    return files_->open_file(path);
  }
  Result<FileStat> stat(const RelPath& path) const override {
    GALLEY_ASSIGN(FileStat stat, files_->stat(path));
    if (looks_ < changes_) ++looks_;
    stat.mtime_ns = looks_;
    return stat;
  }
  Result<std::string> read_link(const RelPath& path) const override {
    return files_->read_link(path);
  }
  Result<std::vector<DirectoryEntry>> list() const override { return files_->list(); }
  Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const override {
    return files_->attributes(path);
  }
  Result<bool> is_writable() const override { return files_->is_writable(); }
  [[nodiscard]] int descriptor() const override { return -1; }

 private:
  std::unique_ptr<WritableDirectory> files_ = make_memory_directory();
  int changes_;
  mutable int looks_ = 0;
};

// Limit: kMaxReadsOfLiveFile of staging/sandbox/live_run.h
TEST(LiveFile, IsReadAgainUntilItStopsChangingAndNotForever) {
  const ChangingDirectory calm(2 * kMaxReadsOfLiveFile - 1);  // the last attempt sees no change
  const auto file = read_live_file(calm, rel("f"), rel("a/f"));
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(*file->bytes, "text");
  const ChangingDirectory busy(std::numeric_limits<int>::max());
  const auto refused = read_live_file(busy, rel("f"), rel("a/f"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().reason, "run.file_changes");
  EXPECT_EQ(refused.error().path, "a/f");
}

}  // namespace
}  // namespace galley
