#include "staging/fs/content_store.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "staging/fs/directory.h"

namespace galley {

Result<ContentId> ContentStore::put(const Content& content) {
  const ContentId id = ContentId::of(*content);
  GALLEY_TRY(keep(id, content));
  return id;
}

Result<void> ContentStore::read(const ContentId& id, const UsePiece& use) const {
  GALLEY_ASSIGN(const Content content, get(id));
  return use(*content);
}

Result<void> ContentStore::write(const ContentId& id, WritableFile& file) const {
  uint64_t written = 0;
  return read(id, [&](std::string_view piece) -> Result<void> {
    GALLEY_TRY(write_with_holes(file, piece, written));
    written += piece.size();
    return {};
  });
}

Result<void> ContentStore::adopt(const ContentId& id, const WritableDirectory& from,
                                 const RelPath& name) {
  return copy(id, from, name);
}

Result<void> ContentStore::copy(const ContentId& id, const Directory& from, const RelPath& name) {
  GALLEY_ASSIGN(std::string content, read_file(from, name, limits::kMaxFileBytes));
  GALLEY_ASSIGN(const ContentId stored, put(std::move(content)));
  if (stored == id) return {};
  return fail(ErrorKind::kInternal, "stage.content_changed",
              "'" + name.str() + "' changed while it was taken into the stage", name.str());
}

namespace {

tl::unexpected<Error> missing(const ContentId& id, const std::string& why) {
  return fail(ErrorKind::kInternal, "stage.content_missing",
              "the staged content " + id.hex() + " is " + why);
}

/// A content in a file that only this object can still find. Whole copies are shared.
///
/// Threads: safe to share.
class HeldFile {
 public:
  explicit HeldFile(std::unique_ptr<File> file) : file_(std::move(file)) {}

  Result<void> read(const ContentId& id, const ContentStore::UsePiece& use) const {
    ContentHasher hasher;
    GALLEY_TRY(read_in_pieces(*file_, 0, limits::kMaxFileBytes + 1,
                              [&](uint64_t /*at*/, std::string_view piece) {
                                hasher.update(piece);
                                return use(piece);
                              }));
    return hasher.finish() == id ? Result<void>() : missing(id, "damaged; repeat the command");
  }

  Result<Content> get(const ContentId& id) {
    const std::lock_guard lock(mutex_);
    if (Content known = whole_.lock()) return known;
    GALLEY_ASSIGN(const FileStat stat, file_->stat_at_open());
    std::string bytes;
    bytes.reserve(stat.size);
    GALLEY_TRY(read(id, [&](std::string_view piece) -> Result<void> {
      bytes.append(piece);
      return {};
    }));
    auto content = std::make_shared<const std::string>(std::move(bytes));
    whole_ = content;
    return content;
  }

 private:
  std::mutex mutex_;  ///< of whole_
  std::unique_ptr<File> file_;
  std::weak_ptr<const std::string> whole_;
};

/// Large adopted files stay in their file system, as long as few are open.
class MemoryStore final : public ContentStore {
 public:
  Result<void> keep(const ContentId& id, const Content& content) override {
    const std::lock_guard lock(mutex_);
    contents_.try_emplace(id, content);
    return {};
  }

  Result<void> adopt(const ContentId& id, const WritableDirectory& from,
                     const RelPath& name) override {
    GALLEY_ASSIGN(const FileStat source, from.stat(name));
    // A command could still write to it by another name.
    const bool may_stay =
        source.size >= kMinFileBytes && source.nlink == 1 && from.descriptor() >= 0;
    return may_stay && hold(id, from, name) ? Result<void>() : copy(id, from, name);
  }

  Result<Content> get(const ContentId& id) const override {
    const std::shared_ptr<HeldFile> file = held(id);
    if (file != nullptr) return file->get(id);
    const std::lock_guard lock(mutex_);
    const auto found = contents_.find(id);
    if (found == contents_.end()) return missing(id, "not in the store");
    return found->second;
  }

  Result<void> read(const ContentId& id, const UsePiece& use) const override {
    const std::shared_ptr<HeldFile> file = held(id);
    return file != nullptr ? file->read(id, use) : ContentStore::read(id, use);
  }

