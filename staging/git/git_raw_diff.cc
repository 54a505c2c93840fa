#include "staging/git/git_raw_diff.h"

#include <charconv>
#include <utility>

namespace galley {
namespace {

constexpr std::string_view kStatuses = "ACDMRTU";

bool take_mode(std::string_view& line, uint32_t& mode) {
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), mode, 8);
  if (parsed.ec != std::errc() || parsed.ptr == line.data() + line.size()) return false;
  line.remove_prefix(static_cast<size_t>(parsed.ptr - line.data()) + 1);
  return true;
}

bool take_field(std::string_view& line, std::string& word) {
  const size_t end = line.find(' ');
  if (end == line.npos) return false;
  word = line.substr(0, end);
  line.remove_prefix(end + 1);
  return true;
}

/// Reads `:<mode> <mode> <id> <id> <status>[score]`.
bool parse_head(std::string_view line, GitRawChange& change) {
  if (!line.starts_with(':')) return false;
  line.remove_prefix(1);
  if (!take_mode(line, change.old_mode) || !take_mode(line, change.new_mode) ||
      !take_field(line, change.old_id) || !take_field(line, change.new_id) || line.empty()) {
    return false;
  }
  change.status = line.front();
  return kStatuses.find(change.status) != kStatuses.npos;
}

}  // namespace

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> pieces;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    pieces.emplace_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return pieces;
}

Result<std::vector<GitRawChange>> parse_raw_diff(std::string_view text) {
  const std::vector<std::string> pieces = split_at_nul(text);
  std::vector<GitRawChange> changes;
  for (size_t i = 0; i < pieces.size(); ++i) {
    GitRawChange change;
    bool is_sound = parse_head(pieces[i], change) && i + 1 < pieces.size();
    if (is_sound && (change.status == 'R' || change.status == 'C')) change.from = pieces[++i];
    is_sound = is_sound && i + 1 < pieces.size();
    if (!is_sound) {
      return fail(ErrorKind::kInternal, "git.bad_diff",
                  "git printed a diff that is not to be read");
    }
    change.path = pieces[++i];
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace galley
