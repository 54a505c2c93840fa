#include "staging/overlay/change_set.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace galley {
namespace {

void add_number(ContentHasher& hasher, uint64_t value) {
  std::array<char, sizeof value> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(value >> (8 * i) & 0xffU);
  }
  hasher.update({bytes.data(), bytes.size()});
}

void add_text(ContentHasher& hasher, std::string_view text) {
  add_number(hasher, text.size());
  hasher.update(text);
}

void add_node(ContentHasher& hasher, const Node& node) {
  // Without an owner the hash is that of versions which did not know owners.
  constexpr uint64_t kHasOwner = 0x100;
  add_number(hasher, static_cast<uint64_t>(node.kind) | (node.owner ? kHasOwner : 0));
  if (node.owner) {
    add_number(hasher, node.owner->uid);
    add_number(hasher, node.owner->gid);
  }
  add_number(hasher, node.mode);
  add_number(hasher, node.size);
  const auto& id = node.content.bytes();
  hasher.update({reinterpret_cast<const char*>(id.data()), id.size()});
}

void add_source(ContentHasher& hasher, const std::optional<RelPath>& source) {
  add_text(hasher, source ? source->str() : std::string());
}

}  // namespace

ContentId listing_id(std::vector<DirectoryEntry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  ContentHasher hasher;
  add_text(hasher, "galley listing 1");
  for (const DirectoryEntry& entry : entries) {
    const auto name = RelPath::parse(entry.name);
    if (name && name->is_protected()) continue;
    add_text(hasher, entry.name);
    add_number(hasher, static_cast<uint64_t>(entry.kind));
  }
  return hasher.finish();
}

bool is_submodule(const Node& node) {
  return node.kind == FileKind::kDirectory && !node.content.is_none();
}

bool is_file_or_link(const Node& node) {
  return node.kind == FileKind::kRegular || node.kind == FileKind::kSymlink;
}

ContentId change_set_id(const ChangeSet& changes) {
  ContentHasher hasher;
  add_text(hasher, "galley change set 1");
  add_number(hasher, changes.size());
  for (const Change& change : changes) {
    add_text(hasher, change.path.str());
    add_node(hasher, change.before);
    add_node(hasher, change.after);
    add_source(hasher, change.renamed_from);
    add_source(hasher, change.copied_from);
  }
  return hasher.finish();
}

const Change* find_change(const ChangeSet& changes, const RelPath& path) {
  const auto found =
      std::lower_bound(changes.begin(), changes.end(), path,
                       [](const Change& change, const RelPath& p) { return change.path < p; });
  return found != changes.end() && found->path == path ? &*found : nullptr;
}

}  // namespace galley
