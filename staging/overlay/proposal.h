#pragma once

#include <galley/proposal.h>

#include "staging/fs/content_store.h"
#include "staging/overlay/change_set.h"
