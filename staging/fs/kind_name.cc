#include "staging/fs/kind_name.h"

namespace galley {

std::string_view kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kRegular:
      return "file";
    case FileKind::kDirectory:
      return "directory";
    case FileKind::kSymlink:
      return "symlink";
    case FileKind::kAbsent:
      return "absent";
    case FileKind::kOther:
      break;
  }
  return "other";
}

}  // namespace galley
