#include "engine/policy/grant_book.h"

#include <utility>

namespace galley {

std::shared_ptr<const GrantBook::Page> GrantBook::of(std::string_view agent) const {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(agent);
  return found == pages_.end() ? others_ : found->second;
}

uint64_t GrantBook::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

void GrantBook::replace(Pages pages) {
  std::map<std::string, std::shared_ptr<const Page>, std::less<>> fresh;
  for (auto& [agent, page] : pages) fresh[agent] = std::make_shared<const Page>(std::move(page));
  const std::lock_guard lock(mutex_);
  pages_ = std::move(fresh);
  others_ = nullptr;
  ++version_;
}

void GrantBook::revoke_everything() {
  auto everything = std::make_shared<Page>();
  for (const char* text : {"!fs:read", "!fs:write", "!exec:*", "!net:host", "!*:*"}) {
    everything->push_back(*Capability::parse(text));
  }
  const std::lock_guard lock(mutex_);
  pages_.clear();
  others_ = std::move(everything);
  ++version_;
}

}  // namespace galley
