#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <galley/verdict.h>

#include "base/result.h"

namespace galley {

/// One change that a worker makes on a branch of a git repository. docs/scale.md has the format.
struct Job {
  enum class Priority : uint8_t { kHigh, kNormal, kLow };
  struct Call {
    std::string tool;
    std::string arguments;  ///< a JSON object
  };

  static constexpr size_t kMostBytes = size_t{1} << 20U;  ///< the usual limit of a NATS message
  static constexpr size_t kMostCalls = 1'000;
  static constexpr size_t kMostValidators = 100;

  std::string id;          ///< 1 to 64 of `A-Z a-z 0-9 - _`; the same id is the same job
  std::string repository;  ///< an address that git can fetch from and push to
  std::string ref;         ///< a branch
  std::string base;        ///< a commit that the branch must contain, in hexadecimal; empty: any
  std::string edits;       ///< a patch, an answer of a model, blocks; or `calls`
  std::vector<Call> calls;
  std::string profile;  ///< of tools, to which the calls are limited; empty: all tools
  std::vector<std::string> validators;  ///< of the worker, which judge in addition
  std::string agent;
  std::string reason;
  Priority priority = Priority::kNormal;
  std::string digest;  ///< of its members, in any order; tells it from another job of its id
  int64_t sent_s = 0;  ///< since 1970, by the clock of the NATS server; not in the document

  /// The session of its commit, a trailer by which a second delivery finds the first one's effect.
  /// Another job of this id, after the receipt of the first one has expired, has another session.
  [[nodiscard]] std::string session() const { return "job-" + id + "." + digest.substr(0, 8); }
};

/// Reads `{"id", "repository", "ref", "edits" | "calls", …}`.
/// Errors: kInvalid `job.malformed`, which names the member; those of parse_json.
[[nodiscard]] Result<Job> parse_job(std::string_view text);
[[nodiscard]] bool is_job_id(std::string_view text);
/// A text for receipts and progress, which are kept and published: a quoted line of a file shows no
/// key or token.
[[nodiscard]] std::string public_text(const std::string& text, size_t most_bytes);
[[nodiscard]] std::string_view word_of(Job::Priority priority);

/// How a job ended. Each job has one receipt.
struct JobReceipt {
  enum class Outcome : uint8_t {
    kCommitted,
    kUnchanged,  ///< the branch has the change already
    kRefused,    ///< the edits do not fit, or the gate or the repository refused
    kConflict,   ///< the branch moved again and again, or lacks the base
    kDead,       ///< the job cannot be read, or its worker died or failed too often
  };
  static constexpr std::chrono::days kKept{30};

  std::string id;
  std::string job;  ///< Job::digest
  Outcome outcome = Outcome::kCommitted;
  std::string commit;   ///< of the repository's branch
  std::string reason;   ///< `word.word`, of an outcome other than kCommitted
  std::string message;  ///< for people
  uint32_t attempts = 1;
  std::string tree;               ///< of the commit
  std::string verdict;            ///< of the commit: its trailer Galley-Verdict
  std::vector<Finding> findings;  ///< of the gate that refused
  /// Findings in the document; `findings_left_out` counts the others.
  static constexpr size_t kMostFindings = 100;

  [[nodiscard]] std::string json() const;
};

[[nodiscard]] std::string_view word_of(JobReceipt::Outcome outcome);

/// Reads a stored receipt, without its commit and its findings; nullopt: the text is not a receipt.
[[nodiscard]] std::optional<JobReceipt> parse_receipt(std::string_view text);

}  // namespace galley
