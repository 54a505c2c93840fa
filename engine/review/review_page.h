#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace galley {

/// Where a review page lives.
enum class PageHome : uint8_t {
  kFile,      ///< a file of its own: it loads nothing and asks nobody
  kLoopback,  ///< served by `galley review`: it may ask the server that it came from
};

/// One HTML file that shows what review_data() made: styles, program and data are inside.
///
/// A hostile name or content cannot run script: the data stand as JSON in an element that is never
/// executed, with every `<` escaped; the program builds the page from texts alone; and the policy
/// in the page (Content-Security-Policy) lets nothing run but the program, known by its hash, and
/// loads nothing.
[[nodiscard]] std::string review_page(const nlohmann::ordered_json& data, PageHome home);

/// The Content-Security-Policy of the page, for a header.
[[nodiscard]] std::string review_page_policy(PageHome home);

}  // namespace galley
