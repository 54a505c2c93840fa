#include "staging/formats/extended_header.h"

#include <algorithm>
#include <charconv>

namespace galley {
namespace {

constexpr std::string_view kEmptyBlobSha1 = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
constexpr std::string_view kEmptyBlobSha256 =
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813";

tl::unexpected<Error> bad_header(size_t line, std::string what) {
  return fail(ErrorKind::kInvalid, "edit.bad_header",
              "line " + std::to_string(line) + " of the patch: " + std::move(what));
}

tl::unexpected<Error> contradiction(size_t first, const std::string& says, size_t second,
                                    const std::string& but) {
  return bad_header(second, but + ", but line " + std::to_string(first) + " says " + says);
}

/// The meaning of the header line for `op`, for messages.
std::string meaning_of(FileOp op) {
  switch (op) {
    case FileOp::kCreate:
      return "that the file is new";
    case FileOp::kDelete:
      return "that the file is deleted";
    case FileOp::kRename:
      return "that the file is renamed";
    default:
      return "that the file is copied";
  }
}

std::string quoted(const std::string& name) { return "'" + name + "'"; }

/// Whether two names are equal, apart from a first component such as a/ or b/.
bool is_same_name(const std::string& one, const std::string& other) {
  const auto rest = [](const std::string& name) { return strip_components(name, 1); };
  return one == other || rest(one) == other || one == rest(other) ||
         (!rest(one).empty() && rest(one) == rest(other));
}

/// Reads the header lines of one file.
class HeaderReader {
 public:
  HeaderReader(const Lines& document, size_t at, FileEdit& edit, ExtendedHeader& header)
      : document_(document), at_(at), edit_(edit), header_(header) {}

  Result<size_t> run() {
    for (; at_ < document_.size(); ++at_) {
      const std::string_view line = without_terminator(document_[at_]);
      GALLEY_ASSIGN(const bool is_mode, read_mode_line(line));
      if (is_mode) continue;
      GALLEY_ASSIGN(const bool is_rename, read_rename_line(line));
      if (is_rename) continue;
      if (line.starts_with("index ")) {
        GALLEY_TRY(read_index_line(line.substr(6)));
      } else if (line.starts_with("similarity index ")) {
        header_.is_dissimilar = !line.ends_with(" 100%");
      } else if (!line.starts_with("dissimilarity index ")) {
        break;
      }
    }
    return at_;
  }

 private:
  [[nodiscard]] size_t line_number() const { return at_ + 1; }

  /// Records that the file is created, deleted, renamed or copied. Two different operations are an
  /// error.
  Result<void> set_op(FileOp op) {
    if (header_.op_line != 0 && edit_.op != op) {
      return contradiction(header_.op_line, meaning_of(edit_.op), line_number(),
                           "this line says " + meaning_of(op));
    }
    if (header_.op_line == 0) header_.op_line = line_number();
    edit_.op = op;
    return {};
  }

  Result<bool> read_mode_line(std::string_view line) {
    if (line.starts_with("old mode ")) {
      GALLEY_ASSIGN(edit_.old_mode, mode_of(line.substr(9)));
    } else if (line.starts_with("new mode ")) {
      GALLEY_ASSIGN(edit_.new_mode, mode_of(line.substr(9)));
    } else if (line.starts_with("deleted file mode ")) {
      GALLEY_TRY(set_op(FileOp::kDelete));
      GALLEY_ASSIGN(edit_.old_mode, mode_of(line.substr(18)));
    } else if (line.starts_with("new file mode ")) {
      GALLEY_TRY(set_op(FileOp::kCreate));
      GALLEY_ASSIGN(edit_.new_mode, mode_of(line.substr(14)));
    } else {
      return false;
    }
    return true;
  }

  Result<bool> read_rename_line(std::string_view line) {
    struct Form {
      std::string_view prefix;
      FileOp op;
      bool is_from;
    };
    static constexpr Form kForms[] = {
        {"rename from ", FileOp::kRename, true}, {"rename to ", FileOp::kRename, false},
        {"rename old ", FileOp::kRename, true},  {"rename new ", FileOp::kRename, false},
        {"copy from ", FileOp::kCopy, true},     {"copy to ", FileOp::kCopy, false}};
    for (const Form& form : kForms) {
      if (!line.starts_with(form.prefix)) continue;
      GALLEY_TRY(set_op(form.op));
      NameLine& place = form.is_from ? header_.from : header_.to;
      const HeaderName name = read_whole_name(line.substr(form.prefix.size()));
      if (name.is_badly_quoted) return bad_header(line_number(), bad_quotes(name));
      if (place.line != 0 && place.name.text != name.text) {
        return contradiction(place.line, quoted(place.name.text), line_number(),
                             "this line says " + quoted(name.text));
      }
      place = {name, line_number()};
      return true;
    }
    return false;
  }

