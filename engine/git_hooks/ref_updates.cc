#include "engine/git_hooks/ref_updates.h"

#include <algorithm>

#include "base/printable.h"

namespace galley {
namespace {

constexpr size_t kSha1Digits = 40;
constexpr size_t kSha256Digits = 64;

Error bad_line(size_t number, std::string_view line) {
  return {ErrorKind::kInvalid, "hook.input",
          "line " + std::to_string(number) +
              " of what this hook was given is not as git writes it: " + printable_line(line),
          "", 0};
}

bool is_object_id(std::string_view word) {
  return (word.size() == kSha1Digits || word.size() == kSha256Digits) &&
         word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// git says "none" with zeros.
std::string id_or_none(std::string_view id) {
  return id.find_first_not_of('0') == std::string_view::npos ? std::string() : std::string(id);
}

/// `order` tells which of the words are the reference, the old and the new id.
struct WordOrder {
  size_t count = 0;
  size_t ref = 0;
  size_t old_id = 0;
  size_t new_id = 0;
};
constexpr WordOrder kPushed = {4, 2, 3, 1};
constexpr WordOrder kReceived = {3, 2, 0, 1};

bool take_words(const std::vector<std::string_view>& words, const WordOrder& order,
                RefUpdate& update) {
  if (words.size() != order.count) return false;
  const bool is_whole = is_object_id(words[order.old_id]) && is_object_id(words[order.new_id]) &&
                        words[order.ref].starts_with("refs/");
  if (!is_whole) return false;
  update = {std::string(words[order.ref]), id_or_none(words[order.old_id]),
            id_or_none(words[order.new_id])};
  return true;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

Result<std::vector<RefUpdate>> parse_lines(std::string_view text, const WordOrder& order) {
  std::vector<RefUpdate> updates;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    if (updates.size() == kMaxRefUpdates) {
      return fail(ErrorKind::kQuota, "limit.ref_updates",
                  "this push changes more than " + std::to_string(kMaxRefUpdates) +
                      " references; push them in parts");
    }
    RefUpdate update;
    if (!take_words(words_of(line), order, update)) {
      return fail(bad_line(updates.size() + 1, line));
    }
    updates.push_back(std::move(update));
  }
  return updates;
}

}  // namespace

Result<std::vector<RefUpdate>> parse_pushed_refs(std::string_view text) {
  return parse_lines(text, kPushed);
}

Result<std::vector<RefUpdate>> parse_received_refs(std::string_view text) {
  return parse_lines(text, kReceived);
}

Result<RefUpdate> parse_update(const std::vector<std::string>& words) {
  constexpr WordOrder kUpdate = {3, 0, 1, 2};
  const std::vector<std::string_view> views(words.begin(), words.end());
  RefUpdate update;
  if (take_words(views, kUpdate, update)) return update;
  return fail(ErrorKind::kUsage, "hook.arguments",
              "the hook 'update' is given a reference, the old id and the new one");
}

}  // namespace galley
