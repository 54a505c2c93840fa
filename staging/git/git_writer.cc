#include "staging/git/git_writer.h"

#include <fmt/core.h>

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "staging/sandbox/piped_process.h"

namespace galley {
namespace {

constexpr size_t kAnswerBytes = 4096;

/// The changes below one directory, by name.
struct ChangedFolder {
  const GitPathChange* own = nullptr;  ///< null: something below it changes
  std::map<std::string, ChangedFolder, std::less<>> below;
};

ChangedFolder folders_of(const std::vector<GitPathChange>& changes) {
  ChangedFolder root;
  for (const GitPathChange& change : changes) {
    ChangedFolder* at = &root;
    for (const std::string_view name : change.path.components()) at = &at->below[std::string(name)];
    at->own = &change;
  }
  return root;
}

/// A running `git mktree --batch`, which writes one tree after the other.
class TreeMaker {
 public:
  TreeMaker(const GitTrees& trees, PipedProcess& process) : trees_(trees), process_(process) {}

  /// Returns the id of `base` with the changes; empty if nothing remains in it.
  Result<std::string> make(const std::string& base, const ChangedFolder& folder,
                           const std::string& path) {
    std::string lines;
    std::map<std::string_view, const GitTreeEntry*> old;
    GitTrees::Entries entries;
    if (!base.empty()) {
      GALLEY_ASSIGN(entries, trees_.entries(base));
      for (const GitTreeEntry& entry : *entries) {
        const auto changed = folder.below.find(entry.name);
        if (changed == folder.below.end()) lines += line_of(entry.mode, entry.id, entry.name);
        if (changed != folder.below.end()) old.emplace(entry.name, &entry);
      }
    }
    for (const auto& [name, changed] : folder.below) {
      const auto found = old.find(name);
      GALLEY_ASSIGN(const std::string line,
                    line_of_changed(found == old.end() ? nullptr : found->second, name, changed,
                                    path.empty() ? name : path + "/" + name));
      lines += line;
    }
    return lines.empty() ? std::string() : write(lines);
  }

  /// Writes a tree of these entries.
  Result<std::string> write(const std::string& lines) {
    if (auto sent = process_.write(lines + '\0'); !sent) return fail(broken(sent.error()));
    std::string id;
    while (!id.ends_with('\n')) {
      auto some = process_.read(kAnswerBytes);
      if (!some) return fail(broken(some.error()));
      if (some->empty()) return fail(GitProgram::error(process_.complaint()));
      id += *some;
    }
    id.pop_back();
    return id;
  }

 private:
  static std::string line_of(uint32_t mode, const std::string& id, const std::string& name) {
    const uint32_t type = mode & kGitTypeMask;
    const char* word = type == kGitTreeMode ? "tree" : type == kGitLinkMode ? "commit" : "blob";
    return fmt::format("{:06o} {} {}\t{}", mode, word, id, name) + '\0';
  }

  Result<std::string> line_of_changed(const GitTreeEntry* old, const std::string& name,
                                      const ChangedFolder& changed, const std::string& path) {
    const uint32_t type = old == nullptr ? 0 : old->mode & kGitTypeMask;
    if (type == kGitLinkMode) return fail(submodule_error(path));
    if (changed.own != nullptr && changed.own->mode != 0) {
      return line_of(changed.own->mode, changed.own->id, name);
    }
    if (changed.below.empty()) return std::string();
    GALLEY_ASSIGN(const std::string id,
                  make(type == kGitTreeMode ? old->id : std::string(), changed, path));
    return id.empty() ? std::string() : line_of(kGitTreeMode, id, name);
  }

  [[nodiscard]] Error broken(const Error& why) const {
    return why.kind == ErrorKind::kTimeout ? GitProgram::unreadable_output(why)
                                           : GitProgram::error(process_.complaint());
  }

  const GitTrees& trees_;
  PipedProcess& process_;
};

}  // namespace

Error submodule_error(const std::string& path) {
  return {ErrorKind::kRefused, "git.submodule",
          "'" + path + "' belongs to a submodule, which has its own repository: change it there",
          path, 0};
}

std::vector<std::string> GitWriter::words(std::vector<std::string> command) const {
  command.insert(command.begin(),
                 {"-c", flushes_ ? "core.fsync=loose-object,pack" : "core.fsync=none"});
  return command;
}

Result<std::vector<std::string>> GitWriter::blobs(const std::vector<std::string>& files) const {
  std::vector<std::string> ids;
  if (files.empty()) return ids;
  std::string names;
  for (const std::string& file : files) names += file + "\n";
  GALLEY_ASSIGN(const std::string said,
                git_->run(words({"hash-object", "-w", "--no-filters", "--stdin-paths"}), names));
  std::string_view rest = said;
  while (!rest.empty()) {
    const std::string_view id = rest.substr(0, rest.find('\n'));
    ids.emplace_back(id);
    rest.remove_prefix(std::min(id.size() + 1, rest.size()));
  }
  if (ids.size() == files.size()) return ids;
  return fail(ErrorKind::kIo, "git.failed", "git wrote another number of blobs than it was given");
}

Result<std::string> GitWriter::tree(const GitTrees& trees, const std::string& base,
                                    const std::vector<GitPathChange>& changes) const {
  GALLEY_ASSIGN(const auto process, git_->start(words({"mktree", "-z", "--missing", "--batch"})));
  TreeMaker maker(trees, *process);
  GALLEY_ASSIGN(std::string id, maker.make(base, folders_of(changes), ""));
  if (id.empty()) {
    GALLEY_ASSIGN(id, maker.write(""));
  }
  return id;
}

Result<std::string> GitWriter::commit(const std::string& tree, const std::string& parent,
                                      const std::string& message) const {
  GALLEY_ASSIGN(const bool is_signed, git_->signs_commits());
  const char* sign = is_signed ? "--gpg-sign" : "--no-gpg-sign";
  GALLEY_ASSIGN(const PipedOutput said,
                git_->try_run(words({"-c", "i18n.commitEncoding=UTF-8", "commit-tree", sign, "-F",
                                     "-", "-p", parent, tree}),
                              message));
  if (said.status == 0) return std::string(trim(said.output));
  if (said.complaint.find("Please tell me who you are") != std::string::npos ||
      said.complaint.find("no email was given") != std::string::npos ||
      said.complaint.find("ident name") != std::string::npos) {
    return fail(ErrorKind::kRefused, "git.no_identity",
                "git does not know the author of the commit: set it with git config --global "
                "user.name NAME and git config --global user.email ADDRESS");
  }
  Error error = GitProgram::error(said.complaint);
  if (!is_signed) return fail(std::move(error));
  return fail(
      ErrorKind::kRefused, "git.no_signature",
      "the signed commit that commit.gpgSign asks for could not be written: " + error.message +
          ". A program or key command that the repository itself names does not run: "
          "name it with git config --global");
}

}  // namespace galley
