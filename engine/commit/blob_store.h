#pragma once

#include <memory>

#include "base/content_id.h"
#include "engine/commit/journal.h"
#include "staging/fs/directory.h"

namespace galley {

/// Reads a content larger than kMaxImageBytes. The state directory has each one once, as
/// `blob/<hh>/<hash>`.
///
/// Errors: kIo; a blob that is missing or does not match its hash is kIo `blob.damaged`.
Result<Content> read_blob(const Directory& state_root, const ContentId& id);
/// Writes a blob durably: after success it survives a crash. An existing blob is not rewritten.
Result<void> write_blob(const WritableDirectory& state_root, const ContentId& id,
                        std::string_view content);

}  // namespace galley
