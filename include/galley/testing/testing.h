#pragma once

/// What tests of programs and tools need (docs/testing.md); link `Galley::testing`. No test
/// framework is needed, and each goes with any.
#include <galley/testing/assertion.h>
#include <galley/testing/fake_clock.h>
#include <galley/testing/mock_tool.h>
#include <galley/testing/temporary_workspace.h>
#include <galley/testing/tool_tester.h>
