#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

struct Config;

/// In whose names something is done: who calls and, in a transaction that somebody else began or
/// staged in, those too. What one of them may not do is not done; what one must ask for is asked.
/// The empty name is a person, or whoever gave none.
///
/// Invariant: the caller is first; no name stands twice.
class Principals {
 public:
  /// Somebody who acts alone. Implicit: most do.
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

/// Whether a list of agent names (`*` and `?` match) takes this agent in; an empty one takes all.
[[nodiscard]] bool names_agent(const std::vector<std::string>& patterns, std::string_view agent);
/// Whether it takes one of them in.
[[nodiscard]] bool names_one_of(const std::vector<std::string>& patterns, const Principals& who);

/// Whether galley.toml knows this name, or tells no agents apart. Empty is a person: known.
[[nodiscard]] bool knows_agent(const Config& config, std::string_view agent);
/// A sentence about an agent that galley.toml does not know although it tells agents apart: with a
/// mistyped name no profile and no rule holds that was meant to. Empty for one that it knows, by
/// `[agents."*"]` too. Policy denies everything to an unknown name.
[[nodiscard]] std::string unknown_agent(const Config& config, std::string_view agent);

/// Refuses to begin anything for such an agent, with what to do.
/// Errors: kRefused `agent.unknown`.
[[nodiscard]] Result<void> check_agent_is_known(const Config& config, std::string_view agent);

}  // namespace galley
