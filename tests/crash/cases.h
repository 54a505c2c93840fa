#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "staging/fs/directory.h"
#include "staging/fs/fault_directory.h"
#include "support/commit_fixture.h"

namespace galley {

inline const SystemClock kSystemClock;

/// One shape of a transaction: a tree to start from and what to change in it.
struct CrashCase {
  std::string name;
  std::function<void(const WritableDirectory&)> prepare;
  std::function<void(ChangeBuilder&)> change;
  /// A user who is not root commits and recovers, in a tree of their own.
  bool is_as_user = false;
  /// It leaves files that their owner cannot read, so he cannot take it back.
  bool is_unreadable = false;
};

inline void PrintTo(const CrashCase& shape, std::ostream* out) { *out << shape.name; }

/// The user of the cases as a user: an id that no account has, in a further group.
inline constexpr uint32_t kUserId = 54321;
inline constexpr uint32_t kSecondGroup = 54322;
/// A group that the user is not in.
inline constexpr uint32_t kForeignGroup = 54323;

/// Every kind of change, alone and together; each at most six operations but `rich`. Each as root
/// and as a user; without GALLEY_CRASH_FULL as a user only those that are about modes.
const std::vector<CrashCase>& crash_cases();
/// By its name: "modes", "modes as a user".
const CrashCase& crash_case(std::string_view name);

/// A workspace with the tree of a case and an empty `.galley` (one commit of something else is in
/// the history), and the proposal of the case.
struct CaseWorkspace {
  std::shared_ptr<struct MemoryTree> tree;
  std::unique_ptr<WritableDirectory> directory;
  std::unique_ptr<Proposal> proposal;
  TreePicture before;
  TreePicture after;
};
CaseWorkspace make_case(const CrashCase& shape);
/// Where the workspace keeps this: "rescue/2/a".
RelPath in_state(const WritableDirectory& workspace, const std::string& place);
/// Copies the tree with the same inode numbers and times, and without locks.
std::shared_ptr<struct MemoryTree> copy_of(const struct MemoryTree& tree);
/// Builds the tree of a case in a given directory; the caller may give files away.
void prepare_tree(const CrashCase& shape, const WritableDirectory& directory);
/// As make_case, on a directory that is given, with the history that makes.
void prepare_case(const CrashCase& shape, const WritableDirectory& directory);
/// The commit that comes before that of a case.
void prepare_history(const WritableDirectory& directory);
Proposal propose_case(const CrashCase& shape, const WritableDirectory& directory);
TreePicture picture_after(const CrashCase& shape);

/// Publishes the proposal of a case with a plan of faults, in which the process may "die".
Result<PublishOutcome> publish_through(const CaseWorkspace& workspace,
                                       const std::shared_ptr<FaultPlan>& plan);

/// The part of a test name that says the case.
std::string name_of_test(const CrashCase& shape);

/// Runs `body` in a child process; its exit status, or minus the signal that ended it.
int in_child(const std::function<int()>& body);

/// 1 when GALLEY_CRASH_FULL is set (`make crash`) or the shape is small, else `stride`: how many
/// calls of the rich shape a quick run goes on by.
size_t stride_of(const CrashCase& shape, size_t stride);

/// Returns the files in `.galley` that should not be there once everything is settled.
std::vector<std::string> litter_of(const WritableDirectory& workspace);

/// Counts of one row of the crash table; printed at the end of its life as
/// `CRASH | operation | calls | cases | old | new | refused | mixed | litter`.
class CrashRow {
 public:
  explicit CrashRow(std::string operation) : operation_(std::move(operation)) {}
  ~CrashRow();
  void set_calls(size_t calls) { calls_ = std::max(calls_, calls); }
  /// Judges a settled workspace; adds a test failure for a mix or litter.
  void judge(const WritableDirectory& workspace, const TreePicture& before,
             const TreePicture& after, const std::string& where);
  /// Judges an operation that must leave the tree alone, and only shortens the history.
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
  size_t calls_ = 0, cases_ = 0, old_ = 0, new_ = 0, refused_ = 0, mixed_ = 0, litter_ = 0;
};

/// Where two pictures differ, for messages.
std::string difference(const TreePicture& have, const TreePicture& want);

}  // namespace galley
