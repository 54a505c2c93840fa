#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace galley {

/// The most bytes that mail_subject returns. Further subjects are left out.
inline constexpr size_t kMaxSubjectBytes = 1000;

/// The subjects of the mails with the patches (`git format-patch`, RFC 5322), in the form that `git
/// am` uses for commit messages: folded lines are joined, encoded words (RFC 2047, UTF-8) are
/// decoded, `Re:` and `[PATCH n/m]` are removed. Several subjects are joined by "; ". Empty when
/// the document is not a mail.
[[nodiscard]] std::string mail_subject(std::string_view document);

}  // namespace galley
