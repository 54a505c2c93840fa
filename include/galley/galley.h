#pragma once

/// Everything a program needs to edit a workspace in transactions; each header stands on its own.
#include "engine/pipeline/workspace.h"
