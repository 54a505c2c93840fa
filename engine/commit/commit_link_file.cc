#include "engine/commit/commit_link_file.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/file_mode.h"
#include "staging/fs/directory.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

constexpr const char* kLinksFile = "links/git-commits";

Result<std::string> read_link_text(const StateDirectory& state) {
  auto text = read_file(state.root(), state.own(kLinksFile), 2 * kMaxCommitLinkBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
  return text;
}

void take_line(std::string_view line, CommitLinks& links) {
  const size_t space = std::min(line.find(' '), line.size());
  const auto id = TxId::parse(line.substr(0, space));
  const std::string_view commit = line.substr(std::min(space + 1, line.size()));
  const bool is_hash =
      !commit.empty() && commit.find_first_not_of("0123456789abcdef") == commit.npos;
  if (id && is_hash) links[*id].emplace_back(commit);
}

CommitLinks parse_links(std::string_view text) {
  CommitLinks links;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) break;  // an interrupted write
    take_line(text.substr(begin, end - begin), links);
    begin = end + 1;
  }
  return links;
}

}  // namespace

Result<CommitLinks> read_commit_links(const StateDirectory& state) {
  GALLEY_ASSIGN(const std::string text, read_link_text(state));
  return parse_links(text);
}

bool has_commit_link(const CommitLinks& links, TxId id, const std::string& commit) {
  const auto found = links.find(id);
  return found != links.end() &&
         std::find(found->second.begin(), found->second.end(), commit) != found->second.end();
}

Result<void> add_commit_links(const StateDirectory& state, const WriterLock& /*lock*/,
                              const std::vector<TxId>& transactions, const std::string& commit) {
  GALLEY_ASSIGN(std::string text, read_link_text(state));
  // Cut off an incomplete last line.
  text.erase(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  const CommitLinks known = parse_links(text);
  if (text.size() > kMaxCommitLinkBytes) text.erase(0, text.find('\n', text.size() / 2) + 1);
  for (const TxId id : transactions) {
    if (!has_commit_link(known, id, commit)) text += id.str() + " " + commit + "\n";
  }
  const RelPath place = state.own(kLinksFile);
  GALLEY_TRY(make_directories(state.root(), place.parent(), kPrivateDirectory));
  return replace_file(state.root(), place.str(), text);
}

}  // namespace galley
