#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

struct Config;

/// The agents whose rules apply to an action: the caller, and the other agents that began the
/// transaction or staged in it. The policy allows an action only if all of them may do it, and asks
/// if one of them must ask. The empty name means a person, or a caller without a name.
///
/// Invariant: the caller is first; each name occurs once.
class Principals {
 public:
  /// A caller that acts alone. Implicit, because this is the common case.
  template <class Name>
  requires std::convertible_to<const Name&, std::string_view> Principals(
      const Name& caller)  // NOLINT(google-explicit-constructor)
      : names_{std::string(std::string_view(caller))} {}
  Principals() : Principals(std::string_view()) {}

  void add(std::string_view name);

  [[nodiscard]] const std::string& caller() const { return names_.front(); }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] bool is_alone() const { return names_.size() == 1; }

  auto operator<=>(const Principals&) const = default;
  bool operator==(const Principals&) const = default;

 private:
  std::vector<std::string> names_;
};

/// Whether a list of agent names (`*` and `?` match) includes this agent. An empty list includes
/// all agents.
[[nodiscard]] bool names_agent(const std::vector<std::string>& patterns, std::string_view agent);
/// Whether the list includes at least one of the principals.
[[nodiscard]] bool names_one_of(const std::vector<std::string>& patterns, const Principals& who);

/// Whether galley.toml names this agent, or does not distinguish agents. The empty name is always
/// known.
[[nodiscard]] bool knows_agent(const Config& config, std::string_view agent);
/// Returns a message about an agent that is unknown although galley.toml distinguishes agents;
/// empty for a known agent (also by `[agents."*"]`). Policy denies everything to an unknown agent:
/// if a name is mistyped, the intended profiles and rules would not apply.
[[nodiscard]] std::string unknown_agent(const Config& config, std::string_view agent);

/// Checks that an agent is known. Call it before an action begins.
/// Errors: kRefused `agent.unknown`.
[[nodiscard]] Result<void> check_agent_is_known(const Config& config, std::string_view agent);

}  // namespace galley
