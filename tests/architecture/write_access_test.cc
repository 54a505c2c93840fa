// These programs must not compile: the types give staging, tools and validators no way to write.
#include <gtest/gtest.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "engine/commit/publisher.h"
#include "engine/commit/recovery.h"
#include "engine/commit/state_directory.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/policy/proposed_tree.h"
#include "engine/policy/validator.h"
#include "staging/fs/directory.h"
#include "staging/overlay/overlay.h"
#include "tools/tool.h"

namespace galley {
namespace {

/// Whether a method can change anything below a D that is reached as a const D&.
template <class D>
concept ChangesEntries = requires(const D& directory, const RelPath& path) {
  directory.remove_file(path);
}
|| requires(const D& directory, const RelPath& path) { directory.remove_directory(path); }
|| requires(const D& directory, const RelPath& path) {
  directory.make_directory(path, uint32_t{0700});
}
|| requires(const D& directory, const RelPath& path) { directory.make_symlink(path, "target"); }
|| requires(const D& directory, const RelPath& path) {
  directory.make_hard_link(path, directory, path);
}
|| requires(const D& directory, const RelPath& path) {
  directory.rename(path, directory, path, RenameMode::kReplace);
}
|| requires(const D& directory, const RelPath& path) { directory.set_mode(path, uint32_t{0600}); }
|| requires(const D& directory, const RelPath& path) { directory.set_owner(path, 0U, 0U); }
|| requires(const D& directory, const RelPath& path) {
  directory.set_attribute(path, ExtendedAttribute());
}
|| requires(const D& directory, const RelPath& path) {
  directory.remove_attribute(path, "user.a");
};

template <class D>
concept OpensForWriting = requires(const D& directory, const RelPath& path) {
  directory.open_writable_file(path, OpenMode::kOpenOrCreate);
}
|| requires(const D& directory, const RelPath& path) {
  directory.open_file(path, OpenMode::kOpenOrCreate);
}
|| requires(const D& directory, const RelPath& path) { directory.open_writable_directory(path); };

template <class F>
concept ChangesFile = requires(F& file) {
  file.write_at(0, "x");
}
|| requires(F& file) { file.truncate(0); }
|| requires(F& file) { file.allocate(1); }
|| requires(F& file) { file.set_mode(0600); }
|| requires(F& file) { file.set_owner(0, 0); }
|| requires(F& file) { file.set_attribute(ExtendedAttribute()); };

template <class D>
concept IsWrittenByHelpers = requires(const D& directory, const RelPath& path) {
  remove_tree(directory, path);
}
|| requires(const D& directory, const RelPath& path) { make_directories(directory, path, 0700); };

template <class D>
constexpr bool kCanWrite = ChangesEntries<D> || OpensForWriting<D> || IsWrittenByHelpers<D>;

/// The value in the Result of a call, without its unique_ptr.
template <class R>
using Opened = typename std::remove_cvref_t<R>::value_type::element_type;

TEST(WriteAccess, ChecksSeeAWriter) {
  static_assert(ChangesEntries<WritableDirectory> && OpensForWriting<WritableDirectory> &&
                IsWrittenByHelpers<WritableDirectory> && ChangesFile<WritableFile>);
}

TEST(WriteAccess, ADirectoryCannotWrite) {
  static_assert(!kCanWrite<Directory>);
  static_assert(!ChangesFile<File>);
}

TEST(WriteAccess, ObjectsThatADirectoryOpensCannotWrite) {
  using Child = Opened<decltype(std::declval<const WritableDirectory&>().open_directory(
      std::declval<const RelPath&>()))>;
  using Content = Opened<decltype(std::declval<const WritableDirectory&>().open_file(
      std::declval<const RelPath&>()))>;
  static_assert(!kCanWrite<Child> && !ChangesFile<Content>);
}

TEST(WriteAccess, ADirectoryDoesNotConvertToAWritableOne) {
  static_assert(std::is_convertible_v<const WritableDirectory&, const Directory&>);
  static_assert(!std::is_convertible_v<const Directory&, const WritableDirectory&>);
  static_assert(
      !std::is_constructible_v<std::unique_ptr<WritableDirectory>, std::unique_ptr<Directory>>);
  static_assert(!std::is_constructible_v<std::unique_ptr<WritableFile>, std::unique_ptr<File>>);
}

TEST(WriteAccess, AnOverlayHasAReadOnlyWorkspace) {
  using Root = decltype(std::declval<const Overlay&>().workspace());
  static_assert(std::is_same_v<Root, const Directory&>);
}

TEST(WriteAccess, AToolHasOnlyTheOverlay) {
  // All that it is given of the workspace is the overlay.
  static_assert(std::is_same_v<decltype(ToolContext::overlay), Overlay&>);
}

TEST(WriteAccess, AValidatorHasAReadOnlyTree) {
  static_assert(std::is_same_v<decltype(ValidatorContext::tree), const ProposedTree&>);
  using Root = decltype(std::declval<const ProposedTree&>().workspace());
  static_assert(std::is_same_v<Root, const Directory&>);
}

template <class T>
concept NamesItsFiles = requires(T& all) {
  all.files_;
};

TEST(WriteAccess, AWorkspaceDoesNotReturnWriteAccess) {
  using Root = decltype(std::declval<const Place&>().files());
  static_assert(std::is_same_v<Root, const Directory&>);
  // Code that proposes or judges has the parts of a workspace, and the right to write stays
  // private.
  static_assert(!NamesItsFiles<PersistentState> && !NamesItsFiles<const PersistentState>);
}

TEST(WriteAccess, PublishingNeedsAWritableDirectory) {
  static_assert(std::is_constructible_v<Publisher, const WritableDirectory&, const Clock&>);
  static_assert(!std::is_constructible_v<Publisher, const Directory&, const Clock&>);
  static_assert(!std::is_invocable_v<decltype(&StateDirectory::open), const Directory&>);
}

}  // namespace
}  // namespace galley
