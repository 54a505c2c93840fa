#include "engine/validators/file_validator.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "base/parallel.h"
#include "validator_fixture.h"

namespace galley {
namespace {

/// A validator whose first files are not done before `wanted` threads have one each.
class MeetingValidator final : public FileValidator {
 public:
  explicit MeetingValidator(size_t wanted)
      : FileValidator(config_of_all(), nullptr, {{"**"}}), wanted_(wanted) {}

  [[nodiscard]] size_t threads() const { return threads_.size(); }

 protected:
  [[nodiscard]] Result<void> check(const CheckedFile& file, FindingSink& sink) const override {
    sink.add("met", 1, 1, std::string(file.text), "");
    std::unique_lock lock(mutex_);
    threads_.insert(std::this_thread::get_id());
    all_are_here_.notify_all();
    // One alone goes on after a while, and is counted as one.
    all_are_here_.wait_for(lock, std::chrono::seconds(30),
                           [this] { return is_over_ || threads_.size() >= wanted_; });
    is_over_ = true;
    return {};
  }

 private:
  static ValidatorConfig config_of_all() {
    ValidatorConfig config;
    config.name = "meeting";
    return config;
  }

  size_t wanted_;
  mutable std::mutex mutex_;
  mutable std::condition_variable all_are_here_;
  mutable std::set<std::thread::id> threads_;
  mutable bool is_over_ = false;
};

using FileValidators = ValidatorFixture;

TEST_F(FileValidators, ManyFilesAreJudgedInParallelAndReportedInOrder) {
  const size_t cores = std::min<size_t>(std::thread::hardware_concurrency(), kMaxWorkers);
  if (cores < 2) GTEST_SKIP() << "one core has nothing to share";
  constexpr int kFiles = 500;
  for (int i = 0; i < kFiles; ++i) {
    const std::string number = std::to_string(1000 + i);
    propose("d/f" + number, number);
  }
  MeetingValidator validator(cores);
  const Proposal proposal = Proposal::freeze(overlay_);
  const ProposedTree tree(proposal, workspace_.directory());
  const auto report = validator.validate({tree, clock_, deadline_, {}});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(validator.threads(), cores);
  ASSERT_EQ(report->findings.size(), static_cast<size_t>(kFiles));
  for (int i = 0; i < kFiles; ++i) {
    EXPECT_EQ(report->findings[static_cast<size_t>(i)].message, std::to_string(1000 + i));
  }
}

}  // namespace
}  // namespace galley
