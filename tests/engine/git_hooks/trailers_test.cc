#include "engine/git_hooks/commit_contents.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

ContributingTransaction transaction(uint64_t number, const std::string& agent) {
  return {TxId{number}, ContentId::of(std::to_string(number)), agent};
}

TEST(Trailers, ListTransactionsInOrderAndEachAgentOnce) {
  const auto trailers =
      trailers_for({transaction(9, "fixer"), transaction(7, ""), transaction(4, "fixer")});
  ASSERT_EQ(trailers.size(), 4U);
  EXPECT_EQ(trailers[0], "Galley-Transaction: 4 " + ContentId::of("4").hex().substr(0, 12));
  EXPECT_EQ(trailers[1].substr(0, 22), "Galley-Transaction: 7 ");
  EXPECT_EQ(trailers[2].substr(0, 22), "Galley-Transaction: 9 ");
  EXPECT_EQ(trailers[3], "Galley-Agent: fixer");
}

// Limit: kMaxTransactionTrailers of engine/git_hooks/commit_contents.h
TEST(Trailers, SummariseOlderTransactionsIfThereAreTooMany) {
  std::vector<ContributingTransaction> many;
  for (uint64_t number = 50; number > 0; --number) many.push_back(transaction(number, "a"));
  const auto trailers = trailers_for(many);
  EXPECT_EQ(trailers.size(), kMaxTransactionTrailers + 2);
  EXPECT_EQ(trailers.front(), "Galley-Transaction: and 30 earlier ones");
  EXPECT_EQ(trailers[1].substr(0, 23), "Galley-Transaction: 31 ");
}

TEST(Trailers, TheNameOfAnAgentCannotAddALine) {
  for (const std::string& line : trailers_for({transaction(1, "x\nSigned-off-by: root")})) {
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace galley
