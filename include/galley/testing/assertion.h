#pragma once

#include <galley/proposal.h>
#include <galley/tool.h>
#include <galley/transaction.h>
#include <galley/workspace.h>

#include <string>
#include <string_view>

namespace galley {

/// Whether something is as a test says, and where not why not, in lines for people. A value for
/// any framework:
///
///     const Assertion same = diff_is(transaction.proposal(), expected);
///     EXPECT_TRUE(same) << same.message;
///
struct [[nodiscard]] Assertion {
  bool holds = false;
  std::string message = {};  ///< empty when it holds
  explicit operator bool() const { return holds; }
};

/// The diff of a proposal, as render_diff() prints it, is this one. Lines that begin with `index `
/// or `diff --git ` are compared on neither side: nobody writes hashes into a test. Where it is not
/// so the message has both, each line marked by `-` (expected) or `+` (found).
Assertion diff_is(const Proposal& proposal, std::string_view expected);

/// A file of the tree as the transaction proposes it has this content.
Assertion file_is(Transaction& transaction, std::string_view path, std::string_view expected);

/// Nothing is there in the tree as the transaction proposes it.
Assertion is_absent(Transaction& transaction, std::string_view path);

/// Two texts of JSON say the same: members in any order, numbers by value.
Assertion json_is(std::string_view found, std::string_view expected);

/// A transcript (docs/transcripts.md), made again in this transaction of the workspace, gives the
/// results and the tree that it had. `secrets` answers the placeholders in it.
Assertion replays(Workspace& workspace, Transaction& transaction, std::string_view transcript,
                  const SecretProvider& secrets = {});

}  // namespace galley
