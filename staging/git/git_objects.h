#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/git/git_program.h"

namespace galley {

/// An object's name (the repository's hash in hexadecimal digits), its type, and its size in bytes.
struct GitObjectHead {
  std::string id;
  std::string type;  ///< `blob`, `tree`, `commit` or `tag`
  uint64_t size = 0;
};

/// Reads objects of a repository on demand (git-cat-file(1), --batch). Each thread that reads at
/// the same time uses its own git process. Idle processes are kept for later reads.
///
/// Threads: safe to share.
/// Errors: kNotFound `git.no_such_object` for a name that is unknown or whose object cannot be
///         read; those of GitProgram, including `git.object_damaged`.
class GitObjects {
 public:
  /// Receives the bytes of an object as they arrive.
  using Take = std::function<void(std::string_view)>;

  explicit GitObjects(GitProgram program);
  ~GitObjects();
  GitObjects(const GitObjects&) = delete;
  GitObjects& operator=(const GitObjects&) = delete;

  /// Returns the head of an object. `name` is an id or any expression of gitrevisions(7) without a
  /// line break.
  Result<GitObjectHead> look(const std::string& name) const;
  /// Passes all bytes of an object to `take`.
  /// Errors: also kQuota `limit.file_size` if the object has more than `max_bytes`; then nothing is
  ///         read.
  Result<GitObjectHead> read(const std::string& name, const Take& take,
                             uint64_t max_bytes = UINT64_MAX) const;
  /// One object of read_each().
  struct Wanted {
    const std::string& name;
    uint64_t max_bytes;
    Take take;
  };
  /// Requests all objects at once and reads them in order, so that git does not wait for each name.
  /// Calls `on_read` with the index of each that was read. Returns how many were. The next one
  /// failed: read() says why. Its `take` may have had some bytes.
  size_t read_each(std::span<const Wanted> wanted,
                   const std::function<void(size_t)>& on_read) const;
  /// Returns the bytes of an object, which must have this type.
  /// Errors: as read().
  Result<std::string> content(const std::string& name, std::string_view type,
                              uint64_t max_bytes) const;

 private:
  class Reader;
  using Readers = std::vector<std::unique_ptr<Reader>>;
  /// One request. If `take` is null, only the head is requested.
  struct Question {
    const std::string& name;
    const Take* take = nullptr;
    uint64_t max_bytes = UINT64_MAX;
  };
  Result<GitObjectHead> ask(Readers& idle, const char* mode, const Question& question) const;
  Result<std::unique_ptr<Reader>> reader_for(Readers& idle, const char* mode) const;
  void put_back(Readers& idle, std::unique_ptr<Reader> reader) const;

  GitProgram program_;
  mutable std::mutex mutex_;
  mutable Readers lookers_;
  mutable Readers readers_;
};

}  // namespace galley
