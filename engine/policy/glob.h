#pragma once

#include "base/glob.h"  // IWYU pragma: export
