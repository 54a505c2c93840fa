#include "engine/pipeline/approvals.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/file_mode.h"
#include "base/text.h"
#include "engine/commit/history_reader.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

constexpr std::string_view kApprovalMagic = "galley approval 2";
constexpr uint64_t kMaxApprovalBytes = uint64_t{4} << 10U;

RelPath place_of(const StateDirectory& state, const ContentId& proposal) {
  return state.own("approvals/" + proposal.hex());
}

std::optional<GivenApproval> parse_approval(const ContentId& proposal, std::string_view text) {
  if (!text.ends_with('\n')) return {};
  const std::vector<std::string_view> lines = lines_of(text);
  constexpr size_t kFirstPerson = 3;
  if (lines.size() <= kFirstPerson || lines[0] != kApprovalMagic) return {};
  const auto given_ns = number_of<int64_t>(lines[1]);
  const auto after = number_of<uint64_t>(lines[2]);
  if (!given_ns || !after) return {};
  return GivenApproval{
      proposal, {lines.begin() + kFirstPerson, lines.end()}, *given_ns, TxId{*after}};
}

/// Whether the history since the approval has a commit of this proposal, or may have had one.
Result<bool> is_used(const StateDirectory& state, const GivenApproval& approval) {
  GALLEY_ASSIGN(const auto ids, committed_ids(state));
  // Pruning starts with the oldest transaction.
  const TxId next{approval.after.value + 1};
  if (ids.empty() ? approval.after.value > 0 : ids.front() > next) return true;
  for (auto id = std::lower_bound(ids.begin(), ids.end(), next); id != ids.end(); ++id) {
    const auto committed = load_committed(state, *id, ImageUse::kSkip);
    if (!committed && committed.error().reason == "journal.damaged") continue;      // or not ours
    if (!committed && committed.error().kind == ErrorKind::kNotFound) return true;  // pruned now
    if (!committed) return fail(committed.error());
    if (committed->journal.proposal == approval.proposal) return true;
  }
  return false;
}

}  // namespace

Result<void> keep_approval(const StateDirectory& state, const ContentId& proposal,
                           const std::string& by, int64_t now_ns) {
  GALLEY_ASSIGN(const auto ids, committed_ids(state));
  const RelPath place = place_of(state, proposal);
  GALLEY_TRY(make_directories(state.root(), place.parent(), kPrivateDirectory));
  std::string who = by;
  for (char& c : who) c = c == '\n' ? ' ' : c;
  const TxId newest = ids.empty() ? TxId() : ids.back();
  GivenApproval given{proposal, {}, now_ns, newest};
  auto earlier = find_approval(state, proposal, now_ns);  // a damaged one is replaced
  if (earlier && *earlier) {
    std::erase((*earlier)->by, who);
    if (!(*earlier)->by.empty()) given = **std::move(earlier);
  }
  given.by.push_back(who);
  return replace_shared_file(state.root(), place.str(),
                             fmt::format("{}\n{}\n{}\n{}\n", kApprovalMagic, given.given_ns,
                                         given.after.str(), join(given.by, "\n")));
}

Result<std::optional<GivenApproval>> find_approval(const StateDirectory& state,
                                                   const ContentId& proposal, int64_t now_ns) {
  const auto text = read_file(state.root(), place_of(state, proposal), kMaxApprovalBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::nullopt;
  if (!text) return fail(text.error());
  auto approval = parse_approval(proposal, *text);
  if (!approval) {
    return fail(ErrorKind::kInvalid, "approval.damaged",
                "the approval of " + proposal.hex() +
                    " is damaged; give it again with: galley "
                    "approve");
  }
  if (now_ns - approval->given_ns > kApprovalLastsNs) return std::nullopt;
  GALLEY_ASSIGN(const bool is_gone, is_used(state, *approval));
  if (is_gone) return std::nullopt;
  return approval;
}

Result<void> drop_approval(const StateDirectory& state, const ContentId& proposal) {
  const auto removed = state.root().remove_file(place_of(state, proposal));
  if (!removed && removed.error().kind != ErrorKind::kNotFound) return fail(removed.error());
  return {};
}

}  // namespace galley
