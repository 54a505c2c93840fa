#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace galley {

/// One staged path, or some hunks of it, as an editor shows it. A value.
struct AcpChange {
  std::string path;                     ///< below the workspace
  std::optional<std::string> old_text;  ///< empty: the path is new
  std::string new_text;
  std::string note;     ///< what two texts cannot show, or that they are cut; may be empty
  std::string version;  ///< another one if the change is another one
  bool is_deleted = false;
};

/// Changes that can be committed or rejected only together, such as both paths of a rename. The
/// first one names them.
using AcpPart = std::vector<AcpChange>;

/// A file that an agent reads through its editor.
struct AcpFile {
  std::string text;
  /// Absolute, without the links and dots of the path that the agent named; empty: it had none. The
  /// editor could find another file behind a link.
  std::string path;
  /// The run has not changed it. So the editor's own text of it, perhaps not saved yet, counts.
  bool is_as_on_disk = false;
};

/// The gate's answer about everything that is staged.
struct AcpVerdict {
  std::string proposal;  ///< its id; empty: nothing is staged
  bool is_approved = false;
  bool needs_person = false;   ///< approved as soon as a person says yes
  std::string text;            ///< for people and models
  std::string conflict;        ///< with files that were saved meanwhile; empty: none
  std::vector<AcpPart> parts;  ///< can be taken or rejected one by one
};

/// The result of a commit.
struct AcpCommit {
  enum class Kind : uint8_t {
    kCommitted,
    kNothing,   ///< everything was rejected
    kRefused,   ///< by the gate
    kAsked,     ///< a rule asks a person, who was not asked yet
    kConflict,  ///< with files that were saved meanwhile
    kChanged,   ///< something else is staged than what was judged
  };
  Kind kind = Kind::kNothing;
  std::string text;                    ///< for people and models
  std::vector<std::string> conflicts;  ///< the paths of a conflict
  bool is_taken_back = false;          ///< the rejected parts are gone from the run
};

/// What a person decided about a verdict.
struct AcpDecision {
  bool is_by_person = false;     ///< a person said yes to what is left
  std::vector<size_t> rejected;  ///< indexes of AcpVerdict::parts, ascending
};

/// The run of one agent, as its proxy sees it. Paths of files are absolute, as the protocol has
/// them.
///
/// Errors: kRefused, kNotFound, kIo and others; the message is for the agent or the person.
class AcpWorld {
 public:
  virtual ~AcpWorld() = default;
  virtual Result<void> check_folder(const std::string& path) = 0;
  virtual Result<AcpFile> read(const std::string& session, const std::string& path) = 0;
  /// The agent got the editor's text of the file that read() returned last.
  virtual void note_editor_text(const std::string& session, const std::string& path) = 0;
  virtual Result<void> write(const std::string& session, const std::string& path,
                             const std::string& text) = 0;
  /// Begins a turn of a session: the next commits belong to it. `is_alone`: no other turn goes on.
  virtual Result<void> begin_turn(const std::string& session, const std::string& prompt,
                                  bool is_alone) = 0;
  /// All staged changes, one for each path.
  virtual Result<std::vector<AcpChange>> staged(const std::string& session) = 0;
  virtual Result<AcpVerdict> judge(const std::string& session) = 0;
  /// Takes back the rejected parts in the run, and commits the rest.
  virtual Result<AcpCommit> commit(const std::string& session, const AcpVerdict& verdict,
                                   const AcpDecision& decision) = 0;
  /// Takes back the run's changes of these paths: it then sees the files on disk.
  virtual Result<void> take_saved(const std::string& session,
                                  const std::vector<std::string>& paths) = 0;
};

}  // namespace galley