 private:
  static constexpr uint64_t kMinFileBytes = uint64_t{8} << 20U;
  static constexpr size_t kMaxFiles = 32;

  /// False if no more files can be open.
  bool hold(const ContentId& id, const Directory& from, const RelPath& name) {
    const std::lock_guard lock(mutex_);
    if (contents_.contains(id) || files_.contains(id)) return true;
    if (files_.size() >= kMaxFiles) return false;
    auto file = from.open_file(name);
    if (!file || (*file)->descriptor() >= sysconf(_SC_OPEN_MAX) / 2) return false;
    files_.emplace(id, std::make_shared<HeldFile>(*std::move(file)));
    return true;
  }

  std::shared_ptr<HeldFile> held(const ContentId& id) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(id);
    return found == files_.end() ? nullptr : found->second;
  }

  mutable std::mutex mutex_;
  std::unordered_map<ContentId, Content> contents_;
  std::unordered_map<ContentId, std::shared_ptr<HeldFile>> files_;
};

class DiskStore final : public ContentStore {
 public:
  explicit DiskStore(std::shared_ptr<WritableDirectory> directory)
      : directory_(std::move(directory)), packs_(*directory_) {}

  Result<void> keep(const ContentId& id, const Content& content) override {
    if (content->size() <= kMaxPackedBytes) {
      GALLEY_ASSIGN(const bool is_kept, packs_.keep(id, *content));
      if (is_kept) remember(id, content);
      if (is_kept) return {};
    }
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(id.hex()));
    GALLEY_ASSIGN(const FileStat there, directory_->stat(name));
    if (there.kind == FileKind::kRegular && there.size == content->size()) return {};
    return write_then_name(name, *content);
  }

  Result<void> adopt(const ContentId& id, const WritableDirectory& from,
                     const RelPath& name) override {
    GALLEY_ASSIGN(const RelPath target, RelPath::parse(id.hex()));
    GALLEY_ASSIGN(const FileStat there, directory_->stat(target));
    if (there.kind == FileKind::kRegular) return {};
    GALLEY_ASSIGN(const FileStat source, from.stat(name));
    // The mode of an inode with other names must not change. A file on another disk must be copied.
    const bool can_move =
        from.descriptor() >= 0 && directory_->descriptor() >= 0 && source.nlink == 1;
    if (can_move && from.set_mode(name, 0600) &&
        from.rename(name, *directory_, target, RenameMode::kReplace)) {
      return {};
    }
    return copy_then_name(id, target, from, name);
  }

  Result<void> copy(const ContentId& id, const Directory& from, const RelPath& name) override {
    GALLEY_ASSIGN(const FileStat source, from.stat(name));
    if (source.size <= kMaxPackedBytes) return ContentStore::copy(id, from, name);
    GALLEY_ASSIGN(const RelPath target, RelPath::parse(id.hex()));
    GALLEY_ASSIGN(const FileStat there, directory_->stat(target));
    if (there.kind == FileKind::kRegular && there.size == source.size) return {};
    return copy_then_name(id, target, from, name);
  }

  Result<Content> get(const ContentId& id) const override {
    if (Content known = remembered(id)) return known;
    GALLEY_ASSIGN(auto content, packs_.find(id));
    if (!content) {
      GALLEY_ASSIGN(const RelPath name, RelPath::parse(id.hex()));
      auto file = read_file(*directory_, name, limits::kMaxFileBytes);
      if (!file && file.error().kind != ErrorKind::kNotFound) return fail(file.error());
      if (file) content = *std::move(file);
    }
    if (!content) {
      GALLEY_ASSIGN(content, packs_.find_after_scan(id));
    }
    if (!content || ContentId::of(*content) != id) return missing(id);
    return std::make_shared<const std::string>(*std::move(content));
  }

