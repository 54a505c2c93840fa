#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tools/tool.h"

namespace galley {

class StateDirectory;

/// The sources of GraphQuery.
///
/// Ownership: the result of `state` outlives every call.
struct GraphSources {
  std::string root_path;  ///< absolute path of the workspace
  /// The workspace's `.galley`; null while nothing was committed, or when none is believed.
  std::function<const StateDirectory*()> state;
};

/// SAGE's GraphQuery: `{query, params, commit}` → `{results}`, one SELECT over the history, the
/// record of calls, a tree and git's commits (docs/tools/GraphQuery.md has the tables).
///
/// Nothing is written, and no table has the contents of files: an agent sees no path that it may
/// not read.
///
/// Errors:    of a call EVALIDATION `query.*`, `history.bad_id`; ERUNTIME `history.*`, `git.*`;
///            ETIMEOUT `query.timeout`; EQUOTA `query.memory`, `limit.graph_rows`.
[[nodiscard]] std::unique_ptr<const Tool> make_graph_query(GraphSources sources);

}  // namespace galley
