#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/fs/disk_directory.h"
#include "tests/support/rel.h"

namespace galley {

/// A new, open directory under $TMPDIR (or /tmp). The destructor removes it with everything in it.
class TempDirectory {
 public:
  TempDirectory() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/galley-test-XXXXXX";
    GALLEY_CHECK(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
    auto opened = open_writable_disk_directory(path_);
    GALLEY_CHECK(opened.has_value());
    directory_ = *std::move(opened);
  }
  ~TempDirectory() {
    auto entries = directory_->list();
    if (entries) {
      for (const DirectoryEntry& entry : *entries) {
        const auto name = RelPath::parse(entry.name);
        if (name) (void)galley::remove_tree(*directory_, *name);
      }
    }
    ::rmdir(path_.c_str());
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const WritableDirectory& directory() const { return *directory_; }

  /// Writes a file, and makes its parent directories.
  void write(std::string_view path, std::string_view content, uint32_t mode = 0644) const {
    const RelPath target = rel(path);
    if (!target.parent().is_root()) {
      GALLEY_CHECK(make_directories(*directory_, target.parent(), 0755).has_value());
    }
    auto file = directory_->open_writable_file(target, OpenMode::kOpenOrCreate, mode);
    GALLEY_CHECK(file.has_value());
    GALLEY_CHECK((*file)->truncate(0).has_value());
    GALLEY_CHECK((*file)->write_at(0, content).has_value());
    GALLEY_CHECK((*file)->set_mode(mode).has_value());
  }
  [[nodiscard]] std::string read(std::string_view path) const {
    auto content = read_file(*directory_, rel(path), uint64_t{1} << 30U);
    if (!content) throw std::runtime_error(content.error().message);
    return *std::move(content);
  }
  [[nodiscard]] bool exists(std::string_view path) const {
    auto stat = directory_->stat(rel(path));
    return stat && stat->kind != FileKind::kAbsent;
  }

 private:
  std::string path_;
  std::unique_ptr<WritableDirectory> directory_;
};

}  // namespace galley
