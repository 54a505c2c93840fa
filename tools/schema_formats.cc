#include "tools/schema_formats.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <string>

namespace galley {
namespace {

constexpr size_t kMaxEmailBytes = 254;      // RFC 5321, 4.5.3.1 and its erratum 1690
constexpr size_t kMaxEmailNameBytes = 64;   // the same
constexpr size_t kMaxRegexBytes = 1 << 16;  // a pattern in a document; RE2 limits its program

bool is_uri(std::string_view text) {
  // RFC 3986, appendix A, with its names for the parts.
  static const re2::RE2 kUri([] {
    const std::string pchar = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
    const std::string userinfo = "(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?";
    const std::string reg_name = "(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*";
    const std::string literal =
        "\\[(?:[0-9A-Fa-f:.]+|v[0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]";
    const std::string authority =
        "//" + userinfo + "(?:" + literal + "|" + reg_name + ")(?::[0-9]*)?(?:/" + pchar + "*)*";
    const std::string path = "/?(?:" + pchar + "+(?:/" + pchar + "*)*)?";
    const std::string rest = "(?:" + pchar + "|[/?])*";
    return "[A-Za-z][A-Za-z0-9+.-]*:(?:" + authority + "|" + path + ")(?:\\?" + rest + ")?(?:#" +
           rest + ")?";
  }());
  return re2::RE2::FullMatch(text, kUri);
}

bool is_leap_year(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

bool is_date_time(std::string_view text) {
  static const re2::RE2 kDateTime(
      R"((\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:(\d\d)(?:\.\d+)?)"
      R"((?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d))");
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int second = 0;
  if (!re2::RE2::FullMatch(text, kDateTime, &year, &month, &day, &hour, &second)) return false;
  static constexpr std::array kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1 || second > 60) return false;  // 60: a leap second
  const int days = month == 2 && is_leap_year(year) ? 29 : kDays[static_cast<size_t>(month) - 1];
  return day <= days;
}

bool is_email(std::string_view text) {
  static const re2::RE2 kEmail(
      R"(([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*))"
      R"(@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)"
      R"((?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*)");
  std::string name;
  return text.size() <= kMaxEmailBytes && re2::RE2::FullMatch(text, kEmail, &name) &&
         name.size() <= kMaxEmailNameBytes;
}

bool is_uuid(std::string_view text) {
  static const re2::RE2 kUuid("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
  return re2::RE2::FullMatch(text, kUuid);
}

bool is_regex(std::string_view text) {
  if (text.size() > kMaxRegexBytes) return false;
  re2::RE2::Options options;
  options.set_log_errors(false);
  return re2::RE2(text, options).ok();
}

struct Format {
  std::string_view name;
  bool (*matches)(std::string_view text);
};

constexpr std::array kFormats = {Format{"uri", is_uri}, Format{"date-time", is_date_time},
                                 Format{"email", is_email}, Format{"uuid", is_uuid},
                                 Format{"regex", is_regex}};

const Format* format_of(std::string_view name) {
  const auto* found = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& format) { return format.name == name; });
  return found == kFormats.end() ? nullptr : found;
}

}  // namespace

bool is_checked_format(std::string_view name) { return format_of(name) != nullptr; }

bool has_format(std::string_view name, std::string_view text) {
  const Format* format = format_of(name);
  return format == nullptr || format->matches(text);
}

}  // namespace galley
