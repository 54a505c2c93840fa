#include "base/glob.h"

#include <fnmatch.h>
#include <algorithm>
#include <cstddef>

#include "base/text.h"

// The compiled form is a list of steps. Matching keeps the set of steps that could come next (one
// bit each) and advances it byte by byte, so no pattern costs more than |pattern|/64 words per
// byte.
//
//   `**/`  ->  kSkipDeep kDeepStar '/'     kSkipDeep may also be left behind the '/'
//   `*`    ->  kStar                       stays on any byte but '/'; may be left at once
//
// The rules are those of dir.c and wildmatch.c of git 2.39, with one difference where git deviates
// from gitignore(5): `foo**/bar` means `foo*/bar`.

namespace galley {

namespace {

Error invalid(std::string_view pattern, std::string_view why) {
  return Error{ErrorKind::kInvalid, "glob.invalid",
               "pattern `" + std::string(pattern) + "`: " + std::string(why), "", 0};
}

bool has_wildcard(std::string_view body) { return body.find_first_of("*?[\\") != body.npos; }

/// Removes trailing blanks as git does, except escaped ones.
std::string_view without_trailing_blanks(std::string_view text) {
  while (text.ends_with(' ') && !text.ends_with("\\ ")) text.remove_suffix(1);
  return text;
}

std::string_view refusal_of(std::string_view body) {
  if (body.empty()) return "it names nothing";
  size_t begin = 0;
  while (begin <= body.size()) {
    const size_t end = std::min(body.find('/', begin), body.size());
    const std::string_view part = body.substr(begin, end - begin);
    if (part.empty()) return "an empty component never matches";
    if (part == "." || part == "..") return "`.` and `..` never match; write it from the root";
    begin = end + 1;
  }
  return body.find('\0') == body.npos ? "" : "NUL never matches";
}

bool is_upper(int c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(int c) { return c >= 'a' && c <= 'z'; }
bool is_decimal(int c) { return c >= '0' && c <= '9'; }
bool is_alpha(int c) { return is_upper(c) || is_lower(c); }
bool is_alnum(int c) { return is_alpha(c) || is_decimal(c); }
bool is_graph(int c) { return c > 32 && c < 127; }

// POSIX character classes in the C locale, whatever the locale of the process.
struct NamedClass {
  std::string_view name;
  bool (*has)(int c);
};
constexpr NamedClass kNamedClasses[] = {
    {"alnum", is_alnum},
    {"alpha", is_alpha},
    {"blank", [](int c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](int c) { return c < 32 || c == 127; }},
    {"digit", is_decimal},
    {"graph", is_graph},
    {"lower", is_lower},
    {"print", [](int c) { return is_graph(c) || c == ' '; }},
    {"punct", [](int c) { return is_graph(c) && !is_alnum(c); }},
    {"space", [](int c) { return c == ' ' || (c >= 9 && c <= 13); }},
    {"upper", is_upper},
    {"xdigit",
     [](int c) { return is_decimal(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }},
};

const NamedClass* named_class(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kNamedClasses), std::end(kNamedClasses),
                                         [&](const NamedClass& each) { return each.name == name; });
  return found == std::end(kNamedClasses) ? nullptr : found;
}

/// Reads `[…]` from its second byte on, as wildmatch.c does, but builds the set once.
class ClassReader {
 public:
  ClassReader(std::string_view body, size_t at) : body_(body), at_(at) {}

  /// Position after the `]`, or npos when the class is not closed or names an unknown class.
  size_t read(std::bitset<256>& set) {
    const bool is_negated = peek() == '!' || peek() == '^';
    if (is_negated) ++at_;
    bool is_first = true;
    while (at_ < body_.size() && (is_first || body_[at_] != ']')) {
      is_first = false;
      if (!read_item(set)) return std::string_view::npos;
    }
    if (at_ >= body_.size()) return std::string_view::npos;
    if (is_negated) set.flip();
    set.reset('/');
    return at_ + 1;
  }

 private:
  int peek(size_t ahead = 0) const {
    return at_ + ahead < body_.size() ? static_cast<uint8_t>(body_[at_ + ahead]) : -1;
  }

  bool read_item(std::bitset<256>& set) {
    if (peek() == '-' && previous_ > 0 && peek(1) != -1 && peek(1) != ']') {
      ++at_;
      const int last = read_byte();
      if (last < 0) return false;
      for (int c = previous_; c <= last; ++c) set.set(static_cast<size_t>(c));
      previous_ = 0;
      return true;
    }
    if (peek() == '[' && peek(1) == ':') {
      const size_t end = body_.find(']', at_ + 2);
      if (end == body_.npos) return false;
      if (end > at_ + 2 && body_[end - 1] == ':') return read_named(set, end);
    }
    const int byte = read_byte();
    if (byte < 0) return false;
    set.set(static_cast<size_t>(byte));
    previous_ = byte;
    return true;
  }

