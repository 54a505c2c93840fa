#include "engine/commit/blob_store.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "base/rel_path.h"
#include "base/result.h"
#include "engine/commit/content_delta.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

constexpr size_t kShardDigits = 2;

/// Where an earlier Galley stored contents. A pull can put files there, so they are only read.
RelPath unbound_place() { return chosen_path("blob"); }

RelPath shard_path(const RelPath& place, const ContentId& id) {
  return chosen_path(place.str() + "/" + id.hex().substr(0, kShardDigits));
}

RelPath name_of(const ContentId& id, std::string_view suffix) {
  return chosen_path(id.hex() + std::string(suffix));
}

constexpr std::string_view kDamaged = "blob.damaged";
Error damaged(const RelPath& place, const ContentId& id) {
  return Error{ErrorKind::kIo, std::string(kDamaged),
               "the kept content " + id.hex() + " is missing or damaged; run `galley doctor`",
               ".galley/" + shard_path(place, id).str(), 0};
}

struct OpenedFile {
  std::unique_ptr<File> file;
  uint64_t size = 0;
};

/// Returns nullopt if it does not exist.
Result<std::optional<OpenedFile>> open_if_there(const Directory& state_root, const RelPath& place,
                                                const ContentId& id, std::string_view ending) {
  GALLEY_ASSIGN(const RelPath path, shard_path(place, id).join(name_of(id, ending)));
  auto file = state_root.open_file(path);
  if (!file && file.error().kind == ErrorKind::kNotFound) return std::optional<OpenedFile>();
  if (!file) return fail(file.error());
  GALLEY_ASSIGN(const FileStat stat, (*file)->stat());
  return std::optional(OpenedFile{std::move(*file), stat.size});
}

/// A content on the disk, read in pieces. Its bytes are not verified.
class StoredBlob {
 public:
  /// Errors: kIo `blob.damaged` if it or its base is missing or is not a blob.
  static Result<StoredBlob> open(const Directory& state_root, const RelPath& place,
                                 const ContentId& id) {
    GALLEY_ASSIGN(auto whole, open_if_there(state_root, place, id, ""));
    if (whole && whole->size > limits::kMaxFileBytes) return fail(damaged(place, id));
    if (whole) {
      auto delta = ContentDelta::whole(id, whole->size);
      return StoredBlob(std::move(delta), std::move(whole->file), nullptr);
    }
    GALLEY_ASSIGN(auto changes, open_if_there(state_root, place, id, kDeltaEnding));
    if (!changes) return fail(damaged(place, id));
    GALLEY_ASSIGN(const std::string head, changes->file->read_at(0, kDeltaHeadBytes));
    auto delta = parse_delta(head, changes->size);
    if (!delta) return fail(damaged(place, id));
    GALLEY_ASSIGN(auto base, open_if_there(state_root, place, delta->base, ""));
    if (!base || base->size != delta->base_size) return fail(damaged(place, delta->base));
    return StoredBlob(std::move(*delta), std::move(base->file), std::move(changes->file));
  }

  [[nodiscard]] const ContentDelta& delta() const { return delta_; }
  [[nodiscard]] bool is_delta() const { return changes_ != nullptr; }

  /// Passes on the content, piece by piece. Returns false if a file became shorter.
  Result<bool> read(const ContentStore::UsePiece& use) const {
    uint64_t added_at = is_delta() ? delta_.encoded_bytes() - delta_.added() : 0;
    for (const DeltaPiece& piece : delta_.pieces) {
      GALLEY_ASSIGN(bool is_whole, read_range(*base_, piece.from, piece.copied, use));
      if (is_whole && piece.added > 0) {
        GALLEY_ASSIGN(is_whole, read_range(*changes_, added_at, piece.added, use));
      }
      if (!is_whole) return false;
      added_at += piece.added;
    }
    return true;
  }

 private:
  StoredBlob(ContentDelta delta, std::unique_ptr<File> base, std::unique_ptr<File> changes)
      : delta_(std::move(delta)), base_(std::move(base)), changes_(std::move(changes)) {}

  static Result<bool> read_range(File& file, uint64_t from, uint64_t count,
                                 const ContentStore::UsePiece& use) {
    GALLEY_ASSIGN(const uint64_t read,
                  read_in_pieces(file, from, count, [&](uint64_t /*at*/, std::string_view bytes) {
                    return use(bytes);
                  }));
    return read == count;
  }

