#pragma once

#include <galley/path.h>

#include <string_view>
#include <utility>

#include "base/result.h"

namespace galley {

/// Makes a path from a text that the test knows to be valid.
inline RelPath rel(std::string_view text) {
  auto path = RelPath::parse(text);
  GALLEY_CHECK(path.has_value());
  return *std::move(path);
}

}  // namespace galley
