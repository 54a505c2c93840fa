#include "staging/formats/patch_path.h"

#include <re2/re2.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "base/text.h"

namespace galley {
namespace {

constexpr std::string_view kNull = "/dev/null";

std::optional<char> simple_escape(char c) {
  static constexpr std::string_view kFrom = "abtnvfr\"\\";
  static constexpr std::string_view kTo = "\a\b\t\n\v\f\r\"\\";
  const size_t at = kFrom.find(c);
  if (at == std::string_view::npos) return std::nullopt;
  return kTo[at];
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }
int number(std::string_view digits) { return std::atoi(std::string(digits).c_str()); }

/// True if `text` matches `pattern`, in which '9' matches any digit.
bool looks_like(std::string_view text, std::string_view pattern) {
  if (text.size() < pattern.size()) return false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '9' ? !is_digit(text[i]) : text[i] != pattern[i]) return false;
  }
  return true;
}

constexpr int kMinute = 60;
constexpr int kHour = 60 * kMinute;
constexpr int kDay = 24 * kHour;
constexpr int kFarthestZone = 14 * kHour;
constexpr int kZoneStep = 15 * kMinute;

/// Reads a time stamp of one of the two days that contain 1970-01-01 00:00:00 UTC in some zone. It
/// may have the form of GNU diff, of C's ctime or of mails.
bool read_epoch_days(std::string_view stamp, int& seconds, std::string& zone) {
  static const RE2 kForms[] = {
      RE2(R"((1969-12-31|1970-01-01)[ T](\d\d):(\d\d)(?::(\d\d)(?:\.0*)?)? ?([-+]\d\d:?\d\d|))"),
      RE2(R"([A-Z][a-z]{2} (Dec 31|Jan  ?0?1) (\d\d):(\d\d):(\d\d) (?:1969|1970) ?([-+]\d\d:?\d\d|))"),
      RE2(R"((?:[A-Z][a-z]{2}, )?(31 Dec 1969|0?1 Jan 1970) (\d\d):(\d\d):(\d\d) ?([-+]\d\d:?\d\d|))")};
  std::string day;
  int hours = 0;
  int minutes = 0;
  int rest = 0;
  std::string second;
  for (const RE2& form : kForms) {
    if (!RE2::FullMatch(stamp, form, &day, &hours, &minutes, &second, &zone)) continue;
    if (!second.empty()) rest = number(second);
    const bool is_day_before = day.find("31") != std::string::npos;
    seconds = hours * kHour + minutes * kMinute + rest - (is_day_before ? kDay : 0);
    return true;
  }
  return false;
}

/// True for 1970-01-01 00:00:00 UTC in any zone, which GNU diff -N writes for an absent file. A
/// stamp without a zone counts if it is that time in some zone.
bool is_epoch(std::string_view stamp) {
  while (!stamp.empty() && (stamp.back() == ' ' || stamp.back() == '\r')) stamp.remove_suffix(1);
  if (stamp.find("1969") == std::string_view::npos && stamp.find("1970") == std::string_view::npos)
    return false;
  int seconds = 0;
  std::string zone;
  if (!read_epoch_days(stamp, seconds, zone)) return false;
  if (zone.empty()) {
    return std::abs(seconds) <= kFarthestZone && seconds % kZoneStep == 0;
  }
  const int offset =
      number(zone.substr(1, 2)) * kHour + number(zone.substr(zone.size() - 2)) * kMinute;
  return seconds == (zone.front() == '-' ? -offset : offset);
}

/// True if `text`, which follows a tab, is a time stamp. Then the name before it may contain tabs.
bool is_stamp(std::string_view text) {
  static const RE2 kStamp(
      R"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*|[A-Z][a-z]{2},? +[A-Z0-9].*\d\d:\d\d.*)");
  return RE2::FullMatch(text, kStamp);
}

/// The position of a time stamp that is separated from the name by blanks, or npos.
size_t find_stamp(std::string_view text) {
  for (size_t i = 1; i + 10 <= text.size(); ++i) {
    if (text[i - 1] == ' ' && looks_like(text.substr(i), "9999-99-99 99:99")) return i;
  }
  return std::string_view::npos;
}

/// The name without its first component, or empty.
std::string_view rest_of(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
}

std::string_view without_components(std::string_view name, uint32_t count) {
  for (; count > 0; --count) {
    const size_t slash = name.find('/');
    if (slash == std::string_view::npos) return {};
    name.remove_prefix(slash + 1);
    while (name.starts_with('/')) name.remove_prefix(1);
  }
  return name;
}

void note(EditSet& set, const FileEdit& edit, std::string rule, std::string message) {
  set.leniencies.push_back({std::move(rule), std::move(message), edit.path, edit.document_line});
}

/// Reports a name without a prefix, unless an index line shows that git wrote it (--no-prefix).
void note_no_prefix(EditSet& set, const FileEdit& edit) {
  if (!edit.old_blob.empty()) return;
  note(set, edit, "no_prefix", "the file name has no a/ or b/ before it and was taken as it is");
}

