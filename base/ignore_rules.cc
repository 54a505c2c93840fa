#include "base/ignore_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.h"

namespace galley {

namespace {

constexpr size_t kPatternsBetweenLooks = 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The patterns of an ignore file, except those that can never match.
GlobList rules_in(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> patterns;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (Glob::parse(line)) patterns.emplace_back(line);
  }
  auto list = GlobList::parse(patterns);
  return list ? std::move(*list) : GlobList();
}

/// Whether the last matching pattern includes or excludes the path; nothing without a match.
Result<std::optional<bool>> decide(const GlobList& list, std::string_view path, bool is_directory,
                                   const IgnoreRules::ShouldStop& should_stop) {
  const std::vector<Glob>& globs = list.globs();
  for (size_t i = globs.size(); i-- > 0;) {
    if (i % kPatternsBetweenLooks == kPatternsBetweenLooks - 1 && should_stop()) {
      return fail(ErrorKind::kTimeout, "ignore.stopped",
                  "matching git's ignore rules took too long");
    }
    if (globs[i].matches(path, is_directory)) return std::optional(!globs[i].is_negated());
  }
  return std::optional<bool>();
}

}  // namespace

void IgnoreRules::add_outer(std::string_view text) { outer_.push_back(rules_in(text)); }

const GlobList& IgnoreRules::rules_of(std::string_view directory) {
  std::string key(directory);
  const auto known = rules_.find(key);
  if (known != rules_.end()) return known->second;
  const auto path =
      directory.empty() ? Result<RelPath>(RelPath::root()) : RelPath::parse(directory);
  const std::string text = path ? read_(*path).substr(0, kMaxFileBytes) : std::string();
  if (kept_bytes_ + text.size() > kMaxKeptBytes) {
    rules_.clear();
    kept_bytes_ = 0;
  }
  kept_bytes_ += text.size();
  return rules_.emplace(std::move(key), rules_in(text)).first->second;
}

Result<bool> IgnoreRules::matches(std::string_view path, bool is_directory,
                                  const ShouldStop& should_stop) {
  for (size_t slash = path.rfind('/');; slash = path.rfind('/', slash - 1)) {
    const bool is_top = slash == path.npos;
    const std::string_view directory = is_top ? std::string_view() : path.substr(0, slash);
    const std::string_view below = is_top ? path : path.substr(slash + 1);
    GALLEY_ASSIGN(const auto decided,
                  decide(rules_of(directory), below, is_directory, should_stop));
    if (decided) return *decided;
    if (is_top) break;
  }
  for (const GlobList& list : outer_) {
    GALLEY_ASSIGN(const auto decided, decide(list, path, is_directory, should_stop));
    if (decided) return *decided;
  }
  return false;
}

Result<bool> IgnoreRules::is_ignored(const RelPath& path, bool is_directory,
                                     const ShouldStop& should_stop) {
  const std::string_view text = path.str();
  if (text.empty()) return false;
  for (size_t end = text.find('/');; end = text.find('/', end + 1)) {
    const bool is_whole = end == text.npos;
    const std::string_view part = text.substr(0, end);
    const bool is_folder = !is_whole || is_directory;
    std::string key(is_folder ? part : std::string_view());
    if (const auto known = directories_.find(key); is_folder && known != directories_.end()) {
      if (known->second || is_whole) return known->second;
      continue;
    }
    GALLEY_ASSIGN(const bool ignored, matches(part, is_folder, should_stop));
    if (is_folder) directories_.emplace(std::move(key), ignored);
    if (ignored || is_whole) return ignored;
  }
}

Result<IgnoreAnswer> IgnoreRules::answer(const RelPath& path, bool is_directory,
                                         const ShouldStop& should_stop) {
  GALLEY_ASSIGN(const bool ignored, is_ignored(path, is_directory, should_stop));
  if (!ignored) return IgnoreAnswer::kCounts;
  if (!tracked_) tracked_ = read_tracked_ ? read_tracked_() : TrackedPaths();
  // A submodule is a folder that is tracked itself.
  if (tracked_->has(path.str())) return IgnoreAnswer::kCounts;
  const bool holds = is_directory && tracked_->has_below(path.str());
  return holds ? IgnoreAnswer::kHoldsTracked : IgnoreAnswer::kIgnored;
}

