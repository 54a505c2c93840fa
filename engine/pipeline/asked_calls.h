#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/content_id.h"
#include "base/result.h"
#include "engine/calls/confirmation.h"
#include "engine/commit/state_directory.h"

namespace galley {

/// A call that waits for somebody's yes, or has it and was not repeated yet.
struct AskedCall {
  ContentId id;
  CallQuestion question;
  int64_t asked_ns = 0;  ///< or given
  std::string by;        ///< who said yes; empty: nobody did
};

/// Where calls that need a yes wait for it: `.galley/confirmations/<workspace id>/<hash>`, one file
/// a call, of this user alone.
///
///     galley confirmation 1
///     <wall clock, ns>
///     <who said yes, or an empty line>
///     <the question, as JSON>
///
/// A yes is for one call, once, within a day. A writer holds `lock` next to them, so that no
/// question replaces a yes.
/// Ownership: borrows the state directory. Threads: confined to one thread.
/// Errors:    kInvalid `confirmation.damaged`; kTimeout `confirmation.locked`; kIo.
class AskedCalls final : public KeptAnswers {
 public:
  /// Of those beyond this the oldest makes room, of questions before those that have a yes.
  static constexpr size_t kMaxAskedCalls = 100;

  explicit AskedCalls(const StateDirectory& state) : state_(&state) {}

  /// Keeps a question; one that has a yes already stays as it is.
  Result<void> keep(const ContentId& id, const CallQuestion& question,
                    int64_t now_ns) const override;
  /// The calls that wait, oldest first; those that are too old or damaged are left out.
  [[nodiscard]] Result<std::vector<AskedCall>> list(int64_t now_ns) const;
  /// The one that `shown` means: `call-` and the first digits.
  /// Errors: kNotFound `confirmation.not_found`; kUsage `confirmation.which` when several could be.
  [[nodiscard]] Result<AskedCall> find(const std::string& shown, int64_t now_ns) const;
  /// Notes a yes.
  Result<void> give(const AskedCall& call, const std::string& by, int64_t now_ns) const;
  /// Uses up the yes to this call and tells who gave it; nothing when there is none. Of several who
  /// try at once, one has it.
  Result<std::optional<std::string>> take(const ContentId& id, int64_t now_ns) const override;

 private:
  Result<void> write(const AskedCall& call) const;
  /// Held from reading to writing; it dies with the file.
  [[nodiscard]] Result<std::unique_ptr<WritableFile>> lock() const;
  [[nodiscard]] RelPath place_of(const ContentId& id) const;

  const StateDirectory* state_;
};

}  // namespace galley
