#pragma once

#include <stdexcept>
#include <string_view>

namespace galley {

/// What toml++ 3.3 takes for impossible, hostile documents reach: that is an error of the document
/// and no end of the process. What parse_key() asserts it reports itself right after, with the
/// place (`[[[a]]]`; mended in later versions).
constexpr void check_toml_library(bool holds, std::string_view function) {
  if (!holds && function != "parse_key") throw std::logic_error("the parser cannot read it");
}

}  // namespace galley

// Without NDEBUG, under which clang would take the assertions for facts.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) \
  ::galley::check_toml_library(static_cast<bool>(condition), static_cast<const char*>(__func__))
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
