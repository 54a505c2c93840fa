#pragma once

#include <cstddef>
#include <string>

#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"

namespace galley {

/// Appends a compared pair with the old lines on the left and the new ones on the right, as many
/// columns wide as `width`: `│` stands between equal lines, `|` between changed ones, `<` and `>`
/// where there is only one. A line that is too long goes on below.
///
/// It is for people: contents are printable (base/printable.h), tabs are spaces, and nothing can be
/// applied from it. Of `options` colours and links count.
void append_side_by_side(const FileDiff& diff, const Lines& before, const Lines& after,
                         const DiffOptions& options, size_t width, std::string& out);

}  // namespace galley
