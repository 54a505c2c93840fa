#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace galley {

/// The place from which a review page is opened.
enum class PageHome : uint8_t {
  kFile,      ///< a separate file: it loads nothing and sends nothing
  kLoopback,  ///< served by `galley review`: it may send requests to its server
};

/// One HTML file that shows the result of review_data(): styles, program and data are inside.
///
/// A hostile name or content cannot run a script. The data is JSON in an element that is never
/// executed, with every `<` escaped. The program builds the page from plain text only. The page's
/// Content-Security-Policy allows only the program, by its hash, to run, and loads nothing.
[[nodiscard]] std::string review_page(const nlohmann::ordered_json& data, PageHome home);

/// The Content-Security-Policy of the page, for a header.
[[nodiscard]] std::string review_page_policy(PageHome home);

}  // namespace galley
