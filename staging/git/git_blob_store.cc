#include "staging/git/git_blob_store.h"

#include <utility>

#include "base/content_id.h"
#include "base/limits.h"

namespace galley {

Result<GitBlobStore::Blob> GitBlobStore::add(const std::string& blob, uint64_t max_bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = blobs_.find(blob);
    if (known != blobs_.end()) return known->second;
  }
  constexpr size_t kMaxKeptBlob = kMaxKeptBytes / 8;
  ContentHasher hasher;
  std::string bytes;
  uint64_t size = 0;
  const auto take = [&](std::string_view some) {
    hasher.update(some);
    size += some.size();
    if (size <= kMaxKeptBlob) bytes += some;
  };
  GALLEY_TRY(objects_->read(blob, take, max_bytes));
  const Blob made{hasher.finish(), size};
  const std::lock_guard lock(mutex_);
  blobs_.emplace(blob, made);
  names_.emplace(made.content, blob);
  if (size <= kMaxKeptBlob && kept_bytes_ + size <= kMaxKeptBytes) {
    const auto content = std::make_shared<const std::string>(std::move(bytes));
    if (kept_.emplace(made.content, content).second) kept_bytes_ += size;
  }
  return made;
}

Result<void> GitBlobStore::keep(const ContentId& id, const Content& content) {
  const std::lock_guard lock(mutex_);
  kept_.try_emplace(id, content);
  return {};
}

Result<Content> GitBlobStore::get(const ContentId& id) const {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(id);
    if (kept != kept_.end()) return kept->second;
    const auto found = names_.find(id);
    if (found == names_.end()) {
      return fail(ErrorKind::kInternal, "stage.content_missing",
                  "the content " + id.hex() + " is not of this change");
    }
    name = found->second;
  }
  GALLEY_ASSIGN(std::string bytes, objects_->content(name, "blob", limits::kMaxFileBytes));
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace galley
