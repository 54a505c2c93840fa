#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/content_id.h"
#include "engine/policy/config.h"

namespace galley {

/// One entry of a configuration that executes or widens something.
struct TrustEntry {
  std::string summary;  ///< one line of printable ASCII, for notices
  std::string text;     ///< whole, as TOML in printable ASCII; ends with a newline
};

/// The part of a configuration that runs programs or removes protection. It has hooks, command
/// validators with all their keys, network, environment, the copy level, limits above the built-in
/// ones, a permissive mode, secrets in files, and capabilities that agents do not have by default.
/// Rules, built-in validators and lower limits only narrow, so they are left out.
///
/// Invariant: a different value of a widening key gives another hash; other keys never do.
struct TrustPart {
  std::vector<TrustEntry> entries;

  [[nodiscard]] bool is_empty() const { return entries.empty(); }
  /// The whole part as valid TOML, in printable ASCII only, so that nothing in it can be hidden.
  [[nodiscard]] std::string text() const;
  /// The same for a screen: validator lines that only repeat defaults are left out.
  [[nodiscard]] std::string brief() const;
  /// The hash that a person trusts: the SHA-256 of text().
  [[nodiscard]] ContentId hash() const { return ContentId::of(text()); }
};

[[nodiscard]] TrustPart trust_part_of(const Config& config);

/// Removes the untrusted part from a configuration: hooks are removed, command validators are
/// marked (the gate cannot run them, so it refuses), and the sandbox and limits get their built-in
/// values. `config.not_trusted` then holds the summaries.
void remove_untrusted(Config& config);

}  // namespace galley
