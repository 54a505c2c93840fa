#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "staging/text/lines.h"

// Mails with patches: those of `git format-patch`, and mails that a program saved (RFC 5322).

namespace galley {

/// True for the line that begins a mail of `git format-patch`: `From `, the name of a commit, a
/// blank.
[[nodiscard]] bool is_mail_start(std::string_view line);
/// True if a mail begins at this line: as above, or with the headers `From:` and `Subject:`. Such a
/// mail is the first one, or a line `From ` below a blank line is before it (mbox, RFC 4155).
[[nodiscard]] bool begins_mail(const Lines& document, size_t line);
/// Whether the line looks like a header: "From: x", "Date: x".
[[nodiscard]] bool is_header_line(std::string_view line);
[[nodiscard]] bool starts_with_any_case(std::string_view text, std::string_view wanted);

/// The line `---` that ends the message of the mail that begins at line `begin`: the first with
/// git's list of changed files below it. Nothing if the mail has none. A patch above it is quoted.
[[nodiscard]] std::optional<size_t> message_end(const Lines& document, size_t begin);

/// Decodes the quoted-printable or base64 bodies (RFC 2045, 6.7 and 6.8), and those of parts (RFC
/// 2046, 5.1), of the mails in a document that begins with a mail. A body stays as it is if it
/// cannot be decoded or is not a text. Blank lines replace the lines between parts. Returns nothing
/// if nothing changed.
[[nodiscard]] std::optional<std::string> without_transfer_encoding(std::string_view document);

/// Decodes `=C3` to a byte. Nothing if `=` is not followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> from_hex_escapes(std::string_view text);

}  // namespace galley
