#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "engine/commit/publisher.h"
#include "engine/commit/recovery.h"
#include "engine/commit/retire.h"
#include "engine/commit/state_directory.h"
#include "engine/commit/workspace_view.h"
#include "engine/commit/writer_lock.h"
#include "staging/fs/content_store.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"
#include "tests/support/rel.h"

namespace galley {

/// Makes an approval without a gate.
struct ApprovalForTests {
  static Approval of(const Proposal& proposal) { return Approval(proposal.id()); }
};

/// A user to whom tests give files as root. No account has this id.
inline constexpr uint32_t kGivenUser = 54400;

/// The contents of a tree: path -> "f 644 content", "d 755", "l target". A path of kGivenUser has
/// "given " before its mode. `.galley` is left out.
using TreePicture = std::map<std::string, std::string>;

inline void paint(const Directory& directory, const std::string& prefix, TreePicture& picture) {
  const auto entries = directory.list();
  ASSERT_TRUE(entries) << entries.error().message;
  for (const auto& entry : *entries) {
    const std::string path = prefix + entry.name;
    if (path == ".galley") continue;
    const RelPath name = rel(entry.name);
    const auto stat = directory.stat(name);
    ASSERT_TRUE(stat);
    char mode[8];
    std::snprintf(mode, sizeof mode, "%03o ", stat->mode & 07777U);
    const std::string given = stat->uid == kGivenUser ? "given " : "";
    if (entry.kind == FileKind::kRegular) {
      picture[path] =
          "f " + given + std::string(mode) + read_file(directory, name, 1U << 30U).value();
    } else if (entry.kind == FileKind::kSymlink) {
      picture[path] = "l " + directory.read_link(name).value();
    } else if (entry.kind == FileKind::kDirectory) {
      picture[path] = "d " + given + std::string(mode);
      const auto child = directory.open_directory(name);
      ASSERT_TRUE(child);
      paint(**child, path + "/", picture);
    }
  }
}

/// Sees everything with root's rights during its lifetime. This works for a memory tree that has a
/// user, and for a process that gave up its root rights.
class AsRoot {
 public:
  explicit AsRoot(const Directory& directory)
      : tree_(memory_tree_of(directory)), effective_(geteuid()) {
    if (tree_ != nullptr) std::swap(user_, tree_->user);
    become(0);
  }
  ~AsRoot() {
    if (tree_ != nullptr) std::swap(user_, tree_->user);
    become(effective_);
  }
  AsRoot(const AsRoot&) = delete;
  AsRoot& operator=(const AsRoot&) = delete;

 private:
  static void become(uid_t user) {
    if (getuid() == 0 && geteuid() != user) {
      EXPECT_EQ(seteuid(user), 0);
    }
  }
  MemoryTree* tree_;
  uid_t effective_;
  std::optional<MemoryUser> user_;
};

inline TreePicture picture_of(const Directory& workspace) {
  const AsRoot as_root(workspace);
  TreePicture picture;
  paint(workspace, "", picture);
  return picture;
}

inline void put_file(const WritableDirectory& directory, std::string_view name,
                     std::string_view content, uint32_t mode = 0644) {
  const RelPath path = rel(name);
  ASSERT_TRUE(make_directories(directory, path.parent(), 0755));
  auto file = directory.open_writable_file(path, OpenMode::kOpenOrCreate, mode);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE((*file)->truncate(0));
  ASSERT_TRUE((*file)->write_at(0, content));
  ASSERT_TRUE((*file)->set_mode(mode));
}

/// Saves a file as an editor does: renames a new file over the old one.
inline void save_file(const WritableDirectory& directory, std::string_view name,
                      std::string_view content) {
  put_file(directory, std::string(name) + ".tmp", content);
  ASSERT_TRUE(directory.rename(rel(std::string(name) + ".tmp"), directory, rel(name),
                               RenameMode::kReplace));
}

/// Collects changes against the current contents of a workspace.
class ChangeBuilder {
 public:
  explicit ChangeBuilder(const WritableDirectory& workspace)
      : workspace_(workspace), store_(make_memory_store()) {}

