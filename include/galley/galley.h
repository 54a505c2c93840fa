#pragma once

/// Includes everything that a program needs to edit a workspace in transactions (docs/library.md).
/// Each header can also be included alone.
#include <galley/call_queue.h>
#include <galley/config.h>
#include <galley/define_tool.h>
#include <galley/edit.h>
#include <galley/error.h>
#include <galley/history.h>
#include <galley/outcome.h>
#include <galley/path.h>
#include <galley/proposal.h>
#include <galley/tool.h>
#include <galley/transaction.h>
#include <galley/verdict.h>
#include <galley/workspace.h>
