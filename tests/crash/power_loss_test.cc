#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <set>

#include "crash/cases.h"
#include "doubles/memory_directory.h"
#include "doubles/model_directory.h"

namespace galley {
namespace {

using UnsyncedOutcome = PowerLossModel::UnsyncedOutcome;

constexpr const char* kNextBoot = "boot-after-the-power-cut";
/// `make crash` sets GALLEY_CRASH_FULL: then commits of up to six operations are exhaustive.
size_t max_exhaustive() {
  constexpr size_t kFull = 200'000;
  constexpr size_t kQuick = 4'000;
  return std::getenv("GALLEY_CRASH_FULL") != nullptr ? kFull : kQuick;
}
constexpr size_t kSamples = 300;

/// Things that survive together: every combination of units is tried.
struct Unit {
  std::vector<std::vector<UnsyncedOutcome>> choices;  ///< one fate for each member
  std::vector<size_t> members;                        ///< indexes into pending()
};

void collect_directories(const MemoryNodePtr& node, std::set<uint64_t>& inodes) {
  inodes.insert(node->inode);
  for (const auto& [name, child] : node->entries) {
    if (child->kind == FileKind::kDirectory) collect_directories(child, inodes);
  }
}

/// One unit for each operation on the workspace with the content it makes visible, one for each
/// other unsynced content, one for all names inside `.galley`.
std::vector<Unit> units_of(const PowerLossModel& model, const MemoryTree& tree) {
  std::set<uint64_t> inside;
  const auto state = tree.root->entries.find(".galley");
  if (state != tree.root->entries.end()) collect_directories(state->second, inside);
  const auto pending = model.pending();
  std::set<size_t> used;
  std::vector<Unit> units;
  Unit names{{{}, {}}, {}};
  for (size_t i = 0; i < pending.size(); ++i) {
    if (pending[i].is_content) continue;
    bool is_visible = false;
    for (const uint64_t inode : pending[i].directories) is_visible |= inside.count(inode) == 0;
    if (!is_visible) {
      names.members.push_back(i);
      names.choices[0].push_back(UnsyncedOutcome::kLost);
      names.choices[1].push_back(UnsyncedOutcome::kWhole);
      continue;
    }
    Unit unit{{{UnsyncedOutcome::kLost}, {UnsyncedOutcome::kWhole}}, {i}};
    for (size_t j = 0; j < pending.size(); ++j) {
      if (!pending[j].is_content || pending[i].inodes.count(pending[j].inode) == 0) continue;
      if (!used.insert(j).second) continue;
      unit.members.push_back(j);
      std::vector<std::vector<UnsyncedOutcome>> wider;
      for (const auto& choice : unit.choices) {
        for (const UnsyncedOutcome unsynced : {UnsyncedOutcome::kWhole, UnsyncedOutcome::kHalf,
                                               UnsyncedOutcome::kZeros, UnsyncedOutcome::kLost}) {
          if (choice[0] == UnsyncedOutcome::kLost && unsynced != UnsyncedOutcome::kWhole) continue;
          auto longer = choice;
          longer.push_back(unsynced);
          wider.push_back(std::move(longer));
        }
      }
      unit.choices = std::move(wider);
    }
    units.push_back(std::move(unit));
  }
  if (!names.members.empty()) units.push_back(std::move(names));
  Unit contents;
  for (size_t j = 0; j < pending.size(); ++j) {
    if (pending[j].is_content && used.count(j) == 0) contents.members.push_back(j);
  }
  if (contents.members.empty()) return units;
  for (const UnsyncedOutcome unsynced : {UnsyncedOutcome::kLost, UnsyncedOutcome::kWhole,
                                         UnsyncedOutcome::kHalf, UnsyncedOutcome::kZeros}) {
    contents.choices.emplace_back(contents.members.size(), unsynced);
  }
  units.push_back(std::move(contents));
  return units;
}

/// Every combination when there are few, else the corners and a sample.
std::vector<std::vector<size_t>> selections(const std::vector<Unit>& units, std::mt19937& random) {
  const size_t limit = max_exhaustive();
  size_t product = 1;
  for (const auto& unit : units) product = std::min(product * unit.choices.size(), limit + 1);
  std::vector<std::vector<size_t>> all;
  if (product <= limit) {
    std::vector<size_t> digits(units.size(), 0);
    for (size_t n = 0; n < product; ++n) {
      all.push_back(digits);
      for (size_t d = 0; d < units.size() && ++digits[d] == units[d].choices.size(); ++d) {
        digits[d] = 0;
      }
    }
    return all;
  }
  const std::vector<size_t> none(units.size(), 0);
  const std::vector<size_t> whole(units.size(), 1);
  for (size_t i = 0; i < units.size(); ++i) {
    for (size_t choice = 0; choice < units[i].choices.size(); ++choice) {
      all.push_back(none);
      all.back()[i] = choice;  // only one
      all.push_back(whole);
      all.back()[i] = choice;  // all but one
    }
    all.push_back(none);  // a prefix
    std::fill(all.back().begin(), all.back().begin() + static_cast<long>(i), 1);
  }
  for (size_t n = 0; n < kSamples; ++n) {
    std::vector<size_t> digits;
    for (const auto& unit : units) digits.push_back(random() % unit.choices.size());
    all.push_back(std::move(digits));
  }
  return all;
}

std::shared_ptr<MemoryTree> cut_power(const PowerLossModel& model, const std::vector<Unit>& units,
                                      const std::vector<size_t>& selection) {
  std::vector<UnsyncedOutcome> outcomes(model.pending().size(), UnsyncedOutcome::kLost);
  for (size_t u = 0; u < units.size(); ++u) {
    const auto& choice = units[u].choices[selection[u]];
    for (size_t m = 0; m < units[u].members.size(); ++m) outcomes[units[u].members[m]] = choice[m];
  }
  return model.after_power_loss(outcomes);
}

std::string in_words(const std::vector<size_t>& selection) {
  std::string text;
  for (const size_t choice : selection) text += std::to_string(choice);
  return text;
}

class PowerLossFacts : public testing::TestWithParam<CrashCase> {};

INSTANTIATE_TEST_SUITE_P(Of, PowerLossFacts, testing::ValuesIn(crash_cases()),
                         [](const auto& shape) { return name_of_test(shape.param); });

struct Cut {
  CaseWorkspace workspace;
  std::unique_ptr<PowerLossModel> model;
  std::shared_ptr<FaultPlan> plan;
  bool is_acknowledged = false;
};

/// Publishes on a model disk and stops before call `at`; 0 runs to the end.
Cut run_until(const CrashCase& shape, size_t at, Durability durability) {
  Cut cut;
  cut.workspace = make_case(shape);
  cut.model = std::make_unique<PowerLossModel>(cut.workspace.tree);
  cut.plan = std::make_shared<FaultPlan>();
  cut.plan->at = at;
  cut.plan->kills = true;
  PublisherOptions options = test_options();
  options.durability = durability;
  const auto outcome =
      publish(*make_fault_directory(open_memory_tree(cut.workspace.tree), cut.plan),
              *cut.workspace.proposal, options);
  cut.is_acknowledged = outcome && std::holds_alternative<Receipt>(*outcome);
  return cut;
}

/// Opens what the power cut left and judges it.
void judge_cut(CrashRow& row, const Cut& cut, const std::shared_ptr<MemoryTree>& left,
               const std::string& where, const std::string& boot = kNextBoot) {
  const auto directory = open_memory_tree(left);
  const auto report = reopen(*directory, boot);
  if (!report && report.error().reason == "journal.damaged") {
    // Blocks of an unsynced journal out of order look like a committed one that rotted.
    EXPECT_FALSE(cut.is_acknowledged) << where;
    EXPECT_EQ(picture_of(*directory), cut.workspace.before) << where;
    row.add_refused();
    return;
  }
  ASSERT_TRUE(report) << where << ": " << report.error().message;
  row.judge(*directory, cut.workspace.before, cut.workspace.after, where);
  if (cut.is_acknowledged) {
    EXPECT_EQ(picture_of(*directory), cut.workspace.after)
        << where << ": an answered commit is lost";
  }
  row.judge_next(*directory, where, boot);
}

void every_cut(const CrashCase& shape, Durability durability, const std::string& name) {
  CrashRow row(name + shape.name);
  std::mt19937 random(1);
  const size_t calls = run_until(shape, 0, durability).plan->calls.size();
  row.set_calls(calls);
  for (size_t at = 1; at <= calls + 1; ++at) {
    const Cut cut = run_until(shape, at > calls ? 0 : at, durability);
    // The state before a call that only looks is the state before the next one.
    if (at <= calls && !cut.plan->calls[at - 1].mutates) continue;
    const auto units = units_of(*cut.model, *cut.workspace.tree);
    for (const auto& selection : selections(units, random)) {
      const auto left = cut_power(*cut.model, units, selection);
      if (left == nullptr) continue;
      judge_cut(row, cut, left,
                shape.name + ": power cut before call " + std::to_string(at) +
                    (at <= calls ? " (" + cut.plan->calls[at - 1].name + ")" : "") + ", fates " +
                    in_words(selection));
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST_P(PowerLossFacts, APowerCutAtAnyCallLeavesTheOldOrTheNewTree) {
  every_cut(GetParam(), Durability::kFull, "power: ");
}

TEST_P(PowerLossFacts, APowerCutWithOneSyncfsLeavesTheOldOrTheNewTree) {
  every_cut(GetParam(), Durability::kGroup, "power, group: ");
}

/// A disk that was pulled out and mounted again: its mount is another one, the boot is not.
TEST_P(PowerLossFacts, APowerCutOfOnlyTheDiskLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = GetParam();
  CrashRow row("power of the device: " + shape.name);
  std::mt19937 random(4);
  const size_t calls = run_until(shape, 0, Durability::kFull).plan->calls.size();
  constexpr size_t kCuts = 40;
  for (size_t at = 1; at <= calls + 1; ++at) {
    const Cut cut = run_until(shape, at > calls ? 0 : at, Durability::kFull);
    if (at <= calls && !cut.plan->calls[at - 1].mutates) continue;
    const auto units = units_of(*cut.model, *cut.workspace.tree);
    auto all = selections(units, random);
    std::shuffle(all.begin(), all.end(), random);
    // All of what an answered commit can leave: it alone has noted that it is complete.
    if (at <= calls) all.resize(std::min(all.size(), kCuts));
    for (const auto& selection : all) {
      const auto left = cut_power(*cut.model, units, selection);
      if (left == nullptr) continue;
      left->mount = cut.workspace.tree->mount + 1;
      judge_cut(row, cut, left,
                shape.name + ": device lost before call " + std::to_string(at) + ", fates " +
                    in_words(selection),
                kBoot);
      if (HasFailure()) return;
    }
  }
}

TEST_P(PowerLossFacts, APowerCutWhileRetiringLeavesTheNewTree) {
  const CrashCase& shape = GetParam();
  CrashRow row("power, when retired: " + shape.name);
  std::mt19937 random(3);
  for (size_t at = 1;; ++at) {
    const Cut cut = run_until(shape, 0, Durability::kFull);
    ASSERT_TRUE(cut.is_acknowledged);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    static_cast<void>(
        retire_all(*make_fault_directory(open_memory_tree(cut.workspace.tree), plan)));
    row.set_calls(plan->calls.size());
    // The state before a call that only looks is the state before the next one.
    if (plan->is_dead && !plan->calls[at - 1].mutates) continue;
    const auto units = units_of(*cut.model, *cut.workspace.tree);
    for (const auto& selection : selections(units, random)) {
      const auto left = cut_power(*cut.model, units, selection);
      if (left == nullptr) continue;
      judge_cut(row, cut, left,
                shape.name + ": power cut while retiring, before call " + std::to_string(at) +
                    ", fates " + in_words(selection));
      if (HasFailure()) return;
    }
    if (!plan->is_dead) break;
  }
  EXPECT_EQ(row.old_trees(), 0U);
}

TEST_P(PowerLossFacts, APowerCutDuringRecoveryLeavesTheOldOrTheNewTree) {
  const CrashCase& shape = GetParam();
  CrashRow row("power, then in recovery: " + shape.name);
  std::mt19937 random(2);
  const size_t calls = run_until(shape, 0, Durability::kFull).plan->calls.size();
  const auto pick = [&](const PowerLossModel& model, const MemoryTree& tree) {
    std::shared_ptr<MemoryTree> left;
    while (left == nullptr) {
      const auto units = units_of(model, tree);
      std::vector<size_t> selection;
      for (const auto& unit : units) selection.push_back(random() % unit.choices.size());
      left = cut_power(model, units, selection);
    }
    return left;
  };
  constexpr int kRuns = 400;
  for (int run = 0; run < kRuns; ++run) {
    // Half of the runs only die, so that recovery finds a journal that is in the page cache alone.
    const bool is_power_cut = run % 2 == 0;
    const Cut cut = run_until(shape, 1 + random() % calls, Durability::kFull);
    auto tree = is_power_cut ? pick(*cut.model, *cut.workspace.tree) : cut.workspace.tree;
    std::unique_ptr<PowerLossModel> second;
    if (is_power_cut) second = std::make_unique<PowerLossModel>(tree);
    const PowerLossModel& model = is_power_cut ? *second : *cut.model;
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = 1 + random() % 80;
    plan->kills = true;
    const auto recovered = reopen(*make_fault_directory(open_memory_tree(tree), plan),
                                  is_power_cut ? kNextBoot : kBoot);
    if (!recovered && recovered.error().reason == "journal.damaged") continue;
    const auto left = pick(model, *tree);
    const auto directory = open_memory_tree(left);
    const auto report = reopen(*directory, "boot-3");
    const std::string where = shape.name + ": run " + std::to_string(run);
    if (!report && report.error().reason == "journal.damaged") {
      EXPECT_EQ(picture_of(*directory), cut.workspace.before) << where;
      row.add_refused();
      continue;
    }
    ASSERT_TRUE(report) << where << report.error().message;
    row.judge(*directory, cut.workspace.before, cut.workspace.after, where);
    if (cut.is_acknowledged) {
      EXPECT_EQ(picture_of(*directory), cut.workspace.after) << where;
    }
    row.judge_next(*directory, where, "boot-3");
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace galley
