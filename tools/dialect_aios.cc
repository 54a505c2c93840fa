// The `fs.*` table of aiOS' tool registry. Its document gives fields for fs.read and fs.write only;
// the others follow their manner: `success` for what changes something, facts for what reads.
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/adapters.h"
#include "tools/call_arguments.h"
#include "tools/catalogue.h"
#include "tools/dialect.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Plan = Result<std::vector<Operation>>;
using Results = std::vector<ordered_json>;

/// Below the workspace, as the document has it below `/`.
constexpr const char* kBackups = "var/lib/aios/backups";

constexpr ToolAnnotations kMoves{.destructive = true};

/// `inner` and `outer`: members of the input and of the output, `"name":{schema}` each.
struct Shape {
  const char* inner;
  const char* needs;
  const char* outer;
  const char* gives;
};

ToolInfo aios_info(std::string name, std::string title, std::string description,
                   ToolInfo::Risk risk, ToolAnnotations hints, const Shape& shape) {
  ToolInfo info;
  info.name = std::move(name);
  info.title = std::move(title);
  info.description = std::move(description);
  info.input_schema = object_output(shape.inner, shape.needs);
  info.output_schema = object_output(shape.outer, shape.gives);
  info.annotations = hints;
  info.capabilities = {hints.read_only ? "fs:read" : "fs:write"};
  info.namespace_name = "fs";
  info.risk_level = risk;
  info.security_tier = hints.read_only ? ToolInfo::Tier::kStandard : ToolInfo::Tier::kElevated;
  info.is_reversible = !hints.read_only;
  return info;
}

constexpr const char* kPath = R"("path":{"type":"string","minLength":1})";
constexpr const char* kDirectory =
    R"("path":{"type":"string","description":"the workspace root when left out"})";
constexpr const char* kSuccess = R"("success":{"type":"boolean"})";
constexpr const char* kMode = R"("mode":{"type":"string","pattern":"^0?[0-7]{3}$"})";
constexpr const char* kSourceAndDestination =
    R"("source":{"type":"string","minLength":1},"destination":{"type":"string","minLength":1})";

Result<RelPath> path_of(const json& args, const PathOrigin& origin) {
  return file_argument(text_member(args, "path"), origin);
}

Result<RelPath> directory_of(const json& args, const PathOrigin& origin) {
  return directory_argument(text_member(args, "path"), origin);
}

template <class... Operations>
Plan operations(Operations... all) {
  return std::vector<Operation>{Operation(std::move(all))...};
}

ordered_json succeeded(const json&, const Results&) { return {{"success", true}}; }

// --- reading --------------------------------------------------------------------------------

Dialect read_dialect() {
  const Shape shape{kPath, R"("path")",
                    R"("content":{"type":"string"},"size":{"type":"integer"},
        "modified":{"type":["string","null"],"description":"null until it is committed"},
        "encoding":{"enum":["base64"]})",
                    R"("content","size","modified")"};
  return {aios_info("fs.read", "Read file contents",
                    "Reads a file: content, size in bytes, time of the last change. Bytes that are "
                    "not UTF-8 come in base64, and `encoding` says so.",
                    ToolInfo::Risk::kLow, kReads, shape),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(const RelPath path, path_of(args, origin));
            return operations(ReadFile{path}, FileInfo{path, true});
          },
          [](const json&, const Results& results) {
            ordered_json data = {{"content", results[0]["content"]},
                                 {"size", results[1]["size"]},
                                 {"modified", results[1]["modified"]}};
            if (results[0].contains("encoding")) data["encoding"] = results[0]["encoding"];
            return data;
          }};
}

