#pragma once

#include <string>
#include <vector>

#include "base/hash.h"
#include "engine/policy/config.h"

namespace galley {

/// One entry of a configuration that runs programs or widens rights.
struct TrustEntry {
  std::string summary;  ///< one line of printable ASCII, for notices
  std::string text;     ///< the whole entry as TOML in printable ASCII, with a newline
};

/// The part of a configuration that runs programs or removes protection.
///
/// It has hooks, command validators with all their keys, network, environment, the fallback `copy`
/// of the sandbox, and limits above the built-in ones. It also has a permissive mode, secrets in
/// files, and capabilities that agents do not have by default. Rules, built-in validators and lower
/// limits only restrict, so they need no trust.
///
/// Invariant: a different value of a widening key gives another hash; other keys never do.
struct TrustPart {
  std::vector<TrustEntry> entries;

  [[nodiscard]] bool is_empty() const { return entries.empty(); }
  /// Returns the whole part as valid TOML in printable ASCII, so that nothing in it can be hidden.
  [[nodiscard]] std::string text() const;
  /// Returns the text for a screen, without lines of validators that only repeat defaults.
  [[nodiscard]] std::string brief() const;
  /// Returns the hash that a person trusts: the SHA-256 of text().
  [[nodiscard]] ContentId hash() const { return ContentId::of(text()); }
};

[[nodiscard]] TrustPart trust_part_of(const Config& config);

/// Removes the untrusted part from a configuration. Hooks are removed. Command validators are
/// marked: the gate cannot run them, so it refuses. Sandbox and limits get their built-in values.
/// `config.not_trusted` gets the summaries.
void remove_untrusted(Config& config);

/// Returns a notice about what remove_untrusted() removed. `trust_with` is how a person trusts it.
[[nodiscard]] std::string untrusted_notice(const Config& config, const std::string& trust_with);

}  // namespace galley
