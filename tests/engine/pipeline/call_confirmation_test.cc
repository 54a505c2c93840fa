// Which calls need an approval, who gives it, and how long it is valid.
#include "engine/calls/confirmation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include <galley/workspace.h>
#include "doubles/fault_directory.h"
#include "engine/pipeline/asked_calls.h"
#include "engine/pipeline/workspace_state.h"
#include "support/temp_directory.h"
#include "tests/engine/pipeline/any_object.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using Risk = ToolInfo::Risk;
using Tier = ToolInfo::Tier;

ToolDefinition tool_of(const std::string& name, Tier tier, Risk risk = Risk::kLow) {
  ToolDefinition tool;
  tool.info.name = name;
  tool.info.description = "does nothing";
  tool.info.input_schema = tool.info.output_schema = kAnyObject;
  tool.info.security_tier = tier;
  tool.info.risk_level = risk;
  tool.run = [](ToolRun&) { return Result<std::string>("{}"); };
  return tool;
}

class CallConfirmation : public ::testing::Test {
 protected:
  CallConfirmation() { tree_.write("a.txt", "a\n"); }

  void open(const std::string& mode, std::vector<ToolDefinition> tools = {}) {
    transaction_.reset();
    tree_.write("galley.toml", "[policy]\nmode = \"" + mode + "\"\n");
    WorkspaceOptions options;
    options.trusts_configuration = true;
    options.tools = std::move(tools);
    workspace_ = *Workspace::open(tree_.path(), std::move(options));
    transaction_.emplace(*workspace_->begin_stored({.agent = "bot"}));
  }
  std::string called(const std::string& tool, const std::string& arguments = "{}",
                     const CallOptions& options = {}) {
    const CallResult result = transaction_->call(tool, arguments, options);
    message_ = result ? "" : result.error().message;
    return result ? "ok" : result.error().reason;
  }
  /// The id that the last refusal named.
  [[nodiscard]] std::string named_id() const {
    const size_t at = message_.find("galley approve ");
    if (at == std::string::npos) return "none";
    const std::string rest = message_.substr(at + std::string("galley approve ").size());
    return rest.substr(0, rest.find(','));
  }
  CallOptions answering(bool answer) {
    CallOptions options;
    options.confirm = [this, answer](const CallOptions::Question& question) {
      questions_.push_back(question);
      return Result<bool>(answer);
    };
    return options;
  }
  std::vector<json> records(const std::string& kind) {
    std::vector<json> found;
    std::istringstream lines(tree_.read(".galley/audit.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      json record = json::parse(line);
      if (record["kind"] == kind) found.push_back(std::move(record));
    }
    return found;
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
  std::optional<Transaction> transaction_;
  std::vector<CallOptions::Question> questions_;
  std::string message_;
};

TEST_F(CallConfirmation, TheModeDecidesForEachTier) {
  const std::map<std::string, std::vector<std::string>> wanted = {
      {"strict", {"ok", "ok", "call.needs_confirmation", "call.tier_denied", "call.tier_denied"}},
      {"standard", {"ok", "ok", "ok", "call.needs_confirmation", "call.tier_denied"}},
      {"permissive", {"ok", "ok", "ok", "call.needs_confirmation", "call.needs_confirmation"}}};
  for (const auto& [mode, answers] : wanted) {
    std::vector<ToolDefinition> tools;
    for (unsigned tier = 0; tier < answers.size(); ++tier) {
      tools.push_back(tool_of("T" + std::to_string(tier), static_cast<Tier>(tier)));
    }
    open(mode, std::move(tools));
    for (unsigned tier = 0; tier < answers.size(); ++tier) {
      EXPECT_EQ(called("T" + std::to_string(tier)), answers[tier]) << mode << tier;
    }
  }
}

TEST_F(CallConfirmation, AReadOnlyToolStillNeedsConfirmation) {
  ToolDefinition wants = tool_of("Wants", Tier::kSafe);
  wants.info.requires_confirmation = true;
  ToolDefinition risky = tool_of("Risky", Tier::kStandard, Risk::kHigh);
  ToolDefinition critical = tool_of("Critical", Tier::kSafe, Risk::kCritical);
  critical.info.is_reversible = true;
  ToolDefinition acts = tool_of("Acts", Tier::kRestricted);
  for (ToolDefinition* one : {&wants, &risky, &critical, &acts}) {
    one->info.annotations.read_only = true;
  }
  open("standard", {wants, risky, critical, acts});
  for (const char* name : {"Wants", "Risky", "Critical", "Acts"}) {
    EXPECT_EQ(called(name), "call.needs_confirmation") << name;
  }
}

TEST_F(CallConfirmation, AHighRiskThatTheOverlayContainsRunsWithoutAPerson) {
  ToolDefinition held = tool_of("Held", Tier::kElevated, Risk::kHigh);
  held.info.is_reversible = true;
  open("standard", {held, tool_of("Own", Tier::kElevated, Risk::kHigh)});
  EXPECT_EQ(called("Held"), "ok");
  EXPECT_EQ(called("Delete", R"({"path": "a.txt"})"), "ok");
  EXPECT_EQ(called("Own"), "call.needs_confirmation")
      << "what a function does elsewhere nobody holds";
  open("strict", {held});
  EXPECT_EQ(called("Held"), "call.needs_confirmation");
}

TEST_F(CallConfirmation, AHighRiskIsConfirmedWhenAPersonCanAnswer) {
  ToolDefinition held = tool_of("Held", Tier::kElevated, Risk::kHigh);
  held.info.is_reversible = true;
  open("standard", {held});
  EXPECT_EQ(called("Held", "{}", answering(false)), "call.not_confirmed");
  EXPECT_EQ(called("Held", "{}", answering(true)), "ok");
  EXPECT_EQ(questions_.size(), 2U);
  auto own = workspace_->begin();
  EXPECT_TRUE(own->call("Held", "{}", answering(false))) << "a person who calls has said it";
}

TEST_F(CallConfirmation, TheCallbackAnswersYesOrNo) {
  open("standard", {tool_of("Acts", Tier::kRestricted)});
  EXPECT_EQ(called("Acts", R"({"to": "prod"})", answering(false)), "call.not_confirmed");
  EXPECT_EQ(called("Acts", R"({"to": "prod"})", answering(true)), "ok");
  ASSERT_EQ(questions_.size(), 2U);
  EXPECT_EQ(questions_[0].id, questions_[1].id);
  EXPECT_EQ(questions_[0].agent, "bot");
  EXPECT_EQ(questions_[0].tool, "Acts");
  EXPECT_EQ(questions_[0].arguments, R"({"to":"prod"})");
  EXPECT_THAT(questions_[0].why, HasSubstr("tier 3"));
  EXPECT_EQ(records("confirmation").size(), 1U) << "the yes is on record";
  CallOptions fails;
  fails.confirm = [](const CallOptions::Question&) {
    return Result<bool>(Error{ErrorKind::kIo, "asking.failed", "nobody", "", 0});
  };
  EXPECT_EQ(called("Acts", "{}", fails), "asking.failed");
}

TEST_F(CallConfirmation, AnEarlierConfirmationIsValidForThisCallOnce) {
  open("standard", {tool_of("Acts", Tier::kRestricted), tool_of("Other", Tier::kRestricted)});
  EXPECT_EQ(called("Acts", R"({"to": "prod"})"), "call.needs_confirmation");
  const std::string id = named_id();
  ASSERT_TRUE(id.starts_with("call-")) << message_;
  ASSERT_EQ(workspace_->pending_confirmations()->size(), 1U);
  const auto confirmed = workspace_->confirm(id, "ann");
  ASSERT_TRUE(confirmed) << confirmed.error().message;
  EXPECT_TRUE(workspace_->pending_confirmations()->empty());
  EXPECT_EQ(called("Acts", R"({"to": "test"})"), "call.needs_confirmation") << "other arguments";
  EXPECT_EQ(called("Other", R"({"to": "prod"})"), "call.needs_confirmation") << "another tool";
  auto other = workspace_->begin_stored({.agent = "other"});
  EXPECT_EQ(other->call("Acts", R"({"to": "prod"})").error().reason, "call.needs_confirmation");
  CallOptions in_other_repository;
  in_other_repository.cwd = "src";
  EXPECT_NE(called("Acts", R"({"to": "prod"})", in_other_repository), "ok") << "another folder";
  EXPECT_EQ(called("Acts", R"({ "to":"prod" })"), "ok") << message_;
  EXPECT_EQ(called("Acts", R"({"to": "prod"})"), "call.needs_confirmation") << "once";
  const auto yes = records("confirmation");
  ASSERT_EQ(yes.size(), 2U);
  EXPECT_EQ(yes[0]["reason"], "given beforehand by ann");
  EXPECT_EQ(yes[1]["input"]["call"], yes[0]["input"]["call"]);
}

TEST_F(CallConfirmation, AnAgentCannotConfirmACall) {
  open("standard", {tool_of("Acts", Tier::kRestricted)});
  EXPECT_EQ(called("Acts"), "call.needs_confirmation");
  const auto no = workspace_->confirm(named_id(), "bot", {.agent = "bot"});
  EXPECT_EQ(no.error().reason, "approval.by_agent");
  EXPECT_EQ(called("Acts"), "call.needs_confirmation");
  EXPECT_EQ(workspace_->confirm("call-00000000", "ann").error().reason, "confirmation.not_found");
}

TEST_F(CallConfirmation, ARefusedCallIsNotAskedAbout) {
  ToolDefinition acts = tool_of("Acts", Tier::kRestricted);
  acts.info.capabilities = {"custom:deploy"};
  open("standard", {acts});
  EXPECT_EQ(called("Acts", "{}", answering(true)), "capability.missing");
  EXPECT_TRUE(questions_.empty());
}

TEST_F(CallConfirmation, ADryRunThatTheOverlayContainsAsksNothing) {
  open("strict", {tool_of("Held", Tier::kElevated)});
  CallOptions dry;
  dry.dry_run = true;
  EXPECT_EQ(called("Held", "{}", dry), "ok");
  EXPECT_EQ(called("Held"), "call.needs_confirmation");
  open("standard", {tool_of("Acts", Tier::kRestricted)});
  EXPECT_EQ(called("Acts", "{}", dry), "call.dry_run_outside") << "no overlay holds what it does";
  transaction_.emplace(*workspace_->begin({.agent = "bot", .is_preview = true}));
  EXPECT_EQ(called("Acts", "{}", answering(true)), "call.dry_run_outside") << "nor does a preview";
  EXPECT_TRUE(questions_.empty());
}

TEST_F(CallConfirmation, WithoutAStateDirectoryTheMessageNamesTheCallback) {
  open("standard", {tool_of("Acts", Tier::kRestricted)});
  TempDirectory fresh;
  WorkspaceOptions options;
  options.tools = {tool_of("Acts", Tier::kRestricted)};
  const auto workspace = *Workspace::open(fresh.path(), std::move(options));
  auto memory = workspace->begin({.agent = "bot"});
  const auto refused = memory->call("Acts", "{}");
  EXPECT_EQ(refused.error().reason, "call.needs_confirmation");
  EXPECT_THAT(refused.error().message, HasSubstr("CallOptions::confirm"));
  EXPECT_FALSE(fresh.exists(".galley")) << "a question alone makes no state";
}

// Limit: kMaxAskedArgumentBytes of engine/calls/confirmation.h
// Limit: kMaxAskedCalls of engine/pipeline/asked_calls.h
TEST_F(CallConfirmation, TheOldestQuestionIsDroppedWhenTheStoreIsFull) {
  open("standard", {tool_of("Acts", Tier::kRestricted)});
  const ConfirmationStore asked(*persistent_of(*workspace_).state());
  for (size_t i = 0; i < ConfirmationStore::kMaxAskedCalls + 2; ++i) {
    const ContentId id = ContentId::of(std::to_string(i));
    ASSERT_TRUE(asked.keep(id, {"", "bot", "Acts", "{}", "why"}, static_cast<int64_t>(i)));
  }
  const auto left = asked.list(0);
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), ConfirmationStore::kMaxAskedCalls);
  EXPECT_EQ(left->front().asked_ns, 2);
  const std::string large(kMaxAskedArgumentBytes, 'x');
  EXPECT_EQ(called("Acts", R"({"text": ")" + large + "\"}"), "call.needs_confirmation");
  EXPECT_THAT(message_, HasSubstr("CallOptions::confirm")) << "nobody could read it";
}