Dialect list_dialect() {
  const Shape shape{kDirectory, "",
                    R"("path":{"type":"string"},"entries":{"type":"array","items":{"type":"object",
        "required":["name","type"]}},"count":{"type":"integer"},"truncated":{"type":"boolean"})",
                    R"("path","entries","count")"};
  return {aios_info("fs.list", "List directory contents",
                    "Lists a directory, sorted by name: name, type, size and mode of each entry.",
                    ToolInfo::Risk::kLow, kReads, shape),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath path, directory_of(args, origin));
            return operations(ListDirectory{std::move(path), false, true});
          },
          [](const json&, const Results& results) {
            const ordered_json& list = results[0];
            ordered_json data = {{"path", list["path"]},
                                 {"entries", list["entries"]},
                                 {"count", list["numEntries"]}};
            if (list.contains("truncated")) data["truncated"] = true;
            return data;
          }};
}

Dialect stat_dialect() {
  const Shape shape{R"("path":{"type":"string"})", R"("path")",
                    R"("path":{"type":"string"},"type":{"type":"string"},"size":{"type":"integer"},
        "mode":{"type":"string"},"sha256":{"type":"string"},"target":{"type":"string"},
        "modified":{"type":["string","null"]},"changed":{"type":["string","null"]},
        "created":{"type":["string","null"]},"uid":{"type":["integer","null"]},
        "gid":{"type":["integer","null"]})",
                    R"("path","type","size","mode","modified","changed","created","uid","gid")"};
  return {
      aios_info("fs.stat", "Get file metadata",
                "Tells type, size, mode, times and owner of a path; times and owner are null for "
                "what is staged and not committed yet.",
                ToolInfo::Risk::kLow, kReads, shape),
      [](const json& args, const PathOrigin& origin) -> Plan {
        GALLEY_ASSIGN(RelPath path, directory_of(args, origin));
        return operations(FileInfo{std::move(path), true});
      },
      [](const json&, const Results& results) { return results[0]; }};
}

Dialect search_dialect() {
  const Shape shape{R"("path":{"type":"string"},"pattern":{"type":"string","minLength":1},
        "include_ignored":{"type":"boolean","default":false})",
                    R"("pattern")",
                    R"("matches":{"type":"array","items":{"type":"string"}},
        "count":{"type":"integer"},"truncated":{"type":"boolean"})",
                    R"("matches","count","truncated")"};
  return {
      aios_info("fs.search", "Search for files by pattern",
                "Finds files below `path` by a glob (`**`, `*`, `?`, `[a-z]`, `{a,b}`), sorted; "
                "what .gitignore ignores is left out unless `include_ignored`.",
                ToolInfo::Risk::kLow, kReads, shape),
      [](const json& args, const PathOrigin& origin) -> Plan {
        FindFiles find;
        GALLEY_ASSIGN(find.under, directory_of(args, origin));
        find.pattern = text_member(args, "pattern");
        find.include_ignored = flag_of(args, "include_ignored");
        return operations(std::move(find));
      },
      [](const json&, const Results& results) {
        const ordered_json& found = results[0];
        return ordered_json{{"matches", found["filenames"]},
                            {"count", found["numFiles"]},
                            {"truncated", found["truncated"]}};
      }};
}

Dialect disk_usage_dialect() {
  const Shape shape{kDirectory, "",
                    R"("path":{"type":"string"},"used_bytes":{"type":"integer"},
        "files":{"type":"integer"},"directories":{"type":"integer"})",
                    R"("path","used_bytes","files","directories")"};
  return {aios_info("fs.disk_usage", "Get disk usage stats",
                    "Adds up the sizes of the files in a directory and all below it, ignored ones "
                    "too; what lies in .git and .galley is not counted.",
                    ToolInfo::Risk::kLow, kReads, shape),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath path, directory_of(args, origin));
            return operations(MeasureUsage{std::move(path)});
          },
          [](const json&, const Results& results) {
            const ordered_json& usage = results[0];
            return ordered_json{{"path", usage["path"]},
                                {"used_bytes", usage["bytes"]},
                                {"files", usage["files"]},
                                {"directories", usage["directories"]}};
          }};
}

