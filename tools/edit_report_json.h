#pragma once

#include <nlohmann/json_fwd.hpp>

#include "staging/overlay/stage_edits.h"

namespace galley {

/// The outcome of staging edits for programs; its shape is docs/json/edits.schema.json.
[[nodiscard]] nlohmann::ordered_json edit_report_json(const EditOutcome& outcome);

}  // namespace galley
