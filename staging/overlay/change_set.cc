#include "staging/overlay/change_set.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "staging/fs/user_state.h"
#include "staging/overlay/overlay.h"

namespace galley {
namespace {

/// A file that is changed again within one tick of a coarse clock keeps its timestamp. An object
/// that was seen less than this time after its last change is therefore read again (git does the
/// same with its index).
constexpr int64_t kRacyNs = 20'000'000;

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

bool is_signature_of(const BaseStamp& base, uint64_t size, const FileStat& stat) {
  if (base.inode == 0 || base.inode != stat.inode || base.device != stat.device) return false;
  if (base.mtime_ns != stat.mtime_ns || base.ctime_ns != stat.ctime_ns) return false;
  if (size != stat.size) return false;
  return std::max(stat.mtime_ns, stat.ctime_ns) < base.seen_ns - kRacyNs;
}

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

Owner owner_of(const FileStat& stat) { return {stat.uid, stat.gid}; }

bool changes_owner(const Node& before, const Node& after) {
  return after.owner && before.kind == after.kind && before.owner != after.owner;
}

Node with_owner(Node node, const Owner& owner) {
  if (node.kind == FileKind::kRegular || node.kind == FileKind::kDirectory) node.owner = owner;
  return node;
}

Node with_owner_like(const Node& found, const Node& wanted, const FileStat& stat) {
  return wanted.owner ? with_owner(found, owner_of(stat)) : found;
}

std::string owner_text(const Owner& owner) {
  return std::to_string(owner.uid) + ":" + std::to_string(owner.gid);
}

Result<void> check_owner_change(const RelPath& path, const std::optional<Owner>& now,
                                const Owner& wanted) {
  if (may_give_owner(now ? now->uid : effective_user(), wanted.uid, wanted.gid)) return {};
  const std::string who = is_root_user() ? "this process, which lacks CAP_CHOWN or does not have "
                                           "these ids in its user namespace,"
                                         : "the user " + std::to_string(effective_user());
  return fail(ErrorKind::kRefused, "owner.not_permitted",
              who + " may not give '" + path.str() + "' to " + owner_text(wanted) +
                  (is_root_user() ? std::string("; name other ids")
                                  : "; a user may give its own files to its own groups only: "
                                    "name such a group, or have root make this change"),
              path.str());
}

Proposal Proposal::freeze(const Overlay& overlay) {
  Proposal proposal = from(overlay.changes(), overlay.store());
  if (overlay.tracks_reads()) {
    proposal.reads_ = std::make_shared<const std::vector<Read>>(overlay.reads());
  }
  return proposal;
}

Proposal Proposal::from(ChangeSet changes, std::shared_ptr<const ContentStore> store) {
  static const ContentId no_changes = change_set_id({});  // of each call that only reads
  Proposal proposal;
  proposal.id_ = changes.empty() ? no_changes : change_set_id(changes);
  proposal.changes_ = std::move(changes);
  proposal.reads_ = std::make_shared<const std::vector<Read>>();
  proposal.store_ = std::move(store);
  return proposal;
}

Result<Content> Proposal::content(const Node& node) const {
  if (node.kind != FileKind::kRegular && node.kind != FileKind::kSymlink && !is_submodule(node)) {
    return fail(ErrorKind::kInternal, "proposal.no_content",
                "only files, links and submodules have a content");
  }
  return store_->get(node.content);
}

}  // namespace galley