  Result<uint32_t> mode_of(std::string_view text) const {
    uint32_t mode = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), mode, 8);
    // `svn diff --git` writes 10644 for 100644.
    constexpr uint32_t kFileBySubversion = 010000;
    if ((mode & ~0777U) == kFileBySubversion) mode += 0100000 - kFileBySubversion;
    static constexpr uint32_t kKnown[] = {0100644, 0100755, 0100664, 0120000, 0160000,
                                          0100600, 0100640, 0100700, 0100775};
    const bool is_known = std::find(std::begin(kKnown), std::end(kKnown), mode) != std::end(kKnown);
    if (code != std::errc() || !is_known) {
      return bad_header(line_number(),
                        "'" + std::string(text.substr(0, 20)) + "' is not a file mode of git");
    }
    return mode;
  }

  Result<void> read_index_line(std::string_view text) {
    const size_t dots = text.find("..");
    if (dots == std::string_view::npos) {
      return bad_header(line_number(), "an index line without '..'");
    }
    const size_t blank = std::min(text.find(' ', dots), text.size());
    edit_.old_blob = text.substr(0, dots);
    edit_.new_blob = text.substr(dots + 2, blank - dots - 2);
    if (blank < text.size() && !edit_.old_mode) {
      GALLEY_ASSIGN(edit_.old_mode, mode_of(text.substr(blank + 1)));
      if (!edit_.new_mode) edit_.new_mode = edit_.old_mode;
    }
    return {};
  }

  const Lines& document_;
  size_t at_;
  FileEdit& edit_;
  ExtendedHeader& header_;
};

/// Compares one `---` or `+++` line with the other header lines of the file.
Result<void> check_side(const ExtendedHeader& header, const FileEdit& edit, bool is_old) {
  const NameLine& given = is_old ? header.old_name : header.new_name;
  if (given.line == 0) return {};
  const FileOp absent = is_old ? FileOp::kCreate : FileOp::kDelete;
  const auto named = [&] { return "this line names " + quoted(given.name.text); };
  if (edit.op == absent) {
    if (given.name.is_null) return {};
    return contradiction(header.op_line, meaning_of(edit.op), given.line,
                         named() + " and not /dev/null");
  }
  const bool is_move = edit.op == FileOp::kRename || edit.op == FileOp::kCopy;
  if (given.name.is_null) {
    if (header.op_line == 0) return {};  // models omit the line of a new or deleted file
    return contradiction(header.op_line, meaning_of(edit.op), given.line, named());
  }
  if (is_move) {
    const NameLine& meant = is_old ? header.from : header.to;
    if (meant.line == 0 || is_same_name(given.name.text, meant.name.text)) return {};
    return contradiction(meant.line, quoted(meant.name.text), given.line, named());
  }
  // If the two names of the first line differ, it may have been split at the wrong blank.
  if (!header.git_names) return {};
  const NamePair& names = *header.git_names;
  if (!is_same_name(names.old_name, names.new_name)) return {};
  const std::string& meant = is_old ? names.old_name : names.new_name;
  if (is_same_name(given.name.text, meant)) return {};
  return contradiction(header.git_line, quoted(meant), given.line, named());
}

}  // namespace

Result<size_t> read_extended_header(const Lines& document, size_t at, FileEdit& edit,
                                    ExtendedHeader& header) {
  return HeaderReader(document, at, edit, header).run();
}

Result<void> check_header_names(const ExtendedHeader& header, const FileEdit& edit) {
  GALLEY_TRY(check_side(header, edit, true));
  return check_side(header, edit, false);
}

bool announces_body(const ExtendedHeader& header, const FileEdit& edit) {
  if (edit.op == FileOp::kDelete) return false;  // the index line proves the deleted content
  if (header.is_dissimilar) return true;
  constexpr uint32_t kLinkMode = 0120000;  // a link always has a target
  if (edit.op == FileOp::kCreate && edit.new_mode == kLinkMode) return true;
  if (edit.old_blob.empty() || edit.old_blob == edit.new_blob) return false;
  return edit.op != FileOp::kCreate || !(kEmptyBlobSha1.starts_with(edit.new_blob) ||
                                         kEmptyBlobSha256.starts_with(edit.new_blob));
}

bool changes_metadata(const FileEdit& edit) {
  return edit.op != FileOp::kModify ||
         (edit.old_mode && edit.new_mode && *edit.old_mode != *edit.new_mode);
}

}  // namespace galley