/// Resolves the path if one side is /dev/null: the other side names the file.
void resolve_single(const std::string& name, std::string_view prefix, EditSet& set,
                    FileEdit& edit) {
  if (name.starts_with(prefix)) {
    edit.path = name.substr(prefix.size());
    return;
  }
  edit.path = name;
  note_no_prefix(set, edit);
}

/// Resolves the path if both sides have a name, and guesses the prefix.
void resolve_pair(const std::string& old_name, const std::string& new_name, EditSet& set,
                  FileEdit& edit) {
  const std::string_view old_rest = rest_of(old_name);
  const std::string_view new_rest = rest_of(new_name);
  if (old_name != new_name && !old_rest.empty() && old_rest == new_rest) {
    edit.path = old_rest;
    return;
  }
  if (old_name == new_name) {
    edit.path = old_name;
    edit.other_path = old_rest;
    note_no_prefix(set, edit);
    return;
  }
  // Names such as foo.c.orig and foo.c: the existing file is used, or the new name if both exist.
  const bool old_is_prefixed = old_name.starts_with("a/");
  const bool new_is_prefixed = new_name.starts_with("b/");
  edit.path = new_is_prefixed ? new_rest : std::string_view(new_name);
  edit.other_path = old_is_prefixed ? old_rest : std::string_view(old_name);
  if (edit.path == edit.other_path) edit.other_path.clear();
  note(set, edit, "names_differ",
       "the --- and +++ lines name different files; the one that exists is meant");
}

}  // namespace

std::optional<QuotedName> read_quoted_name(std::string_view text) {
  if (!text.starts_with('"')) return std::nullopt;
  QuotedName out;
  for (size_t i = 1; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      out.length = i + 1;
      return out;
    }
    if (c != '\\') {
      out.name.push_back(c);
      continue;
    }
    if (++i >= text.size()) return std::nullopt;
    if (const auto plain = simple_escape(text[i])) {
      out.name.push_back(*plain);
      continue;
    }
    if (i + 2 >= text.size() || text[i] > '3' || !is_octal(text[i]) || !is_octal(text[i + 1]) ||
        !is_octal(text[i + 2])) {
      return std::nullopt;
    }
    out.name.push_back(
        static_cast<char>((text[i] - '0') * 64 + (text[i + 1] - '0') * 8 + (text[i + 2] - '0')));
    i += 2;
  }
  return std::nullopt;
}

HeaderName read_header_name(std::string_view text) {
  HeaderName out;
  out.is_given = true;
  std::string_view stamp;
  if (const auto quoted = read_quoted_name(text)) {
    out.text = quoted->name;
    stamp = text.substr(quoted->length);
    out.is_badly_quoted = !stamp.empty() && !is_space(stamp.front());
  } else {
    out.is_badly_quoted = text.starts_with('"');
    // git and diff end a name that contains blanks with a tab.
    size_t tab = text.find('\t');
    if (const size_t last = text.rfind('\t'); last != tab && is_stamp(text.substr(last + 1))) {
      tab = last;
    }
    const bool is_exact = tab != std::string_view::npos;
    const size_t end = is_exact ? tab : find_stamp(text);
    out.text = is_exact ? text.substr(0, end) : trim_end(text.substr(0, end), " \r");
    if (end != std::string_view::npos) stamp = text.substr(end);
  }
  while (!stamp.empty() && (stamp.front() == '\t' || stamp.front() == ' ')) stamp.remove_prefix(1);
  out.is_epoch = out.text != kNull && is_epoch(stamp);
  out.is_null = out.text == kNull || out.is_epoch || stamp == "(nonexistent)";  // by Subversion
  return out;
}

HeaderName read_whole_name(std::string_view text) {
  HeaderName out;
  out.is_given = true;
  if (text.ends_with('\r')) text.remove_suffix(1);
  const auto quoted = read_quoted_name(text);
  const bool is_quoted = quoted && quoted->length == text.size();
  out.is_badly_quoted = !is_quoted && text.starts_with('"');
  out.text = is_quoted ? quoted->name : std::string(text);
  return out;
}

std::string bad_quotes(const HeaderName& name) {
  constexpr size_t kMostShown = 200;
  return "the name " + name.text.substr(0, kMostShown) +
         " begins with a quote, but is not quoted as git quotes names";
}

std::string unquoted_name(std::string_view text) { return read_whole_name(text).text; }

