#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/person.h"

namespace galley {
namespace {

Json grant_json(const Workspace::Grant& grant) {
  return {{"agent", grant.agent},
          {"capability", grant.capability},
          {"granted", !grant.is_revoked},
          {"by", grant.by},
          {"said", rfc3339_utc(grant.said_ns)}};
}

std::string who_says(const Session& session) {
  const std::string& name = session.arguments().name;
  return name.empty() ? "the command line" : name;
}

/// A person's word: an agent is refused on record, and nobody is asked.
Result<int> grant(Session& session) {
  const std::string& agent = session.arguments().id;
  const std::string& capability = session.arguments().input;
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const TransactionOptions who = session.transaction_options();
  if (who.agent.empty()) {
    GALLEY_TRY(need_person(session, "",
                           fmt::format("Grant `{}` to the agent {}?", printable_line(capability),
                                       printable_line(agent))));
  }
  GALLEY_TRY(workspace->grant(agent, capability, who_says(session), who));
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.grant/1"},
                       {"ok", true},
                       {"agent", agent},
                       {"capability", capability},
                       {"granted", true}});
  }
  session.say(fmt::format("{} has {} from now on; take it back with: {}", agent, capability,
                          session.hint(fmt::format("revoke {} '{}'", agent, capability))));
  return kExitDone;
}

/// Taking away only narrows: nobody is asked, and an agent is refused.
Result<int> revoke_grant(Session& session) {
  const std::string& agent = session.arguments().id;
  const std::string& capability = session.arguments().input;
  GALLEY_TRY(refuse_inside_exec("revoke"));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_TRY(
      workspace->revoke(agent, capability, who_says(session), session.transaction_options()));
  if (session.is_json()) {
    session.print(Json{{"schema", "galley.grant/1"},
                       {"ok", true},
                       {"agent", agent},
                       {"capability", capability},
                       {"granted", false}});
  }
  session.say(fmt::format("{} has {} no longer", agent, capability));
  return kExitDone;
}

Result<int> grants(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const auto all, workspace->grants());
  Json document = {{"schema", "galley.grants/1"}, {"ok", true}, {"grants", Json::array()}};
  std::string text;
  for (const Workspace::Grant& one : all) {
    document["grants"].push_back(grant_json(one));
    text += fmt::format("{:<16} {} {:<32} {} {}\n", printable_line(one.agent),
                        one.is_revoked ? "-" : "+", printable_line(one.capability),
                        rfc3339_utc(one.said_ns), printable_line(one.by));
  }
  if (session.is_json()) {
    session.print(document);
  } else {
    session.print(text);
  }
  return kExitDone;
}

}  // namespace

int run_grant(Session& session) { return session.finish(grant(session)); }
int run_revoke(Session& session) { return session.finish(revoke_grant(session)); }
int run_grants(Session& session) { return session.finish(grants(session)); }

}  // namespace galley
