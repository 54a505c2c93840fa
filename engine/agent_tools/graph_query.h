#pragma once

#include <functional>
#include <memory>
#include <string>

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

}  // namespace galley
