#include "engine/agent_tools/git_commit.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "staging/git/git_program.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ToolInfo commit_info() {
  ToolInfo info;
  info.name = kGitCommitTool;
  info.title = "Create commits";
  info.description =
      "Asks for a commit of git with this message. It is made right after the transaction's own "
      "commit, of exactly the paths that this changed, and not at all when that is refused. Hooks "
      "of git do not run: the change has passed Galley's gate.";
  info.input_schema = R"({"type":"object","additionalProperties":false,"properties":{
        "message":{"type":"string","minLength":1,"maxLength":65536}},"required":["message"]})";
  info.output_schema = R"({"type":"object","additionalProperties":false,"properties":{
        "queued":{"type":"boolean"},"message":{"type":"string"}},"required":["queued"]})";
  info.annotations = {.open_world = true};
  info.capabilities = {"git:commit"};
  info.namespace_name = "git";
  info.examples = {R"({"message":"Say what changed and why"})"};
  info.category = ToolInfo::Category::kSystem;
  info.risk_level = ToolInfo::Risk::kMedium;
  info.security_tier = ToolInfo::Tier::kRestricted;
  return info;
}

class GitCommitTool final : public Tool {
 public:
  explicit GitCommitTool(std::string root_path)
      : info_(commit_info()), root_path_(std::move(root_path)) {}

  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  Result<Intent> intent(const json& /*args*/, const PathOrigin& /*origin*/) const override {
    return Intent();
  }
  ToolResult run(const json& args, ToolContext& context) const override {
    const auto layout = GitProgram::in_other_repository(root_path_).layout();
    if (!layout) return ToolResult::failure(tool_error_from(layout.error()));
    return ToolResult::success(
        ordered_json{{"queued", !context.dry_run}, {"message", text_member(args, "message")}});
  }

 private:
  ToolInfo info_;
  std::string root_path_;
};

/// Files and links that were added, changed or removed; git does not store directories.
std::vector<const Change*> files_of(const ChangeSet& changes) {
  const auto is_file = [](const Node& node) {
    return node.kind == FileKind::kRegular || node.kind == FileKind::kSymlink;
  };
  std::vector<const Change*> files;
  for (const Change& change : changes) {
    if (is_file(change.before) || is_file(change.after)) files.push_back(&change);
  }
  return files;
}

/// A filter is a program that the repository names, and git stores its output.
Result<void> check_unfiltered(const GitProgram& git, const std::vector<const Change*>& files) {
  std::string paths;
  for (const Change* change : files) paths += change->path.str() + '\0';
  GALLEY_ASSIGN(const std::string said, git.run({"check-attr", "-z", "--stdin", "filter"}, paths));
  const std::vector<std::string> words = split_at_nul(said);
  constexpr size_t kFields = 3;  // path, attribute, value
  for (size_t i = 0; i + kFields <= words.size(); i += kFields) {
    const std::string& value = words[i + 2];
    if (value == "unspecified" || value == "unset") continue;
    return fail(ErrorKind::kRefused, "git.filtered_path",
                "'" + words[i] + "' goes through git's filter '" + value +
                    "', a program that Galley does not run on its own; commit it with git",
                words[i]);
  }
  return {};
}

/// Returns the paths that git tracks already or does not ignore.
Result<std::string> not_ignored(const GitProgram& git, const std::string& paths) {
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"check-ignore", "-z", "--stdin"}, paths));
  const std::vector<std::string> all = split_at_nul(said.output);
  const std::set<std::string, std::less<>> ignored(all.begin(), all.end());
  std::string left;
  for (const std::string& path : split_at_nul(paths)) {
    if (!ignored.contains(path)) left += path + '\0';
  }
  return left;
}

/// Returns the paths that the index or HEAD has; git cannot commit others.
Result<std::string> known_paths(const GitProgram& git, const std::string& paths) {
  GALLEY_ASSIGN(const std::string listed, git.run({"ls-files", "-z", "--cached"}));
  const std::vector<std::string> all = split_at_nul(listed);
  const std::set<std::string, std::less<>> index(all.begin(), all.end());
  std::string known;
  for (const std::string& path : split_at_nul(paths)) {
    if (index.contains(path)) known += path + '\0';
  }
  return known;
}

}  // namespace

std::unique_ptr<const Tool> make_git_commit(std::string root_path) {
  return std::make_unique<GitCommitTool>(std::move(root_path));
}

Result<std::string> commit_to_git(const std::string& root_path, const std::string& message,
                                  const ChangeSet& changes) {
  const GitProgram git = GitProgram::in_other_repository(root_path);
  GALLEY_TRY(git.layout());
  const std::vector<const Change*> files = files_of(changes);
  GALLEY_TRY(check_unfiltered(git, files));
  std::string made;
  std::string all;
  for (const Change* change : files) {
    all += change->path.str() + '\0';
    if (change->after.kind != FileKind::kAbsent) made += change->path.str() + '\0';
  }
  // Paths are passed on standard input, because there may be too many for arguments.
  const auto run_on = [&git](const std::string& paths, const std::vector<std::string>& command) {
    std::vector<std::string> words = {"--literal-pathspecs"};
    words.insert(words.end(), command.begin(), command.end());
    words.insert(words.end(), {"--pathspec-from-file=-", "--pathspec-file-nul"});
    return git.run(words, paths);
  };
  GALLEY_ASSIGN(made, not_ignored(git, made));
  if (!made.empty()) {
    GALLEY_TRY(run_on(made, {"add", "--intent-to-add"}));
  }
  GALLEY_ASSIGN(const std::string known, known_paths(git, all));
  if (known.empty()) {
    return fail(ErrorKind::kNotFound, "git.nothing_to_commit",
                "git knows none of the changed files, so there is no git commit");
  }
  GALLEY_TRY(run_on(known, {"commit", "--quiet", "--only", "--no-verify", "--no-gpg-sign",
                            "--cleanup=whitespace", "--message=" + message}));
  GALLEY_ASSIGN(std::string hash, git.run({"rev-parse", "HEAD"}));
  while (!hash.empty() && hash.back() == '\n') hash.pop_back();
  return hash;
}

}  // namespace galley
