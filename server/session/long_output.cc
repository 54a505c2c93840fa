#include "server/session/long_output.h"

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "server/session/call_results.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 2> kStreams = {"stdout", "stderr"};
constexpr size_t kHeadPart = 4;  // one of so many parts of the shown bytes is the head

/// Returns the end of a text. It begins with a whole line if a line begins in it.
std::string_view tail_of(std::string_view text, size_t most) {
  std::string_view tail = text.substr(text.size() - most);
  const size_t line = tail.find('\n');
  if (line + 1 < tail.size()) return tail.substr(line + 1);
  while (!tail.empty() && (static_cast<uint8_t>(tail.front()) & 0xC0U) == 0x80U) {
    tail.remove_prefix(1);
  }
  return tail;
}

std::string head_and_tail(const std::string& whole, const char* stream, size_t most) {
  size_t offset = 0;
  const std::string head = page_of(whole, 0, offset, most / kHeadPart);
  const std::string_view tail = tail_of(whole, most - most / kHeadPart);
  const size_t middle = whole.size() - offset - tail.size();
  return head + "\n[" + std::to_string(middle) + " bytes of " + stream + " from offset " +
         std::to_string(offset) + " on are left out here]\n" + std::string(tail);
}

/// The members of a result that have outputs; null if there are none.
const ordered_json* outputs_in(const ToolResult& result) {
  const JsonDocument& data = result.ok      ? result.data
                             : result.error ? result.error->details
                                            : result.data;
  const bool has = data != nullptr && data->is_object() && data->contains("exitCode");
  return has ? data.get() : nullptr;
}

void put_outputs(ToolResult& result, ordered_json data) {
  auto document = std::make_shared<const ordered_json>(std::move(data));
  if (result.ok) {
    result.data = std::move(document);
  } else {
    result.error->details = std::move(document);
  }
}

}  // namespace

std::vector<CutOutput> cut_outputs(ToolResult& result) {
  std::vector<CutOutput> cut;
  const ordered_json* found = outputs_in(result);
  if (found == nullptr) return cut;
  std::array<size_t, 2> sizes = {0, 0};
  for (size_t i = 0; i < kStreams.size(); ++i) {
    const auto text = found->find(kStreams[i]);
    if (text != found->end() && text->is_string()) {
      sizes[i] = text->get_ref<const std::string&>().size();
    }
  }
  if (sizes[0] + sizes[1] <= kMaxShownOutput) return cut;
  ordered_json data = *found;
  for (size_t i = 0; i < kStreams.size(); ++i) {
    // A short stream leaves its part to the other one.
    const size_t other = std::min(sizes[1 - i], kMaxShownOutput / 2);
    const size_t most = kMaxShownOutput - other;
    if (sizes[i] <= most) continue;
    std::string whole = data[kStreams[i]].get<std::string>();
    data[kStreams[i]] = head_and_tail(whole, kStreams[i], most);
    cut.push_back({kStreams[i], std::move(whole)});
  }
  put_outputs(result, std::move(data));
  return cut;
}

void name_kept_outputs(ToolResult& result, const std::string& execution) {
  const ordered_json* found = outputs_in(result);
  if (found == nullptr) return;
  ordered_json data = *found;
  data["kept"] = execution;
  put_outputs(result, std::move(data));
}

}  // namespace galley
