#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/content_id.h"
#include "base/result.h"
#include "engine/policy/finding.h"
#include "engine/policy/verdict_key.h"

namespace galley {

/// A verdict file with more bytes is refused.
inline constexpr size_t kMaxVerdictFileBytes = size_t{16} << 20U;

/// The subject of a verdict: it is valid for these and for nothing else.
struct JudgedSubject {
  ContentId proposal;       ///< the change and its bases
  std::string tree;         ///< id of the git tree that would change; may be empty
  ContentId configuration;  ///< of the galley.toml that judged; of an empty text without one
  std::string version;      ///< of Galley, and so of the built-in validators
  std::vector<std::pair<std::string, ContentId>> validators;  ///< name, hash of its settings
};

/// A judgement for a later job, as a statement of in-toto (Statement v1 with the predicate
/// https://in-toto.io/attestation/test-result/v0.1); with a key in a DSSE envelope, signed by it.
/// Errors: those of VerdictKey::sign().
[[nodiscard]] Result<std::string> verdict_file(const JudgedSubject& subject, const Verdict& verdict,
                                               int64_t time_ns, const VerdictKey* key = nullptr);

/// The contents of a verdict file that is about the given subject.
struct FiledVerdict {
  bool is_approved = false;
  bool is_signed = false;  ///< by the key
  std::string time;        ///< RFC 3339
};

/// Errors: kInvalid `verdict.syntax`; kRefused `verdict.signature` (it is not signed by this key,
///         or it is signed and no key was given), `verdict.other_subject`, which names what
///         differs.
[[nodiscard]] Result<FiledVerdict> verify_verdict_file(std::string_view text,
                                                       const JudgedSubject& subject,
                                                       const VerdictKey* key = nullptr);

}  // namespace galley
