#include "engine/check/work_tree_ends.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/printable.h"
#include "staging/git/git_program.h"

namespace galley {

namespace {

using Attributes = std::map<std::string, std::string>;

/// git's convert_is_binary(): a NUL, a lone carriage return, or many non-printable bytes.
bool looks_binary_to_git(std::string_view text) {
  size_t printable = 0;
  size_t other = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') return true;
    if (c == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) return true;
    if (c == '\n' || c == '\r') continue;
    const bool is_control = c == 0x7f || (c >= 0 && c < ' ');
    const bool is_known = std::string_view("\b\t\033\014").find(c) != std::string_view::npos;
    ++(is_control && !is_known ? other : printable);
  }
  return (printable >> 7U) < other;
}

bool has_carriage_return(std::string_view text) { return text.find("\r\n") != text.npos; }

std::string with_plain_ends(std::string bytes) {
  size_t to = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool is_end = bytes[i] == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n';
    if (!is_end) bytes[to++] = bytes[i];
  }
  bytes.resize(to);
  return bytes;
}

std::string value_of(const Attributes& attributes, const char* name) {
  const auto found = attributes.find(name);
  return found == attributes.end() || found->second == "unspecified" ? "" : found->second;
}

Error filtered(const std::string& path, const std::string& by) {
  return {ErrorKind::kRefused, "check.filtered",
          "'" + printable_line(path) + "' is stored by way of " + printable_line(by) +
              ", which is not run while a change is judged; stage it and judge what is staged: "
              "galley check --staged. If it is unchanged, let git notice that: git status",
          path, 0};
}

/// Parses the attributes of each path: `<path> NUL <attribute> NUL <value> NUL`, repeated.
Result<std::map<std::string, Attributes>> attributes_of(const GitProgram& git,
                                                        const std::string& work_tree,
                                                        const std::vector<std::string>& paths) {
  std::string input;
  for (const std::string& path : paths) input += path + '\0';
  GALLEY_ASSIGN(const std::string said,
                git.run({"-C", work_tree, "check-attr", "-z", "--stdin", "filter", "text", "crlf",
                         "eol", "working-tree-encoding"},
                        input));
  std::map<std::string, Attributes> all;
  const auto words = split_at_nul(said);
  for (size_t i = 0; i + 2 < words.size(); i += 3) all[words[i]][words[i + 1]] = words[i + 2];
  return all;
}

/// Returns the configured filters. A filter without a program changes nothing.
Result<std::set<std::string>> filters_of(const GitProgram& git, const std::string& work_tree) {
  constexpr std::string_view kHead = "filter.";
  GALLEY_ASSIGN(const PipedOutput config,
                git.try_run({"-C", work_tree, "config", "-z", "--get-regexp",
                             "^filter\\..*\\.(clean|process)$"}));
  std::set<std::string> names;
  for (const std::string& entry : split_at_nul(config.output)) {
    const size_t end = entry.find('\n');
    const size_t dot = entry.substr(0, end).rfind('.');
    const bool has_value = end != std::string::npos && end + 1 < entry.size();
    if (has_value && dot > kHead.size() && dot != std::string::npos) {
      names.insert(entry.substr(kHead.size(), dot - kHead.size()));
    }
  }
  return names;
}

}  // namespace

Result<WorkTreeLineEndings> WorkTreeLineEndings::of(const GitProgram& git,
                                                    const std::string& work_tree,
                                                    const std::vector<std::string>& paths) {
  WorkTreeLineEndings ends;
  if (paths.empty()) return ends;
  GALLEY_ASSIGN(const auto attributes, attributes_of(git, work_tree, paths));
  GALLEY_ASSIGN(const auto filters, filters_of(git, work_tree));
  GALLEY_ASSIGN(const PipedOutput config,
                git.try_run({"-C", work_tree, "config", "--get", "core.autocrlf"}));
  const bool is_auto = config.output.starts_with("true") || config.output.starts_with("input");
  for (const auto& [path, said] : attributes) {
    const std::string filter = value_of(said, "filter");
    if (filters.contains(filter)) return fail(filtered(path, "the filter " + filter));
    const std::string encoding = value_of(said, "working-tree-encoding");
    const bool is_other = !encoding.empty() && encoding != "unset" && encoding != "set";
    if (is_other) return fail(filtered(path, "the encoding " + encoding));
    std::string text = value_of(said, "text");
    if (text.empty()) text = value_of(said, "crlf");
    Conversion conversion = Conversion::kNone;
    if (text == "auto" || (text.empty() && value_of(said, "eol").empty() && is_auto)) {
      conversion = Conversion::kAuto;
    } else if (text == "set" || text == "input" ||
               (text.empty() && !value_of(said, "eol").empty())) {
      conversion = Conversion::kText;
    }
    if (conversion != Conversion::kNone) ends.conversions_[path] = conversion;
  }
  return ends;
}

std::string WorkTreeLineEndings::as_stored(const std::string& path, std::string bytes,
                                           std::string_view stored) const {
  const auto found = conversions_.find(path);
  if (found == conversions_.end() || !has_carriage_return(bytes)) return bytes;
  if (found->second == Conversion::kText) return with_plain_ends(std::move(bytes));
  // Content that is stored with carriage returns keeps them.
  const bool keeps = has_carriage_return(stored) && !looks_binary_to_git(stored);
  if (keeps || looks_binary_to_git(bytes)) return bytes;
  return with_plain_ends(std::move(bytes));
}

Result<std::string> filter_of(const GitProgram& git, const std::string& work_tree,
                              const std::string& path) {
  GALLEY_ASSIGN(auto attributes, attributes_of(git, work_tree, {path}));
  const std::string filter = value_of(attributes[path], "filter");
  if (filter.empty()) return filter;
  GALLEY_ASSIGN(const auto filters, filters_of(git, work_tree));
  return filters.contains(filter) ? filter : "";
}

Result<std::string> WorkTreeConverter::stored_id(const std::string& path,
                                                 std::string_view bytes) const {
  GALLEY_ASSIGN(std::string id,
                git_->run({"-C", work_tree_, "hash-object", "--stdin", "--path=" + path}, bytes));
  while (id.ends_with('\n')) id.pop_back();
  return id;
}

Result<std::string> WorkTreeConverter::file_of(const std::string& path,
                                               const std::string& id) const {
  return git_->run({"-C", work_tree_, "cat-file", "--filters", "--path=" + path, id});
}

}  // namespace galley
