#include "engine/policy/proposed_tree.h"

#include <algorithm>
#include <map>

#include "base/limits.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay_errors.h"

namespace galley {
namespace {

Error protected_path(const RelPath& path) {
  return Error{ErrorKind::kRefused, "path.protected",
               path.str() + ": Galley neither shows nor changes its own and git's directories",
               path.str(), 0};
}

Error not_found(const RelPath& path) {
  return Error{ErrorKind::kNotFound, "path.not_found",
               path.str() + ": there is no such path in the proposed tree", path.str(), 0};
}

Error wrong_kind(const RelPath& path, std::string_view wanted) {
  return Error{ErrorKind::kRefused, "path.wrong_kind",
               path.str() + " is not " + std::string(wanted), path.str(), 0};
}

}  // namespace

ProposedTree::ProposedTree(const Proposal& proposal, const Directory& workspace,
                           std::string root_path)
    : proposal_(&proposal),
      workspace_(&workspace),
      rules_(&workspace),
      root_path_(std::move(root_path)) {}

const Change* ProposedTree::change(const RelPath& path) const {
  return find_change(proposal_->changes(), path);
}

bool ProposedTree::is_below_changed_file(const RelPath& path) const {
  for (RelPath parent = path.parent(); !parent.is_root(); parent = parent.parent()) {
    const Change* parent_change = change(parent);
    if (parent_change != nullptr) return parent_change->after.kind != FileKind::kDirectory;
  }
  return false;
}

Result<Node> ProposedTree::node(const RelPath& path) const {
  if (path.is_protected()) return fail(protected_path(path));
  if (const Change* found = change(path)) return found->after;
  if (is_below_changed_file(path)) return Node();
  GALLEY_ASSIGN(const FileStat stat, reachable_stat(*workspace_, path));
  Node node;
  node.kind = stat.kind;
  node.mode = stat.kind == FileKind::kSymlink ? 0 : stat.mode & 0777U;
  node.size = stat.kind == FileKind::kRegular ? stat.size : 0;
  return node;
}

Result<Content> ProposedTree::read(const RelPath& path) const {
  GALLEY_ASSIGN(const Node found, node(path));
  if (found.kind == FileKind::kAbsent) return fail(not_found(path));
  if (found.kind != FileKind::kRegular) return fail(wrong_kind(path, "a regular file"));
  if (change(path) != nullptr && !found.content.is_none()) return proposal_->content(found);
  GALLEY_ASSIGN(std::string text, read_file(*workspace_, path, limits::kMaxFileBytes));
  return std::make_shared<const std::string>(std::move(text));
}

Result<std::string> ProposedTree::read_link(const RelPath& path) const {
  GALLEY_ASSIGN(const Node found, node(path));
  if (found.kind == FileKind::kAbsent) return fail(not_found(path));
  if (found.kind != FileKind::kSymlink) return fail(wrong_kind(path, "a symbolic link"));
  std::string target;
  if (change(path) == nullptr) {
    GALLEY_ASSIGN(target, workspace_->read_link(path));
  } else {
    GALLEY_ASSIGN(const Content content, proposal_->content(found));
    target = *content;
  }
  // git stores any bytes as a target. It makes a link up to the NUL, which leads elsewhere.
  GALLEY_TRY(overlay_errors::check_target(path, target));
  return target;
}

Result<std::vector<DirectoryEntry>> ProposedTree::list(const RelPath& directory) const {
  std::map<std::string, FileKind> entries;
  FileKind kind = FileKind::kDirectory;
  if (!directory.is_root()) {
    GALLEY_ASSIGN(const Node found, node(directory));
    kind = found.kind;
  }
  if (kind == FileKind::kAbsent) return fail(not_found(directory));
  if (kind != FileKind::kDirectory) return fail(wrong_kind(directory, "a directory"));

  const Change* own = directory.is_root() ? nullptr : change(directory);
  if (own == nullptr || own->before.kind == FileKind::kDirectory) {
    Result<std::vector<DirectoryEntry>> on_disk = std::vector<DirectoryEntry>();
    if (directory.is_root()) {
      on_disk = workspace_->list();
    } else {
      GALLEY_ASSIGN(const auto opened, workspace_->open_directory(directory));
      on_disk = opened->list();
    }
    if (!on_disk) return fail(std::move(on_disk.error()));
    for (auto& entry : *on_disk) entries.emplace(std::move(entry.name), entry.kind);
  }
  const ChangeSet& changes = proposal_->changes();
  const std::string prefix = directory.is_root() ? "" : directory.str() + "/";
  auto at = std::ranges::lower_bound(
      changes, prefix, {}, [](const Change& one) -> const std::string& { return one.path.str(); });
  for (; at != changes.end() && at->path.str().starts_with(prefix); ++at) {
    const std::string name = at->path.str().substr(prefix.size());
    if (name.find('/') != name.npos) continue;
    if (at->after.kind == FileKind::kAbsent) {
      entries.erase(name);
    } else {
      entries[name] = at->after.kind;
    }
  }
  std::vector<DirectoryEntry> result;
  for (const auto& [name, entry_kind] : entries) {
    const auto path = RelPath::parse(name);
    if (path && path->is_protected()) continue;
    result.push_back({name, entry_kind});
  }
  return result;
}

Result<Content> ProposedTree::read_before(const Change& change) const {
  if (change.before.kind != FileKind::kRegular && change.before.kind != FileKind::kSymlink) {
    return std::make_shared<const std::string>();
  }
  return proposal_->content(change.before);
}

}  // namespace galley