  ChangeBuilder& write(std::string_view path, const std::string& content, uint32_t mode = 0644) {
    return set(path, Node{FileKind::kRegular, mode, keep(content), content.size()});
  }
  ChangeBuilder& link(std::string_view path, const std::string& target) {
    return set(path, Node{FileKind::kSymlink, 0, keep(target), target.size()});
  }
  ChangeBuilder& directory(std::string_view path, uint32_t mode = 0755) {
    return set(path, Node{FileKind::kDirectory, mode, ContentId(), 0});
  }
  ChangeBuilder& remove(std::string_view path) { return set(path, Node{}); }
  ChangeBuilder& mode(std::string_view path, uint32_t mode) {
    Node node = change(path).after;
    node.mode = mode;
    return set(path, node);
  }
  /// Gives the path to a user, as fs.chown does.
  ChangeBuilder& give(std::string_view path, uint32_t uid) {
    Change& given = change(path);
    const auto stat = workspace_.stat(given.path);
    if (given.before.kind == given.after.kind)
      given.before.owner = Node::Owner{stat->uid, stat->gid};
    given.after.owner = Node::Owner{uid, stat->gid};
    return *this;
  }
  /// Moves the current content and mode of `from` to `to`. Removes `from` unless a change of it was
  /// set.
  ChangeBuilder& rename(std::string_view from, std::string_view to) {
    const Node node = change(from).before;
    set(to, node);
    change(to).renamed_from = rel(from);
    if (change(from).after == change(from).before) remove(from);
    return *this;
  }

  [[nodiscard]] Proposal proposal() const {
    ChangeSet changes;
    for (const auto& [path, change] : changes_) {
      if (change.before != change.after) changes.push_back(change);
    }
    return Proposal::from(std::move(changes), store_);
  }

 private:
  ContentId keep(const std::string& content) { return store_->put(content).value(); }

  Change& change(std::string_view text) {
    const RelPath path = rel(text);
    const auto found = changes_.find(path);
    if (found != changes_.end()) return found->second;
    Change& made = changes_[path];
    made.path = path;
    FileStat stat;
    WorkspaceView view(workspace_);
    const auto at = view.locate(path);
    if (at) made.before = observe(*at, &stat).value();
    if (made.before.kind == FileKind::kRegular) {
      keep(read_file(workspace_, path, 1U << 30U).value());
    } else if (made.before.kind == FileKind::kSymlink) {
      keep(workspace_.read_link(path).value());
    }
    made.after = made.before;
    return made;
  }

  ChangeBuilder& set(std::string_view path, const Node& node) {
    change(path).after = node;
    return *this;
  }

  const WritableDirectory& workspace_;
  std::shared_ptr<ContentStore> store_;
  std::map<RelPath, Change> changes_;
};

inline constexpr const char* kBoot = "boot-of-tests";

inline PublisherOptions test_options() {
  PublisherOptions options;
  options.boot_id = kBoot;
  return options;
}

inline Result<PublishOutcome> publish(const WritableDirectory& workspace, const Proposal& proposal,
                                      PublisherOptions options = test_options(),
                                      const CommitMeta& meta = {}) {
  static const SystemClock clock;
  Publisher publisher(workspace, clock, std::move(options));
  return publisher.publish(proposal, ApprovalForTests::of(proposal), meta);
}

/// Opens the state directory and recovers, as every command does.
inline Result<RecoveryReport> reopen(const WritableDirectory& workspace,
                                     const std::string& boot = kBoot, bool dry_run = false) {
  static const SystemClock clock;
  GALLEY_ASSIGN(const auto state, StateDirectory::open(workspace));
  if (!state) return RecoveryReport();
  RecoveryOptions options;
  options.boot_id = boot;
  options.dry_run = dry_run;
  return recover_if_needed(workspace, *state, clock, options);
}

/// Moves every finished journal to the history. This also releases the caught inodes.
inline Result<std::vector<JournalNote>> retire_all(const WritableDirectory& workspace) {
  static const SystemClock clock;
  GALLEY_ASSIGN(const auto state, StateDirectory::open(workspace));
  if (!state) return std::vector<JournalNote>();
  GALLEY_ASSIGN(auto lock, WriterLock::take(*state, clock, std::chrono::milliseconds(0)));
  GALLEY_ASSIGN(const auto ids, journal_ids(state->journals()));
  return retire(workspace, *state, lock, ids, {state->session(kBoot)});
}

}  // namespace galley
