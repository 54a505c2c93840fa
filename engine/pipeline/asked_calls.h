#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "engine/calls/confirmation.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// A call that waits for a person's approval, or that was approved but not repeated yet.
struct AskedCall {
  ContentId id;
  CallQuestion question;
  int64_t asked_ns = 0;  ///< when the question or the approval was stored
  std::string by;        ///< the person who approved it; empty: not approved yet
};

/// The store of calls that need an approval: `.galley/confirmations/<workspace id>/<hash>`, one
/// file per call, readable by this user only.
///
///     galley confirmation 1
///     <wall clock, ns>
///     <person who approved, or an empty line>
///     <the question, as JSON>
///
/// An approval is valid for one call, once, within a day. Writers lock the file `lock` in the same
/// folder, so a question never overwrites an approval.
///
/// Ownership: borrows the state directory.
/// Threads:   confined to one thread.
/// Errors:    kInvalid `confirmation.damaged`; kTimeout `confirmation.locked`; kIo.
class ConfirmationStore final : public ApprovalStore {
 public:
  /// When the store is full, the oldest question is dropped, then the oldest approval.
  static constexpr size_t kMaxAskedCalls = 100;

  explicit ConfirmationStore(const StateDirectory& state) : state_(&state) {}

  /// Stores a question. If the call is already approved, its approval stays.
  Result<void> keep(const ContentId& id, const CallQuestion& question,
                    int64_t now_ns) const override;
  /// Returns the stored calls, oldest first, without those that are expired or damaged.
  [[nodiscard]] Result<std::vector<AskedCall>> list(int64_t now_ns) const;
  /// Returns the call with this id: `call-` and its first digits.
  /// Errors: kNotFound `confirmation.not_found`; kUsage `confirmation.which` if several calls
  ///         match.
  [[nodiscard]] Result<AskedCall> find(const std::string& shown, int64_t now_ns) const;
  /// Approves a call.
  Result<void> give(const AskedCall& call, const std::string& by, int64_t now_ns) const;
  /// Removes the approval of this call and returns the person who gave it; nothing without an
  /// approval. If several threads or processes try at once, only one gets it.
  Result<std::optional<std::string>> take(const ContentId& id, int64_t now_ns) const override;

 private:
  Result<void> write(const AskedCall& call) const;
  /// Locks the store for a read followed by a write. Closing the file unlocks it.
  [[nodiscard]] Result<std::unique_ptr<WritableFile>> lock() const;
  [[nodiscard]] RelPath place_of(const ContentId& id) const;

  const StateDirectory* state_;
};

}  // namespace galley