  ContentDelta delta_;
  std::unique_ptr<File> base_;     ///< the file that the pieces are copied from
  std::unique_ptr<File> changes_;  ///< of a delta
};

/// Nullopt if it is missing or damaged. A failed read is an error: its bytes may be right.
Result<std::optional<StoredBlob>> open_undamaged(const Directory& state_root, const RelPath& place,
                                                 const ContentId& id) {
  auto blob = StoredBlob::open(state_root, place, id);
  if (!blob && blob.error().reason == kDamaged) return std::optional<StoredBlob>();
  if (!blob) return fail(blob.error());
  return std::optional(std::move(*blob));
}

/// The content as a delta, if that is small. The base of the replaced content becomes its base.
Result<std::optional<ContentDelta>> small_delta(const Directory& state_root, const RelPath& place,
                                                std::string_view content,
                                                const ReplacedContent& replaced) {
  GALLEY_ASSIGN(const auto old, open_undamaged(state_root, place, replaced.id));
  if (!old || old->delta().size != replaced.bytes.size()) return std::optional<ContentDelta>();
  ContentDelta delta = old->delta().changed(replaced.bytes, content);
  return delta.is_worthwhile() ? std::optional(std::move(delta)) : std::nullopt;
}

Result<void> remove_if_there(const WritableDirectory& directory, const RelPath& name) {
  auto removed = directory.remove_file(name);
  if (!removed && removed.error().os_error != ENOENT) return removed;
  return {};
}

Result<bool> is_there(const Directory& directory, const RelPath& name) {
  GALLEY_ASSIGN(const FileStat stat, directory.stat(name));
  return stat.kind != FileKind::kAbsent;
}

/// Makes a file durable under its name. The second name is removed after everything is on the
/// disk: a process that finds both names flushes again.
Result<void> make_durable(const WritableDirectory& state_root, const RelPath& place,
                          const ContentId& id, const WritableDirectory& directory,
                          std::string_view ending) {
  GALLEY_ASSIGN(const FileStat stat, directory.stat(name_of(id, ending)));
  if (stat.nlink == 1) return {};
  GALLEY_TRY(directory.sync());
  for (RelPath above = place; !above.is_root(); above = above.parent()) {
    GALLEY_ASSIGN(const auto opened, state_root.open_writable_directory(above));
    GALLEY_TRY(opened->sync());
  }
  GALLEY_TRY(state_root.sync());
  return remove_if_there(directory, name_of(id, std::string(ending) + ".new"));
}

using Fill = std::function<Result<void>(WritableFile&)>;

/// Writes the file with both names. A damaged file stays until the new one is on the disk.
Result<void> write_file(const WritableDirectory& directory, const ContentId& id,
                        std::string_view ending, const Fill& fill) {
  const RelPath temporary = name_of(id, std::string(ending) + ".new");
  const RelPath third = name_of(id, ".put");
  for (const std::string_view left : {".new", ".delta.new", ".put"}) {  // by an interrupted write
    GALLEY_TRY(remove_if_there(directory, name_of(id, left)));
  }
  {
    GALLEY_ASSIGN(const auto file,
                  directory.open_writable_file(temporary, OpenMode::kCreateNew, kPrivateFile));
    auto filled = fill(*file);
    if (filled) filled = file->sync_data();
    if (!filled) {
      (void)directory.remove_file(temporary);  // the first error explains more
      return filled;
    }
  }
  auto linked = directory.make_hard_link(temporary, directory, name_of(id, ending));
  if (linked || linked.error().os_error != EEXIST) return linked;
  GALLEY_TRY(directory.make_hard_link(temporary, directory, third));
  return directory.rename(third, directory, name_of(id, ending), RenameMode::kReplace);
}

/// Notes that deltas have this base: if it is lost and written again, it must be stored whole.
Result<void> mark_base(const WritableDirectory& state_root, const RelPath& place,
                       const ContentId& base) {
  GALLEY_ASSIGN(const auto directory, state_root.open_writable_directory(shard_path(place, base)));
  GALLEY_ASSIGN(const bool is_marked, is_there(*directory, name_of(base, kBaseEnding)));
  if (is_marked) return {};
  GALLEY_TRY(directory->open_writable_file(name_of(base, kBaseEnding), OpenMode::kOpenOrCreate,
                                           kPrivateFile));
  return directory->sync();
}

