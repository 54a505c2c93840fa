// Reads any bytes as an edit document. Every reader returns, and what it accepts is placed without
// a broken invariant.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"
#include "staging/placing/search_help.h"

namespace {

constexpr std::string_view kFile = "int f() {\n  a();\n  b();\n}\n\nint g() {\n  a();\n  b();\n}\n";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace galley;
  const std::string text(reinterpret_cast<const char*>(data), size);
  GALLEY_CHECK(mail_subject(text).find('\n') == std::string::npos);
  if (const auto plain = without_color_codes(text); plain && *plain) {
    GALLEY_CHECK((*plain)->size() < size);
  }
  for (const EditFormat format : {EditFormat::kAuto, EditFormat::kUnified, EditFormat::kApplyPatch,
                                  EditFormat::kSearchReplace}) {
    const auto set = read_edits(text, format, {});
    if (!set) {
      GALLEY_CHECK(!set.error().message.empty());
      continue;
    }
    for (const FileEdit& edit : set->files) {
      PlacedEdits placed = place_edits(kFile, edit, {});
      SearchHelp().explain(kFile, placed.failures);
      const std::string after = placed.splices.apply(kFile);
      GALLEY_CHECK(placed.splices.inverse(kFile).apply(after) == kFile);
    }
  }
  return 0;
}
