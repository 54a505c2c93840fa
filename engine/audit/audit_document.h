#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "engine/audit/audit.h"

namespace galley {

/// What audit_record() writes, before it is text.
[[nodiscard]] nlohmann::json audit_document(const AuditEvent& event, int64_t wall_ns);

}  // namespace galley
