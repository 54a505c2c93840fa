#pragma once

#include <galley/testing/assertion.h>
#include <galley/tool.h>
#include <galley/workspace.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace galley {

/// One call of a tool and what a test expects of it.
struct ToolCase {
  std::string name;   ///< for the report
  std::string input;  ///< the arguments, as JSON
  /// The data of the answer, as JSON; absent: any.
  std::optional<std::string> expected = {};
  /// The code or reason that the call has to fail with (`EVALIDATION`, `path.not_found`); empty: it
  /// has to succeed. A call that fails has to leave what is staged as it was.
  std::string error = {};
  /// What these files have to hold afterwards in the tree as it is proposed.
  std::map<std::string, std::string> files = {};
  CallOptions options = {};
};

/// Runs a table of calls against one tool, each in a transaction of its own, which is dropped.
///
///     ToolTester tester(workspace, "sort_lines");
///     const Assertion all = tester.test({{"sorts", R"({"path": "a"})", R"({"lines": 2})"},
///                                        {"needs a path", "{}", {}, "EVALIDATION"}});
///     EXPECT_TRUE(all) << all.message;
///
/// Ownership: borrows the workspace. Threads: confined to one thread.
class ToolTester {
 public:
  /// What became of one case.
  struct Outcome {
    std::string name;
    bool passed = false;
    std::string message;  ///< why not; lines for people
  };

  ToolTester(Workspace& workspace, std::string tool);

  [[nodiscard]] std::vector<Outcome> run(const std::vector<ToolCase>& cases) const;
  /// Whether all of them pass; the message has those that do not.
  Assertion test(const std::vector<ToolCase>& cases) const;

 private:
  Workspace* workspace_;
  std::string tool_;
};

}  // namespace galley
