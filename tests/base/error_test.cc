#include "base/result.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(Error, ItsKindDecidesTheExitStatus) {
  for (const ErrorKind kind : {ErrorKind::kNotFound, ErrorKind::kRefused, ErrorKind::kConflict}) {
    EXPECT_EQ(exit_status(kind), 1);
  }
  for (const ErrorKind kind : {ErrorKind::kUsage, ErrorKind::kInvalid}) {
    EXPECT_EQ(exit_status(kind), 2);
  }
  for (const ErrorKind kind :
       {ErrorKind::kQuota, ErrorKind::kTimeout, ErrorKind::kIo, ErrorKind::kInternal}) {
    EXPECT_EQ(exit_status(kind), 3);
  }
  EXPECT_EQ(exit_status(ErrorKind::kUndecided), 75);
}

}  // namespace
}  // namespace galley