std::optional<NamePair> split_git_names(std::string_view text, std::optional<uint32_t> strip) {
  if (text.starts_with('"')) {
    const auto first = read_quoted_name(text);
    if (!first || first->length >= text.size() || text[first->length] != ' ') return std::nullopt;
    std::string_view rest = text.substr(first->length + 1);
    if (const auto second = read_quoted_name(rest)) return NamePair{first->name, second->name};
    return NamePair{first->name, std::string(rest)};
  }
  if (const size_t quote = text.find(" \""); quote != std::string_view::npos) {
    const auto second = read_quoted_name(text.substr(quote + 1));
    if (second && quote + 1 + second->length == text.size()) {
      return NamePair{std::string(text.substr(0, quote)), second->name};
    }
  }
  // Unquoted names may contain blanks. Split them where both names are equal except for a prefix.
  constexpr size_t kLongestNames = size_t{4} * PATH_MAX;
  if (text.size() > kLongestNames) return std::nullopt;
  const auto name_of = [strip](std::string_view name) {
    return strip && *strip > 0 ? without_components(name, *strip) : rest_of(name);
  };
  size_t any = std::string_view::npos;
  for (size_t at = text.find(' '); at != std::string_view::npos; at = text.find(' ', at + 1)) {
    const std::string_view first = text.substr(0, at);
    const std::string_view second = text.substr(at + 1);
    if (first.empty() || second.empty()) continue;
    if (first == second || (!name_of(first).empty() && name_of(first) == name_of(second))) {
      return NamePair{std::string(first), std::string(second)};
    }
    if (any != std::string_view::npos) continue;
    const bool is_only_blank =
        text.find(' ', at + 1) == std::string_view::npos && text.find(' ') == at;
    if (is_only_blank || (first.starts_with("a/") && second.starts_with("b/"))) any = at;
  }
  if (any == std::string_view::npos) return std::nullopt;
  return NamePair{std::string(text.substr(0, any)), std::string(text.substr(any + 1))};
}

std::string name_behind_prefixes(const NamePair& names) {
  const std::string_view rest = rest_of(names.old_name);
  const bool is_shared = names.old_name != names.new_name && rest == rest_of(names.new_name);
  return std::string(is_shared ? rest : std::string_view());
}

std::string strip_components(std::string_view name, uint32_t count) {
  return std::string(without_components(name, count));
}

void add_mentioned_names(std::string_view line, std::vector<std::string>& names) {
  constexpr size_t kMostNames = 16;
  constexpr size_t kLongestName = 200;
  constexpr size_t kLongestEnding = 10;
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_of_name = [&](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '.' || c == '/' || c == '-' ||
           c == '+' || c == '@';
  };
  for (size_t at = 0; at < line.size() && names.size() < kMostNames;) {
    if (!is_of_name(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && is_of_name(line[at])) ++at;
    std::string_view name = line.substr(begin, at - begin);
    while (name.ends_with('.')) name.remove_suffix(1);
    while (name.starts_with("./")) name.remove_prefix(2);
    const size_t dot = name.rfind('.');
    const size_t slash = name.rfind('/');
    const std::string_view last = name.substr(slash == std::string_view::npos ? 0 : slash + 1);
    const bool has_ending =
        dot != std::string_view::npos && name.size() - dot - 1 <= kLongestEnding &&
        std::any_of(name.begin() + static_cast<int64_t>(dot), name.end(), is_letter);
    const bool is_plain = last == "Makefile" || last == "Dockerfile";
    if ((!has_ending && !is_plain) || last.starts_with('.') || name.size() > kLongestName) continue;
    if (name.starts_with('/') || name.find("..") != std::string_view::npos) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  }
}

bool resolve_paths(const HeaderName& old_name, const HeaderName& new_name,
                   const ReadOptions& options, EditSet& set, FileEdit& edit) {
  const bool has_old = old_name.is_given && !old_name.is_null;
  const bool has_new = new_name.is_given && !new_name.is_null;
  if (!has_old && !has_new) return false;
  if (options.strip) {
    const std::string old_path = has_old ? strip_components(old_name.text, *options.strip) : "";
    const std::string new_path = has_new ? strip_components(new_name.text, *options.strip) : "";
    edit.path = old_path.empty() ? new_path : old_path;
    if (!old_path.empty() && !new_path.empty() && old_path != new_path) {
      // git takes the shorter of two names in a traditional header.
      edit.path = new_path.size() <= old_path.size() ? new_path : old_path;
      edit.other_path = new_path.size() <= old_path.size() ? old_path : new_path;
    }
    return !edit.path.empty();
  }
  const bool is_stamped = old_name.is_epoch || new_name.is_epoch;
  if (is_stamped && old_name.text != new_name.text && !rest_of(old_name.text).empty() &&
      rest_of(old_name.text) == rest_of(new_name.text)) {
    edit.path = rest_of(new_name.text);  // the absent side has a name, too: old/f and new/f
  } else if (has_old && has_new) {
    resolve_pair(old_name.text, new_name.text, set, edit);
  } else if (has_old) {
    resolve_single(old_name.text, "a/", set, edit);
  } else {
    resolve_single(new_name.text, "b/", set, edit);
  }
  return !edit.path.empty();
}

}  // namespace galley
