#pragma once

#include <galley/error.h>
#include <galley/path.h>
#include <galley/proposal.h>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The gate's verdict on a proposal: findings, and an approval or refusal. All types are values.
namespace galley {

/// One finding of a rule or validator about the proposed tree. The texts may come from a file or a
/// program and are not escaped for a terminal.
struct Finding {
  enum class Severity : uint8_t { kNote, kWarning, kError };  ///< only kError blocks

  std::string rule;  ///< stable dotted name: `json.syntax`, `policy.path`, or the validator's name
  Severity severity = Severity::kError;
  std::string path;     ///< workspace-relative; empty for the whole change
  uint32_t line = 0;    ///< 1-based in the proposed file; 0: no line
  uint32_t column = 0;  ///< 1-based, in bytes; 0: no column
  /// The end of the range: its last line, and the column after its last byte. 0 if unknown; never
  /// before the beginning. On one line, equal columns mean an empty range.
  uint32_t end_line = 0;
  uint32_t end_column = 0;
  /// The validator's suggestion: a text that replaces the range and fixes the finding. It requires
  /// all four numbers. Galley does not apply it.
  std::optional<std::string> replacement;
  /// The reason in the comment that suppresses the finding (`galley:allow RULE -- REASON`); empty:
  /// not suppressed. The severity of a suppressed finding is always kNote.
  std::string suppression;
  std::string message;  ///< one sentence
  std::string remedy;   ///< the next action; may be empty
  std::string output;   ///< printable output of the command, in lines; may be empty
  /// A hash that stays the same while the line moves in its file: of rule, path, message, the text
  /// of the line, and the number of earlier findings with all of these. The gate sets it for
  /// findings of validators.
  std::string fingerprint;
  bool operator==(const Finding&) const = default;
};

/// The gate's approval of one proposal. Only a gate makes one, and nothing is published without it.
class Approval {
 public:
  [[nodiscard]] const ContentId& proposal() const { return proposal_; }

 private:
  friend class Gate;
  friend struct ApprovalForTests;  ///< defined only in tests
  explicit Approval(const ContentId& proposal) : proposal_(proposal) {}
  ContentId proposal_;
};

/// The gate's refusal of a proposal.
struct Refusal {
  std::string reason;   ///< stable dotted word: `gate.policy_denied`, `gate.validator_failed`,
                        ///< `gate.validator_unavailable`, `gate.approval_missing`,
                        ///< `gate.bad_configuration`
  std::string message;  ///< one sentence: which rule, which path, what to do
};

/// The gate's decision, and all findings of rules and validators. An approval has findings, too.
struct Verdict {
  /// One run of a validator, for people and for the record.
  struct Run {
    std::string name;
    enum class Outcome : uint8_t { kPassed, kFindings, kUnavailable } outcome = Outcome::kPassed;
    size_t findings = 0;
    int64_t elapsed_ms = 0;
    bool was_cached = false;
    std::string reason;   ///< reason of the Error if it could not run
    std::string message;  ///< message of that Error
  };

  /// The start or end of one validator, for progress lines.
  struct Progress {
    std::string validator;
    bool is_done = false;
    size_t done = 0;
    size_t total = 0;
  };

  std::variant<Approval, Refusal> decision;
  std::vector<Finding> findings;
  std::vector<Run> runs;    ///< in the order of the configuration
  std::string approved_by;  ///< the person who approved, if a rule asked; else empty
  [[nodiscard]] bool is_approved() const { return std::holds_alternative<Approval>(decision); }
};

/// The question to a person when a rule says `ask`.
struct ApprovalQuestion {
  /// The answer. It is valid only for `proposal`.
  struct Answer {
    ContentId proposal;
    bool is_yes = false;
    std::string by;         ///< the person who answered, for the record
    bool was_asked = true;  ///< false: no person could be asked
  };

  const Proposal& proposed;         ///< a yes approves it; borrowed while the question is open
  std::vector<std::string> agents;  ///< the authors of the change, the caller first; "" is a person
  std::vector<std::string> questions;  ///< one sentence for each rule that asks
  std::vector<Finding> findings;       ///< of rules and validators
};

/// Gets the answer to a question, usually from a person at a terminal. An empty Approver means that
/// no person can be asked, so the answer is no. Galley calls it on the thread that requested the
/// judgement, and holds no lock.
using Approver = std::function<Result<ApprovalQuestion::Answer>(const ApprovalQuestion&)>;

}  // namespace galley
