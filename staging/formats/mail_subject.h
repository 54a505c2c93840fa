#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galley {

/// Maximum number of bytes that mail_subject returns. Further subjects are omitted.
inline constexpr size_t kMaxSubjectBytes = 1000;

/// Returns the subjects of the mails in a document (`git format-patch`, RFC 5322). They have the
/// form of commit messages by `git am`: folded lines are joined, encoded words (RFC 2047, UTF-8)
/// are decoded, `Re:` and `[PATCH n/m]` are removed. Several subjects are joined by "; ". Empty if
/// the document is not a mail.
[[nodiscard]] std::string mail_subject(std::string_view document);

}  // namespace galley
