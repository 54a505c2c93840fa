#include "engine/commit/workspace_view.h"

#include <cerrno>

#include "base/file_mode.h"
#include "base/result.h"

namespace galley {

Result<Location> WorkspaceView::locate(const RelPath& path) {
  GALLEY_CHECK(!path.is_root());
  const RelPath parent = path.parent();
  GALLEY_ASSIGN(RelPath name, RelPath::parse(path.name()));
  if (!mount_) {
    GALLEY_ASSIGN(const FileStat root, workspace_->stat(RelPath::root()));
    mount_ = root.mount;
  }
  if (parent.is_root()) return Location{workspace_, std::move(name)};
  auto found = parents_.find(parent);
  if (found == parents_.end()) {
    GALLEY_ASSIGN(auto opened, workspace_->open_writable_directory(parent));
    GALLEY_ASSIGN(const FileStat stat, opened->stat(RelPath::root()));
    if (stat.mount != *mount_) {
      return fail(ErrorKind::kRefused, "commit.crosses_mount",
                  "'" + parent.str() +
                      "' is on another mount than the workspace; open that directory as a "
                      "workspace of its own",
                  path.str());
    }
    if (parents_.size() >= kMaxOpenParents) parents_.clear();
    found = parents_.emplace(parent, std::move(opened)).first;
  }
  return Location{found->second.get(), std::move(name)};
}

Result<std::unique_ptr<WritableDirectory>> open_seen_directory(const Location& at,
                                                               const FileStat& seen) {
  GALLEY_ASSIGN(auto opened, at.directory->open_writable_directory(at.name));
  GALLEY_ASSIGN(const FileStat stat, opened->stat(RelPath::root()));
  if (stat.device == seen.device && stat.inode == seen.inode) return opened;
  return os_error(ENOENT, "cannot open the directory that was seen as", at.name.str());
}

Result<ContentId> hash_file(File& file) {
  ContentHasher hasher;
  GALLEY_TRY(read_in_pieces(file, 0, UINT64_MAX,
                            [&](uint64_t /*at*/, std::string_view piece) -> Result<void> {
                              hasher.update(piece);
                              return {};
                            }));
  return hasher.finish();
}

Result<Node> observe(const Location& at, const FileStat& stat) {
  // The object now has another kind, which never matches an expected node.
  static constexpr Node kChanging{FileKind::kOther, 0, ContentId(), 0};
  Node node;
  node.kind = stat.kind;
  switch (stat.kind) {
    case FileKind::kAbsent:
    case FileKind::kOther:
      break;
    case FileKind::kDirectory:
      node.mode = stat.mode & kPermissionBits;
      break;
    case FileKind::kSymlink: {
      const auto target = at.directory->read_link(at.name);
      if (!target && target.error().os_error == EINVAL) return kChanging;
      if (!target) return target.error();
      node.content = ContentId::of(*target);
      node.size = target->size();
      break;
    }
    case FileKind::kRegular: {
      const auto file = at.directory->open_file(at.name);
      if (!file && file.error().kind == ErrorKind::kRefused) return kChanging;
      if (!file) return file.error();
      GALLEY_ASSIGN(node.content, hash_file(**file));
      node.mode = stat.mode & kPermissionBits;
      node.size = stat.size;
      break;
    }
  }
  return node;
}

Result<Node> observe_opened(const Location& at) {
  const auto file = at.directory->open_file(at.name);
  if (!file && file.error().kind != ErrorKind::kRefused && file.error().os_error != ENOENT) {
    return file.error();
  }
  if (!file) return observe(at);
  GALLEY_ASSIGN(const FileStat stat, (*file)->stat_at_open());
  Node node{FileKind::kRegular, stat.mode & kPermissionBits, ContentId(), stat.size};
  GALLEY_ASSIGN(node.content, hash_file(**file));
  return node;
}

Result<Node> observe(const Location& at, FileStat* stat) {
  GALLEY_ASSIGN(const FileStat found, at.directory->stat(at.name));
  if (stat != nullptr) *stat = found;
  return observe(at, found);
}

}  // namespace galley
