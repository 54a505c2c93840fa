#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/text/lines.h"

// Mails with patches: those of `git format-patch`, and mails that a program saved (RFC 5322). And
// the commits and tags that `git log -p` and `git show` write above their patches.

namespace galley {

/// True for the line that begins a mail of `git format-patch`: `From `, the name of a commit, a
/// blank.
[[nodiscard]] bool is_mail_start(std::string_view line);
/// True if a mail begins at this line: as above, or with the headers `From:` and `Subject:`. Such a
/// mail is the first one, or a line `From ` below a blank line is before it (mbox, RFC 4155). The
/// first `prefix` bytes of each line are ignored.
[[nodiscard]] bool begins_mail(const Lines& document, size_t line, size_t prefix = 0);
/// Whether the line looks like a header: "From: x", "Date: x".
[[nodiscard]] bool is_header_line(std::string_view line);
[[nodiscard]] bool starts_with_any_case(std::string_view text, std::string_view wanted);

/// A text of people around patches: lines [begin, end), 0-based. An edit in it is quoted.
struct MessageText {
  size_t begin = 0;        ///< the first header
  size_t body = 0;         ///< the first line of its text; `end` if it has none
  size_t end = 0;          ///< of a mail: where its patch begins
  bool is_footer = false;  ///< below the signature of the mail before it
};

/// Finds the messages of mails, commits and tags, in order. Their headers prove that git or a mail
/// program wrote them. A mail that only has the usual headers is one if a list of changed files is
/// below a line `---`, or if it has a date and a patch follows. All lines of a message may be
/// quoted ("> "), indented or colored. Takes time linear in the document.
[[nodiscard]] std::vector<MessageText> find_messages(const Lines& document);

/// Decodes the quoted-printable or base64 bodies (RFC 2045, 6.7 and 6.8), and those of parts (RFC
/// 2046, 5.1), of the mails in a document that begins with a mail. A body stays as it is if it
/// cannot be decoded or is not a text. Blank lines replace the lines between parts. Returns nothing
/// if nothing changed.
[[nodiscard]] std::optional<std::string> without_transfer_encoding(std::string_view document);

/// Decodes `=C3` to a byte. Nothing if `=` is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> from_hex_escapes(std::string_view text);

}  // namespace galley
