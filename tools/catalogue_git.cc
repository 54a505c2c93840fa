// git's view of the proposed tree. The program git runs in the sandbox, which shows the tree as it
// would be after the commit. Changes that git makes are dropped.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "tools/call_arguments.h"
#include "tools/catalogue.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxGitWords = 400;  // of git's output, in an answer

/// Runs no program that the repository configures: its configuration is untrusted.
RunCommand git(std::vector<std::string> words) {
  RunCommand run;
  run.argv = {"git",
              "--literal-pathspecs",
              "--no-optional-locks",
              "--no-pager",
              "-c",
              "core.fsmonitor=false",
              "-c",
              "core.quotePath=false"};
  run.argv.insert(run.argv.end(), std::make_move_iterator(words.begin()),
                  std::make_move_iterator(words.end()));
  run.directory = RelPath::root();  // git prints paths relative to it
  run.only_looks = true;
  return run;
}

/// git's output, or its own message as an error when it failed.
Result<std::string> output_of(const ordered_json& run) {
  if (run["exitCode"] == 0) return run["stdout"].get<std::string>();
  std::string words = run["stderr"];
  words.resize(std::min(words.size(), kMaxGitWords));
  while (!words.empty() && words.back() == '\n') words.pop_back();
  const bool is_no_repository = words.find("not a git repository") != std::string::npos;
  return fail(is_no_repository ? ErrorKind::kNotFound : ErrorKind::kIo,
              is_no_repository ? "git.no_repository" : "git.failed", "git failed: " + words);
}

// --- status ---------------------------------------------------------------------------------

/// Reads `git status --porcelain=v2 --branch -z` (git-status(1)).
class StatusReader {
 public:
  explicit StatusReader(std::string_view text) : rest_(text) {}

  ordered_json read() {
    data_ = {{"branch", nullptr}, {"head", nullptr}, {"clean", true}};
    data_["entries"] = ordered_json::array();
    while (!rest_.empty() && take(next())) {
    }
    data_["clean"] = data_["entries"].empty();
    // A malformed record means that git's output was cut.
    data_["truncated"] = !rest_.empty() || is_broken_;
    return data_;
  }

 private:
  std::string_view next() {
    const size_t end = std::min(rest_.find('\0'), rest_.size());
    const std::string_view record = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return record;
  }

  /// The text after `count` blanks; empty when there are fewer.
  static std::string_view after_fields(std::string_view record, size_t count) {
    for (; count > 0; --count) {
      const size_t blank = record.find(' ');
      if (blank == std::string_view::npos) return {};
      record.remove_prefix(blank + 1);
    }
    return record;
  }

  bool take(std::string_view record) {
    constexpr size_t kFieldsOfChange = 8;
    constexpr size_t kFieldsOfRename = 9;
    constexpr size_t kFieldsOfUnmerged = 10;
    if (record.starts_with("# ")) return take_header(record.substr(2));
    if (record.starts_with("? ")) return put("?", "?", record.substr(2));
    if (record.starts_with("1 ")) return put_change(record, kFieldsOfChange);
    if (record.starts_with("u ")) return put_change(record, kFieldsOfUnmerged);
    if (record.starts_with("2 ") && put_change(record, kFieldsOfRename)) {
      data_["entries"].back()["from"] = next();
      return true;
    }
    is_broken_ = true;
    return false;
  }

  bool put_change(std::string_view record, size_t fields) {
    constexpr size_t kStatusEnd = 4;
    if (record.size() < kStatusEnd) return !(is_broken_ = true);
    return put(record.substr(2, 1), record.substr(3, 1), after_fields(record, fields));
  }

  bool put(std::string_view index, std::string_view tree, std::string_view path) {
    if (path.empty()) return !(is_broken_ = true);
    data_["entries"].push_back({{"path", path}, {"index", index}, {"worktree", tree}});
    return true;
  }

  bool take_header(std::string_view header) {
    const size_t blank = std::min(header.find(' '), header.size());
    const std::string_view value = header.substr(std::min(blank + 1, header.size()));
    const std::string_view name = header.substr(0, blank);
    if (name == "branch.oid" && value != "(initial)") data_["head"] = value;
    if (name == "branch.head" && value != "(detached)") data_["branch"] = value;
    if (name == "branch.upstream") data_["upstream"] = value;
    if (name == "branch.ab") put_distance(value);
    return true;
  }

  void put_distance(std::string_view value) {
    const size_t blank = value.find(" -");
    if (!value.starts_with('+') || blank == std::string_view::npos) return;
    data_["ahead"] = number_of<uint64_t>(value.substr(1, blank - 1)).value_or(0);
    data_["behind"] = number_of<uint64_t>(value.substr(blank + 2)).value_or(0);
  }

  std::string_view rest_;
  ordered_json data_;
  bool is_broken_ = false;
};

/// Runs git with these words, for the path of the call or the whole tree.
Result<std::vector<Operation>> plan_git(const CatalogueCall& call, std::vector<std::string> words) {
  words.emplace_back("--");
  if (call.args.contains("path")) {
    GALLEY_ASSIGN(const RelPath path,
                  directory_argument(text_member(call.args, "path"), call.origin));
    words.push_back(path.is_root() ? "." : path.str());
  }
  return std::vector<Operation>{git(std::move(words))};
}

Result<std::vector<Operation>> plan_status(const CatalogueCall& call) {
  return plan_git(call, {"status", "--porcelain=v2", "--branch", "-z"});
}

Result<ordered_json> answer_status(const CatalogueCall& /*call*/, const ordered_json& run) {
  GALLEY_ASSIGN(const std::string text, output_of(run));
  return StatusReader(text).read();
}

// --- diff -----------------------------------------------------------------------------------

Result<std::vector<Operation>> plan_diff(const CatalogueCall& call) {
  std::vector<std::string> words = {"diff", "--no-ext-diff", "--no-textconv", "--no-color"};
  if (flag_of(call.args, "cached")) words.emplace_back("--cached");
  std::string base = text_member(call.args, "commit");
  if (!base.empty()) words.push_back(std::move(base));
  return plan_git(call, std::move(words));
}

Result<ordered_json> answer_diff(const CatalogueCall& /*call*/, const ordered_json& run) {
  GALLEY_ASSIGN(std::string text, output_of(run));
  const bool is_empty = text.empty();
  return ordered_json{{"diff", std::move(text)}, {"empty", is_empty}};
}

}  // namespace

std::vector<NamedCall> git_calls() {
  return {{"git_status", plan_status, answer_status}, {"git_diff", plan_diff, answer_diff}};
}

}  // namespace galley