/// Whether deltas may need this content, or older journals, which do not name another base.
Result<bool> must_be_whole(const WritableDirectory& directory, const ContentId& id) {
  for (const std::string_view ending : {std::string_view(), kDeltaEnding, kBaseEnding}) {
    GALLEY_ASSIGN(const bool found, is_there(directory, name_of(id, ending)));
    if (found) return true;
  }
  return false;
}

Result<void> write_whole(const WritableDirectory& state_root, const RelPath& place,
                         const ContentId& id, const WritableDirectory& directory,
                         const Fill& fill) {
  GALLEY_TRY(write_file(directory, id, "", fill));
  GALLEY_TRY(make_durable(state_root, place, id, directory, ""));
  return remove_if_there(directory, name_of(id, kDeltaEnding));
}

/// Whether the bytes of a blob are right. Passes them on, piece by piece.
Result<bool> is_right(const StoredBlob& blob, const ContentId& id,
                      const ContentStore::UsePiece& use) {
  ContentHasher hasher;
  GALLEY_ASSIGN(const bool is_complete, blob.read([&](std::string_view bytes) {
    hasher.update(bytes);
    return use(bytes);
  }));
  return is_complete && hasher.finish() == id;
}

Result<void> only_looked_at(std::string_view /*piece*/) { return {}; }

/// What a blob makes a journal name; nothing if it is not there, or damaged. An intact one becomes
/// durable.
Result<std::optional<std::map<ContentId, uint64_t>>> keep_intact(
    const WritableDirectory& state_root, const RelPath& place, const ContentId& id, uint64_t size) {
  using Named = std::map<ContentId, uint64_t>;
  GALLEY_ASSIGN(const auto blob, open_undamaged(state_root, place, id));
  if (!blob || blob->delta().size != size) return std::optional<Named>();
  // Accepted only after its bytes were checked: an unsynced leftover of a crash may be torn.
  GALLEY_ASSIGN(const bool is_intact, is_right(*blob, id, only_looked_at));
  if (!is_intact) return std::optional<Named>();
  GALLEY_ASSIGN(const auto directory, state_root.open_writable_directory(shard_path(place, id)));
  GALLEY_TRY(make_durable(state_root, place, id, *directory, blob->is_delta() ? kDeltaEnding : ""));
  return std::optional(Named{{id, size}, {blob->delta().base, blob->delta().base_size}});
}

/// write_blob() of a content that replaces no other one, with a bounded use of memory.
Result<std::map<ContentId, uint64_t>> write_large_blob(const WritableDirectory& state_root,
                                                       const RelPath& place, const Node& node,
                                                       const ContentStore& contents) {
  const ContentId& id = node.content;
  GALLEY_ASSIGN(auto kept, keep_intact(state_root, place, id, node.size));
  if (kept) return *std::move(kept);
  const RelPath shard = shard_path(place, id);
  GALLEY_TRY(make_directories(state_root, shard, kPrivateDirectory));
  GALLEY_ASSIGN(const auto directory, state_root.open_writable_directory(shard));
  GALLEY_TRY(write_whole(state_root, place, id, *directory,
                         [&](WritableFile& file) { return contents.write(id, file); }));
  return std::map<ContentId, uint64_t>{{id, node.size}};
}

/// Reads a content of this place.
Result<Content> read_at_place(const Directory& state_root, const RelPath& place,
                              const ContentId& id) {
  GALLEY_ASSIGN(const StoredBlob blob, StoredBlob::open(state_root, place, id));
  std::string content;
  content.reserve(blob.delta().size);
  GALLEY_ASSIGN(const bool is_complete, blob.read([&](std::string_view bytes) -> Result<void> {
    content.append(bytes);
    return {};
  }));
  if (is_complete && ContentId::of(content) == id) {
    return std::make_shared<const std::string>(std::move(content));
  }
  return damaged(place, id);
}

}  // namespace

Result<Content> read_blob(const Directory& state_root, const RelPath& place, const ContentId& id) {
  auto bound = read_at_place(state_root, place, id);
  if (bound || bound.error().reason != kDamaged) return bound;
  auto unbound = read_at_place(state_root, unbound_place(), id);
  return unbound ? unbound : bound;
}

