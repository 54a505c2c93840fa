#include "staging/git/white_space_attributes.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "staging/fs/disk_directory.h"
#include "staging/git/git_files.h"

namespace galley {
namespace {

constexpr std::string_view kName = "whitespace";
constexpr const char* kAllRules = "blank-at-eol,blank-at-eof,space-before-tab,indent-with-non-tab";
constexpr const char* kNoRules = "-blank-at-eol,-blank-at-eof,-space-before-tab";

std::string_view take_word(std::string_view& line) {
  const size_t begin = std::min(line.find_first_not_of(kGitFileSpaces), line.size());
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, line.find_first_of(kGitFileSpaces));
  line.remove_prefix(word.size());
  return word;
}

bool is_about_white_space(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('!')) return word.substr(1) == kName;
  return word == kName || (word.starts_with(kName) && word.substr(kName.size()).starts_with('='));
}

std::string tab_width_in(const std::string& rules) {
  const size_t at = rules.find("tabwidth=");
  if (at == std::string::npos) return {};
  return "," + rules.substr(at, rules.find_first_of(", \t", at) - at);
}

}  // namespace

WhiteSpaceAttributes::Lines WhiteSpaceAttributes::parse(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    std::string_view pattern = take_word(line);
    if (pattern.size() > 2 && pattern.starts_with('"') && pattern.ends_with('"')) {
      pattern = pattern.substr(1, pattern.size() - 2);
    }
    if (pattern.empty() || pattern.front() == '#' || pattern.front() == '!') continue;
    std::string value;
    for (auto word = take_word(line); !word.empty(); word = take_word(line)) {
      if (is_about_white_space(word)) value = word;
    }
    if (value.empty()) continue;
    if (auto glob = Glob::parse(pattern)) lines.push_back({std::move(*glob), std::move(value)});
  }
  return lines;
}

const std::string* WhiteSpaceAttributes::deciding(const Lines& lines, std::string_view path) {
  const auto found = std::find_if(lines.rbegin(), lines.rend(), [&](const Line& line) {
    return line.pattern.matches(path, false);
  });
  return found == lines.rend() ? nullptr : &found->value;
}

Result<WhiteSpaceAttributes> WhiteSpaceAttributes::open(const std::string& workspace) {
  WhiteSpaceAttributes out;
  GALLEY_ASSIGN(auto root, open_disk_directory(workspace));
  GALLEY_ASSIGN(const FileStat stat, root->stat(RelPath::root()));
  const GitFiles git(workspace, stat.uid);
  const auto places = git.find();
  if (!places) {
    out.work_tree_ = std::move(root);
    return out;
  }
  GALLEY_ASSIGN(out.work_tree_, open_disk_directory(places->work_tree));
  if (workspace.size() > places->work_tree.size()) {
    GALLEY_ASSIGN(out.prefix_, RelPath::parse_within(workspace, places->work_tree));
  }
  out.info_ = parse(git.text_of(places->common + "/info/attributes", kMaxAttributesBytes));
  out.outermost_ =
      parse(git.core_file(*places, "attributesfile", "attributes", kMaxAttributesBytes));
  out.core_ = git.core_value(*places, kName).value_or(std::string());
  return out;
}

const WhiteSpaceAttributes::Lines& WhiteSpaceAttributes::lines_of(const RelPath& directory) {
  const auto [kept, is_new] = lines_.try_emplace(directory.str());
  if (!is_new) return kept->second;
  const auto path = directory.join(*RelPath::parse(".gitattributes"));
  const auto text = path ? read_file(*work_tree_, *path, kMaxAttributesBytes)
                         : Result<std::string>(std::string());
  if (text) kept->second = parse(*text);
  return kept->second;
}

std::string WhiteSpaceAttributes::rules_by(const std::string& value) const {
  if (value.starts_with('!')) return core_;
  if (value.starts_with('-')) return kNoRules + tab_width_in(core_);
  if (value == kName) return kAllRules + tab_width_in(core_);
  return value.substr(kName.size() + 1);
}

std::string WhiteSpaceAttributes::rules_of(const RelPath& path) {
  const auto whole = prefix_.join(path);
  if (!whole) return core_;
  if (const std::string* value = deciding(info_, whole->str())) return rules_by(*value);
  for (RelPath directory = whole->parent();; directory = directory.parent()) {
    const size_t below = directory.is_root() ? 0 : directory.str().size() + 1;
    const std::string_view within = std::string_view(whole->str()).substr(below);
    if (const std::string* value = deciding(lines_of(directory), within)) return rules_by(*value);
    if (directory.is_root()) break;
  }
  if (const std::string* value = deciding(outermost_, whole->str())) return rules_by(*value);
  return core_;
}

}  // namespace galley
