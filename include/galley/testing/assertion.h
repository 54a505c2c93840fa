#pragma once

#include <galley/proposal.h>
#include <galley/tool.h>
#include <galley/transaction.h>
#include <galley/workspace.h>

#include <string>
#include <string_view>

namespace galley {

/// The result of a check in a test: whether it holds and, if not, the reason. A value for any test
/// framework:
///
///
///     const Assertion same = diff_is(transaction.proposal(), expected);
///     EXPECT_TRUE(same) << same.message;
///
struct [[nodiscard]] Assertion {
  bool holds = false;
  std::string message = {};  ///< the reason, for people, in lines; empty if it holds
  explicit operator bool() const { return holds; }
};

/// Checks that the diff of a proposal, as render_diff() prints it, equals `expected`. Lines that
/// begin with `index ` or `diff --git ` are ignored on both sides, so a test needs no hashes. The
/// message marks lines by `-` (expected) or `+` (found).
Assertion diff_is(const Proposal& proposal, std::string_view expected);

/// Checks that a file in the proposed tree of the transaction has this content.
Assertion file_is(Transaction& transaction, std::string_view path, std::string_view expected);

/// Checks that the proposed tree of the transaction has nothing at this path.
Assertion is_absent(Transaction& transaction, std::string_view path);

/// Checks that two JSON texts are equal: members in any order, numbers by value.
Assertion json_is(std::string_view found, std::string_view expected);

/// Replays a transcript (docs/library.md) in this transaction, and checks that results and tree are
/// the recorded ones. `secrets` provides the values of its placeholders.
Assertion replays(Workspace& workspace, Transaction& transaction, std::string_view transcript,
                  const SecretProvider& secrets = {});

}  // namespace galley
