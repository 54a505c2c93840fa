#include "engine/history/time_expression.h"

#include <charconv>
#include <chrono>
#include <optional>

namespace galley {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMaxUnits = 1'000'000;

tl::unexpected<Error> bad_time(std::string_view text) {
  return fail(ErrorKind::kUsage, "history.bad_time",
              "'" + std::string(text) + "' is not a time; write 15m, 2h, 3d, 1w, 2026-11-21 or " +
                  "2026-11-21T08:00:00Z");
}

std::optional<int> digits(std::string_view text, size_t at, size_t count) {
  if (text.size() < at + count) return {};
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return {};
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<int64_t> unit_seconds(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    case 'w':
      return 604800;
    default:
      return {};
  }
}

/// The seconds that `T08:00:00[.123](Z|+01:00)` adds to its day; nullopt when it is malformed.
std::optional<int64_t> seconds_of_day(std::string_view text) {
  const auto hour = digits(text, 1, 2);
  const auto minute = digits(text, 4, 2);
  const auto second = digits(text, 7, 2);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return {};
  if ((text[0] != 'T' && text[0] != ' ') || text[3] != ':' || text[6] != ':') return {};
  int64_t value = *hour * 3600 + *minute * 60 + *second;
  text.remove_prefix(9);
  if (!text.empty() && text[0] == '.') {
    size_t end = 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end == 1) return {};
    text.remove_prefix(end);
  }
  if (text.empty() || text == "Z") return value;
  const auto zone_hour = digits(text, 1, 2);
  const auto zone_minute = digits(text, 4, 2);
  const bool is_zone = text.size() == 6 && text[3] == ':' && zone_hour && zone_minute &&
                       (text[0] == '+' || text[0] == '-');
  if (!is_zone) return {};
  const int64_t zone = *zone_hour * 3600 + *zone_minute * 60;
  return text[0] == '+' ? value - zone : value + zone;
}

}  // namespace

Result<int64_t> parse_time_expression(std::string_view text, int64_t now_ns) {
  if (text.size() >= 2) {
    const auto unit = unit_seconds(text.back());
    int64_t count = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size() - 1, count);
    const bool is_span = unit && code == std::errc() && end == text.data() + text.size() - 1;
    if (is_span && count >= 0 && count <= kMaxUnits) return now_ns - count * *unit * kSecond;
  }
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  if (!year || !month || !day || text[4] != '-' || text[7] != '-') return bad_time(text);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return bad_time(text);
  int64_t seconds = std::chrono::sys_days(date).time_since_epoch().count() * int64_t{86400};
  if (text.size() > 10) {
    const auto in_day = seconds_of_day(text.substr(10));
    if (!in_day) return bad_time(text);
    seconds += *in_day;
  }
  return seconds * kSecond;
}

}  // namespace galley
