#include "staging/fs/holes.h"

#include <algorithm>

namespace galley {
namespace {

/// Minimum length of a hole. Shorter holes would cost too many calls.
constexpr size_t kHoleBytes = size_t{256} << 10U;

bool is_zero(std::string_view piece) { return piece.find_first_not_of('\0') == piece.npos; }

}  // namespace

Result<void> write_with_holes(WritableFile& file, std::string_view bytes, uint64_t end) {
  size_t written = 0;  // data from here to `at` is written later, in one call
  bool ends_in_hole = false;
  for (size_t at = 0; at < bytes.size();) {
    const std::string_view piece = bytes.substr(at, kHoleBytes);
    const size_t next = at + piece.size();
    ends_in_hole = piece.size() == kHoleBytes && is_zero(piece);
    if (ends_in_hole) {
      if (at > written)
        GALLEY_TRY(file.write_at(end + written, bytes.substr(written, at - written)));
      written = next;
    }
    at = next;
  }
  if (bytes.size() > written) return file.write_at(end + written, bytes.substr(written));
  return ends_in_hole ? file.truncate(end + bytes.size()) : Result<void>();
}

}  // namespace galley
