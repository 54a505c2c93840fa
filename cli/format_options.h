#pragma once

#include "base/result.h"
#include "cli/arguments.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// Refuses the options of an edit that mean nothing in its format, so that none is ever ignored.
/// Errors: kUsage `usage.option_of_format`, which names option and format.
Result<void> check_format_options(const EditArguments& arguments, EditFormat format);

}  // namespace galley
