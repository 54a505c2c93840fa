#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/history/index.h"
#include "staging/fs/directory.h"
#include "tools/tool.h"

namespace galley {

class StateDirectory;

/// The sources of GraphQuery.
///
/// Ownership: the object that `state` returns must outlive every call.
struct GraphSources {
  std::string root_path;  ///< absolute path of the workspace
  /// Returns the workspace's `.galley`. Null: nothing was committed yet, or the state is not
  /// believed.
  std::function<const StateDirectory*()> state;
};

/// SAGE's GraphQuery: `{query, params, commit}` → `{results}`, one SELECT over the history, the
/// record of calls, a tree and git's commits (docs/tools/GraphQuery.md has the tables).
///
/// A query writes nothing. No table has the contents of files. An agent sees only the paths that it
/// may read.
///
/// Errors:    a call returns EVALIDATION `query.*`, `history.bad_id`; ERUNTIME `history.*`,
///            `git.*`; ETIMEOUT `query.timeout`; EQUOTA `query.memory`, `limit.graph_rows`.
[[nodiscard]] std::unique_ptr<const Tool> make_graph_query(GraphSources sources);

/// The maximum number of rows in a table that is made for a query.
inline constexpr size_t kMaxGraphRows = 100'000;

/// `audit`: the record of calls, without their inputs and outputs. `state_root` is null if nothing
/// was recorded yet.
/// Errors: kInvalid `audit.malformed`; kQuota `limit.graph_rows`; those of the file.
Result<QueryTable> audit_table(const Directory* state_root);

/// `tree`: path, kind, mode, size and (if it is known without reading) hash of everything in the
/// context's proposed tree that the caller may read.
/// Errors: kQuota `limit.graph_rows`; kTimeout; those of the overlay.
Result<QueryTable> tree_table(ToolContext& context);

/// The same for a revision of git, with the paths in the workspace. `hash` is the hash of git's
/// blob.
/// Errors: as GitProgram; kUsage `git.bad_revision`.
Result<QueryTable> git_tree_table(const ToolContext& context, const std::string& root_path,
                                  const std::string& revision);

/// `git_commits`: hash, parents, author, email, time and subject of a revision and its ancestors,
/// newest first.
Result<QueryTable> git_commits_table(const std::string& root_path, const std::string& revision);

/// Whether the text of a query contains the name of a table as a whole word, in any case.
[[nodiscard]] bool names_table(std::string_view sql, std::string_view table);

}  // namespace galley