Result<std::map<ContentId, uint64_t>> write_blob(const WritableDirectory& state_root,
                                                 const RelPath& place, const ContentId& id,
                                                 std::string_view content,
                                                 const std::optional<ReplacedContent>& replaced) {
  GALLEY_ASSIGN(auto kept, keep_intact(state_root, place, id, content.size()));
  if (kept) return *std::move(kept);
  std::map<ContentId, uint64_t> named{{id, content.size()}};
  const RelPath shard = shard_path(place, id);
  GALLEY_TRY(make_directories(state_root, shard, kPrivateDirectory));
  GALLEY_ASSIGN(const auto directory, state_root.open_writable_directory(shard));
  GALLEY_ASSIGN(const bool is_whole, must_be_whole(*directory, id));
  std::optional<ContentDelta> delta;
  if (replaced && !is_whole) {
    GALLEY_ASSIGN(delta, small_delta(state_root, place, content, *replaced));
  }
  if (delta) {
    named.emplace(delta->base, delta->base_size);
    GALLEY_TRY(mark_base(state_root, place, delta->base));
    const std::string changes = delta->encode(content);
    GALLEY_TRY(write_file(*directory, id, kDeltaEnding,
                          [&](WritableFile& file) { return write_with_holes(file, changes); }));
    GALLEY_TRY(make_durable(state_root, place, id, *directory, kDeltaEnding));
    return named;
  }
  GALLEY_TRY(write_whole(state_root, place, id, *directory,
                         [&](WritableFile& file) { return write_with_holes(file, content); }));
  return named;
}

Result<void> remove_blob(const WritableDirectory& state_root, const RelPath& place,
                         const ContentId& id) {
  for (const RelPath& at : {place, unbound_place()}) {
    const auto directory = state_root.open_writable_directory(shard_path(at, id));
    if (!directory && directory.error().kind == ErrorKind::kNotFound) continue;
    if (!directory) return fail(directory.error());
    for (const std::string_view ending :
         {std::string_view(".new"), std::string_view(".delta.new"), std::string_view(".put"),
          std::string_view(), kDeltaEnding, kBaseEnding}) {
      GALLEY_TRY(remove_if_there(**directory, name_of(id, ending)));
    }
  }
  return {};
}

Result<void> read_blob(const Directory& state_root, const RelPath& place, const ContentId& id,
                       const ContentStore::UsePiece& use) {
  for (const RelPath& at : {place, unbound_place()}) {
    GALLEY_ASSIGN(const auto blob, open_undamaged(state_root, at, id));
    if (!blob) continue;
    GALLEY_ASSIGN(bool is_intact, is_right(*blob, id, only_looked_at));
    if (!is_intact) continue;
    GALLEY_ASSIGN(is_intact, is_right(*blob, id, use));
    if (is_intact) return {};
    break;
  }
  return fail(damaged(place, id));
}

Result<std::map<ContentId, uint64_t>> write_blobs(const WritableDirectory& state_root,
                                                  const RelPath& place,
                                                  const std::vector<JournalOp>& ops,
                                                  const ContentStore& contents) {
  std::map<ContentId, uint64_t> named;
  const auto is_blob = [](const Node& node) {
    return is_file_or_link(node) && node.size > kMaxImageBytes;
  };
  for (const JournalOp& op : ops) {
    const Node& after = op.after.node;
    const bool is_replaced = is_blob(op.before.node) && is_blob(after);
    for (const Node* node : {&op.before.node, &after}) {
      if (!is_blob(*node) || (is_replaced && node == &after)) continue;
      GALLEY_ASSIGN(auto written, write_large_blob(state_root, place, *node, contents));
      named.merge(written);
    }
    if (!is_replaced) continue;
    // An undo finds both in the history.
    GALLEY_ASSIGN(auto kept, keep_intact(state_root, place, after.content, after.size));
    if (kept) {
      named.merge(*kept);
      continue;
    }
    // The old content comes first: the new one is often a small change of it.
    const ContentId& old_id = op.before.node.content;
    GALLEY_ASSIGN(const Content old, contents.get(old_id));
    GALLEY_ASSIGN(const Content content, contents.get(after.content));
    GALLEY_ASSIGN(auto written, write_blob(state_root, place, after.content, *content,
                                           ReplacedContent{old_id, *old}));
    named.merge(written);
  }
  return named;
}

}  // namespace galley
