#include "staging/git/git_settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/contains.h"
#include "base/text.h"

namespace galley {
namespace {

/// The last parts of keys whose value is a command or the path of a program, in any section.
constexpr std::array<std::string_view, 28> kProgramWords = {"clean",
                                                            "smudge",
                                                            "process",
                                                            "command",
                                                            "cmd",
                                                            "textconv",
                                                            "driver",
                                                            "program",
                                                            "helper",
                                                            "editor",
                                                            "pager",
                                                            "sshcommand",
                                                            "askpass",
                                                            "gitproxy",
                                                            "fsmonitor",
                                                            "hookspath",
                                                            "uploadpack",
                                                            "receivepack",
                                                            "uploadarchive",
                                                            "vcs",
                                                            "difffilter",
                                                            "external",
                                                            "tool",
                                                            "guitool",
                                                            "defaultkeycommand",
                                                            "packobjectshook",
                                                            "alternaterefscommand",
                                                            "browser"};

/// Sections that hold no program but under one of the words above.
constexpr std::array<std::string_view, 46> kPlainSections = {
    "add",         "advice",    "am",         "apply",       "author",  "blame",     "branch",
    "bundle",      "checkout",  "clean",      "clone",       "color",   "column",    "commit",
    "commitgraph", "committer", "extensions", "feature",     "fetch",   "format",    "fsck",
    "gc",          "grep",      "http",       "i18n",        "include", "includeif", "index",
    "init",        "log",       "mailmap",    "maintenance", "notes",   "pack",      "protocol",
    "pull",        "push",      "rebase",     "receive",     "rerere",  "safe",      "stash",
    "status",      "tag",       "transfer",   "user"};

/// What passes of the sections that hold programs: each section with its words.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPlainWords = {{
    {"core",
     " abbrev autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar "
     "commentstring commitgraph compression createobject deltabasecachelimit deltabasecachesize "
     "eol "
     "filemode filesreflocktimeout fsync fsyncmethod fsyncobjectfiles hidedotfiles ignorecase "
     "ignorestat logallrefupdates longpaths loosecompression maxtreedepth multipackindex notesref "
     "packedgitlimit packedgitwindowsize packedrefstimeout precomposeunicode prefersymlinkrefs "
     "preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf "
     "sharedrepository sparsecheckout sparsecheckoutcone splitindex symlinks trustctime "
     "untrackedcache usereplacerefs warnambiguousrefs whitespace worktree "},
    {"diff",
     " algorithm autorefreshindex binary cachetextconv colormoved colormovedws context dirstat "
     "funcname ignoresubmodules indentheuristic interhunkcontext mnemonicprefix noprefix orderfile "
     "dstprefix srcprefix relative renamelimit renames statgraphwidth statnamewidth submodule "
     "suppressblankempty trustexitcode wordregex wserrorhighlight xfuncname "},
    {"merge",
     " autoedit autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff log name "
     "recursive renamelimit renames renormalize stat suppressdest verbosity verifysignatures "},
    {"remote",
     " fetch followremotehead mirror partialclonefilter promisor proxy proxyauthmethod prune "
     "prunetags push pushdefault pushurl serveroption skipdefaultupdate skipfetchall tagopt url "},
    {"submodule",
     " active alternateerrorstrategy alternatelocation branch fetchjobs fetchrecursesubmodules "
     "ignore path propagatebranches recurse url "},
    {"credential", " protectprotocol sanitizeprompt usehttppath username "},
    {"gpg", " allowedsignersfile format mintrustlevel revocationfile "},
    {"trailer", " ifexists ifmissing key separators where "},
}};

/// Flags that make git run a program, or fail without one.
constexpr std::array<std::string_view, 4> kProgramFlags = {"required", "gpgsign", "showsignature",
                                                           "forcesignannotated"};

bool is_plain(const std::string& section, const std::string& word) {
  if (contains(kProgramWords, word)) return false;
  if (contains(kPlainSections, section)) return true;
  const auto words =
      std::ranges::find_if(kPlainWords, [&](const auto& row) { return row.first == section; });
  return words != kPlainWords.end() && words->second.find(" " + word + " ") != std::string::npos;
}