  bool read_named(std::bitset<256>& set, size_t end) {
    const std::string_view name = body_.substr(at_ + 2, end - 1 - (at_ + 2));
    const NamedClass* const wanted = named_class(name);
    if (wanted == nullptr) return false;
    for (int c = 0; c < 128; ++c) {
      if (wanted->has(c)) set.set(static_cast<size_t>(c));
    }
    at_ = end + 1;
    previous_ = 0;
    return true;
  }

  int read_byte() {
    if (peek() == '\\') ++at_;
    const int byte = peek();
    if (byte >= 0) ++at_;
    return byte;
  }

  std::string_view body_;
  size_t at_;
  int previous_ = 0;
};

}  // namespace

Result<Glob> Glob::parse(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return invalid(pattern.substr(0, 40),
                   "longer than " + std::to_string(kMaxPatternBytes) + " bytes");
  }
  Glob glob;
  glob.text_ = pattern;
  std::string_view body = without_trailing_blanks(pattern);
  if (body.starts_with('#')) return invalid(pattern, "a comment; write `\\#` for a literal #");
  if (body.starts_with('!')) {
    glob.is_negated_ = true;
    body.remove_prefix(1);
  }
  if (body.ends_with('/')) {
    glob.is_directory_only_ = true;
    body.remove_suffix(1);
  }
  glob.is_anchored_ = body.find('/') != body.npos;
  if (body.starts_with('/')) body.remove_prefix(1);
  if (const auto why = refusal_of(body); !why.empty()) return invalid(pattern, why);
  if (!has_wildcard(body)) {
    glob.is_literal_ = true;
    glob.literal_ = body;
    return glob;
  }
  GALLEY_TRY(glob.compile(body));
  glob.note_literal_end();
  return glob;
}

Result<void> Glob::compile(std::string_view body) {
  size_t at = 0;
  while (at < body.size()) {
    const char byte = body[at];
    if (byte == '*') {
      at = compile_star(body, at);
    } else if (byte == '?') {
      steps_.push_back({Op::kAnyByte, 0, 0});
      ++at;
    } else if (byte == '[') {
      GALLEY_ASSIGN(at, compile_class(body, at));
    } else {
      if (byte == '\\' && ++at == body.size()) {
        return invalid(text_, "a backslash at the end escapes nothing");
      }
      steps_.push_back({Op::kByte, static_cast<uint8_t>(body[at]), 0});
      ++at;
    }
  }
  return {};
}

void Glob::note_literal_end() {
  size_t begin = steps_.size();
  while (begin > 0 && steps_[begin - 1].op == Op::kByte) --begin;
  // kSkipDeep may leave out the '/' after its star.
  const bool is_skipped = begin > 1 && steps_[begin - 2].op == Op::kSkipDeep;
  for (size_t at = begin + (is_skipped ? 1 : 0); at < steps_.size(); ++at) {
    literal_end_ += static_cast<char>(steps_[at].byte);
  }
  is_any_with_end_ = !is_anchored_ && begin == 1 && steps_[0].op == Op::kStar;
}

size_t Glob::compile_star(std::string_view body, size_t at) {
  const size_t begin = at;
  while (at < body.size() && body[at] == '*') ++at;
  const bool is_double = at - begin >= 2;
  const bool begins_component = begin == 0 || body[begin - 1] == '/';
  const bool is_last = at == body.size();
  if (!is_double || !is_anchored_ || !begins_component || !(is_last || body[at] == '/')) {
    steps_.push_back({Op::kStar, 0, 0});
    return at;
  }
  if (!is_last) steps_.push_back({Op::kSkipDeep, 0, 0});
  steps_.push_back({Op::kDeepStar, 0, 0});
  return at;
}

Result<size_t> Glob::compile_class(std::string_view body, size_t at) {
  ByteSet set;
  const size_t end = ClassReader(body, at + 1).read(set);
  if (end == std::string_view::npos) {
    return invalid(text_, "`[` is not closed or names an unknown class");
  }
  steps_.push_back({Op::kClass, 0, static_cast<uint16_t>(classes_.size())});
  classes_.push_back(set);
  return end;
}

bool Glob::matches(std::string_view path, bool is_directory) const {
  if (is_directory_only_ && !is_directory) return false;
  if (!is_anchored_) {
    const size_t slash = path.rfind('/');
    if (slash != path.npos) path.remove_prefix(slash + 1);
  }
  if (is_literal_) return path == literal_;
  // Most patterns are `*.cc` or end like that, and most paths end otherwise.
  if (!path.ends_with(literal_end_)) return false;
  return is_any_with_end_ || run(path);
}