namespace {

constexpr size_t kHeaderBytes = 12;
constexpr size_t kStatBytes = 40;  // in an entry, before the object name
constexpr size_t kFlagBytes = 2;
constexpr uint32_t kLongName = 0xFFF;
constexpr uint32_t kIsExtended = 0x4000;
constexpr uint32_t kIsSkipped = 0x4000;  // in the extended flags: skip-worktree
constexpr size_t kPadding = 8;

/// Reads values from a sequence of bytes. When the bytes run out, ok() becomes false and stays
/// false.
class IndexBytes {
 public:
  explicit IndexBytes(std::string_view bytes) : all_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] size_t place() const { return at_; }
  std::string_view take(size_t count) {
    ok_ = ok_ && count <= all_.size() - at_;
    if (!ok_) return {};
    at_ += count;
    return all_.substr(at_ - count, count);
  }
  uint32_t number(size_t bytes) {
    uint32_t value = 0;
    for (const char byte : take(bytes)) value = value << 8U | static_cast<uint8_t>(byte);
    return value;
  }
  /// The bytes up to the next NUL; consumes the NUL, too.
  std::string_view text() {
    const size_t end = ok_ ? all_.find('\0', at_) : all_.npos;
    ok_ = ok_ && end != all_.npos;
    const std::string_view whole = take(ok_ ? end + 1 - at_ : 0);
    return whole.substr(0, whole.empty() ? 0 : whole.size() - 1);
  }
  /// In version 4: the number of bytes to remove from the end of the previous name (git's varint).
  size_t stripped() {
    constexpr uint32_t kMore = 0x80;
    size_t value = 0;
    for (bool is_first = true;; is_first = false) {
      const uint32_t byte = number(1);
      if (!ok_) return 0;
      value = ((value + (is_first ? 0 : 1)) << 7U) | (byte & (kMore - 1));
      if ((byte & kMore) == 0) return value;
    }
  }

 private:
  std::string_view all_;
  size_t at_ = 0;
  bool ok_ = true;
};

struct ParsedIndex {
  std::vector<std::string> paths;
  std::vector<std::string> left_out;  ///< as TrackedPaths::left_out_, but not sorted
  std::string shared;   ///< hexadecimal name of the other part of a split index; empty: none
  std::string deleted;  ///< a bitmap of entries of the other part
};

/// Reads a bitmap in git's EWAH form (gitformat-bitmap(5)): runs of equal words, each followed by
/// literal words. Returns the places of its bits below `end`; nothing for other bytes.
std::vector<size_t> parse_bitmap(std::string_view bytes, size_t end) {
  constexpr uint32_t kWordBits = 64;
  constexpr uint32_t kHalfBits = 32;
  IndexBytes in(bytes);
  const uint64_t bits = std::min<uint64_t>(in.number(4), end);
  const uint32_t words = in.number(4);
  const auto word = [&in] {
    const uint64_t high = in.number(4);
    return high << kHalfBits | in.number(4);
  };
  std::vector<size_t> places;
  uint64_t at = 0;  // the place of the next bit
  for (uint32_t read = 0; read < words && in.ok() && at < bits; ++read) {
    const uint64_t head = word();
    const uint64_t equal_end = at + (head >> 1U & UINT32_MAX) * kWordBits;
    for (; (head & 1U) != 0 && at < std::min(equal_end, bits); ++at) places.push_back(at);
    at = equal_end;
    for (uint64_t left = head >> (kHalfBits + 1U); left > 0 && in.ok() && at < bits; --left) {
      const uint64_t literal = word();
      for (uint32_t n = 0; n < kWordBits && at + n < bits; ++n) {
        if ((literal >> n & 1U) != 0) places.push_back(at + n);
      }
      at += kWordBits;
      ++read;
    }
  }
  return in.ok() ? places : std::vector<size_t>();
}

std::string in_hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<uint8_t>(byte) >> 4U];
    text += kDigits[static_cast<uint8_t>(byte) & 0xFU];
  }
  return text;
}

