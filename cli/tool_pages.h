#pragma once

#include <string_view>

/// The pages of docs/tools, one after the other, as the build embeds them (cmake/embed.cmake).
namespace galley::tool_pages {

extern const std::string_view kAll;

}  // namespace galley::tool_pages

namespace galley {

/// The page about a built-in tool; empty where there is none.
[[nodiscard]] std::string_view tool_page(std::string_view tool);

}  // namespace galley
