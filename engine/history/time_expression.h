#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace galley {

/// Parses the argument of `--since`: `90s`, `15m`, `2h`, `3d`, `1w` before `now_ns`, a date
/// `2026-11-21` or an RFC 3339 time; all in UTC.
/// Errors: kUsage `history.bad_time`.
Result<int64_t> parse_time_expression(std::string_view text, int64_t now_ns);

}  // namespace galley
