#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ed25519_key.h"
#include "base/hash.h"
#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "staging/fs/directory.h"

namespace galley {

/// A shared secret of fewer bytes is refused.
inline constexpr size_t kMinVerdictKeyBytes = 16;

/// The key that signs a verdict file: a shared secret (HMAC-SHA256), or an Ed25519 key. The private
/// Ed25519 key signs; the private or the public key verifies.
///
/// Invariant: a PEM text is an Ed25519 key or an error, but never a shared secret. Otherwise the
///            public key could be used to sign.
/// Ownership: a value.
/// Threads:   immutable, safe to share.
class VerdictKey {
 public:
  /// Reads the contents of the file given to --key.
  /// Errors: those of Ed25519Key; kInvalid `verdict.short_key`.
  static Result<VerdictKey> parse(std::string_view text);

  /// Returns a hint for finding the key. It does not prove anything.
  [[nodiscard]] std::string id() const;
  /// Returns the signature of a message.
  /// Errors: those of Ed25519Key.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;
  [[nodiscard]] bool verify(std::string_view message, std::string_view signature) const;

 private:
  VerdictKey() = default;

  std::string secret_;
  std::optional<Ed25519Key> pair_;
};

/// A verdict file with more bytes is refused.
inline constexpr size_t kMaxVerdictFileBytes = size_t{16} << 20U;

/// The subject of a verdict. The verdict is valid only for exactly these values.
struct JudgedSubject {
  ContentId proposal;       ///< the change and its bases
  std::string tree;         ///< id of the git tree before the change; may be empty
  ContentId configuration;  ///< of the text of galley.toml; without a file of an empty text
  std::string version;      ///< of Galley and its built-in validators
  std::vector<std::pair<std::string, ContentId>> validators;  ///< name, hash of its settings
  std::vector<std::pair<std::string, ContentId>> files;       ///< of judging_files()
  std::string agent;  ///< whose change was judged; empty: a person's
};

/// Returns the files that decide next to galley.toml, with the hashes of their contents: rules of
/// validators, the baseline and, if owners must approve, CODEOWNERS. `tree` has the rules.
[[nodiscard]] Result<std::vector<std::pair<std::string, ContentId>>> judging_files(
    const Config& config, const Directory& tree);

/// Returns a verdict for a later job, as a statement of in-toto (Statement v1 with the predicate
/// https://in-toto.io/attestation/test-result/v0.1). With a key, it is signed in a DSSE envelope.
/// Errors: those of VerdictKey::sign().
[[nodiscard]] Result<std::string> verdict_file(const JudgedSubject& subject, const Verdict& verdict,
                                               int64_t time_ns, const VerdictKey* key = nullptr);

/// The contents of a verified verdict file.
struct FiledVerdict {
  bool is_approved = false;
  bool is_signed = false;  ///< by the key
  std::string time;        ///< RFC 3339
};

/// Checks the signature and the subject of a verdict file.
/// Errors: kInvalid `verdict.syntax`; kRefused `verdict.signature` (it is not signed by this key,
///         or it is signed and no key was given), `verdict.other_subject`, which names the
///         difference.
[[nodiscard]] Result<FiledVerdict> verify_verdict_file(std::string_view text,
                                                       const JudgedSubject& subject,
                                                       const VerdictKey* key = nullptr);

}  // namespace galley
