// Profiles, grants and revocations: the most that a principal may do.
#include "engine/policy/policy.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/glob.h"

namespace galley {
namespace {

/// The profile of an agent that is unknown although galley.toml distinguishes agents. It grants
/// nothing.
const AgentProfile& profile_of_unknown() {
  static const AgentProfile kProfile = [] {
    AgentProfile profile;
    profile.name = "\"*\"";
    profile.has_capabilities = true;
    return profile;
  }();
  return kProfile;
}

Judgement no_capability(const AgentProfile& profile, const Config& config, std::string_view what,
                        std::string_view needed) {
  Judgement judgement;
  judgement.decision = Decision::kDeny;
  judgement.id = "policy.capability";
  judgement.rule = "agents." + profile.name;
  judgement.line = profile.line;
  judgement.message = fmt::format("{} is denied: [agents.{}] ({}) does not grant `{}`", what,
                                  profile.name, place_in(config, profile.line), needed);
  judgement.remedy =
      fmt::format("stay within what [agents.{}] grants, or ask a person to add `{}` to it",
                  profile.name, needed);
  return judgement;
}

/// The denial of a capability that a person revoked from this agent (`galley revoke`).
Judgement revoked(std::string_view agent, std::string_view what, const Capability& denial) {
  Judgement judgement;
  judgement.decision = Decision::kDeny;
  judgement.id = "policy.capability";
  judgement.rule = "revoked";
  judgement.is_denial = true;
  judgement.message =
      fmt::format("{} is denied: `{}` was revoked from {}", what, denial.text.substr(1), agent);
  judgement.remedy =
      fmt::format("ask a person to run: galley grant {} '{}'", agent, denial.text.substr(1));
  return judgement;
}

/// The domain of granting and revoking. An agent with it could give itself any other capability.
constexpr std::string_view kPeopleDomain = "sec";

bool is_for_people(std::string_view needed) {
  return needed.substr(0, needed.find(':')) == kPeopleDomain;
}

}  // namespace

std::string place_in(const Config& config, uint32_t line) {
  const std::string file = config.file.empty() ? std::string(kConfigFileName) : config.file;
  return line == 0 ? file : fmt::format("{}:{}", file, line);
}

/// The last grant or revocation for this agent.
std::optional<Capability> Policy::newest_decision(std::string_view agent, const Need& need) const {
  if (config_->grants == nullptr || agent.empty()) return {};
  const auto page = config_->grants->of(agent);
  const Capability* last = page != nullptr ? deciding_capability(*page, need) : nullptr;
  return last != nullptr ? std::optional<Capability>(*last) : std::nullopt;
}

const AgentProfile* Policy::profile(std::string_view agent) const {
  const auto own = config_->agents.find(std::string(agent));
  if (own != config_->agents.end()) return &own->second;
  if (agent.empty()) return nullptr;
  const auto others = config_->agents.find("*");
  if (others != config_->agents.end()) return &others->second;
  return knows_agent(*config_, agent) ? nullptr : &profile_of_unknown();
}

const AgentProfile* Policy::bounds(std::string_view agent) const {
  const AgentProfile* own = profile(agent);
  return own != nullptr && own->has_capabilities ? own : nullptr;
}

/// A revocation counts first, then the profile, if there is one.
Judgement Policy::judge_need(const Need& need, const std::string& what,
                             const Principals& who) const {
  return strictest(who, [&](std::string_view agent) -> Judgement {
    const auto said = newest_decision(agent, need);
    if (said && said->is_denial) return revoked(agent, what, *said);
    const AgentProfile* own = bounds(agent);
    if (own == nullptr) return {};
    const Capability* last = deciding_capability(own->capabilities, need);
    if (last != nullptr && !last->is_denial) return {};
    Judgement judgement = no_capability(*own, *config_, what, need.text);
    judgement.is_denial = last != nullptr;
    return judgement;
  });
}

Judgement Policy::judge_write(const RelPath& path, PathOperation operation, const Principals& who,
                              bool is_directory) const {
  const std::string_view action = operation_name(operation);
  Judgement judgement = judge_need(Need::file(action, path, is_directory),
                                   fmt::format("{}: {}", path.str(), action), who);
  if (judgement.decision == Decision::kDeny) judgement.path = path.str();
  return judgement;
}

Judgement Policy::judge_reading(const RelPath& path, const Principals& who) const {
  Judgement judgement = judge_need(Need::file("read", path), path.str() + ": read", who);
  if (judgement.decision == Decision::kDeny) judgement.path = path.str();
  return judgement;
}

Judgement Policy::judge_exec(const CalledProgram& program, const Principals& who) const {
  const std::string which =
      program.path == program.real ? "" : fmt::format(" (which is {})", program.real);
  return judge_need(Need::program(program), fmt::format("running {}{}", program.path, which), who);
}

Judgement Policy::judge_network(const Principals& who) const {
  return judge_need(Need::network(), "reaching the network", who);
}

Judgement Policy::judge_capability(std::string_view needed, const Principals& who) const {
  const Need need = Need::of(needed);
  const std::string what = fmt::format("what needs the capability `{}`", needed);
  Judgement worst = strictest(who, [&](std::string_view agent) -> Judgement {
    if (agent.empty()) return {};
    if (is_for_people(needed)) {
      Judgement judgement;
      judgement.decision = Decision::kDeny;
      judgement.rule = "always";
      judgement.message =
          fmt::format("{} is denied to the agent {}: it is for people", what, agent);
      judgement.remedy = "a person can do it without --agent";
      return judgement;
    }
    const auto said = newest_decision(agent, need);
    if (said && said->is_denial) return revoked(agent, what, *said);
    const AgentProfile* own = bounds(agent);
    if (own != nullptr) {
      if (gives(own->capabilities, need)) return {};
      return no_capability(*own, *config_, what, needed);
    }
    if (said) return {};
    Judgement judgement;
    judgement.decision = Decision::kDeny;
    judgement.rule = "grants";
    judgement.message = fmt::format("{} is denied: it was not given to {}", what, agent);
    judgement.remedy = fmt::format("ask a person to run: galley grant {} '{}'", agent, needed);
    return judgement;
  });
  if (worst.decision == Decision::kDeny) worst.id = "capability.missing";
  return worst;
}

std::optional<Error> Policy::objection_to_grant(std::string_view agent,
                                                const Capability& capability) const {
  const auto wider = [&](const std::string& why) {
    return Error{ErrorKind::kRefused, "grant.wider_than_configuration",
                 fmt::format("`{}` cannot be granted to {}: {}", capability.text, agent, why)};
  };
  if (is_for_people(capability.text)) {
    return wider("the domain `sec` is for people only");
  }
  if (capability.domain == "net" && !config_->sandbox.allows_network) {
    return wider("sandbox.network of galley.toml is not true");
  }
  const AgentProfile* own = bounds(agent);
  if (own == nullptr) return {};
  const std::string_view needed =
      capability.domain == "fs"
          ? std::string_view(capability.text)
                .substr(0, capability.domain.size() + 1 + capability.action.size())
          : std::string_view(capability.text);
  if (gives(own->capabilities, needed)) return {};
  return wider(
      fmt::format("[agents.{}] ({}) does not give it", own->name, place_in(*config_, own->line)));
}

bool Policy::denies_programs(const Principals& who) const {
  const auto denies = [](const Capability& one) { return one.is_denial && one.domain == "exec"; };
  return std::ranges::any_of(who.names(), [&](const std::string& name) {
    const AgentProfile* own = bounds(name);
    if (own != nullptr && std::ranges::any_of(own->capabilities, denies)) {
      return true;
    }
    return newest_decision(name, {{}, denies}).has_value();
  });
}

Judgement Policy::judge_tool(std::string_view tool, const Principals& who) const {
  return judge_tools(fmt::format("the tool {}", tool), {std::string(tool)}, who);
}

Judgement Policy::judge_tools(std::string_view what, const std::vector<std::string>& any_of,
                              const Principals& who) const {
  const std::string& tool = any_of.front();
  return strictest(who, [&](std::string_view agent) -> Judgement {
    const AgentProfile* own = profile(agent);
    if (own == nullptr || own->tools.empty()) return {};
    const bool is_listed = std::ranges::any_of(
        any_of, [&](const std::string& one) { return names_agent(own->tools, one); });
    if (is_listed) return {};
    Judgement judgement = no_capability(*own, *config_, what, tool);
    judgement.remedy = fmt::format(
        "use one of the tools of {}, or ask a person to add {} to its `tools`", own->name, tool);
    return judgement;
  });
}

bool Policy::limits_tools(const Principals& who) const {
  return std::ranges::any_of(who.names(), [this](const std::string& name) {
    const AgentProfile* own = profile(name);
    return own != nullptr && !own->tools.empty();
  });
}

bool Policy::limits_reading(const Principals& who) const {
  const auto denies = [](const Capability& one) {
    return one.is_denial && one.domain == "fs" && one.action == "read";
  };
  return std::ranges::any_of(who.names(), [&](const std::string& name) {
    return bounds(name) != nullptr || newest_decision(name, {{}, denies}).has_value();
  });
}

bool Policy::grants_network(const Principals& who) const {
  const bool is_said =
      bounds(who.caller()) != nullptr || newest_decision(who.caller(), Need::network());
  return is_said && judge_network(who).decision == Decision::kAllow;
}

}  // namespace galley
