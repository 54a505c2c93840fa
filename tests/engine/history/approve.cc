#include "tests/engine/history/approve.h"

#include <stdexcept>

#include "engine/policy/gate.h"

namespace galley {

Approval approve(const Proposal& proposal, const WritableDirectory& workspace, const Clock& clock) {
  const Config config;
  Gate gate(config, {}, {}, clock);
  const auto verdict = gate.judge(ProposedTree(proposal, workspace), GateRequest());
  if (!verdict) throw std::runtime_error(verdict.error().message);
  if (!verdict->is_approved()) {
    throw std::runtime_error(std::get<Refusal>(verdict->decision).message);
  }
  return std::get<Approval>(verdict->decision);
}

}  // namespace galley