  Result<void> read(const ContentId& id, const UsePiece& use) const override {
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(id.hex()));
    const auto file = directory_->open_file(name);
    if (!file) return ContentStore::read(id, use);
    ContentHasher hasher;
    GALLEY_TRY(read_in_pieces(**file, 0, limits::kMaxFileBytes + 1,
                              [&](uint64_t /*at*/, std::string_view piece) {
                                hasher.update(piece);
                                return use(piece);
                              }));
    if (hasher.finish() == id) return {};
    return missing(id);
  }

 private:
  static tl::unexpected<Error> missing(const ContentId& id) {
    return galley::missing(id, "missing or damaged; roll the transaction back and stage it again");
  }

  /// Recently staged contents are usually read soon: by the diff of the call and by the next edit.
  static constexpr size_t kRemembered = 4;

  void remember(const ContentId& id, const Content& content) {
    const std::lock_guard lock(mutex_);
    newest_[next_++ % kRemembered] = {id, content};
  }
  Content remembered(const ContentId& id) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, content] : newest_) {
      if (content != nullptr && known == id) return content;
    }
    return nullptr;
  }

  static constexpr int kMaxScratchNames = 1000;

  struct Fresh {
    RelPath name;
    std::unique_ptr<WritableFile> file;
  };

  /// Creates `<id>.<n>.new`. A process that is killed while it writes never leaves an incomplete
  /// `<id>`.
  Result<Fresh> make_new(const RelPath& name) const {
    for (int n = 0;; ++n) {
      // Another thread may stage the same bytes now, and dead processes have left such files
      // behind.
      GALLEY_ASSIGN(RelPath scratch, RelPath::parse(name.str() + "." + std::to_string(n) + ".new"));
      auto file = directory_->open_writable_file(scratch, OpenMode::kCreateNew, 0600);
      if (!file && file.error().os_error == EEXIST && n < kMaxScratchNames) continue;
      if (!file) return fail(file.error());
      return Fresh{std::move(scratch), std::move(*file)};
    }
  }

  Result<void> write_then_name(const RelPath& name, const std::string& content) const {
    GALLEY_ASSIGN(const Fresh fresh, make_new(name));
    GALLEY_TRY(write_with_holes(*fresh.file, content));
    return directory_->rename(fresh.name, *directory_, name, RenameMode::kReplace);
  }

  /// Copies in pieces, so that memory use is bounded, and keeps holes.
  Result<void> copy_then_name(const ContentId& id, const RelPath& name, const Directory& from,
                              const RelPath& source) const {
    GALLEY_ASSIGN(const Fresh fresh, make_new(name));
    ContentHasher hasher;
    GALLEY_TRY(read_in_pieces(from, source, limits::kMaxFileBytes,
                              [&](uint64_t at, std::string_view piece) {
                                hasher.update(piece);
                                return write_with_holes(*fresh.file, piece, at);
                              }));
    if (hasher.finish() == id) {
      return directory_->rename(fresh.name, *directory_, name, RenameMode::kReplace);
    }
    GALLEY_TRY(directory_->remove_file(fresh.name));
    return fail(ErrorKind::kInternal, "stage.content_changed",
                "'" + source.str() + "' changed while it was taken into the stage", source.str());
  }

  std::shared_ptr<WritableDirectory> directory_;
  mutable ContentPacks packs_;
  mutable std::mutex mutex_;  ///< guards the members below
  std::array<std::pair<ContentId, Content>, kRemembered> newest_;
  size_t next_ = 0;
};

}  // namespace

std::shared_ptr<ContentStore> make_memory_store() { return std::make_shared<MemoryStore>(); }

std::shared_ptr<ContentStore> make_disk_store(std::shared_ptr<WritableDirectory> directory) {
  return std::make_shared<DiskStore>(std::move(directory));
}

namespace {

constexpr size_t kIdDigits = 64;
// An id, a space, the digits of kMaxPackedBytes, a newline.
constexpr size_t kMaxHeadBytes = kIdDigits + 8;

RelPath name_of(size_t number) { return RelPath::parse("pack-" + std::to_string(number)).value(); }

struct Head {
  ContentId id;
  size_t size = 0;   ///< of the content
  size_t bytes = 0;  ///< of the head itself
};

std::optional<Head> read_head(std::string_view text) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos || end <= kIdDigits || text[kIdDigits] != ' ') return {};
  const auto id = ContentId::from_hex(text.substr(0, kIdDigits));
  if (!id) return {};
  const auto size = number_of<size_t>(text.substr(kIdDigits + 1, end - kIdDigits - 1));
  if (!size || *size > kMaxPackedBytes) return {};
  return Head{*id, *size, end + 1};
}

}  // namespace

