#include "engine/policy/owners.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// GitHub's places, then GitLab's.
constexpr std::string_view kPlaces[] = {".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS",
                                        ".gitlab/CODEOWNERS"};

/// The words of a line; `\ ` is a space within one, and a `#` that begins one begins a comment. The
/// pattern `\#name` keeps its backslash.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (size_t i = 0; i <= line.size(); ++i) {
    const bool is_end = i == line.size() || (line[i] == '#' && word.empty());
    if (is_end || line[i] == ' ' || line[i] == '\t') {
      if (!word.empty()) words.push_back(std::move(word));
      word.clear();
      if (is_end) break;
    } else if (line[i] == '\\' && i + 1 < line.size() &&
               (line[i + 1] == ' ' || line[i + 1] == '#')) {
      if (word.empty() && words.empty() && line[i + 1] == '#') word += '\\';
      word += line[++i];
    } else {
      word += line[i];
    }
  }
  return words;
}

/// An owners file that cannot be read as the people meant it owns nothing, so it is refused.
tl::unexpected<Error> unusable(const std::string& place, std::string_view why) {
  return fail(ErrorKind::kInvalid, "owners.unusable",
              fmt::format("the owners file '{}' {}; make it a regular file with lines in UTF-8, or "
                          "name another one in owners.file of galley.toml",
                          place, why),
              place);
}

/// Returns the text without a byte order mark.
Result<std::string_view> text_of(const std::string& place, std::string_view text) {
  if (text.find('\0') != text.npos) return unusable(place, "has NUL bytes, as UTF-16 has");
  for (size_t at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1)) {
    if (!text.substr(at).starts_with("\r\n")) {
      return unusable(place, "has a carriage return that ends no line");
    }
  }
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace

/// Finds or adds a section; the following lines belong to the last one.
Owners::Section& Owners::section(const std::string& name) {
  const auto known = std::ranges::find(sections_, name, &Section::name);
  if (known == sections_.end()) {
    return sections_.emplace_back(Section{name, false, {}, {}, {}, {}});
  }
  std::rotate(known, known + 1, sections_.end());
  return sections_.back();
}

/// `[Name] @owner`, `^[Name]`, `[Name][2] @owner`: the number of required approvals is ignored.
void Owners::begin_section(std::string_view line) {
  const size_t begin = line.find('[') + 1;
  const size_t end = line.find(']', begin);
  Section& found = section(to_lower(line.substr(begin, end - begin)));
  found.is_optional = found.is_optional || line.starts_with('^');
  std::string_view rest = line.substr(end + 1);
  if (rest.starts_with('[')) rest.remove_prefix(std::min(rest.find(']'), rest.size() - 1) + 1);
  found.standard = words_of(rest);
}

void Owners::add_line(std::string_view line) {
  auto words = words_of(line);
  if (words.empty()) return;
  if (sections_.empty()) section("");
  Section& current = sections_.back();
  current.patterns.push_back(words.front());
  words.erase(words.begin());
  // A path that `!` excludes has no owner.
  const bool inherits = words.empty() && !current.patterns.back().starts_with('!');
  current.owners.push_back(inherits ? current.standard : std::move(words));
}

Result<Owners> Owners::parse(const std::vector<std::string>& lines) {
  Owners owners;
  size_t number = 0;
  for (const std::string& text : lines) {
    ++number;
    const std::string_view line = text;
    const bool is_section = line.starts_with('[') || line.starts_with("^[");
    if (is_section && line.find(']') != line.npos) {
      owners.begin_section(line);
      continue;
    }
    const auto words = words_of(line);
    if (!words.empty()) {
      if (const auto glob = GlobList::parse({words.front()}); !glob) {
        return fail(ErrorKind::kInvalid, "owners.syntax",
                    fmt::format("line {} of owners, `{}`: {}", number, printable_line(line),
                                glob.error().message));
      }
    }
    owners.add_line(line);
  }
  for (Section& section : owners.sections_) {
    GALLEY_ASSIGN(section.globs, GlobList::parse(section.patterns));
  }
  return owners;
}

std::vector<std::string> Owners::places(const std::string& file) {
  if (!file.empty()) return {file};
  return {std::begin(kPlaces), std::end(kPlaces)};
}

Result<Owners> Owners::load(const Directory& workspace, const std::string& file,
                            const std::vector<std::string>& more) {
  std::vector<std::string> lines;
  for (const std::string& place : places(file)) {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(place));
    const auto stat = workspace.stat(path);
    const bool is_absent =
        stat ? stat->kind == FileKind::kAbsent : stat.error().kind == ErrorKind::kNotFound;
    // A linked `docs` is a usual folder, and no usual place of an owners file.
    const bool is_linked = !stat && stat.error().reason == "path.through_symlink";
    if (file.empty() && (is_absent || (is_linked && place.starts_with("docs/")))) continue;
    if (!stat || stat->kind != FileKind::kRegular) {
      return unusable(place, is_absent ? "does not exist" : "is not a regular file");
    }
    GALLEY_ASSIGN(const std::string text, read_file(workspace, path, kMaxFileBytes));
    GALLEY_ASSIGN(const std::string_view owners, text_of(place, text));
    const Lines all(owners);
    for (size_t i = 0; i < all.size(); ++i) lines.emplace_back(without_terminator(all[i]));
    break;
  }
  lines.insert(lines.end(), more.begin(), more.end());
  return parse(lines);
}

namespace {

/// Whether a line is about this path: it matches it or a folder above it. Unlike in gitignore,
/// `docs/*` means only the entries of docs/ itself.
bool is_about(const Glob& glob, std::string_view path) {
  if (glob.matches(path, false)) return true;
  if (glob.text().ends_with("/*")) return false;
  for (size_t end = path.find('/'); end != path.npos; end = path.find('/', end + 1)) {
    if (glob.matches(path.substr(0, end), true)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::vector<std::string>> Owners::of(const RelPath& path) const {
  std::vector<std::vector<std::string>> needed;
  for (const Section& section : sections_) {
    if (section.is_optional) continue;
    const std::vector<Glob>& globs = section.globs.globs();
    const auto last = std::find_if(globs.rbegin(), globs.rend(),
                                   [&](const Glob& glob) { return is_about(glob, path.str()); });
    if (last == globs.rend()) continue;
    const auto& owners = section.owners[static_cast<size_t>(globs.rend() - last) - 1];
    if (!owners.empty()) needed.push_back(owners);
  }
  return needed;
}

bool is_owner(std::string_view by, const std::vector<std::string>& owners) {
  const auto plain = [](std::string_view name) {
    return to_lower(name.starts_with('@') ? name.substr(1) : name);
  };
  return std::ranges::any_of(owners,
                             [&](const std::string& one) { return plain(one) == plain(by); });
}

}  // namespace galley
