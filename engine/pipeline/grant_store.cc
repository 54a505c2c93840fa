#include "engine/pipeline/grant_store.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "base/file_mode.h"
#include "base/text.h"
#include "engine/audit/recorder.h"
#include "engine/calls/action.h"
#include "engine/pipeline/decide.h"
#include "engine/policy/policy.h"
#include "engine/policy/principals.h"
#include "staging/fs/replace_file.h"
#include "staging/fs/user_state.h"

namespace galley {

namespace {

constexpr std::string_view kGrantMagic = "galley grant 1";
constexpr const char* kGrantsFolder = "grants";
constexpr uint64_t kMaxGrantBytes = uint64_t{8} << 10U;
constexpr size_t kMaxAgentBytes = 256;
constexpr uint32_t kOthersMode = 0077;

std::string file_of_grant(const Grant& grant) {
  return ContentId::of(grant.agent + "\n" + grant.capability).hex();
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<uint8_t>(c) < ' ' || c == '\x7f'; });
}

std::optional<Grant> parse_grant(std::string_view text) {
  if (!text.ends_with('\n')) return {};
  const std::vector<std::string_view> lines = lines_of(text);
  constexpr size_t kLines = 5;
  if (lines.size() != kLines || lines[0] != kGrantMagic) return {};
  Grant grant;
  const auto decided_ns = number_of<int64_t>(lines[1]);
  if (!decided_ns) return {};
  grant.decided_ns = *decided_ns;
  grant.by = lines[2];
  grant.agent = lines[3];
  grant.is_revoked = lines[4].starts_with('!');
  grant.capability = lines[4].substr(grant.is_revoked ? 1 : 0);
  return grant;
}

tl::unexpected<Error> damaged(const std::string& path) {
  return fail(ErrorKind::kInvalid, "grant.damaged",
              "the grant or revocation .galley/" + path +
                  " cannot be trusted: it is damaged, or other users can change it. Delete it, and "
                  "repeat the decision with: galley revoke, galley grant",
              path);
}

Result<Grant> read_grant(const Directory& folder, const DirectoryEntry& entry,
                         const std::string& shown) {
  const auto name = RelPath::parse(entry.name);
  if (!name) return damaged(shown);
  GALLEY_ASSIGN(const FileStat stat, folder.stat(*name));
  const bool is_ours = stat.kind == FileKind::kRegular && (stat.mode & kOthersMode) == 0 &&
                       is_trusted_owner(stat.uid) && stat.size <= kMaxGrantBytes;
  if (!is_ours) return damaged(shown);
  GALLEY_ASSIGN(const std::string text, read_file(folder, *name, kMaxGrantBytes));
  auto grant = parse_grant(text);
  if (!grant || file_of_grant(*grant) != entry.name) return damaged(shown);
  return *std::move(grant);
}

}  // namespace

Result<std::vector<Grant>> GrantStore::list() const {
  std::vector<Grant> grants;
  const RelPath place = state_->own(kGrantsFolder);
  const auto folder = state_->root().open_directory(place);
  if (!folder && folder.error().kind == ErrorKind::kNotFound) return grants;
  if (!folder) return fail(folder.error());
  GALLEY_ASSIGN(const auto entries, (*folder)->list());
  for (const DirectoryEntry& entry : entries) {
    if (entry.name.ends_with(".new")) continue;  // its writer died before it finished
    GALLEY_ASSIGN(Grant grant, read_grant(**folder, entry, place.str() + "/" + entry.name));
    grants.push_back(std::move(grant));
  }
  std::sort(grants.begin(), grants.end(), [](const Grant& a, const Grant& b) {
    return std::tie(a.decided_ns, a.is_revoked, a.agent, a.capability) <
           std::tie(b.decided_ns, b.is_revoked, b.agent, b.capability);
  });
  return grants;
}

Result<FileStat> GrantStore::stat() const {
  return state_->root().stat(state_->own(kGrantsFolder));
}

