// Splits the input at the first NUL into two contents. A binary patch of them, once printed, is
// read back in both directions. Also reads any bytes as a literal, a delta, a base 85 line and a
// quoted name.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/binary_patch.h"
#include "staging/formats/patch_path.h"
#include "staging/formats/read_edits.h"
#include "staging/printing/git_diff_print.h"

namespace {

constexpr std::string_view kHeader =
    "diff --git a/f b/f\nindex 1111111111111111111111111111111111111111.."
    "2222222222222222222222222222222222222222 100644\n";
constexpr uint64_t kClaimedSize = 1U << 20U;

void round_trip(std::string_view before, std::string_view after) {
  std::string patch(kHeader);
  galley::append_binary_patch(before, after, patch);
  const auto set = galley::read_unified(patch, {});
  GALLEY_CHECK(set.has_value() && set->files.size() == 1);
  const galley::FileEdit& edit = set->files.front();
  GALLEY_CHECK(edit.binary.has_value() && edit.binary_reverse.has_value());
  const auto there = galley::apply_binary(*edit.binary, before);
  GALLEY_CHECK(there.has_value() && *there == after);
  const auto back = galley::apply_binary(*edit.binary_reverse, after);
  GALLEY_CHECK(back.has_value() && *back == before);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t split = std::min(input.find('\0'), size);
  const std::string_view rest = split < size ? input.substr(split + 1) : std::string_view();
  round_trip(input.substr(0, split), rest);
  for (const auto kind : {galley::BinaryPatch::Kind::kLiteral, galley::BinaryPatch::Kind::kDelta}) {
    for (const uint64_t claimed : {uint64_t{rest.size()}, kClaimedSize}) {
      galley::BinaryPatch patch;
      patch.kind = kind;
      patch.inflated_size = claimed;
      patch.deflated = std::string(rest);
      static_cast<void>(galley::apply_binary(patch, input.substr(0, split)));
    }
  }
  static_cast<void>(galley::decode_base85_line(input));
  const auto name = galley::read_quoted_name(input);
  GALLEY_CHECK(!name || name->length <= size);
  static_cast<void>(galley::split_git_names(input, {}));
  static_cast<void>(galley::read_header_name(input));
  return 0;
}
