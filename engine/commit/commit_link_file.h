#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <galley/path.h>
#include "base/result.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/writer_lock.h"

namespace galley {

/// The git commits that contain a transaction's contents: ids in hexadecimal, oldest first.
using CommitLinks = std::map<TxId, std::vector<std::string>>;

/// All links in `.galley/links/<workspace id>/git-commits`; damaged lines are skipped.
[[nodiscard]] Result<CommitLinks> read_commit_links(const StateDirectory& state);

/// Whether the link is among these.
[[nodiscard]] bool has_commit_link(const CommitLinks& links, TxId id, const std::string& commit);

/// Adds the links of a git commit to these transactions. An existing link is not added again.
Result<void> add_commit_links(const StateDirectory& state, const WriterLock& lock,
                              const std::vector<TxId>& transactions, const std::string& commit);

/// Above this size the older half is dropped.
inline constexpr uint64_t kMaxCommitLinkBytes = uint64_t{8} << 20U;

}  // namespace galley