Result<void> GrantStore::keep(const Grant& grant) const {
  GALLEY_ASSIGN(const auto known, list());
  const bool is_new = std::none_of(known.begin(), known.end(), [&](const Grant& other) {
    return other.agent == grant.agent && other.capability == grant.capability;
  });
  if (is_new && known.size() >= kMaxGrants) {
    return fail(ErrorKind::kQuota, "limit.grants",
                fmt::format("{} grants and revocations are kept here, and no more than {} can be; "
                            "put rules into galley.toml instead",
                            known.size(), kMaxGrants));
  }
  const RelPath place = state_->own(fmt::format("{}/{}", kGrantsFolder, file_of_grant(grant)));
  GALLEY_TRY(make_directories(state_->root(), place.parent(), kPrivateDirectory));
  // The newest decision counts, also after the clock went back.
  int64_t decided_ns = grant.decided_ns;
  for (const Grant& other : known) decided_ns = std::max(decided_ns, other.decided_ns + 1);
  std::string by = grant.by;
  for (char& c : by) c = static_cast<uint8_t>(c) < ' ' ? ' ' : c;
  return replace_shared_file(
      state_->root(), place.str(),
      fmt::format("{}\n{}\n{}\n{}\n{}{}\n", kGrantMagic, decided_ns, by, grant.agent,
                  grant.is_revoked ? "!" : "", grant.capability));
}

Result<GrantBook::Pages> pages_of(const std::vector<Grant>& grants) {
  GrantBook::Pages pages;
  for (const Grant& grant : grants) {
    auto capability = Capability::parse((grant.is_revoked ? "!" : "") + grant.capability);
    if (!capability) return damaged(std::string(kGrantsFolder) + " of " + grant.agent);
    pages[grant.agent].push_back(*std::move(capability));
  }
  return pages;
}

std::optional<Error> objection_to_grant(const Config& config, const Grant& grant) {
  const auto no = [](ErrorKind kind, std::string reason, std::string message) {
    return Error{kind, std::move(reason), std::move(message)};
  };
  if (grant.agent.empty() || grant.agent.size() > kMaxAgentBytes || !is_one_line(grant.agent) ||
      grant.agent.find_first_of("*?") != std::string::npos) {
    return no(ErrorKind::kInvalid, "grant.agent",
              "a grant is for one agent by its name, without wildcards: a person needs none");
  }
  if (grant.capability.starts_with('!')) {
    return no(ErrorKind::kInvalid, "capability.invalid",
              "a capability is taken away with galley revoke, not with a `!`");
  }
  const auto capability = Capability::parse(grant.capability);
  if (!capability) return capability.error();
  if (grant.is_revoked) return {};
  if (auto known = check_agent_is_known(config, grant.agent); !known) return known.error();
  return Policy(config).objection_to_grant(grant.agent, *capability);
}

namespace {

Error grant_by_agent() {
  return {ErrorKind::kRefused, "grant.by_agent",
          "only a person may grant or revoke capabilities: leave out --agent"};
}

}  // namespace

Result<void> record_person_decision(const Rules& rules, PersistentState& persistent,
                                    const TransactionOptions& who, AuditEvent event,
                                    const Error& no_agent,
                                    const std::function<Result<void>()>& check) {
  GALLEY_TRY(persistent.ensure());
  Recorder recorder = persistent.recorder();
  Action action;
  action.record = std::move(event);
  return perform_outside_transaction(rules, who, recorder, std::move(action),
                                     [&](AuditEvent&) -> Result<void> {
                                       if (!who.agent.empty()) return no_agent;
                                       return check();
                                     });
}

Result<void> record_grant(const Rules& rules, PersistentState& persistent,
                          const TransactionOptions& who, Grant grant) {
  grant.decided_ns = persistent.clock().wall_ns();
  AuditEvent event;
  event.kind = grant.is_revoked ? AuditKind::kRevocation : AuditKind::kGrant;
  event.tool = grant.is_revoked ? "sec.revoke" : "sec.grant";
  event.reason = "said by " + grant.by;
  event.input = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"agent", grant.agent}, {"capability", grant.capability}});
  GALLEY_TRY(record_person_decision(rules, persistent, who, std::move(event), grant_by_agent(),
                                    [&]() -> Result<void> {
                                      const auto no = objection_to_grant(rules.config, grant);
                                      return no ? Result<void>(*no) : Result<void>();
                                    }));
  GALLEY_TRY(GrantStore(*persistent.state()).keep(grant));
  return rules.refresh_grants(persistent);
}

}  // namespace galley
