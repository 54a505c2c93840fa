#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/git/git_program.h"

namespace galley {

/// The head of an object: its name in hexadecimal digits of the repository's hash, what it is, and
/// how many bytes it has.
struct GitObjectHead {
  std::string id;
  std::string type;  ///< `blob`, `tree`, `commit` or `tag`
  uint64_t size = 0;
};

/// Reads the objects of a repository, each when it is asked for (git-cat-file(1), --batch). A
/// reader is started for each thread that asks at the same time, and kept.
///
/// Threads: safe to share.
/// Errors:  kNotFound `git.no_such_object` for a name that names nothing, or nothing that can be
///          read; those of GitProgram, `git.object_damaged` among them.
class GitObjects {
 public:
  /// Takes the bytes of an object as they come.
  using Take = std::function<void(std::string_view)>;

  explicit GitObjects(GitProgram program);
  ~GitObjects();
  GitObjects(const GitObjects&) = delete;
  GitObjects& operator=(const GitObjects&) = delete;

  /// `name` is an object's id or any expression of gitrevisions(7) without a line break.
  Result<GitObjectHead> look(const std::string& name) const;
  /// Gives all bytes of an object to `take`.
  /// Errors: also kQuota `limit.file_size` for one of more than `max_bytes`, of which none is read.
  Result<GitObjectHead> read(const std::string& name, const Take& take,
                             uint64_t max_bytes = UINT64_MAX) const;
  /// The bytes of an object of this type.
  /// Errors: as read()'s.
  Result<std::string> content(const std::string& name, std::string_view type,
                              uint64_t max_bytes) const;

 private:
  class Reader;
  using Readers = std::vector<std::unique_ptr<Reader>>;
  /// Gives the bytes to `take` where it is asked for more than the head.
  struct Question {
    const std::string& name;
    const Take* take = nullptr;
    uint64_t max_bytes = UINT64_MAX;
  };
  Result<GitObjectHead> ask(Readers& idle, const char* mode, const Question& question) const;

  GitProgram program_;
  mutable std::mutex mutex_;
  mutable Readers lookers_;
  mutable Readers readers_;
};

}  // namespace galley
