#include "staging/fs/open_directories.h"

namespace galley {

Result<std::shared_ptr<const WritableDirectory>> OpenDirectories::at(const RelPath& path) {
  if (path.is_root())
    return std::shared_ptr<const WritableDirectory>(std::shared_ptr<void>(), top_);
  const auto known = open_.find(path);
  if (known != open_.end()) return known->second;
  // Walks are depth first, so the directories in use are soon open again.
  if (open_.size() >= kMaxOpen) open_.clear();
  GALLEY_ASSIGN(auto opened, top_->open_writable_directory(path));
  return open_.emplace(path, std::move(opened)).first->second;
}

Result<std::vector<DirectoryEntry>> OpenDirectories::list(const RelPath& path) {
  GALLEY_ASSIGN(const auto directory, at(path));
  return directory->list();
}

}  // namespace galley
