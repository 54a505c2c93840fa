#include "staging/placing/place_ids.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "staging/placing/place.h"

namespace galley {
namespace {

std::string short_hash(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  std::string out;
  for (int shift = 60; shift >= 28; shift -= 4) out.push_back(kDigits[hash >> shift & 0xfU]);
  return out;
}

}  // namespace

std::string content_key(std::string_view content) { return short_hash(content); }

std::string candidate_id(const std::string& edit_id, const std::string& file, const Lines& lines,
                         int64_t start, int64_t count) {
  const auto begin = static_cast<size_t>(std::max<int64_t>(start, 0));
  const size_t end =
      std::min(static_cast<size_t>(std::max<int64_t>(start + count, 0)), lines.size());
  std::string bytes = edit_id + ":" + file + ":" + std::to_string(start) + ":";
  bytes += lines.span(std::min(begin, end), end);
  return "at-" + short_hash(bytes);
}

std::vector<std::string> edit_ids(const FileEdit& edit) {
  std::vector<std::string> ids;
  std::unordered_map<std::string, int> seen;
  const auto add = [&](std::string_view bytes) {
    std::string id = short_hash(bytes);
    const int count = ++seen[id];
    if (count > 1) id += "-" + std::to_string(count);
    ids.push_back(std::move(id));
  };
  std::string bytes;
  for (const Hunk& hunk : edit.hunks) {
    bytes.clear();
    for (const HunkLine& line : hunk.lines) {
      bytes.push_back(static_cast<char>('0' + static_cast<int>(line.role)));
      bytes += line.text;
    }
    add(bytes);
  }
  for (const TextEdit& text : edit.text_edits) {
    bytes.assign(1, static_cast<char>('0' + static_cast<int>(text.kind)));
    bytes += std::to_string(text.first_line) + ":" + std::to_string(text.last_line) + ":";
    bytes += text.old_text;
    bytes.push_back('\0');
    bytes += text.new_text;
    add(bytes);
  }
  return ids;
}

}  // namespace galley
