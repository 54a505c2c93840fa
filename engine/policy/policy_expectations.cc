#include <fmt/core.h>

#include "engine/policy/config_table.h"
#include "engine/policy/policy.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {
namespace {

/// One `[[case]]` of a policy test file.
struct Expectation {
  std::string path;
  std::string read;
  std::string exec;
  std::string tool;
  bool network = false;
  std::string agent;
  PathOperation operation = PathOperation::kModify;
  Decision expected = Decision::kAllow;
  std::string rule;  ///< name of the rule that must decide; empty: any
  uint32_t line = 0;
};

void read_case(ConfigTable& table, Expectation& one) {
  one.line = table.line();
  table.text("path", one.path);
  table.text("read", one.read);
  table.text("exec", one.exec);
  table.text("tool", one.tool);
  table.flag("network", one.network);
  table.text("agent", one.agent);
  table.choice("operation", one.operation,
               ConfigTable::Choices<PathOperation>{{"create", PathOperation::kCreate},
                                                   {"modify", PathOperation::kModify},
                                                   {"delete", PathOperation::kDelete}});
  table.require("expect", "\"deny\"");
  table.choice(
      "expect", one.expected,
      ConfigTable::Choices<Decision>{
          {"allow", Decision::kAllow}, {"ask", Decision::kAsk}, {"deny", Decision::kDeny}});
  table.text("rule", one.rule);
  const int subjects = int{!one.path.empty()} + int{!one.read.empty()} + int{!one.exec.empty()} +
                       int{!one.tool.empty()} + int{one.network};
  if (subjects != 1) {
    table.refuse("path", "or one of `read`, `exec`, `tool`, `network` is needed, and only one");
  }
}

/// A name, or a path in a folder of the usual PATH, means the program of the host.
CalledProgram host_program(std::string_view program) {
  const size_t slash = program.rfind('/');
  const std::string folders = ":" + std::string(kProgramPath) + ":";
  const bool is_in_path =
      slash == program.npos ||
      folders.find(fmt::format(":{}:", program.substr(0, slash))) != folders.npos;
  const bool is_below = slash != program.npos && !program.starts_with('/');
  const std::string_view below = program.substr(program.starts_with("./") ? 2 : 0);
  return {program, program, is_below ? below : std::string_view(), is_in_path};
}

Result<Judgement> judge_case(const Policy& policy, const Expectation& one) {
  if (!one.path.empty()) {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(one.path));
    return policy.judge_path(path, one.operation, one.agent);
  }
  if (!one.read.empty()) {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(one.read));
    return policy.judge_read(path, one.agent);
  }
  if (!one.exec.empty()) return policy.judge_exec(host_program(one.exec), one.agent);
  if (!one.tool.empty()) return policy.judge_tool(one.tool, one.agent);
  return policy.judge_network(one.agent);
}

std::string subject(const Expectation& one) {
  if (!one.path.empty()) return fmt::format("{} {}", operation_name(one.operation), one.path);
  if (!one.read.empty()) return "read " + one.read;
  if (!one.exec.empty()) return "exec " + one.exec;
  return one.tool.empty() ? "network" : "tool " + one.tool;
}

}  // namespace

Result<PolicyTestResult> Policy::test(std::string_view toml, std::string_view file) const {
  std::vector<Expectation> cases;
  GALLEY_TRY(read_configuration(toml, file, [&](ConfigTable& root) {
    root.tables("case", [&](ConfigTable& table) { read_case(table, cases.emplace_back()); });
  }));

  PolicyTestResult result;
  for (const Expectation& one : cases) {
    auto judged = judge_case(*this, one);
    if (!judged) {
      Error error = judged.error();
      error.message = fmt::format("{}:{}: {}", file, one.line, error.message);
      return fail(std::move(error));
    }
    const bool is_right =
        judged->decision == one.expected && (one.rule.empty() || judged->rule == one.rule);
    if (is_right) {
      ++result.passed;
      continue;
    }
    Finding finding;
    finding.rule = "policy.test";
    finding.path = file;
    finding.line = one.line;
    finding.message =
        fmt::format("{}{}: expected {}{}, got {} by `{}`", subject(one),
                    one.agent.empty() ? "" : " as " + one.agent, decision_name(one.expected),
                    one.rule.empty() ? "" : fmt::format(" by `{}`", one.rule),
                    decision_name(judged->decision), judged->rule);
    finding.remedy = "change the rule or the expectation";
    result.failures.push_back(std::move(finding));
  }
  return result;
}

}  // namespace galley
