// Reads any bytes as the output of curl for one answer, whole and in pieces. Both give the same
// messages, one a line, within their limit.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/mcp/http_answer.h"
#include "tools/mcp/mcp_dialogue.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = data[0] + 1U;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  galley::HttpAnswer whole;
  std::string all = whole.take(bytes);
  all += whole.end();
  galley::HttpAnswer parts;
  std::string pieces;
  for (size_t at = 0; at < bytes.size(); at += piece) pieces += parts.take(bytes.substr(at, piece));
  pieces += parts.end();
  GALLEY_CHECK(all == pieces);
  GALLEY_CHECK(whole.status() == parts.status() && whole.text() == parts.text());
  GALLEY_CHECK(whole.text().size() <= galley::HttpAnswer::kMaxHttpTextBytes);
  GALLEY_CHECK(all.empty() || all.back() == '\n');
  return 0;
}
