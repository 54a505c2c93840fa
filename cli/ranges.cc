#include "cli/ranges.h"

#include <utility>

#include "base/printable.h"

namespace galley {

bool is_range(std::string_view word) {
  const size_t dots = word.find("..");
  if (dots == std::string_view::npos || dots == 0) return false;
  const size_t to = word.find_first_not_of('.', dots);
  return word[dots - 1] != '/' && (to == std::string_view::npos || word[to] != '/');
}

Result<CheckSource> range_source(const std::string& range) {
  const size_t dots = range.find("..");
  if (dots == std::string::npos) {
    return fail(ErrorKind::kUsage, "check.bad_range",
                "'" + printable_line(range) + "' is no range; write it as A..B");
  }
  const size_t to = range.find_first_not_of('.', dots);
  CheckSource source;
  source.kind = CheckSource::Kind::kRange;
  source.from = dots == 0 ? "HEAD" : range.substr(0, dots);
  source.to = to == std::string::npos ? "HEAD" : range.substr(to);
  return source;
}

Result<std::unique_ptr<GitCheck>> open_check(Session& session, const CheckSource& source) {
  CheckOptions options;
  options.who = session.transaction_options();
  options.config_file = session.arguments().global.config;
  options.only_new = session.arguments().check.only_new;
  session.terminal().work_on("reading the repository");
  return GitCheck::open(source, std::move(options));
}

}  // namespace galley
