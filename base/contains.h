#pragma once

#include <algorithm>
#include <functional>

namespace galley {

/// Whether a range contains a value. With a projection: whether an element has this value there.
template <class Range, class Value, class Projection = std::identity>
[[nodiscard]] constexpr bool contains(const Range& range, const Value& value,
                                      const Projection& projection = {}) {
  return std::any_of(std::begin(range), std::end(range),
                     [&](const auto& one) { return std::invoke(projection, one) == value; });
}

}  // namespace galley
