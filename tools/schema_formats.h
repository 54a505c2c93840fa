#pragma once

#include <string_view>

namespace galley {

/// Whether `format` with this name is checked: uri, date-time, email, uuid, regex. Any other one is
/// an annotation, as in 2020-12.
[[nodiscard]] bool is_checked_format(std::string_view name);

/// Whether a text has a checked format. Takes linear time.
///
/// uri: RFC 3986, with a scheme. date-time: RFC 3339, with valid calendar days. email: a dot-atom
/// at a host name (RFC 5321 without quoted names and addresses in brackets). uuid: RFC 4122. regex:
/// RE2's syntax.
[[nodiscard]] bool has_format(std::string_view name, std::string_view text);

}  // namespace galley
