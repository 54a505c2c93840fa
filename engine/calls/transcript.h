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

// A transcript: every call of a tool with its full contents, as JSON Lines (docs/transcripts.md,
// docs/json/transcript.schema.json). A header stands before calls that were staged together, or
// not at all, and says where they were made; each call is one line. What staged something else, a
// patch or a command, is a line, too: what it changed, so that replay can say what it lacks.

namespace galley {

inline constexpr uint64_t kMaxTranscriptBytes = uint64_t{1} << 30U;        ///< of one file
inline constexpr size_t kMaxTranscriptLineBytes = size_t{32} << 20U;       ///< of one call
inline constexpr size_t kMaxTranscriptCalls = 100'000;                     ///< of one that is read
inline constexpr uint64_t kMaxTranscriptReadBytes = uint64_t{256} << 20U;  ///< and its text

/// Where and by whom the calls after a header were made. One call has a header of its own.
struct TranscriptHeader {
  std::string root;   ///< absolute path of the workspace
  std::string agent;  ///< may be empty
  std::string tx;     ///< id of the transaction; empty for one in memory
  std::string began;  ///< RFC 3339
};

/// One call, to be put down.
struct TranscriptEntry {
  std::string tool;
  std::string version;     ///< of the tool; empty where there is none of that name
  JsonDocument arguments;  ///< null counts as {}
  CallOptions options;     ///< who asked and for what
  ToolResult result;
  ChangeSet changes;                      ///< of what is staged
  std::vector<std::string> secrets = {};  ///< names of those that it was given
};

/// Turns calls into lines of a transcript. Values of secrets, wherever they stand, become the
/// placeholder `$ENV.NAME` that replay puts a value in for; what looks like a secret by its name or
/// form becomes `[REDACTED:…]`, and its call cannot be replayed.
///
/// Threads: confined to one thread.
class TranscriptLines {
 public:
  void add_secret(const std::string& name, const std::string& value);

  /// With a newline at its end, as all lines.
  [[nodiscard]] static std::string header(const TranscriptHeader& header);
  /// What is too long for a line is named by size and SHA-256, and the line says so in `cut`.
  [[nodiscard]] std::string call(const TranscriptEntry& entry) const;
  /// What was staged by something that is no call of a tool.
  [[nodiscard]] static std::string step(const StagedStep& step);

 private:
  Redactor redactor_;
  std::vector<std::string> names_;
};

/// One call of a transcript, as it was read.
struct TranscriptCall {
  TranscriptHeader header;
  size_t line = 0;  ///< 1-based
  std::string tool;
  std::string version;
  JsonDocument arguments;
  CallOptions options;
  size_t group = 0;     ///< 0-based; of calls that were staged together
  JsonDocument result;  ///< as docs/json/tool-result.schema.json has it
  ChangeSet changes;
  std::vector<std::string> secrets;
  bool is_cut = false;   ///< something of it was too long to be kept
  bool is_step = false;  ///< no call of a tool; `tool` says what it was
};

/// Reads a transcript from outside. A last line without its end was being written: it is left out.
/// Errors: kInvalid, reason `transcript.malformed`, with the line; kQuota `limit.transcript`.
Result<std::vector<TranscriptCall>> read_transcript(std::string_view text);

}  // namespace galley
