#pragma once

#include <cstddef>
#include <string>

#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"

namespace galley {

/// Appends a compared pair with the old lines on the left and the new lines on the right, `width`
/// columns wide. The separator is `│` between equal lines and `|` between changed lines. It is `<`
/// for a removed line and `>` for an added line. A long line continues below.
///
/// The output is for people and cannot be applied: contents are printable (base/printable.h), and
/// tabs are spaces. Of `options`, only colors and links are used.
void append_side_by_side(const FileDiff& diff, const Lines& before, const Lines& after,
                         const DiffOptions& options, size_t width, std::string& out);

}  // namespace galley
