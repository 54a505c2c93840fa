#pragma once

#include <galley/proposal.h>
#include <galley/tool.h>
#include <galley/transaction.h>
#include <galley/workspace.h>

#include <string>
#include <string_view>

namespace galley {

/// The result of a check in a test: whether it holds and, if not, why, in lines for people. A value
/// for any test framework:
///
///     const Assertion same = diff_is(transaction.proposal(), expected);
///     EXPECT_TRUE(same) << same.message;
///
struct [[nodiscard]] Assertion {
  bool holds = false;
  std::string message = {};  ///< empty when it holds
  explicit operator bool() const { return holds; }
};

/// Compares the diff of a proposal, as render_diff() prints it, with `expected`. Lines that begin
/// with `index ` or `diff --git ` are ignored on both sides, so a test needs no hashes. On a
/// difference the message has both diffs, each line marked by `-` (expected) or `+` (found).
Assertion diff_is(const Proposal& proposal, std::string_view expected);

/// A file of the tree as the transaction proposes it has this content.
Assertion file_is(Transaction& transaction, std::string_view path, std::string_view expected);

/// No file, link or directory has this path in the tree as the transaction proposes it.
Assertion is_absent(Transaction& transaction, std::string_view path);

/// Two JSON texts are equal: members in any order, numbers by value.
Assertion json_is(std::string_view found, std::string_view expected);

/// A transcript (docs/library.md), replayed in this transaction of the workspace, gives the
/// recorded results and the recorded tree. `secrets` provides the values of its placeholders.
Assertion replays(Workspace& workspace, Transaction& transaction, std::string_view transcript,
                  const SecretProvider& secrets = {});

}  // namespace galley
