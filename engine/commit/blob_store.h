#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include <galley/path.h>
#include "base/hash.h"
#include "engine/commit/journal.h"
#include "staging/fs/content_store.h"
#include "staging/fs/directory.h"

namespace galley {

/// The end of the name of a content that is stored as a delta (content_delta.h).
inline constexpr std::string_view kDeltaEnding = ".delta";
/// The end of the name of an empty file: deltas have the content as their base.
inline constexpr std::string_view kBaseEnding = ".base";

/// Reads a content larger than kMaxImageBytes. `place` is own("blob") of the state. It has each one
/// once, as `<hh>/<hash>`, or as `<hh>/<hash>.delta` if little of another content was changed. What
/// is stored there never depends on a file elsewhere, which a pull could replace or delete. The
/// contents of an earlier Galley, in `blob/<hh>`, are found, too.
///
/// Errors: kIo; a blob that is missing or does not match its hash is kIo `blob.damaged`.
Result<Content> read_blob(const Directory& state_root, const RelPath& place, const ContentId& id);

/// The content that another one replaces. Its blob must be written.
struct ReplacedContent {
  ContentId id;
  std::string_view bytes;
};

/// Writes a blob durably: after success it survives a crash. An existing blob is not rewritten.
/// If the content changes little of `replaced`, only the difference is written.
///
/// Returns the contents that a journal must name, with their sizes: this one, and the base of its
/// delta. `galley gc` keeps what a journal names.
Result<std::map<ContentId, uint64_t>> write_blob(
    const WritableDirectory& state_root, const RelPath& place, const ContentId& id,
    std::string_view content, const std::optional<ReplacedContent>& replaced = {});

/// Removes a content that no journal names, nor a delta.
Result<void> remove_blob(const WritableDirectory& state_root, const RelPath& place,
                         const ContentId& id);

/// Passes on the content of a blob, piece by piece. After an error, the pieces must not be used.
/// Errors: as read_blob().
Result<void> read_blob(const Directory& state_root, const RelPath& place, const ContentId& id,
                       const ContentStore::UsePiece& use);

/// Writes the blobs of both sides of each operation. A new content that replaces another one is in
/// memory, with the other, to be compared.
Result<std::map<ContentId, uint64_t>> write_blobs(const WritableDirectory& state_root,
                                                  const RelPath& place,
                                                  const std::vector<JournalOp>& ops,
                                                  const ContentStore& contents);

}  // namespace galley
