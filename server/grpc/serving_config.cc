#include "server/grpc/serving_config.h"

#include <algorithm>
#include <limits>

#include "engine/policy/config_table.h"
#include "engine/policy/principals.h"

namespace galley {
namespace {

void read_principal(ConfigTable& table, ServingConfig& config) {
  ServedPrincipal one;
  std::optional<uint64_t> user;
  table.count("uid", user);
  table.text("subject", one.subject);
  table.texts("agents", one.agents);
  ConfigTable::Choices<std::string> rights;
  for (const auto right : {kApproveRight, kRegisterRight, kGrantRight}) {
    rights.emplace_back(right, std::string(right));
  }
  table.choices("rights", one.rights, rights);
  if (user.has_value() != one.subject.empty()) {
    return table.refuse(user ? "uid" : "subject", "a principal has either a uid or a subject");
  }
  if (user && *user > std::numeric_limits<uint32_t>::max()) {
    return table.refuse("uid", "must be the number of a user");
  }
  if (user) one.user = static_cast<uint32_t>(*user);
  const auto is_same = [&](const ServedPrincipal& other) {
    return other.user == one.user && other.subject == one.subject;
  };
  if (std::any_of(config.principals.begin(), config.principals.end(), is_same)) {
    return table.refuse(user ? "uid" : "subject", "belongs to another principal, too");
  }
  if (config.principals.size() == kMostPrincipals) {
    return table.refuse(user ? "uid" : "subject",
                        "a server has at most " + std::to_string(kMostPrincipals) + " principals");
  }
  config.principals.push_back(std::move(one));
}

void read_root(ConfigTable& root, ServingConfig& config) {
  using CommitRule = ServingConfig::CommitRule;
  root.choice("commit", config.commit,
              ConfigTable::Choices<CommitRule>{{"each_call", CommitRule::kEachCall},
                                               {"explicit", CommitRule::kExplicit}});
  read_telemetry(root, config.telemetry);
  root.table("tls", [&](ConfigTable& table) {
    table.text("certificate", config.certificate);
    table.text("key", config.key);
    table.text("client_authority", config.client_authority);
  });
  root.tables("principal", [&](ConfigTable& table) { read_principal(table, config); });
}

}  // namespace

bool ServedPrincipal::speaks_for(std::string_view agent) const {
  return !agents.empty() && names_agent(agents, agent);
}

bool ServedPrincipal::has(std::string_view right) const {
  return std::find(rights.begin(), rights.end(), right) != rights.end();
}

Result<ServingConfig> parse_serving_config(std::string_view text, std::string_view file) {
  ServingConfig config;
  GALLEY_TRY(read_configuration(text, file, [&](ConfigTable& root) { read_root(root, config); }));
  return config;
}

ServingConfig serving_config_of_user(uint32_t user) {
  ServingConfig config;
  config.principals.push_back({user, {}, {"*"}, {}});
  return config;
}

}  // namespace galley
