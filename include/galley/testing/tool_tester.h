#pragma once

#include <galley/testing/assertion.h>
#include <galley/tool.h>
#include <galley/workspace.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace galley {

/// One call of a tool and its expected result.
struct ToolCase {
  std::string name;   ///< for the report
  std::string input;  ///< the arguments as JSON
  /// The expected data of the answer, as JSON; absent: any.
  std::optional<std::string> expected = {};
  /// The code or reason of the expected failure (`EVALIDATION`, `path.not_found`); empty: the call
  /// must succeed. A call that fails must leave the staged changes as they were.
  std::string error = {};
  /// Expected contents of files in the proposed tree after the call.
  std::map<std::string, std::string> files = {};
  CallOptions options = {};
};

/// Runs a table of calls of one tool. Each has its own transaction, which is dropped afterwards.
///
///     ToolTester tester(workspace, "sort_lines");
///     const Assertion all = tester.test({{"sorts", R"({"path": "a"})", R"({"lines": 2})"},
///                                        {"needs a path", "{}", {}, "EVALIDATION"}});
///     EXPECT_TRUE(all) << all.message;
///
/// Ownership: borrows the workspace.
/// Threads:   confined to one thread.
class ToolTester {
 public:
  /// The result of one case.
  struct Outcome {
    std::string name;
    bool passed = false;
    std::string message;  ///< why it failed, for people, in lines
  };

  ToolTester(Workspace& workspace, std::string tool);

  /// Returns the outcome of each case.
  [[nodiscard]] std::vector<Outcome> run(const std::vector<ToolCase>& cases) const;
  /// Checks that all cases pass. The message lists those that fail.
  Assertion test(const std::vector<ToolCase>& cases) const;

 private:
  Workspace* workspace_;
  std::string tool_;
};

}  // namespace galley
