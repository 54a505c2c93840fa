#pragma once

#include "base/result.h"
#include "cli/arguments.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// Refuses edit options that have no effect in a format, so that no option is silently ignored.
/// Errors: kUsage `usage.option_of_format`, which names option and format.
Result<void> check_format_options(const EditArguments& arguments, EditFormat format);

/// Returns whether the document is complete, according to --complete and --truncated.
[[nodiscard]] DocumentEnd document_end(const EditArguments& arguments);

}  // namespace galley
