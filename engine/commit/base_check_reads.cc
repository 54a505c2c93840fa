#include <cerrno>

#include "engine/commit/base_check.h"

namespace galley {
namespace {

bool is_nothing_there(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.os_error == ENOENT ||
         error.os_error == ENOTDIR || error.os_error == ELOOP;
}

Result<Node> seen_at(const Read& read, WorkspaceView& view) {
  GALLEY_ASSIGN(const Location at, view.locate(read.path));
  GALLEY_ASSIGN(const FileStat stat, at.directory->stat(at.name));
  const bool are_files = stat.kind == FileKind::kRegular && read.node.kind == FileKind::kRegular;
  if (are_files && is_signature_of(read.base, read.node.size, stat)) {
    Node node = read.node;
    node.mode = stat.mode & 0777U;
    return node;
  }
  return observe(at, stat);
}

/// The node that is there now; nothing below something that is no directory is nothing.
Result<Node> node_now(const Read& read, WorkspaceView& view) {
  if (read.path.is_root()) return read.node;
  auto node = seen_at(read, view);
  if (!node && is_nothing_there(node.error())) return Node();
  return node;
}

Result<bool> has_other_listing(const Read& read, WorkspaceView& view) {
  if (!read.listing) return false;
  if (read.path.is_root()) {
    GALLEY_ASSIGN(auto entries, view.root().list());
    return listing_id(std::move(entries)) != *read.listing;
  }
  auto directory = view.root().open_directory(read.path);
  if (!directory && is_nothing_there(directory.error())) return true;
  if (!directory) return fail(directory.error());
  GALLEY_ASSIGN(auto entries, (*directory)->list());
  return listing_id(std::move(entries)) != *read.listing;
}

}  // namespace

Result<std::vector<ConflictPath>> check_reads(const std::vector<Read>& reads, WorkspaceView& view) {
  std::vector<ConflictPath> conflicts;
  for (const Read& read : reads) {
    if (conflicts.size() >= kMaxReadConflicts) break;
    Node now = read.node;
    if (!read.is_changed) {
      GALLEY_ASSIGN(now, node_now(read, view));
    }
    if (now != read.node) {
      conflicts.push_back(make_conflict(read.path, read.node, now));
      continue;
    }
    GALLEY_ASSIGN(const bool is_other, has_other_listing(read, view));
    if (!is_other) continue;
    ConflictPath conflict;
    conflict.path = read.path;
    conflict.expected = conflict.found = read.node;
    conflict.message = "the directory '" + (read.path.is_root() ? "." : read.path.str()) +
                       "' has other entries than when this transaction listed it";
    conflicts.push_back(std::move(conflict));
  }
  return conflicts;
}

}  // namespace galley
