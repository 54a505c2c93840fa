#include "engine/git_hooks/commit_links.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/file_mode.h"
#include "engine/audit/audit.h"
#include "engine/commit/writer_lock.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

constexpr const char* kLinksFile = "links/git-commits";

Result<std::string> read_text(const StateDirectory& state) {
  auto text = read_file(state.root(), state.own(kLinksFile), 2 * kMaxCommitLinkBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
  return text;
}

std::string line_of(TxId id, const std::string& commit) { return id.str() + " " + commit + "\n"; }

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

bool has(const CommitLinks& links, TxId id, const std::string& commit) {
  const auto found = links.find(id);
  return found != links.end() &&
         std::find(found->second.begin(), found->second.end(), commit) != found->second.end();
}

Result<void> record_link(AuditLog& log, const std::string& commit,
                         const ContributingTransaction& transaction) {
  AuditEvent event;
  event.kind = AuditKind::kLink;
  event.execution_id = "link-" + transaction.id.str() + "-" + commit;
  event.tool = "post-commit";
  event.agent = transaction.agent;
  event.tx = transaction.id.str();
  event.proposal = transaction.proposal.hex();
  event.output =
      std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{{"commit", commit}});
  GALLEY_TRY(log.append(event));
  return {};
}

}  // namespace

Result<void> record_commit_links(const Workspace& workspace, const std::string& commit,
                                 const std::vector<ContributingTransaction>& transactions) {
  const PersistentState& persistent = persistent_of(workspace);
  const StateDirectory* state = persistent.state();
  if (transactions.empty() || state == nullptr) return persistent.check_trusted();
  GALLEY_ASSIGN(const WriterLock lock, persistent.lock());
  GALLEY_ASSIGN(std::string text, read_text(*state));
  // Cut off an incomplete last line.
  text.erase(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
  const CommitLinks known = parse_links(text);
  if (text.size() > kMaxCommitLinkBytes) text.erase(0, text.find('\n', text.size() / 2) + 1);
  // The oldest transaction first, as in the complete list.
  for (auto one = transactions.rbegin(); one != transactions.rend(); ++one) {
    if (has(known, one->id, commit)) continue;
    GALLEY_TRY(record_link(*persistent.audit(), commit, *one));
    text += line_of(one->id, commit);
  }
  const RelPath place = state->own(kLinksFile);
  GALLEY_TRY(make_directories(state->root(), place.parent(), kPrivateDirectory));
  return replace_file(state->root(), place.str(), text);
}

Result<CommitLinks> read_commit_links(const StateDirectory& state) {
  GALLEY_ASSIGN(const std::string text, read_text(state));
  return parse_links(text);
}

}  // namespace galley
