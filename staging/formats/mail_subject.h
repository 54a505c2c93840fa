#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galley {

/// Bytes of subjects that mail_subject gives; of several mails only those that fit are named.
inline constexpr size_t kMaxSubjectBytes = 1000;

/// The subjects of the mails in which patches came (`git format-patch`, RFC 5322), as `git am`
/// makes commit messages of them: folded lines joined, encoded words (RFC 2047, UTF-8) decoded,
/// `Re:` and `[PATCH n/m]` taken off. Several are joined by "; ". Empty when the document is no
/// mail.
[[nodiscard]] std::string mail_subject(std::string_view document);

}  // namespace galley
