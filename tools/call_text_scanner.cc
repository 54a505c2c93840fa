#include "tools/call_text_scanner.h"

#include <algorithm>

#include "base/text.h"
#include "tools/tool_call_parser.h"

namespace galley {
namespace {

constexpr std::string_view kMarkEnd = "]]>";

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == ':';
}

/// The value of the attribute `name`. `attributes` is the text after the name of a tag.
std::string_view name_attribute(std::string_view attributes) {
  size_t at = 0;
  while (at < attributes.size()) {
    if (!is_name_char(attributes[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < attributes.size() && is_name_char(attributes[at])) ++at;
    const std::string_view key = attributes.substr(begin, at - begin);
    if (at + 1 >= attributes.size() || attributes[at] != '=') continue;
    const char quote = attributes[at + 1];
    if (quote != '"' && quote != '\'') continue;
    const size_t close = attributes.find(quote, at + 2);
    if (close == std::string_view::npos) return {};
    if (key == "name") return attributes.substr(at + 2, close - at - 2);
    at = close + 1;
  }
  return {};
}

}  // namespace

std::string_view without_layout(std::string_view text) {
  if (text.starts_with("\r\n")) return text.substr(2);
  return text.starts_with('\n') ? text.substr(1) : text;
}

std::string unmarked(std::string_view text) {
  constexpr std::string_view kSplit = "]]]]><![CDATA[>";  // means `]]>` inside CDATA
  std::string out;
  size_t at = 0;
  for (size_t next = text.find(kSplit); next != std::string_view::npos;
       next = text.find(kSplit, at)) {
    out.append(text.substr(at, next - at)).append("]]>");
    at = next + kSplit.size();
  }
  return out.append(text.substr(at));
}

std::string diff_of(std::string_view text) {
  constexpr std::string_view kBegin = "<content>";
  const size_t begin = text.find(kBegin);
  const size_t end = text.rfind("</content>");
  const bool is_nested = begin != std::string_view::npos && end != std::string_view::npos &&
                         begin < end && is_blank(text.substr(0, begin));
  if (is_nested)
    text = without_layout(text.substr(begin + kBegin.size(), end - begin - kBegin.size()));
  return text.ends_with('\n') ? std::string(text) : std::string(text) + "\n";
}

size_t CallTextScanner::past_space(size_t at) const {
  while (at < text_.size() && is_plain_space(text_[at])) ++at;
  return at;
}

std::optional<CallTag> CallTextScanner::tag_at(size_t at) const {
  if (at >= text_.size() || text_[at] != '<') return {};
  const std::string_view head = text_.substr(at, kMaxTagBytes);
  CallTag tag;
  size_t i = 1;
  if (i < head.size() && head[i] == '/') {
    tag.is_closing = true;
    ++i;
  }
  const size_t begin = i;
  while (i < head.size() && is_name_char(head[i])) ++i;
  if (i == begin || i >= head.size()) return {};
  tag.name = tag.full_name = head.substr(begin, i - begin);
  if (const size_t colon = tag.name.rfind(':'); colon != std::string_view::npos) {
    tag.name.remove_prefix(colon + 1);
  }
  if (head[i] != '>' && head[i] != '/' && !is_plain_space(head[i])) return {};
  const size_t close = head.find('>', i);
  if (close == std::string_view::npos || tag.name.empty()) return {};
  const std::string_view attributes = head.substr(i, close - i);
  if (attributes.find('<') != std::string_view::npos) return {};
  tag.is_empty = attributes.ends_with('/');
  tag.attribute = name_attribute(attributes);
  tag.end = at + close + 1;
  return tag;
}

std::optional<CallTag> CallTextScanner::next_tag(size_t at) const { return tag_at(past_space(at)); }

void CallTextScanner::charge(size_t bytes) {
  read_ += bytes;
  has_given_up_ = has_given_up_ || read_ / kMaxReadings > text_.size();
}

size_t CallTextScanner::find(std::string_view what, size_t from) {
  const size_t found = text_.find(what, from);
  charge(std::min(found, text_.size()) - std::min(from, text_.size()));
  return has_given_up_ ? std::string_view::npos : found;
}

bool CallTextScanner::may_follow(size_t at, const ValueEnd& end) const {
  const auto tag = next_tag(at);
  if (!tag) return past_space(at) == text_.size();  // the text was cut off after a value
  if (tag->is_closing)
    return tag->name == end.block || (!end.list.empty() && tag->name == end.list);
  return end.takes_any || end.others.contains(std::string(tag->name));
}

std::optional<CallTextScanner::Value> CallTextScanner::marked_value(size_t from,
                                                                    const ValueEnd& end) {
  const size_t begin = past_space(from);
  if (!text_.substr(begin).starts_with(kMarkBegin)) return {};
  size_t at = begin + kMarkBegin.size();
  while ((at = find(kMarkEnd, at)) != std::string_view::npos) {
    const auto tag = next_tag(at + kMarkEnd.size());
    if (tag && tag->is_closing && tag->name == end.element && may_follow(tag->end, end)) {
      const size_t inner = begin + kMarkBegin.size();
      return Value{text_.substr(inner, at - inner), tag->end, false};
    }
    at += kMarkEnd.size();
  }
  return {};
}

std::optional<CallTextScanner::Value> CallTextScanner::value(size_t from, const ValueEnd& end) {
  if (auto marked = marked_value(from, end)) return marked;
  std::optional<Value> doubtful;
  std::optional<Value> unknown_follows;  // balanced, before an element that the tool does not have
  size_t last = std::string_view::npos;  // where the search ends once that one is found
  size_t depth = 0;
  for (size_t at = find("<", from); at != std::string_view::npos; at = find("<", at + 1)) {
    if (at > last) break;
    const auto tag = tag_at(at);
    if (!tag || tag->is_empty || tag->name != end.element) continue;
    if (!tag->is_closing) {
      ++depth;
      continue;
    }
    const Value found{text_.substr(from, at - from), tag->end, depth > 0};
    if (may_follow(tag->end, end)) {
      if (depth == 0) return found;
      if (!doubtful) doubtful = found;
    } else if (const auto next = next_tag(tag->end);
               depth == 0 && next && !next->is_closing && !unknown_follows) {
      unknown_follows = found;
      last = find(end.block_end, tag->end);
    }
    if (depth > 0) --depth;
  }
  if (unknown_follows) return unknown_follows;
  // A value that extends beyond its block was not closed: the closing tag is of another call.
  if (doubtful && doubtful->text.find(end.block_end) != std::string_view::npos) return {};
  return doubtful;
}

}  // namespace galley
