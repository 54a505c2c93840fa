#include "staging/git/git_blob_store.h"

#include <deque>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/limits.h"
#include "base/printable.h"

namespace galley {

/// A blob whose bytes arrive.
class GitBlobStore::Arriving {
 public:
  explicit Arriving(const std::string& name) : name_(name) {}

  [[nodiscard]] GitObjects::Take take() {
    return [this](std::string_view some) {
      hasher_.update(some);
      size_ += some.size();
      if (may_be_kept()) {
        bytes_ += some;
      } else {
        bytes_ = {};
      }
    };
  }

 private:
  friend class GitBlobStore;
  [[nodiscard]] bool may_be_kept() const { return size_ <= kMaxKeptBytes / 8; }

  const std::string& name_;
  ContentHasher hasher_;
  std::string bytes_;
  uint64_t size_ = 0;
};

GitBlobStore::Blob GitBlobStore::publish(Arriving& arriving) {
  const Blob made{arriving.hasher_.finish(), arriving.size_};
  const std::lock_guard lock(mutex_);
  blobs_.emplace(arriving.name_, made);
  names_.emplace(made.content, arriving.name_);
  if (arriving.may_be_kept() && kept_bytes_ + made.size <= kMaxKeptBytes) {
    const auto content = std::make_shared<const std::string>(std::move(arriving.bytes_));
    if (kept_.emplace(made.content, content).second) kept_bytes_ += made.size;
  }
  return made;
}

Result<GitBlobStore::Blob> GitBlobStore::add(const std::string& blob, uint64_t max_bytes) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = blobs_.find(blob);
    if (known != blobs_.end()) return known->second;
  }
  Arriving arriving(blob);
  GALLEY_TRY(objects_->read(blob, arriving.take(), max_bytes));
  return publish(arriving);
}

size_t GitBlobStore::add_each(std::span<const Wanted> wanted) {
  std::deque<Arriving> arriving;  // its elements stay where they are
  std::vector<GitObjects::Wanted> asked;
  for (const Wanted& one : wanted) {
    arriving.emplace_back(one.blob);
    asked.push_back({one.blob, one.max_bytes, arriving.back().take()});
  }
  // Each is published when it is read, so that only a few wait in memory.
  return objects_->read_each(asked, [&](size_t i) { publish(arriving[i]); });
}

void GitBlobStore::keep_file(const ContentId& id, const Content& content, ReadAgain again,
                             std::string name) {
  const std::lock_guard lock(mutex_);
  if (content == nullptr || kept_file_bytes_ + content->size() > kMaxKeptFileBytes) {
    files_.try_emplace(id, UnkeptFile{std::move(again), std::move(name)});
  } else if (kept_.try_emplace(id, content).second) {
    kept_file_bytes_ += content->size();
  }
}

Result<void> GitBlobStore::keep(const ContentId& id, const Content& content) {
  const std::lock_guard lock(mutex_);
  kept_.try_emplace(id, content);
  return {};
}

namespace {

Result<Content> unchanged(const ContentId& id, const std::string& name, Result<std::string> bytes) {
  if (!bytes) return fail(bytes.error());
  if (ContentId::of(*bytes) == id) return std::make_shared<const std::string>(*std::move(bytes));
  return fail(ErrorKind::kConflict, "check.file_changed",
              "'" + printable_line(name) + "' changed while it was judged; run the command again",
              name);
}

}  // namespace

Result<Content> GitBlobStore::get(const ContentId& id) const {
  std::string name;
  UnkeptFile file_now;
  {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(id);
    if (kept != kept_.end()) return kept->second;
    const auto found = names_.find(id);
    const auto file = files_.find(id);
    if (found != names_.end()) {
      name = found->second;
    } else if (file != files_.end()) {
      file_now = file->second;
    } else {
      return fail(ErrorKind::kInternal, "stage.content_missing",
                  "the content " + id.hex() + " is not of this change");
    }
  }
  if (file_now.again) return unchanged(id, file_now.name, file_now.again());
  GALLEY_ASSIGN(std::string bytes, objects_->content(name, "blob", limits::kMaxFileBytes));
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace galley
