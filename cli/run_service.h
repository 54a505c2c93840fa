#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/session.h"
#include "engine/stages/run_commits.h"
#include "engine/stages/run_folder.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/terminal/run_socket.h"

namespace galley {

/// The report of a supervisor about the end of a run, for its clients.
struct RunEnding {
  std::string tx;
  int status = 0;           ///< exit status of the program, as in a shell
  std::string ended;        ///< the same for people: "exit 3"
  std::string breach;       ///< the limit that ended it, or ""
  bool was_begun = true;    ///< its transaction was begun for this run
  bool is_dropped = false;  ///< the transaction was removed, since nothing changed
  uint64_t ignored_paths = 0;
  std::string first_ignored;  ///< one of them
  uint64_t protected_paths = 0;
  std::vector<std::string> walls;  ///< denials of the sandbox, one line each
  std::optional<Error> error;      ///< why its changes are not staged
  std::optional<RunRef> head;      ///< what it left checked out, if that is another branch

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<RunEnding> decode(const std::string& text);
};

/// Converts an error to text and back, to send it between two processes of Galley.
[[nodiscard]] std::string encode_error(const Error& error);
[[nodiscard]] Error decode_error(const std::string& text);

/// Runs the process that supervises a run, from start to end: it opens the workspace, starts the
/// program, leaves the terminal, waits, and stages the changes. `client` is the socket of the
/// process that started the run.
void supervise_run(Session& session, Fd client, bool is_terminal, const RunScreen& screen);

/// A run in the list of `galley status`; nothing if the transaction has none.
struct ListedRun {
  RunNote note;
  bool is_live = false;
  bool has_ended = false;  ///< and what it wrote is staged
};
[[nodiscard]] std::optional<ListedRun> run_of(Session& session, const std::string& tx);

/// Returns a line for people, and the JSON.
[[nodiscard]] std::string run_text(Session& session, const ListedRun& run);
[[nodiscard]] Json run_json(const ListedRun& run);

}  // namespace galley
