#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/stages/run_folder.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/live_run.h"

namespace galley {

/// A program that is to go on running on the view of a stored transaction.
struct RunRequest {
  Command command;
  std::string name;  ///< by which it can be called beside its id; may be empty
  bool is_terminal = false;
  uint16_t rows = 24;
  uint16_t columns = 80;
  std::vector<std::string> writable;  ///< as folder_of_run() returned them
  std::vector<std::string> layered;   ///< the same, to be written over
};

/// Returns where a folder of the host is that a run may write to or over: check_host_folder(), and
/// no place of secrets.
/// Errors: kUsage `run.host_folder`.
[[nodiscard]] Result<std::string> folder_of_run(std::string_view option, const std::string& path,
                                                const std::string& workspace, bool may_be_missing);

/// A run that was started, and what its supervisor holds for it.
///
/// Ownership: the program dies with `live`; the folder's lock goes with `folder`.
struct StartedRun {
  RunFolder folder;
  RunNote note;
  std::unique_ptr<LiveRun> live;
};

/// What was made of the layer of a run that is over.
struct RunReport {
  std::string ended;             ///< how the program ended, for people; empty: it was cut off
  uint64_t staged_paths = 0;     ///< that the layer changed of what was staged
  uint64_t ignored_paths = 0;    ///< git-ignored: kept beside the transaction, not proposed
  uint64_t protected_paths = 0;  ///< below .git or .galley: dropped
};

}  // namespace galley
