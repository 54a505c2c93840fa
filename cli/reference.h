#pragma once

#include <string>
#include <string_view>

#include "cli/option_table.h"

namespace galley {

namespace reference_text {

/// cli/reasons.json, as the build embeds it: `"REASON": [CODE, what happened, what to do]`.
extern const std::string_view kReasons;

}  // namespace reference_text

/// `galley help WORD` for a reason of an error, a key or a table of a configuration; empty if it is
/// none of these. A word without a dot may be a command, so it is a table only if `is_table`.
[[nodiscard]] std::string word_help(std::string_view asked, bool is_table = false);
/// The same for a mistyped word: `; did you mean 'path.outside'?`, or nothing.
[[nodiscard]] std::string word_suggestion(std::string_view word);

/// `galley help --json`: all commands, keys, reasons, profiles, shapes and exit statuses.
/// scripts/reference generates docs/reference/ from this document.
[[nodiscard]] std::string reference_document(const OptionTable& table);

}  // namespace galley