// --- changing -------------------------------------------------------------------------------

Plan plan_write(const json& args, const PathOrigin& origin) {
  GALLEY_ASSIGN(const RelPath path, path_of(args, origin));
  const WriteFile write{path, text_member(args, "content"), mode_of(args, "mode")};
  if (!flag_of(args, "backup")) return operations(write);
  GALLEY_ASSIGN(const RelPath backups, RelPath::parse(kBackups));
  return operations(BackUpFile{path, backups}, write);
}

Dialect write_dialect() {
  const Shape shape{R"("path":{"type":"string","minLength":1},
        "content":{"type":"string","description":"may be empty"},
        "mode":{"type":"string","pattern":"^0?[0-7]{3}$","description":"octal: 0644"},
        "backup":{"type":"boolean","default":false,
          "description":"first copy the file as it is below var/lib/aios/backups"})",
                    R"("path","content")",
                    R"("success":{"type":"boolean"},"bytes_written":{"type":"integer"},
        "backup_path":{"type":"string"})",
                    R"("success","bytes_written")"};
  ToolInfo info = aios_info("fs.write", "Write/create file",
                            "Stages the whole content of a file, new or existing, with `mode` if "
                            "given. With `backup` the file as it was is copied aside first.",
                            ToolInfo::Risk::kMedium, kReplaces, shape);
  info.rollback_tool = "fs.delete";
  info.examples = {R"({"path":"etc/nginx/nginx.conf","content":"server { listen 80; }\n",)"
                   R"("mode":"0644"})"};
  return {std::move(info), plan_write, [](const json& args, const Results& results) {
            ordered_json data = {{"success", true},
                                 {"bytes_written", text_member(args, "content").size()}};
            const ordered_json& first = results.front();
            if (first.contains("backupPath")) data["backup_path"] = first["backupPath"];
            return data;
          }};
}

Dialect delete_dialect() {
  const Shape shape{R"("path":{"type":"string","minLength":1},
        "recursive":{"type":"boolean","default":false})",
                    R"("path")", kSuccess, R"("success")"};
  return {aios_info("fs.delete", "Delete file",
                    "Stages the removal of a file or link, or with `recursive` of a directory and "
                    "all below it. The history keeps what was there.",
                    ToolInfo::Risk::kHigh, kReplaces, shape),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath path, path_of(args, origin));
            return operations(RemovePath{std::move(path), flag_of(args, "recursive")});
          },
          succeeded};
}

Dialect mkdir_dialect() {
  static const std::string kInner = std::string(kPath) + "," + kMode;
  const Shape shape{kInner.c_str(), R"("path")",
                    R"("success":{"type":"boolean"},"created":{"type":"boolean"})",
                    R"("success","created")"};
  ToolInfo info = aios_info(
      "fs.mkdir", "Create directory",
      "Stages a directory and the missing ones above it; one that is there stays as it is.",
      ToolInfo::Risk::kLow, {.idempotent = true}, shape);
  info.rollback_tool = "fs.delete";
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath path, path_of(args, origin));
            return operations(MakeDirectory{std::move(path), mode_of(args, "mode")});
          },
          [](const json&, const Results& results) {
            return ordered_json{{"success", true}, {"created", results[0]["created"]}};
          }};
}

struct Ends {
  RelPath from = RelPath::root();
  RelPath to = RelPath::root();
};

Result<Ends> ends_of(const json& args, const PathOrigin& origin) {
  Ends ends;
  GALLEY_ASSIGN(ends.from, file_argument(text_member(args, "source"), origin));
  GALLEY_ASSIGN(ends.to, file_argument(text_member(args, "destination"), origin));
  return ends;
}

