#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/person.h"
#include "engine/pipeline/trust.h"

namespace galley {
namespace {

Json record_json(const TrustRecord& record) {
  return {{"root", record.root}, {"hash", record.hash.hex()}, {"given_ns", record.given_ns}};
}

Result<int> list_trusted(Session& session) {
  GALLEY_ASSIGN(const UserSettings settings, load_user_settings());
  GALLEY_ASSIGN(const auto records, list_trust(settings));
  Json document = {{"schema", "galley.trust-list/1"}, {"ok", true}, {"trusted", Json::array()}};
  std::string text;
  for (const TrustRecord& record : records) {
    document["trusted"].push_back(record_json(record));
    text += fmt::format("{}  {}\n", record.hash.hex(), printable_line(record.root));
  }
  if (session.is_json()) {
    session.print(document);
  } else {
    session.print(text);
  }
  return kExitDone;
}

Result<int> revoke_trusted(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  GALLEY_ASSIGN(const bool was_trusted, revoke_trust(session.user(), workspace->root_path()));
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.trust/1"},
                       {"ok", true},
                       {"root", workspace->root_path()},
                       {"trusted", false}});
  } else {
    session.say(fmt::format("{} {}", workspace->root_path(),
                            was_trusted ? "is no longer trusted" : "was not trusted"));
  }
  return kExitDone;
}

/// What a person is asked about: all of the part that is not the default. It is printable ASCII
/// (trust_part.h).
std::string shown_part(const Workspace& workspace) {
  const TrustPart& part = workspace.inside().trust_part;
  return fmt::format("{}{}# {} in {}\n# hash {}\n", part.brief(), part.is_empty() ? "" : "\n",
                     printable_line(workspace.inside().config.file),
                     printable_line(workspace.root_path()), part.hash().hex());
}

Json trust_json(const Workspace& workspace, bool trusted) {
  const TrustPart& part = workspace.inside().trust_part;
  return {{"schema", "galley.trust/1"},    {"ok", true},
          {"root", workspace.root_path()}, {"trusted", trusted},
          {"hash", part.hash().hex()},     {"part", part.text()}};
}

Result<int> trust(Session& session) {
  const Arguments& arguments = session.arguments();
  if (arguments.list) return list_trusted(session);
  if (arguments.revoke && !arguments.dry_run) return revoke_trusted(session);
  GALLEY_ASSIGN(Workspace * workspace, session.open_without_recovery());
  const TrustPart& part = workspace->inside().trust_part;
  if (part.is_empty() || arguments.show || arguments.dry_run) {
    const bool counts = workspace->inside().config.not_trusted.empty();
    if (session.is_json()) {
      session.print(trust_json(*workspace, counts));
    } else if (part.is_empty()) {
      session.say(
          "nothing here has to be trusted: the configuration runs nothing and widens nothing");
    } else {
      session.print(shown_part(*workspace));
      session.say(counts ? "it is trusted" : "it is not trusted");
    }
    return kExitDone;
  }
  if (session.is_unattended() && !session.is_json()) session.print(shown_part(*workspace));
  GALLEY_TRY(need_person(session, shown_part(*workspace),
                         "Trust this, for you and this folder, as long as it stays as it is?"));
  GALLEY_TRY(record_trust(session.user(), {workspace->root_path(), part.hash(),
                                           workspace->inside().clock().wall_ns()}));
  if (session.is_json()) {
    session.print(trust_json(*workspace, true));
  } else {
    session.say("trusted; take it back with: " + session.hint("trust --revoke"));
  }
  return kExitDone;
}

}  // namespace

int run_trust(Session& session) { return session.finish(trust(session)); }

}  // namespace galley
