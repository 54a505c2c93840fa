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

/// What the gate says of a proposal: findings, the yes or the no. Values.
namespace galley {

/// One thing a rule or validator has to say about the proposed tree. The texts may come from a file
/// or a program and are not escaped for a terminal.
struct Finding {
  enum class Severity : uint8_t { kNote, kWarning, kError };  ///< only kError blocks

  std::string rule;  ///< stable dotted name: `json.syntax`, `policy.path`, or the validator's
  Severity severity = Severity::kError;
  std::string path;     ///< workspace-relative; empty for the whole change
  uint32_t line = 0;    ///< 1-based in the proposed file; 0 when it has none
  uint32_t column = 0;  ///< 1-based, in bytes; 0 when it has none
  /// Where it ends: the last line, and the column after the last byte, so that `column` equal to
  /// `end_column` on one line is an empty range. 0 when unknown; never before its beginning.
  uint32_t end_line = 0;
  uint32_t end_column = 0;
  /// Text that would mend it in place of what lies between beginning and end. It is there only when
  /// all four numbers are, and is a proposal of the validator: nothing applies it by itself.
  std::optional<std::string> replacement;
  /// The reason for which a comment in the file lets it pass (`galley:allow RULE -- REASON`); empty
  /// when none does. One that passes is a note, whatever it would be otherwise.
  std::string suppression;
  std::string message;  ///< one sentence
  std::string remedy;   ///< what to do about it; may be empty
  std::string output;   ///< of the command, printable, several lines; may be empty
  bool operator==(const Finding&) const = default;
};

/// The gate's yes to one proposal. Only a gate makes one, and nothing is published without.
class Approval {
 public:
  [[nodiscard]] const ContentId& proposal() const { return proposal_; }

 private:
  friend class Gate;
  friend struct ApprovalForTests;  ///< defined nowhere but in tests
  explicit Approval(const ContentId& proposal) : proposal_(proposal) {}
  ContentId proposal_;
};

/// The gate's no.
struct Refusal {
  std::string reason;   ///< stable dotted word: `gate.policy_denied`, `gate.validator_failed`,
                        ///< `gate.validator_unavailable`, `gate.approval_missing`,
                        ///< `gate.bad_configuration`
  std::string message;  ///< one sentence: which rule, which path, what to do
};

/// What the gate answers, with everything the rules and validators found (also on a yes).
struct Verdict {
  /// One validator's turn, for people and for the record.
  struct Run {
    std::string name;
    enum class Outcome : uint8_t { kPassed, kFindings, kUnavailable } outcome = Outcome::kPassed;
    size_t findings = 0;
    int64_t elapsed_ms = 0;
    bool was_cached = false;
    std::string reason;   ///< of the Error when it could not run
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
  std::string approved_by;  ///< who said yes where a rule asked; empty otherwise
  [[nodiscard]] bool is_approved() const { return std::holds_alternative<Approval>(decision); }
};

/// What somebody is asked when a rule says `ask`.
struct ApprovalQuestion {
  /// Somebody's answer. It counts only for the proposal it names.
  struct Answer {
    ContentId proposal;
    bool is_yes = false;
    std::string by;         ///< who answered, for the record
    bool was_asked = true;  ///< false: there was nobody who could be asked
  };

  const Proposal& proposed;         ///< what a yes is about; borrowed while the question is asked
  std::vector<std::string> agents;  ///< whose change it is, the caller first; "" is a person
  std::vector<std::string> questions;  ///< a sentence for each rule that asks
  std::vector<Finding> findings;       ///< of rules and validators
};

/// Asks a person at a terminal, or whoever the function asks; an empty one means that nobody is
/// there, which is a no. Called on the thread that asked for the judgement, while nothing is
/// locked.
using Approver = std::function<Result<ApprovalQuestion::Answer>(const ApprovalQuestion&)>;

}  // namespace galley
