#include "staging/overlay/file_plan.h"

#include <algorithm>

namespace galley {

Result<PlannedFile> FilePlan::original(const RelPath& path) {
  if (const auto known = originals_.find(path); known != originals_.end()) return known->second;
  PlannedFile file;
  GALLEY_ASSIGN(const bool is_new_ground, lies_below_going_link(path));
  if (is_new_ground) return originals_[path] = file;
  // Most paths are readable files, so one call returns kind and content. An unreadable file still
  // has a kind.
  auto read = overlay_.node(path);
  if (!read && read.error().reason != "path.special_file") return fail(std::move(read.error()));
  if (!read) read = overlay_.node_without_content(path);
  GALLEY_ASSIGN(const Node node, std::move(read));
  file.kind = node.kind;
  file.mode = node.mode;
  if (node.kind == FileKind::kRegular) {
    GALLEY_ASSIGN(file.content, overlay_.read(path));
  } else if (node.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(std::string target, overlay_.read_link(path));
    file.content = std::make_shared<const std::string>(std::move(target));
  }
  originals_[path] = file;
  return file;
}

/// Whether the path is below a symbolic link that the document removes. As in git, such links are
/// removed before folders are made in their place.
Result<bool> FilePlan::lies_below_going_link(const RelPath& path) {
  if (going_.empty()) return false;
  for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
    if (!going_.contains(above)) continue;
    GALLEY_ASSIGN(const Node node, overlay_.node_without_content(above));
    if (node.kind == FileKind::kSymlink) return true;
  }
  return false;
}

Result<PlannedFile> FilePlan::current(const RelPath& path) {
  if (const auto known = files_.find(path); known != files_.end()) return known->second;
  return original(path);
}

bool FilePlan::is_removed(const RelPath& path) {
  const auto file = current(path);
  if (!file || file->kind != FileKind::kAbsent) return false;
  if (going_.contains(path)) return true;
  const auto before = overlay_.workspace().stat(path);
  return before && before->kind != FileKind::kAbsent;
}

void FilePlan::put(const RelPath& path, PlannedFile file) {
  file.is_changed = true;
  files_[path] = std::move(file);
}

void FilePlan::remove(const RelPath& path) {
  PlannedFile gone;
  gone.is_changed = true;
  files_[path] = std::move(gone);
}

Result<void> FilePlan::stage() {
  Overlay::Entries before = overlay_.entries();
  auto result = stage_all();
  if (!result) overlay_.restore(std::move(before));
  return result;
}

/// Moves with a free target are first, so that a chain is resolved from its end. The remaining
/// moves form cycles and are written in place.
Result<void> FilePlan::stage_moves() {
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [path, file] : files_) {
      if (!file.moved_from) continue;
      if (path.is_below(*file.moved_from) || file.moved_from->is_below(path)) continue;
      const auto source = files_.find(*file.moved_from);
      const bool source_goes =
          source != files_.end() &&
          (source->second.kind == FileKind::kAbsent || source->second.moved_from);
      GALLEY_ASSIGN(const Node target, overlay_.node_without_content(path));
      GALLEY_ASSIGN(const Node from, overlay_.node_without_content(*file.moved_from));
      if (!source_goes || target.kind != FileKind::kAbsent || from.kind != file.kind) continue;
      GALLEY_TRY(overlay_.move(*file.moved_from, path));
      file.moved_from.reset();
      moved = true;
    }
  }
  return {};
}

Result<void> FilePlan::stage_all() {
  GALLEY_TRY(stage_moves());
  for (auto& [path, file] : files_) {
    const bool is_type_change = file.kind != FileKind::kAbsent && originals_.count(path) > 0 &&
                                originals_[path].kind != FileKind::kAbsent &&
                                originals_[path].kind != file.kind;
    if (file.kind != FileKind::kAbsent && !is_type_change) continue;
    GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
    const bool is_leaf = now.kind == FileKind::kRegular || now.kind == FileKind::kSymlink;
    if (is_leaf && now.kind != file.kind) GALLEY_TRY(overlay_.remove(path));
  }
  for (const auto& [path, file] : files_) {
    if (file.kind == FileKind::kAbsent) continue;
    GALLEY_TRY(write(path, file));
  }
  return {};
}

Result<void> FilePlan::write(const RelPath& path, const PlannedFile& file) {
  GALLEY_ASSIGN(const Node now, overlay_.node_without_content(path));
  if (file.copied_from && now.kind == FileKind::kAbsent) {
    GALLEY_ASSIGN(const Node source, overlay_.node_without_content(*file.copied_from));
    if (source.kind == file.kind) GALLEY_TRY(overlay_.copy(*file.copied_from, path));
  }
  if (file.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(const Node there, overlay_.node_without_content(path));
    if (there.kind == FileKind::kSymlink) {
      GALLEY_ASSIGN(const std::string target, overlay_.read_link(path));
      if (target == *file.content) return {};
      GALLEY_TRY(overlay_.remove(path));
    }
    return overlay_.make_symlink(path, *file.content);
  }
  Overlay::WriteOptions options;
  options.mode_if_new = file.mode;
  options.id = file.id;
  GALLEY_TRY(overlay_.write(path, file.content, options));
  GALLEY_ASSIGN(const Node after, overlay_.node_without_content(path));
  if (after.mode != file.mode) GALLEY_TRY(overlay_.set_mode(path, file.mode));
  return {};
}

}  // namespace galley
