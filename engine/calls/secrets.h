#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include <galley/tool.h>
#include "base/result.h"
#include "engine/calls/action.h"
#include "staging/overlay/overlay.h"
#include "tools/redactor.h"
#include "tools/tool.h"

namespace galley {

/// Every secret that was handed out in one workspace since it was opened, so that no later answer
/// and no record shows it either.
///
/// Threads: safe to share.
class KnownSecrets {
 public:
  void add(const std::string& name, const std::string& value);
  /// A redactor of all of them.
  [[nodiscard]] Redactor redactor() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> values_;  ///< guarded by mutex_
};

/// The secrets of one call: gives a tool the values that it asks for, and takes them out of
/// everything that it says.
///
/// Ownership: borrows the provider, which may be empty, and the known secrets, which may be null.
/// Threads:   confined to the thread of the call.
class CallSecrets {
 public:
  CallSecrets(const SecretProvider& provider, KnownSecrets* known);

  /// For the tool; empty when there is none. With `only` that is not empty, just those of these
  /// names. A value too short to be redacted is not given.
  [[nodiscard]] SecretProvider provider(const std::vector<std::string>& only = {});
  /// The arguments with the values in place of `$ENV.NAME`; null when there is nothing to replace.
  /// Errors: kRefused `secret.unknown`, `secret.too_short`.
  Result<std::shared_ptr<const nlohmann::json>> injected(const nlohmann::json& arguments,
                                                         const std::vector<std::string>& only = {});

  /// What was handed out in this call or before.
  [[nodiscard]] const Redactor& redactor() const { return redactor_; }
  [[nodiscard]] ToolResult redacted(ToolResult result) const;
  /// Takes it out of what the caller said, too.
  void redact(AuditEvent& record) const;
  /// Names of what was handed out in this call.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Nothing, unless a secret of this call came into a file: kRefused `secret.in_file`.
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Overlay& overlay,
                                                       const Overlay::Entries& before) const;

 private:
  const SecretProvider* provider_;
  KnownSecrets* known_;
  Redactor redactor_;
  Redactor given_;  ///< of this call alone
  std::map<std::string, std::string> values_;
  std::string too_short_;  ///< the name of one
};

/// Whether `$ENV.NAME` in the arguments of a call stands for a secret: a command gets secrets in
/// its environment, what only reads gets none, and the text of an edit has them only where secrets
/// may be written into files.
[[nodiscard]] bool arguments_take_secrets(const Action& action, bool in_files);

/// Nothing, unless a change since `before` puts `[REDACTED:…]` where it was not: whoever read a
/// redacted text and writes it back destroys what was redacted. What a command did is no edit.
/// Errors: kRefused `secret.redaction_marker`, with the path.
[[nodiscard]] std::optional<Error> refusal_of_markers(const Action& action, const Overlay& overlay,
                                                      const Overlay::Entries& before);

}  // namespace galley
