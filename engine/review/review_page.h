#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace galley {

/// The origin of a review page in the browser.
enum class PageHome : uint8_t {
  kFile,      ///< a separate file: it loads and sends nothing
  kLoopback,  ///< served by `galley review`: it may send requests to its server
};

/// Returns one HTML file that shows the result of review_data(). It contains styles, script and
/// data.
///
/// Names and contents from a hostile source cannot run a script. The data is JSON in an element
/// that the browser does not execute, and every `<` is escaped. The script inserts plain text only.
/// The page's Content-Security-Policy lets only this script run, by its hash, and loads nothing.
[[nodiscard]] std::string review_page(const nlohmann::ordered_json& data, PageHome home);

/// Returns the Content-Security-Policy of the page, for an HTTP header.
[[nodiscard]] std::string review_page_policy(PageHome home);

}  // namespace galley

namespace galley::page_sources {

/// The files of engine/review/page, which the build embeds (cmake/embed.cmake).
extern const std::string_view kDocument;
extern const std::string_view kStyle;
extern const std::string_view kScript;  ///< all scripts, joined

}  // namespace galley::page_sources
