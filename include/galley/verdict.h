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

/// The gate's verdict on a proposal: findings, and approval or refusal. Values.
namespace galley {

/// One finding of a rule or validator about the proposed tree. The texts may come from a file or a
/// program and are not escaped for a terminal.
struct Finding {
  enum class Severity : uint8_t { kNote, kWarning, kError };  ///< only kError blocks

  std::string rule;  ///< stable dotted name: `json.syntax`, `policy.path`, or the validator's
  Severity severity = Severity::kError;
  std::string path;     ///< workspace-relative; empty for the whole change
  uint32_t line = 0;    ///< 1-based in the proposed file; 0: no line
  uint32_t column = 0;  ///< 1-based, in bytes; 0: no column
  /// The end: the last line, and the column after the last byte. On one line, `column` equal to
  /// `end_column` is an empty range. 0 when unknown; never before the beginning.
  uint32_t end_line = 0;
  uint32_t end_column = 0;
  /// Text that would fix the finding when it replaces the range. It requires all four numbers. It
  /// is a suggestion of the validator: nothing applies it automatically.
  std::optional<std::string> replacement;
  /// The reason in a comment of the file that suppresses the finding
  /// (`galley:allow RULE -- REASON`); empty: not suppressed. A suppressed finding is a note,
  /// whatever its severity was.
  std::string suppression;
  std::string message;  ///< one sentence
  std::string remedy;   ///< what to do about it; may be empty
  std::string output;   ///< of the command, printable, several lines; may be empty
  bool operator==(const Finding&) const = default;
};

/// The gate's approval of one proposal. Only a gate makes one, and nothing is published without it.
class Approval {
 public:
  [[nodiscard]] const ContentId& proposal() const { return proposal_; }

 private:
  friend class Gate;
  friend struct ApprovalForTests;  ///< defined nowhere but in tests
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

/// The gate's decision, with every finding of rules and validators, also on approval.
struct Verdict {
  /// One run of a validator, for people and for the record.
  struct Run {
    std::string name;
    enum class Outcome : uint8_t { kPassed, kFindings, kUnavailable } outcome = Outcome::kPassed;
    size_t findings = 0;
    int64_t elapsed_ms = 0;
    bool was_cached = false;
    std::string reason;   ///< of the Error that kept it from running
    std::string message;  ///< why it could not run
  };

  /// A validator that began or ended, for progress lines.
  struct Progress {
    std::string validator;
    bool is_done = false;
    size_t done = 0;
    size_t total = 0;
  };

  std::variant<Approval, Refusal> decision;
  std::vector<Finding> findings;
  std::vector<Run> runs;    ///< in the order of the configuration
  std::string approved_by;  ///< the person who approved when a rule asked; else empty
  [[nodiscard]] bool is_approved() const { return std::holds_alternative<Approval>(decision); }
};

/// The question to a person when a rule says `ask`.
struct ApprovalQuestion {
  /// The answer. It counts only for the proposal that it names.
  struct Answer {
    ContentId proposal;
    bool is_yes = false;
    std::string by;         ///< the person who answered, for the record
    bool was_asked = true;  ///< false: no person could be asked
  };

  const Proposal& proposed;         ///< what a yes approves; borrowed while the question is open
  std::vector<std::string> agents;  ///< the authors of the change, the caller first; "" is a person
  std::vector<std::string> questions;  ///< a sentence for each rule that asks
  std::vector<Finding> findings;       ///< of rules and validators
};

/// Gets the answer to a question, usually from a person at a terminal. An empty one means that no
/// person can be asked: the answer is no. It is called on the thread that asked for the judgement,
/// while no lock is held.
using Approver = std::function<Result<ApprovalQuestion::Answer>(const ApprovalQuestion&)>;

}  // namespace galley
