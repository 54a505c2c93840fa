#include "engine/review/review_page.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/content_id.h"
#include "engine/review/page_sources.h"

namespace galley {
namespace {

/// RFC 4648.
std::string base64(const std::array<uint8_t, ContentId::kBytes>& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  constexpr uint32_t kSix = 0x3f;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t three = 0;
    for (size_t i = 0; i < 3; ++i)
      three = three << 8U | (at + i < bytes.size() ? bytes[at + i] : 0);
    for (uint32_t shift = 24; shift > 0; shift -= 6) text += kDigits[three >> (shift - 6) & kSix];
  }
  constexpr size_t kPadding = 3 - ContentId::kBytes % 3;
  for (size_t i = 0; i < kPadding; ++i) text[text.size() - 1 - i] = '=';
  return text;
}

std::string source_hash(std::string_view text) {
  return "'sha256-" + base64(ContentId::of(text).bytes()) + "'";
}

/// The text of the data, in which nothing can end the element that holds it.
std::string embedded(const nlohmann::ordered_json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + text.size() / 16);
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find('<', at), text.size());
    safe.append(text, at, next - at);
    if (next < text.size()) safe += "\\u003c";
    at = next + 1;
  }
  return safe;
}

}  // namespace

std::string review_page_policy(PageHome home) {
  return "default-src 'none'; script-src " + source_hash(page_sources::kScript) + "; style-src " +
         source_hash(page_sources::kStyle) + "; img-src data:; connect-src " +
         (home == PageHome::kLoopback ? "'self'" : "'none'") +
         "; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
         "trusted-types 'none'";
}

std::string review_page(const nlohmann::ordered_json& data, PageHome home) {
  std::string page;
  const auto put = [&page](std::string_view placeholder, std::string_view text) {
    const size_t at = page.find(placeholder);
    if (at != std::string::npos) page.replace(at, placeholder.size(), text);
  };
  page = page_sources::kDocument;
  put("@POLICY@", review_page_policy(home));
  put("@STYLE@", page_sources::kStyle);
  // The data last: a placeholder in them is text.
  const size_t data_at = page.find("@DATA@");
  const std::string text = embedded(data);
  const size_t script_at = page.find("@SCRIPT@");
  return page.substr(0, data_at) + text + page.substr(data_at + 6, script_at - data_at - 6) +
         std::string(page_sources::kScript) + page.substr(script_at + 8);
}

}  // namespace galley