TEST_F(CallConfirmation, AConfirmationSurvivesAConcurrentQuestion) {
  open("standard");
  const ConfirmationStore asked(*persistent_of(*workspace_).state());
  const CallQuestion question{"", "bot", "Acts", "{}", "why"};
  const ContentId id = ContentId::of("one");
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(asked.keep(id, question, 0));
    const AskedCall call = *asked.find(shown_call_id(id), 0);
    std::latch start(2);
    std::thread asking([&] {
      start.arrive_and_wait();
      EXPECT_TRUE(asked.keep(id, question, 0));
    });
    start.arrive_and_wait();
    EXPECT_TRUE(asked.give(call, "ann", 0));
    asking.join();
    ASSERT_EQ(*asked.take(id, 0), "ann") << round;
  }
}

// The other process takes the approval, and the same call is asked about again, while this one is
// about to remove the file.
TEST_F(CallConfirmation, AConfirmationIsTakenOnceAndANewQuestionStays) {
  open("standard");
  const ConfirmationStore other(*persistent_of(*workspace_).state());
  const auto plan = std::make_shared<FaultPlan>();
  const auto root = make_fault_directory(*open_writable_disk_directory(tree_.path()), plan);
  const auto state = StateDirectory::open(*root);
  ASSERT_TRUE(state && *state);
  const ConfirmationStore asked(**state);
  const CallQuestion question{"", "bot", "Acts", "{}", "why"};
  const ContentId id = ContentId::of("one");
  ASSERT_TRUE(other.keep(id, question, 0));
  ASSERT_TRUE(other.give(*other.find(shown_call_id(id), 0), "ann", 0));
  plan->calls.clear();
  ASSERT_EQ(*asked.take(id, 0), "ann");
  const auto removal =
      std::find_if(plan->calls.begin(), plan->calls.end(),
                   [](const FaultCall& call) { return call.name == "remove_file"; });
  ASSERT_NE(removal, plan->calls.end());
  plan->at = static_cast<size_t>(removal - plan->calls.begin()) + 1;
  plan->calls.clear();
  ASSERT_TRUE(other.keep(id, question, 0));
  ASSERT_TRUE(other.give(*other.find(shown_call_id(id), 0), "ann", 0));
  std::optional<std::string> there;
  std::thread taking;
  std::latch is_done(1);
  plan->before = [&] {
    taking = std::thread([&] {
      there = *other.take(id, 0);
      EXPECT_TRUE(other.keep(id, question, 0));
      is_done.count_down();
    });
    // With the lock, the other one waits until this one is over.
    for (int i = 0; i < 100 && !is_done.try_wait(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  const auto here = *asked.take(id, 0);
  ASSERT_TRUE(taking.joinable());
  taking.join();
  EXPECT_NE(here.has_value(), there.has_value());
  EXPECT_EQ(other.list(0)->size(), 1U);
}

TEST_F(CallConfirmation, QuestionsDoNotReplaceAConfirmation) {
  open("standard");
  const ConfirmationStore asked(*persistent_of(*workspace_).state());
  const CallQuestion question{"", "bot", "Acts", "{}", "why"};
  const ContentId id = ContentId::of("one");
  ASSERT_TRUE(asked.keep(id, question, 0));
  ASSERT_TRUE(asked.give(*asked.find(shown_call_id(id), 0), "ann", 0));
  for (size_t i = 0; i < ConfirmationStore::kMaxAskedCalls + 2; ++i) {
    ASSERT_TRUE(asked.keep(ContentId::of(std::to_string(i)), question, 1));
  }
  EXPECT_EQ(asked.list(1)->size(), ConfirmationStore::kMaxAskedCalls);
  EXPECT_EQ(*asked.take(id, 1), "ann");
}

TEST_F(CallConfirmation, AConfirmationExpiresAfterADay) {
  open("standard");
  const ConfirmationStore asked(*persistent_of(*workspace_).state());
  const ContentId id = ContentId::of("one");
  constexpr int64_t kDayNs = int64_t{24} * 3600 * 1'000'000'000;
  ASSERT_TRUE(asked.keep(id, {"", "bot", "Acts", "{}", "why"}, 0));
  ASSERT_TRUE(asked.give(*asked.find(shown_call_id(id), 0), "ann", 0));
  EXPECT_EQ(*asked.take(id, kDayNs + 1), std::nullopt);
  ASSERT_TRUE(asked.keep(id, {"", "bot", "Acts", "{}", "why"}, 0));
  ASSERT_TRUE(asked.give(*asked.find(shown_call_id(id), 0), "ann", 0));
  EXPECT_EQ(*asked.take(id, kDayNs), "ann");
  EXPECT_EQ(*asked.take(id, kDayNs), std::nullopt) << "once";
}

TEST_F(CallConfirmation, AQuestionRedactsTextThatLooksLikeASecret) {
  open("standard", {tool_of("Acts", Tier::kRestricted)});
  EXPECT_EQ(called("Acts", R"({"key": "AKIAIOSFODNN7EXAMPLE"})"), "call.needs_confirmation");
  EXPECT_THAT(workspace_->pending_confirmations()->front().arguments,
              HasSubstr("[REDACTED:aws-access-key]"));
}

}  // namespace
}  // namespace galley
