#pragma once

#include <string_view>

/// The files of engine/review/page, which the build embeds (cmake/embed.cmake).
namespace galley::page_sources {

extern const std::string_view kDocument;
extern const std::string_view kStyle;
extern const std::string_view kScript;  ///< all scripts, joined

}  // namespace galley::page_sources
