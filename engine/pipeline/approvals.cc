#include "engine/pipeline/approvals.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "base/file_mode.h"

namespace galley {
namespace {

constexpr std::string_view kApprovalMagic = "galley approval 1\n";
constexpr uint64_t kMaxApprovalBytes = uint64_t{4} << 10U;

Result<RelPath> place_of(const ContentId& proposal, std::string_view ending = "") {
  return RelPath::parse(fmt::format("approvals/{}{}", proposal.hex(), ending));
}

}  // namespace

Result<void> keep_approval(const WritableDirectory& state, const GivenApproval& approval) {
  GALLEY_ASSIGN(const RelPath place, place_of(approval.proposal));
  GALLEY_ASSIGN(const RelPath fresh, place_of(approval.proposal, ".new"));
  GALLEY_TRY(make_directories(state, place.parent(), kPrivateDirectory));
  GALLEY_ASSIGN(const auto file,
                state.open_writable_file(fresh, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  std::string by = approval.by;
  for (char& c : by) c = c == '\n' ? ' ' : c;
  GALLEY_TRY(file->write_at(0, fmt::format("{}{}\n{}\n", kApprovalMagic, approval.given_ns, by)));
  return state.rename(fresh, state, place, RenameMode::kReplace);
}

Result<std::optional<GivenApproval>> find_approval(const Directory& state,
                                                   const ContentId& proposal) {
  GALLEY_ASSIGN(const RelPath place, place_of(proposal));
  const auto text = read_file(state, place, kMaxApprovalBytes);
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

Result<void> drop_approval(const WritableDirectory& state, const ContentId& proposal) {
  GALLEY_ASSIGN(const RelPath place, place_of(proposal));
  const auto removed = state.remove_file(place);
  if (!removed && removed.error().kind != ErrorKind::kNotFound) return fail(removed.error());
  return {};
}

}  // namespace galley
