#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// One path of a raw diff (git-diff-index(1), "Raw output format"). Ids are hexadecimal. An id is
/// all zeros if the object is absent or git did not compute its id.
struct GitRawChange {
  uint32_t old_mode = 0;
  uint32_t new_mode = 0;
  std::string old_id;
  std::string new_id;
  char status = 'M';  ///< A, C, D, M, R, T, U
  std::string path;   ///< bytes, not necessarily UTF-8
  std::string from;   ///< of a rename or copy
};

/// Reads the output of `git diff-index --raw -z --no-abbrev` and similar commands.
/// Errors: kInternal `git.bad_diff`.
Result<std::vector<GitRawChange>> parse_raw_diff(std::string_view text);

/// Splits a text into its pieces, each of which is followed by a zero byte.
[[nodiscard]] std::vector<std::string> split_at_nul(std::string_view text);

}  // namespace galley
