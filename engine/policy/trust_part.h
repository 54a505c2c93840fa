#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/content_id.h"
#include "engine/policy/config.h"

namespace galley {

/// One thing that a configuration executes or widens.
struct TrustEntry {
  std::string summary;  ///< one line of printable ASCII, for notices
  std::string text;     ///< whole, as TOML in printable ASCII; ends with a newline
};

/// The part of a configuration that runs something or takes a wall down: hooks, command validators
/// with everything that bears on them, network, environment, the copy level, limits above the
/// built-in ones, a permissive mode, secrets in files, capabilities that nobody has by himself.
/// Rules, built-in validators and lower limits only narrow and are no part of it.
///
/// Invariant: a value of a widening key that differs makes another hash; other keys never do.
struct TrustPart {
  std::vector<TrustEntry> entries;

  [[nodiscard]] bool is_empty() const { return entries.empty(); }
  /// All of it: valid TOML, printable ASCII only, so that nothing in it can hide.
  [[nodiscard]] std::string text() const;
  /// The same for a screen: lines of a validator that say what would hold without them are left
  /// out.
  [[nodiscard]] std::string brief() const;
  /// What a person trusts: the SHA-256 of text().
  [[nodiscard]] ContentId hash() const { return ContentId::of(text()); }
};

[[nodiscard]] TrustPart trust_part_of(const Config& config);

/// What is left of a configuration whose part nobody trusted: hooks are gone, command validators
/// are marked (the gate cannot ask them, so it says no), walls and limits stand as built in.
/// `config.not_trusted` then holds the summaries.
void take_trust_away(Config& config);

/// Whether a key of config_keys() executes or widens, for some value of it.
[[nodiscard]] bool needs_trust(std::string_view key);

}  // namespace galley
