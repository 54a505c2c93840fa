#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace galley {

/// Where the audit records that journals carry are kept.
///
/// Invariant: a journal leaves `j/` only after settle() took its records, so a commit whose process
///            died before it could add them is on record all the same.
/// Threads:   called under the writer lock.
class AuditSink {
 public:
  virtual ~AuditSink() = default;

  /// Adds the records of a commit that was made just now.
  virtual Result<void> add(const std::vector<std::string>& records) = 0;
  /// Adds those that are not there yet, and makes all of them durable.
  virtual Result<void> settle(const std::vector<std::string>& records) = 0;
};

}  // namespace galley
