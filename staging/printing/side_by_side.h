#pragma once

#include <cstddef>
#include <string>

#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"

namespace galley {

/// Appends a compared pair with the old lines on the left and the new ones on the right, `width`
/// columns wide. The separator is `│` between equal lines, `|` between changed ones, `<` and `>` if
/// there is only one. A long line continues below.
///
/// It is for people: contents are printable (base/printable.h), tabs are spaces, and it cannot be
/// applied. Of `options`, only colours and links are used.
void append_side_by_side(const FileDiff& diff, const Lines& before, const Lines& after,
                         const DiffOptions& options, size_t width, std::string& out);

}  // namespace galley
