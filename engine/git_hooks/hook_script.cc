#include "engine/git_hooks/hook_script.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace galley {
namespace {

constexpr std::string_view kFirstLine = "#!/bin/sh\n";
constexpr std::string_view kMark = "# galley-hook 1 ";
constexpr std::string_view kKeptSuffix = ".before-galley";

/// The earlier hook runs under its own name, since some hooks read `$0` to decide what to do. It is
/// started through a folder of links at the same depth, so that it finds files next to itself and
/// above. git ignores this folder if the hooks are in a work tree, where a clone may bring a link
/// of its name. A file that the hook writes next to itself stays there until `galley hook
/// uninstall`. A hook of pre-commit (the framework), which runs this one as NAME.legacy, does not
/// run again.
constexpr std::string_view kFindEarlier =
    R"(hooks=$(CDPATH= cd -- "${{0%/*}}" && pwd) || exit
kept={1}
earlier=
take_replaced() {{
  [ ! -f "$link" ] || [ -L "$link" ] || [ ! -f "$file" ] && return
  grep -q '^# galley-hook 1 ' "$file" || mv -f "$link" "$file"
}}
is_running() {{
  [ "${{0%.legacy}}" != "$0" ] && grep -q hook-impl "$hooks/{0}$kept"
}}
if [ -x "$hooks/{0}$kept" ] && ! is_running; then
  view=$hooks$kept
  links=../${{hooks##*/}}
  if [ -L "$view" ]; then
    echo "galley: '$view' is a link, which Galley does not follow; remove it: rm '$view'" >&2
    exit 1
  fi
  if ! mkdir -p "$view" 2> /dev/null || ! [ -w "$view" ]; then
    view=$(mktemp -d) || exit
    links=$hooks
  fi
  [ ! -L "$view/.gitignore" ] || rm -f "$view/.gitignore" || exit
  echo '*' > "$view/.gitignore"
  for file in "$hooks"/* "$hooks"/.[!.]*; do
    name=${{file##*/}}
    link=$view/${{name%"$kept"}}
    [ "$name" != .gitignore ] && [ -e "$file" ] && ! [ -e "$file$kept" ] || continue
    [ ! -d "$link" ] || [ -L "$link" ] || continue
    take_replaced
    [ "$link" -ef "$file" ] || ln -sfn "$links/$name" "$link" || exit
  done
  earlier=$view/{0}
fi
)";

/// git's standard input is read once and passed to both. The dot keeps the last newlines, which
/// `$(...)` drops.
constexpr std::string_view kReadUpdates = R"(updates=$(cat && echo .)
updates=${{updates%.}}
)";

constexpr std::string_view kEarlierReads =
    R"(  printf '%s' "$updates" 2> /dev/null | "$earlier" "$@" || status=$?
)";
constexpr std::string_view kEarlierRuns = R"(  "$earlier" "$@" || status=$?
)";

/// What the hook put in place of a link replaces the file of that link, unless that is a hook of
/// Galley. After a hook that was killed, the next one begins with it.
constexpr std::string_view kEarlierEnds = R"(  for file in "$hooks"/* "$hooks"/.[!.]*; do
    name=${{file##*/}}
    link=$view/${{name%"$kept"}}
    [ "$name" != .gitignore ] && [ -f "$file" ] && ! [ -e "$file$kept" ] || continue
    take_replaced
  done
  [ "$links" != "$hooks" ] || rm -rf "$view"
  [ "$status" = 0 ] || exit "$status"
fi
)";

/// lefthook moves other hooks to NAME.old, and does not run them.
constexpr std::string_view kTellOfMoved = R"(for name in pre-commit pre-push; do
  grep -qs '^# galley-hook 1 ' "$hooks/$name.old" || continue
  grep -qs '^# galley-hook 1 ' "$hooks/$name" && continue
  echo "galley: '$name' is now $name.old and judges nothing; to see the remedy: galley hook install" >&2
done
)";

constexpr std::string_view kRefused =
    R"(  echo "galley: '{0}' is refused: this hook finds no galley on PATH, so nothing was judged." >&2
  echo "galley: put galley on PATH, or take the hook away: rm '$0'" >&2
  exit 1
)";

constexpr std::string_view kPassed =
    R"(  echo "galley: the hook '{0}' finds no galley on PATH, so it did nothing." >&2
  exit 0
)";

/// The part below the mark. `{{` is a brace for fmt.
std::string body_of(const HookKind& kind) {
  std::string body =
      "# Written by 'galley hook install'. 'galley hook uninstall' removes it and puts the hook\n"
      "# that was here before, kept beside as {0}{1}, back.\n";
  if (kind.reads_input) body += kReadUpdates;
  body += kFindEarlier;
  body += "if [ \"$earlier\" ]; then\n  status=0\n";
  body += kind.reads_input ? kEarlierReads : kEarlierRuns;
  body += kEarlierEnds;
  if (kind.name == "post-commit") body += kTellOfMoved;
  body += "if ! command -v galley > /dev/null 2>&1; then\n";
  body += kind.judges ? kRefused : kPassed;
  body += "fi\n";
  body += kind.reads_input ? "printf '%s' \"$updates\" | galley hook run {0} -- \"$@\"\n"
                           : "exec galley hook run {0} -- \"$@\"\n";
  return fmt::format(fmt::runtime(body), kind.name, kKeptSuffix);
}

}  // namespace

const std::vector<HookKind>& hook_kinds() {
  static const std::vector<HookKind> kKinds = {
      {"pre-commit", true, false, false, true},
      {"pre-merge-commit", true, false, false, true},
      {"pre-applypatch", true, false, false, true},
      {"prepare-commit-msg", false, false, false, true},
      {"commit-msg", false, false, false, true},
      {"post-commit", false, false, false, true},
      {"pre-push", true, true, false, true},
      {"pre-receive", true, true, true, true},
      // pre-receive has already judged the whole push.
      {"update", true, false, true, false},
  };
  return kKinds;
}

const HookKind* find_hook_kind(std::string_view name) {
  for (const HookKind& kind : hook_kinds()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::string earlier_hook_name(std::string_view hook) {
  return std::string(hook) + std::string(kKeptSuffix);
}

std::string hook_view_name(std::string_view hooks) { return earlier_hook_name(hooks); }

std::string hook_script(const HookKind& kind) {
  const std::string body = body_of(kind);
  const ContentId hash = ContentId::of(std::string(kFirstLine) + body);
  return std::string(kFirstLine) + std::string(kMark) + hash.hex() + "\n" + body;
}

HookAuthor hook_author(std::string_view text) {
  if (!text.starts_with(kFirstLine)) return HookAuthor::kOther;
  const std::string_view rest = text.substr(kFirstLine.size());
  const size_t end = rest.find('\n');
  if (!rest.starts_with(kMark) || end == std::string_view::npos) return HookAuthor::kOther;
  const std::string_view written = rest.substr(kMark.size(), end - kMark.size());
  const ContentId hash = ContentId::of(std::string(kFirstLine) + std::string(rest.substr(end + 1)));
  return written == hash.hex() ? HookAuthor::kGalley : HookAuthor::kChanged;
}

}  // namespace galley