/// Finds the new records of one pack.
Result<void> ContentPacks::scan(size_t number, File& file) {
  if (ends_.size() <= number) ends_.resize(number + 1);
  uint64_t& end = ends_[number];
  GALLEY_ASSIGN(const FileStat stat, file.stat());
  const uint64_t size = std::min(stat.size, kMaxPackBytes + kMaxPackedBytes + kMaxHeadBytes + 1);
  constexpr size_t kPageBytes = 4096;  // reading it takes as long as reading one head
  std::string page;
  uint64_t page_begin = end;
  while (end < size && places_.size() < kMaxPackedContents) {
    if (end - page_begin + kMaxHeadBytes > page.size()) {
      GALLEY_ASSIGN(page, file.read_at(end, kPageBytes));
      page_begin = end;
    }
    const auto head = read_head(std::string_view(page).substr(end - page_begin, kMaxHeadBytes));
    if (!head || end + head->bytes + head->size + 1 > size) break;
    places_.try_emplace(head->id, Place{number, end + head->bytes, head->size});
    end += head->bytes + head->size + 1;
  }
  return {};
}

/// Locks the first pack that has room and no other writer; false if there is none.
Result<bool> ContentPacks::claim() {
  own_.reset();
  for (size_t number = 0; number < kMaxPacks; ++number) {
    GALLEY_ASSIGN(auto file,
                  directory_->open_writable_file(name_of(number), OpenMode::kOpenOrCreate, 0600));
    GALLEY_ASSIGN(const bool is_mine, file->try_lock(LockMode::kExclusive));
    if (!is_mine) continue;
    GALLEY_TRY(scan(number, *file));
    if (places_.size() >= kMaxPackedContents) return false;
    if (ends_[number] >= kMaxPackBytes) continue;
    GALLEY_ASSIGN(const FileStat stat, file->stat());
    if (stat.size > ends_[number]) GALLEY_TRY(file->truncate(ends_[number]));
    own_ = std::move(file);
    own_number_ = number;
    return true;
  }
  return false;
}

Result<bool> ContentPacks::keep(const ContentId& id, const std::string& content) {
  const std::lock_guard lock(mutex_);
  if (own_ == nullptr || ends_[own_number_] >= kMaxPackBytes) {
    GALLEY_ASSIGN(const bool has_own, claim());
    if (!has_own) return false;
  }
  if (places_.contains(id)) return true;
  if (places_.size() >= kMaxPackedContents) return false;
  std::string record = id.hex() + " " + std::to_string(content.size()) + "\n";
  const size_t head = record.size();
  record.append(content).push_back('\n');
  uint64_t& end = ends_[own_number_];
  if (const auto written = own_->write_at(end, record); !written) {
    (void)own_->truncate(end);
    return fail(written.error());
  }
  places_.emplace(id, Place{own_number_, end + head, content.size()});
  end += record.size();
  return true;
}

Result<std::optional<std::string>> ContentPacks::find_locked(const ContentId& id) {
  const auto found = places_.find(id);
  if (found == places_.end()) return std::optional<std::string>();
  const Place& place = found->second;
  if (own_ != nullptr && place.pack == own_number_) return own_->read_at(place.offset, place.size);
  GALLEY_ASSIGN(const auto file, directory_->open_file(name_of(place.pack)));
  return file->read_at(place.offset, place.size);
}

Result<std::optional<std::string>> ContentPacks::find(const ContentId& id) {
  const std::lock_guard lock(mutex_);
  return find_locked(id);
}

Result<std::optional<std::string>> ContentPacks::find_after_scan(const ContentId& id) {
  const std::lock_guard lock(mutex_);
  for (size_t number = 0; number < kMaxPacks; ++number) {
    const auto file = directory_->open_file(name_of(number));
    if (!file && file.error().kind == ErrorKind::kNotFound) break;
    if (!file) return fail(file.error());
    GALLEY_TRY(scan(number, **file));
  }
  return find_locked(id);
}

}  // namespace galley
