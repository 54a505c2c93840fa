#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

struct Config;

/// The names for whom an action is done: the caller and, in a transaction that another agent began
/// or staged in, those agents too. An action is done only if all of them may do it, and asks if one
/// of them must ask. The empty name is a person, or a caller that gave no name.
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

/// Whether a list of agent names (`*` and `?` match) includes this agent; an empty list includes
/// all.
[[nodiscard]] bool names_agent(const std::vector<std::string>& patterns, std::string_view agent);
/// Whether the list includes at least one of them.
[[nodiscard]] bool names_one_of(const std::vector<std::string>& patterns, const Principals& who);

/// Whether galley.toml knows this name, or does not distinguish agents. The empty name is a person
/// and known.
[[nodiscard]] bool knows_agent(const Config& config, std::string_view agent);
/// A message about an agent that galley.toml does not know although it distinguishes agents: with a
/// mistyped name, none of the intended profiles and rules would apply. Empty for a known agent,
/// including by `[agents."*"]`. Policy denies everything to an unknown name.
[[nodiscard]] std::string unknown_agent(const Config& config, std::string_view agent);

/// Refuses to begin anything for an unknown agent, and says what to do.
/// Errors: kRefused `agent.unknown`.
[[nodiscard]] Result<void> check_agent_is_known(const Config& config, std::string_view agent);

}  // namespace galley
