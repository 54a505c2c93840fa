#include "engine/commit/blob_store.h"

#include <cerrno>

#include "base/file_mode.h"
#include "base/limits.h"
#include "base/result.h"
#include "staging/fs/holes.h"

namespace galley {
namespace {

constexpr size_t kShardDigits = 2;

RelPath shard_path(const ContentId& id) {
  auto path = RelPath::parse("blob/" + id.hex().substr(0, kShardDigits));
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

RelPath name_of(const ContentId& id, std::string_view suffix) {
  auto path = RelPath::parse(id.hex() + std::string(suffix));
  GALLEY_CHECK(path.has_value());
  return std::move(*path);
}

Error damaged(const ContentId& id) {
  return Error{ErrorKind::kIo, "blob.damaged",
               "the kept content " + id.hex() + " is missing or damaged; run `galley doctor`",
               ".galley/" + shard_path(id).str(), 0};
}

}  // namespace

Result<Content> read_blob(const Directory& state_root, const ContentId& id) {
  GALLEY_ASSIGN(const RelPath path, shard_path(id).join(name_of(id, "")));
  auto content = read_file(state_root, path, limits::kMaxFileBytes);
  if (!content) {
    if (content.error().kind == ErrorKind::kNotFound) return damaged(id);
    return content.error();
  }
  if (ContentId::of(*content) != id) return damaged(id);
  return std::make_shared<const std::string>(std::move(*content));
}

Result<void> write_blob(const WritableDirectory& state_root, const ContentId& id,
                        std::string_view content) {
  const RelPath shard = shard_path(id);
  const RelPath name = name_of(id, "");
  const RelPath temporary = name_of(id, ".new");
  GALLEY_TRY(make_directories(state_root, shard, kPrivateDirectory));
  GALLEY_ASSIGN(const auto directory, state_root.open_writable_directory(shard));
  // Accepted only after its bytes were checked: an unsynced leftover of a crash may be torn.
  if (!read_blob(state_root, id)) {
    for (const RelPath* old : {&temporary, &name}) {
      auto removed = directory->remove_file(*old);
      if (!removed && removed.error().os_error != ENOENT) return removed;
    }
    {
      GALLEY_ASSIGN(const auto file,
                    directory->open_writable_file(temporary, OpenMode::kCreateNew, kPrivateFile));
      GALLEY_TRY(write_with_holes(*file, content));
      GALLEY_TRY(file->sync_data());
    }
    GALLEY_TRY(directory->make_hard_link(temporary, *directory, name));
  }
  // The second name is removed after everything is on the disk: a process that finds both names
  // flushes again.
  GALLEY_ASSIGN(const FileStat stat, directory->stat(name));
  if (stat.nlink == 1) return {};
  GALLEY_TRY(directory->sync());
  GALLEY_ASSIGN(const auto parent, state_root.open_writable_directory(shard.parent()));
  GALLEY_TRY(parent->sync());
  GALLEY_TRY(state_root.sync());
  auto removed = directory->remove_file(temporary);
  if (!removed && removed.error().os_error != ENOENT) return removed;
  return {};
}

}  // namespace galley