/// Returns nothing if the bytes are not an index with object names of this size. The length of
/// every name is stored twice, so a wrong size is detected.
std::optional<ParsedIndex> parse_index(std::string_view bytes, size_t name_bytes) {
  IndexBytes index(bytes);
  if (index.take(4) != "DIRC") return {};
  const uint32_t version = index.number(4);
  const uint32_t count = index.number(4);
  if (version < 2 || version > 4) return {};
  ParsedIndex parsed;
  std::string name;
  for (uint32_t i = 0; i < count && index.ok(); ++i) {
    const size_t began = index.place();
    (void)index.take(kStatBytes + name_bytes);
    const uint32_t flags = index.number(kFlagBytes);
    const uint32_t extended = (flags & kIsExtended) != 0 ? index.number(kFlagBytes) : 0;
    if (version == 4) {
      const size_t stripped = index.stripped();
      if (stripped > name.size()) return {};
      name.resize(name.size() - stripped);
      name += index.text();
    } else {
      name = index.text();
      const size_t padding = (kPadding - (index.place() - began) % kPadding) % kPadding;
      (void)index.take(padding);
    }
    const uint32_t length = flags & kLongName;
    if (length != kLongName && length != name.size()) return {};
    if (!name.empty()) parsed.paths.push_back(name);
    const bool is_left_out = (extended & kIsSkipped) != 0 || name.ends_with('/');
    if (is_left_out) parsed.left_out.push_back(name);
  }
  while (index.ok() && bytes.size() - index.place() > name_bytes) {
    const std::string_view signature = index.take(4);
    const std::string_view extension = index.take(index.number(4));
    if (signature != "link") continue;
    parsed.shared = in_hexadecimal(extension.substr(0, name_bytes));
    parsed.deleted = extension.substr(std::min(name_bytes, extension.size()));
  }
  return index.ok() ? std::optional(std::move(parsed)) : std::nullopt;
}

std::optional<ParsedIndex> parse_either(std::string_view bytes) {
  constexpr size_t kSha1Bytes = 20;
  constexpr size_t kSha256Bytes = 32;
  if (bytes.size() < kHeaderBytes) return {};
  auto parsed = parse_index(bytes, kSha1Bytes);
  return parsed ? parsed : parse_index(bytes, kSha256Bytes);
}

}  // namespace

TrackedPaths TrackedPaths::read(const Reader& reader) {
  TrackedPaths tracked;
  auto index = parse_either(reader("index"));
  if (!index) return tracked;
  tracked.paths_ = std::move(index->paths);
  tracked.left_out_ = std::move(index->left_out);
  if (!index->shared.empty()) {
    if (auto shared = parse_either(reader("sharedindex." + index->shared))) {
      for (const size_t place : parse_bitmap(index->deleted, shared->paths.size())) {
        shared->paths[place].clear();
      }
      std::move(shared->paths.begin(), shared->paths.end(), std::back_inserter(tracked.paths_));
      std::move(shared->left_out.begin(), shared->left_out.end(),
                std::back_inserter(tracked.left_out_));
    }
  }
  std::sort(tracked.paths_.begin(), tracked.paths_.end());
  std::sort(tracked.left_out_.begin(), tracked.left_out_.end());
  return tracked;
}

bool TrackedPaths::has(std::string_view path) const {
  return std::binary_search(paths_.begin(), paths_.end(), path, std::less<>());
}

bool TrackedPaths::is_left_out(std::string_view path) const {
  const auto is_there = [&](std::string_view name) {
    return std::binary_search(left_out_.begin(), left_out_.end(), name, std::less<>());
  };
  for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/', slash + 1)) {
    if (is_there(path.substr(0, slash + 1))) return true;
  }
  return is_there(path) && has(path);
}

bool TrackedPaths::has_below(std::string_view directory) const {
  const std::string prefix = std::string(directory) + "/";
  const auto found = std::lower_bound(paths_.begin(), paths_.end(), prefix);
  return found != paths_.end() && found->starts_with(prefix);
}

}  // namespace galley
