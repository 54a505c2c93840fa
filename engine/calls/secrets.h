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

/// All secrets that were given to calls in one workspace since it was opened. Later results and
/// records hide them as well.
///
/// Threads: safe to share.
class KnownSecrets {
 public:
  void add(const std::string& name, const std::string& value);
  /// Returns a redactor of all of them.
  [[nodiscard]] Redactor redactor() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> values_;  ///< guarded by mutex_
};

/// The secrets of one call. It gives a tool the values that it requests, and removes them from its
/// output.
///
/// Ownership: borrows the provider, which may be empty, and the known secrets, which may be null.
/// Threads:   confined to the thread of the call.
class CallSecrets {
 public:
  CallSecrets(const SecretProvider& provider, KnownSecrets* known);

  /// Returns the provider for the tool; empty if there is none. If `only` is not empty, only these
  /// names are given. A value that is too short to be redacted is not given.
  [[nodiscard]] SecretProvider provider(const std::vector<std::string>& only = {});
  /// Returns the arguments with each `$ENV.NAME` replaced by its value; null if there is nothing to
  /// replace.
  /// Errors: kRefused `secret.unknown`, `secret.too_short`.
  Result<std::shared_ptr<const nlohmann::json>> injected(const nlohmann::json& arguments,
                                                         const std::vector<std::string>& only = {});

  /// Redacts the values that this call or earlier ones got.
  [[nodiscard]] const Redactor& redactor() const { return redactor_; }
  [[nodiscard]] ToolResult redacted(ToolResult result) const;
  /// Redacts the caller's input as well.
  void redact(AuditEvent& record) const;
  /// The names of the secrets that this call got.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Returns kRefused `secret.in_file` if a secret of this call was written to a file.
  [[nodiscard]] std::optional<Error> refusal_of_effect(const Overlay& overlay,
                                                       const Overlay::Entries& before) const;

 private:
  const SecretProvider* provider_;
  KnownSecrets* known_;
  Redactor redactor_;
  Redactor given_;  ///< of this call only
  std::map<std::string, std::string> values_;
  std::string too_short_;  ///< the name of one such secret
};

/// Whether `$ENV.NAME` in the arguments of a call is replaced. A command gets secrets in its
/// environment, and a tool that only reads gets none. In the text of an edit they are replaced only
/// if secrets may be written to files.
[[nodiscard]] bool arguments_take_secrets(const Action& action, bool in_files);

/// Returns an error if a change since `before` adds `[REDACTED:…]` to a file. A caller that writes
/// a redacted text back would destroy the original. Changes by commands are not checked.
/// Errors: kRefused `secret.redaction_marker`, with the path.
[[nodiscard]] std::optional<Error> refusal_of_markers(const Action& action, const Overlay& overlay,
                                                      const Overlay::Entries& before);

}  // namespace galley
