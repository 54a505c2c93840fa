#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "doubles/fault_directory.h"
#include "staging/fs/directory.h"
#include "support/commit_fixture.h"

namespace galley {

inline const SystemClock kSystemClock;

/// One kind of transaction: a tree to start from, and its changes.
struct CrashCase {
  std::string name;
  std::function<void(const WritableDirectory&)> prepare;
  std::function<void(ChangeBuilder&)> change;
  /// A user other than root commits and recovers. That user owns the tree.
  bool is_as_user = false;
  /// Only root can make the change.
  bool is_for_root = false;
  /// The change leaves files that their owner cannot read, so the owner cannot undo it.
  bool is_unreadable = false;
};

inline void PrintTo(const CrashCase& shape, std::ostream* out) { *out << shape.name; }

/// The user of the cases that run as a user, and a second group of that user. No account has these
/// ids.
inline constexpr uint32_t kUserId = 54321;
inline constexpr uint32_t kSecondGroup = 54322;
/// A group that the user is not in.
inline constexpr uint32_t kForeignGroup = 54323;

/// Returns every kind of change, alone and combined. Each case except `rich` has at most six
/// operations. Every case runs as root and as a user. Without GALLEY_CRASH_FULL, only the cases
/// about modes run as a user.
const std::vector<CrashCase>& crash_cases();
/// Returns the case with this name, such as "modes" or "modes as a user".
const CrashCase& crash_case(std::string_view name);

/// A workspace with the tree and the proposal of a case. Its history has one unrelated commit; its
/// `.galley` is otherwise empty.
struct CaseWorkspace {
  std::shared_ptr<struct MemoryTree> tree;
  std::unique_ptr<WritableDirectory> directory;
  std::unique_ptr<Proposal> proposal;
  TreePicture before;
  TreePicture after;
};
CaseWorkspace make_case(const CrashCase& shape);
/// Returns the path of a place in the workspace's state, such as "rescue/2/a".
RelPath in_state(const WritableDirectory& workspace, const std::string& place);
/// Copies the tree with the same inode numbers and times, but without locks.
std::shared_ptr<struct MemoryTree> copy_of(const struct MemoryTree& tree);
/// Builds the tree of a case in a given directory. The caller may then change the owners of files.
void prepare_tree(const CrashCase& shape, const WritableDirectory& directory);
/// Does the same as make_case in a given directory, with the history of prepare_history.
void prepare_case(const CrashCase& shape, const WritableDirectory& directory);
/// Makes the unrelated commit that precedes the commit of a case.
void prepare_history(const WritableDirectory& directory);
Proposal propose_case(const CrashCase& shape, const WritableDirectory& directory);
TreePicture picture_after(const CrashCase& shape);

/// Publishes the proposal of a case under a fault plan. The plan can make the process "die".
Result<PublishOutcome> publish_through(const CaseWorkspace& workspace,
                                       const std::shared_ptr<FaultPlan>& plan);

/// Returns the part of a test name that identifies the case.
std::string name_of_test(const CrashCase& shape);

/// Runs `body` in a child process. Returns its exit status, or minus the signal that ended it.
int in_child(const std::function<int()>& body);

/// Returns by how many calls a test advances: 1 when GALLEY_CRASH_FULL is set (`make crash`) or the
/// shape is small, else `stride`.
size_t stride_of(const CrashCase& shape, size_t stride);

/// Returns the files that should not be in `.galley` once everything is settled.
std::vector<std::string> litter_of(const WritableDirectory& workspace);

/// Counts for one row of the crash table. The destructor prints the row as
/// `CRASH | operation | calls | cases | old | new | refused | mixed | litter`.
class CrashRow {
 public:
  explicit CrashRow(std::string operation) : operation_(std::move(operation)) {}
  ~CrashRow();
  void set_calls(size_t calls) { calls_ = std::max(calls_, calls); }
  /// Judges a settled workspace. Adds a test failure for a mixed tree or for litter.
  void judge(const WritableDirectory& workspace, const TreePicture& before,
             const TreePicture& after, const std::string& where);
  /// Commits once more after judge(). The commit must not get the number of one that is in the
  /// tree: it would take its place in the history.
  void judge_next(const WritableDirectory& workspace, const std::string& where,
                  const std::string& boot = kBoot);
  /// Judges an operation that may only shorten the history and must not change the tree.
  void judge_history(const WritableDirectory& workspace, const TreePicture& tree, bool is_old,
                     const std::string& where);
  void add_refused() {
    ++cases_;
    ++refused_;
  }
  [[nodiscard]] size_t old_trees() const { return old_; }
  [[nodiscard]] size_t new_trees() const { return new_; }

 private:
  std::string operation_;
  bool was_new_ = false;  ///< the last tree
  size_t calls_ = 0, cases_ = 0, old_ = 0, new_ = 0, refused_ = 0, mixed_ = 0, litter_ = 0;
};

/// Describes where two pictures differ, for failure messages.
std::string difference(const TreePicture& have, const TreePicture& want);

}  // namespace galley
