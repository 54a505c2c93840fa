#include "engine/pipeline/approvals.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/file_mode.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

constexpr std::string_view kApprovalMagic = "galley approval 1\n";
constexpr uint64_t kMaxApprovalBytes = uint64_t{4} << 10U;

RelPath place_of(const StateDirectory& state, const ContentId& proposal) {
  return state.own("approvals/" + proposal.hex());
}

}  // namespace

Result<void> keep_approval(const StateDirectory& state, const GivenApproval& approval) {
  const RelPath place = place_of(state, approval.proposal);
  GALLEY_TRY(make_directories(state.root(), place.parent(), kPrivateDirectory));
  std::string by = approval.by;
  for (char& c : by) c = c == '\n' ? ' ' : c;
  return replace_file(state.root(), place.str(),
                      fmt::format("{}{}\n{}\n", kApprovalMagic, approval.given_ns, by));
}

Result<std::optional<GivenApproval>> find_approval(const StateDirectory& state,
                                                   const ContentId& proposal) {
  const auto text = read_file(state.root(), place_of(state, proposal), kMaxApprovalBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::nullopt;
  if (!text) return fail(text.error());
  GivenApproval approval{proposal, "", 0};
  std::string_view rest = *text;
  const bool has_magic = rest.starts_with(kApprovalMagic);
  if (has_magic) rest.remove_prefix(kApprovalMagic.size());
  const auto [end, code] =
      std::from_chars(rest.data(), rest.data() + rest.size(), approval.given_ns);
  const size_t digits = static_cast<size_t>(end - rest.data());
  if (!has_magic || code != std::errc() || digits + 1 >= rest.size() || rest[digits] != '\n') {
    return fail(ErrorKind::kInvalid, "approval.damaged",
                "the approval of " + proposal.hex() +
                    " is damaged; give it again with: galley "
                    "approve");
  }
  rest.remove_prefix(digits + 1);
  approval.by = rest.substr(0, rest.find('\n'));
  return approval;
}

Result<void> drop_approval(const StateDirectory& state, const ContentId& proposal) {
  const auto removed = state.root().remove_file(place_of(state, proposal));
  if (!removed && removed.error().kind != ErrorKind::kNotFound) return fail(removed.error());
  return {};
}

}  // namespace galley
