#pragma once

/// Includes everything for tests of programs and tools (CONTRIBUTING.md). Link `Galley::testing`.
/// It works with any test framework.
#include <galley/testing/assertion.h>
#include <galley/testing/fake_clock.h>
#include <galley/testing/mock_tool.h>
#include <galley/testing/temporary_workspace.h>
#include <galley/testing/tool_tester.h>