Dialect move_dialect() {
  const Shape shape{kSourceAndDestination, R"("source","destination")", kSuccess, R"("success")"};
  ToolInfo info =
      aios_info("fs.move", "Move/rename file",
                "Stages the move of a file, link or directory to a path where nothing is.",
                ToolInfo::Risk::kMedium, kMoves, shape);
  info.rollback_tool = "fs.move";
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(Ends ends, ends_of(args, origin));
            return operations(MovePath{std::move(ends.from), std::move(ends.to)});
          },
          succeeded};
}

Dialect copy_dialect() {
  const Shape shape{kSourceAndDestination, R"("source","destination")", kSuccess, R"("success")"};
  ToolInfo info =
      aios_info("fs.copy", "Copy file",
                "Stages a copy of a file, link or directory with all below it at a path "
                "where nothing is.",
                ToolInfo::Risk::kLow, ToolAnnotations{}, shape);
  info.rollback_tool = "fs.delete";
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(Ends ends, ends_of(args, origin));
            return operations(CopyPath{std::move(ends.from), std::move(ends.to), true});
          },
          succeeded};
}

Dialect chmod_dialect() {
  static const std::string kInner = std::string(kPath) + "," + kMode;
  const Shape shape{kInner.c_str(), R"("path","mode")", kSuccess, R"("success")"};
  ToolInfo info =
      aios_info("fs.chmod", "Change permissions",
                "Stages new permission bits, in octal; setuid and the like are not taken.",
                ToolInfo::Risk::kMedium, kReplaces, shape);
  info.rollback_tool = "fs.chmod";
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath path, path_of(args, origin));
            return operations(ChangeMode{std::move(path), mode_of(args, "mode").value_or(0)});
          },
          succeeded};
}

Dialect chown_dialect() {
  const Shape shape{R"("path":{"type":"string","minLength":1},
        "uid":{"type":"integer","minimum":0,"maximum":4294967294},
        "gid":{"type":"integer","minimum":0,"maximum":4294967294})",
                    R"("path")", R"("success":{"type":"boolean"},"changed":{"type":"boolean"})",
                    R"("success","changed")"};
  ToolInfo info =
      aios_info("fs.chown", "Change ownership",
                "Owners are not staged: succeeds only when the path belongs to `uid` and "
                "`gid` already, else it is refused (fs.owner_not_staged).",
                ToolInfo::Risk::kMedium, {.idempotent = true}, shape);
  info.is_reversible = false;
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            ChangeOwner owner;
            GALLEY_ASSIGN(owner.path, path_of(args, origin));
            if (const auto user = count_of(args, "uid")) owner.user = static_cast<uint32_t>(*user);
            if (const auto group = count_of(args, "gid")) {
              owner.group = static_cast<uint32_t>(*group);
            }
            return operations(std::move(owner));
          },
          [](const json&, const Results&) {
            return ordered_json{{"success", true}, {"changed", false}};
          }};
}

Dialect symlink_dialect() {
  const Shape shape{R"("path":{"type":"string","minLength":1},
        "target":{"type":"string","minLength":1})",
                    R"("path","target")", kSuccess, R"("success")"};
  ToolInfo info =
      aios_info("fs.symlink", "Create symbolic link",
                "Stages a symbolic link at `path` with the given target; one that would "
                "lead outside the workspace is refused at the gate.",
                ToolInfo::Risk::kLow, ToolAnnotations{}, shape);
  info.rollback_tool = "fs.delete";
  return {std::move(info),
          [](const json& args, const PathOrigin& origin) -> Plan {
            GALLEY_ASSIGN(RelPath path, path_of(args, origin));
            return operations(MakeSymlink{std::move(path), text_member(args, "target"), true});
          },
          succeeded};
}

}  // namespace

std::vector<Dialect> aios_dialect() {
  return {read_dialect(),      write_dialect(), delete_dialect(),  list_dialect(),
          stat_dialect(),      mkdir_dialect(), move_dialect(),    copy_dialect(),
          chmod_dialect(),     chown_dialect(), symlink_dialect(), search_dialect(),
          disk_usage_dialect()};
}

}  // namespace galley
