#pragma once

#include <galley/error.h>

#include <string_view>

namespace galley {

/// Makes an Error from errno: "<action> <path>: <strerror>".
[[nodiscard]] Error os_error(int errno_value, std::string_view action, std::string_view path);

}  // namespace galley
