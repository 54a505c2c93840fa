#include "staging/fs/content_pack.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/number.h"

namespace galley {
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

/// Finds the records of one pack that are new.
Result<void> ContentPacks::scan(size_t number, File& file) {
  if (ends_.size() <= number) ends_.resize(number + 1);
  uint64_t& end = ends_[number];
  GALLEY_ASSIGN(const FileStat stat, file.stat());
  const uint64_t size = std::min(stat.size, kMaxPackBytes + kMaxPackedBytes + kMaxHeadBytes + 1);
  while (end < size && places_.size() < kMaxPackedContents) {
    GALLEY_ASSIGN(const std::string text, file.read_at(end, kMaxHeadBytes));
    const auto head = read_head(text);
    if (!head || end + head->bytes + head->size + 1 > size) break;
    places_.try_emplace(head->id, Place{number, end + head->bytes, head->size});
    end += head->bytes + head->size + 1;
  }
  return {};
}

/// Takes the first pack that nobody writes to and that has room; false where there is none.
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

Result<std::optional<std::string>> ContentPacks::find_anew(const ContentId& id) {
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
