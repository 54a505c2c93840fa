#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/stages/run_folder.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/terminal/run_socket.h"

namespace galley {

/// What the supervisor of a run says of its end; its clients take it from there.
struct RunEnding {
  std::string tx;
  int status = 0;           ///< exit status of the program, as a shell has it
  std::string ended;        ///< the same for people: "exit 3"
  std::string breach;       ///< the limit that ended it, or ""
  bool was_begun = true;    ///< its transaction was begun for it
  bool is_dropped = false;  ///< that transaction is gone, since nothing was changed
  uint64_t ignored_paths = 0;
  uint64_t protected_paths = 0;
  std::vector<std::string> walls;  ///< of the sandbox that it met, a line each
  std::optional<Error> error;      ///< why what it wrote is not staged

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<RunEnding> decode(const std::string& text);
};

/// An error on its way from one process of ours to another.
[[nodiscard]] std::string encode_error(const Error& error);
[[nodiscard]] Error decode_error(const std::string& text);

/// What the process that supervises a run does, from its beginning to its end: opens the workspace,
/// starts the program, leaves the terminal, watches, and stages what was written. `client` is the
/// socket of the process that asked for it.
void supervise_run(Session& session, Fd client, bool is_terminal, const RunScreen& screen);

/// A run as `galley status` lists it; nothing when the transaction has none.
struct ListedRun {
  RunNote note;
  bool is_live = false;
};
[[nodiscard]] std::optional<ListedRun> run_of(Session& session, const std::string& tx);

/// A line for people, and its JSON.
[[nodiscard]] std::string run_text(Session& session, const ListedRun& run);
[[nodiscard]] Json run_json(const ListedRun& run);

}  // namespace galley
