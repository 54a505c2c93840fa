#include "engine/review/review_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/encoding.h"
#include "base/hash.h"

namespace galley {
namespace {

std::string source_hash(std::string_view text) {
  const ContentId id = ContentId::of(text);
  const auto* bytes = reinterpret_cast<const char*>(id.bytes().data());
  return "'sha256-" + base64({bytes, ContentId::kBytes}) + "'";
}

/// The data as text that cannot end its element.
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
  // The data comes last, so that a placeholder in it stays text.
  const size_t data_at = page.find("@DATA@");
  const std::string text = embedded(data);
  const size_t script_at = page.find("@SCRIPT@");
  return page.substr(0, data_at) + text + page.substr(data_at + 6, script_at - data_at - 6) +
         std::string(page_sources::kScript) + page.substr(script_at + 8);
}

}  // namespace galley
