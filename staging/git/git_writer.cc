#include "staging/git/git_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/text.h"

namespace galley {
namespace {

constexpr size_t kAnswerBytes = 4096;
constexpr size_t kFilesAtOnce = 64;  ///< of one request: their ids fit into the pipe

Error broken(const PipedProcess& process, const Error& why) {
  return why.kind == ErrorKind::kTimeout ? GitProgram::unreadable_output(why)
                                         : GitProgram::error(process.complaint());
}

/// Sends a request, and returns the ids that git writes: one on each line.
Result<std::vector<std::string>> ask(PipedProcess& process, std::string_view request,
                                     size_t count) {
  if (auto sent = process.write(request); !sent) return fail(broken(process, sent.error()));
  std::vector<std::string> ids;
  std::string said;
  while (ids.size() < count) {
    auto some = process.read(kAnswerBytes);
    if (!some) return fail(broken(process, some.error()));
    if (some->empty()) return fail(GitProgram::error(process.complaint()));
    said += *some;
    for (size_t end = said.find('\n'); end != said.npos; end = said.find('\n')) {
      ids.push_back(said.substr(0, end));
      said.erase(0, end + 1);
    }
  }
  if (ids.size() == count && said.empty()) return ids;
  return fail(ErrorKind::kIo, "git.failed",
              "git wrote another number of objects than it was given");
}

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
    GALLEY_ASSIGN(const auto ids, ask(process_, lines + '\0', 1));
    return ids.front();
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
    const bool moves_link = changed.own != nullptr && changed.own->mode == kGitLinkMode;
    if (type == kGitLinkMode && !moves_link) return fail(submodule_error(path));
    if (changed.own != nullptr && changed.own->mode != 0) {
      return line_of(changed.own->mode, changed.own->id, name);
    }
    if (changed.below.empty()) return std::string();
    GALLEY_ASSIGN(const std::string id,
                  make(type == kGitTreeMode ? old->id : std::string(), changed, path));
    return id.empty() ? std::string() : line_of(kGitTreeMode, id, name);
  }

  const GitTrees& trees_;
  PipedProcess& process_;
};

}  // namespace

Error submodule_error(const std::string& path) {
  return {ErrorKind::kRefused, "git.submodule",
          "'" + path +
              "' belongs to a submodule, which has its own repository: change it there, "
              "or remove all of it with git rm",
          path, 0};
}

std::vector<std::string> GitWriter::words(std::vector<std::string> command) const {
  command.insert(command.begin(),
                 {"-c", flushes_ ? "core.fsync=loose-object,pack" : "core.fsync=none"});
  return command;
}

Result<std::unique_ptr<PipedProcess>> GitWriters::take(
    const std::vector<std::string>& command) const {
  {
    const std::lock_guard lock(mutex_);
    if (auto idle = idle_.extract(command)) return std::move(idle.mapped());
  }
  return program_.start(command);
}

void GitWriters::put_back(const std::vector<std::string>& command,
                          std::unique_ptr<PipedProcess> process) const {
  const std::lock_guard lock(mutex_);
  idle_.emplace(command, std::move(process));
}

Result<std::vector<std::string>> GitWriter::blobs(const std::vector<std::string>& files) const {
  std::vector<std::string> ids;
  if (files.empty()) return ids;
  const auto command = words({"hash-object", "-w", "--no-filters", "--stdin-paths"});
  GALLEY_ASSIGN(auto process, writers_->take(command));
  for (std::span<const std::string> rest = files; !rest.empty();) {
    const auto some = rest.first(std::min(rest.size(), kFilesAtOnce));
    std::string names;
    for (const std::string& file : some) names += file + "\n";
    GALLEY_ASSIGN(auto made, ask(*process, names, some.size()));
    std::move(made.begin(), made.end(), std::back_inserter(ids));
    rest = rest.subspan(some.size());
  }
  writers_->put_back(command, std::move(process));
  return ids;
}

Result<std::string> GitWriter::tree(const GitTrees& trees, const std::string& base,
                                    const std::vector<GitPathChange>& changes) const {
  const auto command = words({"mktree", "-z", "--missing", "--batch"});
  GALLEY_ASSIGN(auto process, writers_->take(command));
  TreeMaker maker(trees, *process);
  GALLEY_ASSIGN(std::string id, maker.make(base, folders_of(changes), ""));
  if (id.empty()) {
    GALLEY_ASSIGN(id, maker.write(""));
  }
  writers_->put_back(command, std::move(process));
  return id;
}

Result<std::string> GitWriter::commit(const std::string& tree, const std::string& parent,
                                      const std::string& message) const {
  const GitProgram& git = writers_->program();
  GALLEY_ASSIGN(const bool is_signed, git.signs_commits());
  const char* sign = is_signed ? "--gpg-sign" : "--no-gpg-sign";
  GALLEY_ASSIGN(const PipedOutput said,
                git.try_run(words({"-c", "i18n.commitEncoding=UTF-8", "commit-tree", sign, "-F",
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
