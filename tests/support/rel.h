#pragma once

#include <galley/path.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace galley {

/// A path that the test states and knows to be good.
inline RelPath rel(std::string_view text) {
  auto path = RelPath::parse(text);
  GALLEY_CHECK(path.has_value());
  return *std::move(path);
}

}  // namespace galley
