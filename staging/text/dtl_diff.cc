#include "staging/text/dtl_diff.h"

#include <dtl/dtl.hpp>

#include "base/result.h"

namespace galley {

EditScript dtl_diff(const std::vector<LineId>& before, const std::vector<LineId>& after) {
  GALLEY_CHECK(before.size() + after.size() <= kMaxDtlItems);
  dtl::Diff<LineId, std::vector<LineId>> diff(before, after);
  diff.compose();
  EditScript script;
  uint32_t i = 0;
  uint32_t j = 0;
  bool open = false;
  for (const auto& [item, info] : diff.getSes().getSequence()) {
    if (info.type == dtl::SES_COMMON) {
      ++i;
      ++j;
      open = false;
      continue;
    }
    if (!open) script.push_back({i, i, j, j});
    open = true;
    if (info.type == dtl::SES_DELETE) {
      script.back().old_end = ++i;
    } else {
      script.back().new_end = ++j;
    }
  }
  return script;
}

}  // namespace galley
