#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <galley/proposal.h>
#include <galley/tool.h>
#include "base/result.h"
#include "staging/overlay/staged_step.h"
#include "tools/redactor.h"
#include "tools/tool.h"

// A transcript: every call of a tool with its full contents, as JSON Lines (docs/library.md,
// docs/json/transcript.schema.json). Each group of calls that were staged together has a header,
// which says where they were made. Each call is one line. A patch or a command that staged
// something is a line as well, with its changes. Replay cannot repeat it, but can report it.

namespace galley {

inline constexpr uint64_t kMaxTranscriptBytes = uint64_t{1} << 30U;   ///< the file of a transcript
inline constexpr size_t kMaxTranscriptLineBytes = size_t{32} << 20U;  ///< one call in a transcript
inline constexpr size_t kMaxTranscriptCalls = 100'000;  ///< calls of a transcript that is replayed
inline constexpr uint64_t kMaxTranscriptReadBytes = uint64_t{256} << 20U;  ///< one that is replayed

/// The workspace, agent and transaction of the calls after a header. A single call has its own
/// header.
struct TranscriptHeader {
  std::string root;   ///< absolute path of the workspace
  std::string agent;  ///< may be empty
  std::string tx;     ///< id of the transaction; empty for one in memory
  std::string began;  ///< RFC 3339
};

/// One call to write.
struct TranscriptEntry {
  std::string tool;
  std::string version;     ///< of the tool; empty if no tool has this name
  JsonDocument arguments;  ///< null is treated as {}
  CallOptions options;     ///< caller and purpose
  ToolResult result;
  ChangeSet changes;                      ///< to the staged files
  std::vector<std::string> secrets = {};  ///< names of the secrets that it got
};

/// Converts calls to lines of a transcript. Values of known secrets become the placeholder
/// `$ENV.NAME`, which replay replaces with a value. Text that looks like a secret by its name or
/// form becomes `[REDACTED:…]`, and its call cannot be replayed.
///
/// Threads: confined to one thread.
class TranscriptLines {
 public:
  void add_secret(const std::string& name, const std::string& value);

  /// Each line ends with a newline.
  [[nodiscard]] static std::string header(const TranscriptHeader& header);
  /// A value that is too long is replaced by its size and SHA-256, and the line lists it in `cut`.
  [[nodiscard]] std::string call(const TranscriptEntry& entry) const;
  /// A change that was not staged by a tool call.
  [[nodiscard]] static std::string step(const StagedStep& step);

 private:
  Redactor redactor_;
  std::vector<std::string> names_;
};

/// One call, as read from a transcript.
struct TranscriptCall {
  TranscriptHeader header;
  size_t line = 0;  ///< 1-based
  std::string tool;
  std::string version;
  JsonDocument arguments;
  CallOptions options;
  size_t group = 0;     ///< 0-based; of calls that were staged together
  JsonDocument result;  ///< as in docs/json/tool-result.schema.json
  ChangeSet changes;
  std::vector<std::string> secrets;
  bool is_cut = false;   ///< a part was too long to be stored
  bool is_step = false;  ///< not a tool call; `tool` names the action
};

/// Reads an untrusted transcript. A last line without a newline is incomplete and is ignored.
/// Errors: kInvalid, reason `transcript.malformed`, with the line; kQuota `limit.transcript`.
Result<std::vector<TranscriptCall>> read_transcript(std::string_view text);

}  // namespace galley
