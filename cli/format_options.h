#pragma once

#include <string_view>

#include "base/result.h"
#include "cli/arguments.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// The format that `--format NAME` means; kAuto for a name that is none.
[[nodiscard]] EditFormat format_named(std::string_view name);
[[nodiscard]] std::string_view format_name(EditFormat format);

/// Refuses the options of an edit that mean nothing in its format, so that none is ever ignored.
/// Errors: kUsage `usage.option_of_format`, which names option and format.
Result<void> check_format_options(const EditArguments& arguments, EditFormat format);

/// The same of a whole document, which may have parts in several formats. `asked` is kAuto, or the
/// one it is read as.
Result<void> check_document_options(const EditArguments& arguments, EditFormat asked,
                                    std::string_view text);

}  // namespace galley
