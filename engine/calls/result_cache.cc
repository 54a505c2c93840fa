#include "engine/calls/result_cache.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "staging/overlay/change_set.h"
#include "tools/json_input.h"

namespace galley {
namespace {

/// Estimates the size of a document without printing it.
size_t size_of_document(const nlohmann::ordered_json& value) {
  constexpr size_t kNode = 32;
  size_t bytes = kNode;
  if (value.is_string()) return bytes + value.get_ref<const std::string&>().size();
  if (!value.is_structured()) return bytes;
  for (const auto& [key, member] : value.items()) {
    bytes += (value.is_object() ? key.size() : 0) + size_of_document(member);
  }
  return bytes;
}

}  // namespace

std::optional<ContentId> fingerprint(Overlay& overlay, const RelPath& path) {
  const auto kind = overlay.node_without_content(path);
  if (!kind) return {};
  std::string text = std::to_string(static_cast<int>(kind->kind)) + ' ';
  if (kind->kind == FileKind::kDirectory) {
    const auto names = overlay.list(path);
    if (!names) return {};
    for (const DirectoryEntry& entry : *names) {
      text += std::to_string(static_cast<int>(entry.kind)) + entry.name;
      text += '\0';
    }
    return ContentId::of(text);
  }
  const auto node = overlay.node(path);
  const auto is_saved = overlay.is_saved_since_read(path);
  if (!node || !is_saved || *is_saved) return {};
  text += std::to_string(node->mode) + ' ' + node->content.hex();
  if (node->owner) text += ' ' + owner_text(*node->owner);
  return ContentId::of(text);
}

ContentId ResultCache::question(const ToolRegistry::Entry& entry, const nlohmann::json& args,
                                const std::string& cwd) {
  const ToolInfo& info = entry.tool->info();
  std::string text = std::to_string(entry.number);
  // NUL separates the parts: names and paths cannot have one, and the arguments come last.
  for (const std::string* part : {&info.name, &info.version, &cwd}) text += '\0' + *part;
  return ContentId::of(text + '\0' + json_text(args));
}

JsonDocument ResultCache::find(const ContentId& question, Overlay& overlay,
                               const std::function<bool(const RelPath&)>& may_read) {
  std::vector<ReadContent> reads;
  JsonDocument data;
  {
    const std::lock_guard lock(mutex_);
    const auto found = answers_.find(question);
    if (found == answers_.end()) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, found->second.used);
    reads = found->second.reads;
    data = found->second.data;
  }
  for (const ReadContent& read : reads) {
    if (may_read && !may_read(read.path)) return nullptr;
    if (fingerprint(overlay, read.path) != read.seen) return nullptr;
  }
  return data;
}

void ResultCache::keep(const ContentId& question, std::vector<ReadContent> reads,
                       JsonDocument answer) {
  const size_t bytes = size_of_document(*answer);
  if (bytes > kMaxCachedAnswerBytes / 4) return;
  const std::lock_guard lock(mutex_);
  forget(question);
  while (!by_use_.empty() &&
         (bytes_ + bytes > kMaxCachedAnswerBytes || answers_.size() >= kMaxCachedAnswers)) {
    forget(by_use_.back());
  }
  by_use_.push_front(question);
  answers_.emplace(question, Answer{std::move(reads), std::move(answer), bytes, by_use_.begin()});
  bytes_ += bytes;
}

/// The caller holds the lock.
void ResultCache::forget(const ContentId& question) {
  const auto found = answers_.find(question);
  if (found == answers_.end()) return;
  bytes_ -= found->second.bytes;
  const auto place = found->second.used;
  answers_.erase(found);
  by_use_.erase(place);
}

size_t ResultCache::size() const {
  const std::lock_guard lock(mutex_);
  return answers_.size();
}

}  // namespace galley
