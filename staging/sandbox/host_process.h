#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// How such a program is started.
struct HostProcessOptions {
  std::string directory;                 ///< its working directory; empty: ours
  std::vector<std::string> environment;  ///< NAME=value, beside our own
  std::string output;                    ///< a device that it writes to; empty: where we write
  bool shares_input = false;             ///< it reads what we would read, not what write() gives
};

/// kRefused `host.inside_workspace` when a word of `words` is, or finds on PATH, something in
/// `workspace`: whoever edits there could change what runs outside every sandbox.
Result<void> check_outside(const std::vector<std::string>& words, const std::string& workspace);

/// The same of every word of a line for the shell, as $PAGER and $EDITOR are.
Result<void> check_line_outside(const std::string& line, const std::string& workspace);

/// A program of the user's own choosing that runs outside every sandbox, with the user's rights and
/// environment: a pager, an editor, a hook around the apply step. Never a command that an agent
/// named.
///
/// Ownership: the destructor closes its input and waits for it.
/// Threads:   confined to one thread.
class HostProcess {
 public:
  /// Starts `argv` (found on PATH) with a pipe as its standard input; output goes where ours goes.
  static Result<std::unique_ptr<HostProcess>> start(const std::vector<std::string>& argv,
                                                    const HostProcessOptions& options = {});
  virtual ~HostProcess() = default;

  /// False when it no longer reads (a pager that was quit): not an error.
  virtual bool write(std::string_view text) = 0;
  /// Closes its input and returns its exit status, 128 + n for signal n.
  virtual Result<int> wait() = 0;
};

}  // namespace galley