/// Returns a harmless value for a key; nothing if the key is known to name no program.
std::optional<std::string> harmless_value(std::string_view key) {
  const std::string section = to_lower(key.substr(0, key.find('.')));
  const std::string word = to_lower(key.substr(key.rfind('.') + 1));
  if (section == "core" && word == "hookspath") return "/dev/null";
  if (section == "core" && word == "fsmonitor") return "false";
  // A FIFO as this file would block git forever.
  if (section == "core" && (word == "excludesfile" || word == "attributesfile")) return "/dev/null";
  if (contains(kProgramFlags, word)) return "false";
  if (is_plain(section, word)) return std::nullopt;
  return "";
}

/// Calls `visit(scope, key, value)` for each entry of `git config --list --show-scope -z`. A key
/// without `=` has no value. Returns false for truncated output.
template <class Visit>
bool for_each_entry(std::string_view listed, const Visit& visit) {
  while (!listed.empty()) {
    const size_t scope_end = listed.find('\0');
    const size_t end = scope_end == listed.npos ? listed.npos : listed.find('\0', scope_end + 1);
    if (end == listed.npos) return false;
    const std::string_view entry = listed.substr(scope_end + 1, end - scope_end - 1);
    const size_t key_end = entry.find('\n');
    std::optional<std::string_view> value;
    if (key_end != entry.npos) value = entry.substr(key_end + 1);
    visit(listed.substr(0, scope_end), entry.substr(0, key_end), value);
    listed.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

Result<std::vector<GitSetting>> program_overrides(std::string_view listed) {
  std::vector<GitSetting> settings;
  std::set<std::string, std::less<>> seen;
  const auto add = [&](std::string_view scope, std::string_view key, const auto&) {
    // A person's filter would run on files that the repository chose.
    const bool is_filter = to_lower(key).starts_with("filter.");
    if (scope != "local" && scope != "worktree" && !is_filter) return;
    auto value = harmless_value(key);
    if (value && seen.insert(std::string(key)).second) {
      settings.push_back({std::string(key), *std::move(value)});
    }
  };
  if (for_each_entry(listed, add)) return settings;
  return fail(ErrorKind::kInvalid, "git.odd_config",
              "git's list of its configuration is cut off: is this git 2.26 or newer?");
}

bool asks_for_signatures(std::string_view listed) {
  bool asks = false;
  const auto look = [&](std::string_view, std::string_view key, const auto& value) {
    if (to_lower(key) != "commit.gpgsign") return;
    const std::string word = to_lower(value.value_or("true"));
    asks = !word.empty() && word != "false" && word != "no" && word != "off" && word != "0";
  };
  return for_each_entry(listed, look) && asks;
}

std::string key_that_redirects(std::string_view listed) {
  std::string found;
  const auto look = [&](std::string_view scope, std::string_view key, const auto&) {
    if (scope != "local" && scope != "worktree") return;
    const std::string lower = to_lower(key);
    const std::string_view name = std::string_view(lower).substr(lower.find('.') + 1);
    const std::string_view remote = name.substr(0, name.rfind('.'));
    const bool is_address = remote.find_first_of("/:") != remote.npos;
    const bool redirects =
        lower.starts_with("url.") || lower.starts_with("http.") || lower == "push.pushoption" ||
        lower == "core.gitproxy" ||  // the first one counts, so no later value disables it
        (lower.starts_with("remote.") && (is_address || lower.ends_with(".proxy")));
    if (redirects && found.empty()) found = key;
  };
  (void)for_each_entry(listed, look);
  return found;
}

std::vector<std::string> environment_of_settings(const std::vector<GitSetting>& settings) {
  if (settings.empty()) return {};
  const char* said = std::getenv("GIT_CONFIG_COUNT");
  size_t count = number_of<size_t>(said == nullptr ? "" : said).value_or(0);
  std::vector<std::string> environment;
  for (const GitSetting& setting : settings) {
    const std::string number = std::to_string(count++);
    environment.push_back("GIT_CONFIG_KEY_" + number + "=" + setting.key);
    environment.push_back("GIT_CONFIG_VALUE_" + number + "=" + setting.value);
  }
  environment.push_back("GIT_CONFIG_COUNT=" + std::to_string(count));
  return environment;
}

}  // namespace galley
