#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "staging/fs/content_store.h"

namespace galley {

/// New contents in memory over the contents of stores that are only read: an undo or a merge then
/// copies nothing that a journal already has.
class LayeredStore final : public ContentStore {
 public:
  explicit LayeredStore(std::vector<std::shared_ptr<const ContentStore>> below)
      : fresh_(make_memory_store()), below_(std::move(below)) {}

  Result<void> keep(const ContentId& id, const Content& content) override {
    return fresh_->keep(id, content);
  }

  Result<Content> get(const ContentId& id) const override {
    Result<Content> found = fresh_->get(id);
    for (const auto& store : below_) {
      if (found) break;
      auto below = store->get(id);
      // That a store does not know it says less than that another one lost it.
      if (below || below.error().kind != ErrorKind::kInternal) found = std::move(below);
    }
    return found;
  }

 private:
  std::shared_ptr<ContentStore> fresh_;
  std::vector<std::shared_ptr<const ContentStore>> below_;
};

}  // namespace galley
