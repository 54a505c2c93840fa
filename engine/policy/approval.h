#pragma once

#include <galley/verdict.h>

#include "engine/policy/finding.h"

namespace galley {

using ApprovalAnswer = ApprovalQuestion::Answer;
using GateProgress = Verdict::Progress;
using ValidatorRun = Verdict::Run;

}  // namespace galley
