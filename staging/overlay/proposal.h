#pragma once

#include <galley/proposal.h>

#include "staging/overlay/change_set.h"
#include "staging/overlay/content_store.h"