/// Adds the step and all steps that can be reached from it without consuming a byte.
void Glob::enter(States& states, size_t at) const {
  while (true) {
    const uint64_t bit = uint64_t{1} << (at % 64);
    if ((states[at / 64] & bit) != 0) return;
    states[at / 64] |= bit;
    if (at == steps_.size()) return;
    const Op op = steps_[at].op;
    if (op == Op::kStar || op == Op::kDeepStar) {
      ++at;
    } else if (op == Op::kSkipDeep) {
      enter(states, at + 1);  // one level deep only: the star is followed by a '/'
      at += 3;
    } else {
      return;
    }
  }
}

bool Glob::takes(const Step& step, uint8_t byte) const {
  switch (step.op) {
    case Op::kByte:
      return step.byte == byte;
    case Op::kClass:
      return classes_[step.class_at].test(byte);
    case Op::kAnyByte:
    case Op::kStar:
      return byte != '/';
    case Op::kDeepStar:
      return true;
    case Op::kSkipDeep:
      return false;
  }
  return false;
}

bool Glob::run(std::string_view text) const {
  States now{};
  enter(now, 0);
  const size_t words = steps_.size() / 64 + 1;
  for (const char c : text) {
    States next{};
    bool is_alive = false;
    for (size_t word = 0; word < words; ++word) {
      for (uint64_t bits = now[word]; bits != 0; bits &= bits - 1) {
        const size_t at = word * 64 + static_cast<size_t>(__builtin_ctzll(bits));
        if (at == steps_.size() || !takes(steps_[at], static_cast<uint8_t>(c))) continue;
        const Op op = steps_[at].op;
        enter(next, op == Op::kStar || op == Op::kDeepStar ? at : at + 1);
        is_alive = true;
      }
    }
    if (!is_alive) return false;
    now = next;
  }
  const size_t end = steps_.size();
  return (now[end / 64] >> (end % 64) & 1U) != 0;
}

Result<GlobList> GlobList::parse(const std::vector<std::string>& patterns) {
  GlobList list;
  list.globs_.reserve(patterns.size());
  for (const auto& pattern : patterns) {
    GALLEY_ASSIGN(Glob glob, Glob::parse(pattern));
    list.globs_.push_back(std::move(glob));
  }
  return list;
}

namespace {

std::optional<size_t> last_exact(const std::vector<Glob>& globs, std::string_view path,
                                 bool is_directory) {
  for (size_t i = globs.size(); i-- > 0;) {
    if (globs[i].matches(path, is_directory)) return i;
  }
  return {};
}

}  // namespace

std::optional<size_t> GlobList::deciding(const RelPath& path, bool is_directory) const {
  std::optional<size_t> best;
  const std::string_view text = path.str();
  for (size_t end = text.find('/'); !globs_.empty(); end = text.find('/', end + 1)) {
    const bool is_whole = end == text.npos;
    const auto hit = last_exact(globs_, text.substr(0, end), !is_whole || is_directory);
    if (hit && (!best || *hit > *best)) best = hit;
    if (is_whole) break;
  }
  return best;
}

bool GlobList::selects(const RelPath& path, bool is_directory) const {
  const auto hit = deciding(path, is_directory);
  return hit && !globs_[*hit].is_negated();
}

bool name_matches(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = pattern.npos;
  size_t star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != pattern.npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

std::string_view without_dot_and_slash(std::string_view pathspec) {
  while (pathspec.starts_with("./")) pathspec.remove_prefix(2);
  while (pathspec.size() > 1 && pathspec.ends_with('/')) pathspec.remove_suffix(1);
  return pathspec;
}

bool is_or_is_inside(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return path.size() == directory.size() || path[directory.size()] == '/';
}

}  // namespace

bool pathspec_names(std::string_view pathspec, std::string_view path) {
  const std::string_view meant = without_dot_and_slash(pathspec);
  if (meant.empty() || meant == ".") return true;
  if (is_or_is_inside(path, meant)) return true;
  return meant.find_first_of("*?[") != std::string_view::npos &&
         ::fnmatch(std::string(meant).c_str(), std::string(path).c_str(), 0) == 0;
}

std::optional<std::string> nearest_pathspec(std::string_view pathspec,
                                            const std::vector<std::string>& paths) {
  const std::string meant(without_dot_and_slash(pathspec));
  std::vector<std::string> candidates = paths;
  for (const std::string& path : paths) {
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      candidates.push_back(path.substr(0, slash));
    }
  }
  if (auto near = nearest_name(meant, candidates)) return near;
  // The right name in the wrong directory is the most common mistake.
  const std::string name = meant.substr(meant.rfind('/') + 1);
  for (const std::string& path : paths) {
    if (path.substr(path.rfind('/') + 1) == name) return path;
  }
  return std::nullopt;
}

}  // namespace galley
