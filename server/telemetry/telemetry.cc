#include "server/telemetry/telemetry.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/encoding.h"
#include "base/hash.h"
#include "base/printable.h"
#include "base/text.h"
#include "engine/policy/config_table.h"
#include "server/http/http.h"
#include "staging/fs/host_file.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kSocketFile = "unix:";
constexpr std::chrono::milliseconds kTick{200};  ///< how often the thread looks for its end
constexpr std::chrono::seconds kRequestTime{5};
constexpr size_t kTraceDigits = 32;
constexpr size_t kSpanDigits = 16;
constexpr int kServerSpan = 2;    // SPAN_KIND_SERVER
constexpr int kConsumerSpan = 5;  // SPAN_KIND_CONSUMER
constexpr int kErrorStatus = 2;   // STATUS_CODE_ERROR
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kWrongMethod = 405;

/// Upper bounds of the buckets in seconds, as Prometheus prints them.
struct Bucket {
  double most;
  const char* text;
};
constexpr std::array kBuckets = {Bucket{.005, "0.005"}, Bucket{.01, "0.01"}, Bucket{.025, "0.025"},
                                 Bucket{.05, "0.05"},   Bucket{.1, "0.1"},   Bucket{.25, "0.25"},
                                 Bucket{.5, "0.5"},     Bucket{1, "1"},      Bucket{2.5, "2.5"},
                                 Bucket{5, "5"},        Bucket{10, "10"},    Bucket{30, "30"},
                                 Bucket{60, "60"},      Bucket{300, "300"}};

Result<std::unique_ptr<LocalListener>> listener_of(const std::string& address, const Clock& clock) {
  if (address.starts_with(kSocketFile)) {
    return LocalListener::open_file(address.substr(kSocketFile.size()), clock);
  }
  const size_t colon = address.rfind(':');
  const std::string host = colon == std::string::npos ? "" : address.substr(0, colon);
  const auto port = number_of<uint16_t>(std::string_view(address).substr(colon + 1));
  if (port) return LocalListener::open_loopback(host, *port, clock);
  return fail(
      ErrorKind::kUsage, "listener.address",
      "metrics takes unix:/PATH, PORT or ADDRESS:PORT, not '" + printable_line(address) + "'");
}

HttpResponse answer_to(const std::string& bytes, const HttpHost& host, const Telemetry& telemetry) {
  const HttpParse parsed = parse_http(bytes, {});
  if (!parsed.request) return {parsed.status, "text/plain", ""};
  if (!host.is_meant_by(*parsed.request)) return {kForbidden, "text/plain", ""};
  if (parsed.request->target != "/metrics") return {kNotFound, "text/plain", "see /metrics\n"};
  if (parsed.request->method != "GET") return {kWrongMethod, "text/plain", ""};
  return {200, "text/plain; version=0.0.4", telemetry.metrics()};
}

ordered_json attribute(const std::string& key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

}  // namespace

std::vector<std::string> TelemetryOptions::places() const {
  std::vector<std::string> places;
  const auto add = [&](const std::string& file) {
    places.insert(places.end(), {file, file.substr(0, file.rfind('/'))});
  };
  if (!spans.empty()) add(spans);
  if (metrics.starts_with(kSocketFile)) add(metrics.substr(kSocketFile.size()));
  return places;
}

void read_telemetry(ConfigTable& root, TelemetryOptions& options) {
  root.text("metrics", options.metrics);
  root.text("spans", options.spans);
  if (options.metrics.starts_with(kSocketFile) && !options.metrics.starts_with("unix:/")) {
    root.refuse("metrics", "takes an absolute path after unix:");
  }
  if (!options.spans.empty() && !options.spans.starts_with('/')) {
    root.refuse("spans", "takes an absolute path");
  }
}

// --- work ---------------------------------------------------------------------------------------

Telemetry::Work::Work(Telemetry* telemetry) : telemetry_(telemetry) {
  if (telemetry_ == nullptr) return;
  begin_wall_ns_ = telemetry_->clock_.wall_ns();
  begin_ = telemetry_->clock_.steady();
  const std::lock_guard guard(telemetry_->mutex_);
  ++telemetry_->in_work_;
}

Telemetry::Work::~Work() {
  if (telemetry_ == nullptr) return;
  const std::lock_guard guard(telemetry_->mutex_);
  --telemetry_->in_work_;
}

void Telemetry::Work::end(const Outcome& outcome) const {
  if (telemetry_ == nullptr) return;
  const auto time = telemetry_->clock_.steady() - begin_;
  telemetry_->count(outcome.word, time);
  if (!telemetry_->options_.spans.empty()) telemetry_->write(outcome, {begin_wall_ns_, time});
}

void Telemetry::count(const std::string& outcome, Seconds time) {
  const std::lock_guard guard(mutex_);
  const bool is_counted = by_outcome_.contains(outcome) || by_outcome_.size() + 1 < kMostOutcomes;
  ++by_outcome_[is_counted ? outcome : "other"];
  const auto bucket =
      std::ranges::find_if(kBuckets, [&](const Bucket& one) { return time.count() <= one.most; });
  ++by_time_[static_cast<size_t>(bucket - kBuckets.begin())];
  seconds_ += time.count();
}

// --- metrics ------------------------------------------------------------------------------------

std::string Telemetry::metrics() const {
  const std::string name = "galley_" + service_.work;
  const auto head = [](const std::string& metric, const char* type, const std::string& help) {
    return "# HELP " + metric + " " + help + "\n# TYPE " + metric + " " + type + "\n";
  };
  const std::lock_guard guard(mutex_);
  std::string text = head(name + "s_total", "counter", "Ended " + service_.work + "s.");
  for (const auto& [outcome, number] : by_outcome_) {
    text += name + "s_total{outcome=\"" + outcome + "\"} " + std::to_string(number) + "\n";
  }
  text += head(name + "s_in_work", "gauge", "Present " + service_.work + "s.");
  text += name + "s_in_work " + std::to_string(in_work_) + "\n";
  const std::string duration = name + "_duration_seconds";
  text += head(duration, "histogram", "Time of ended " + service_.work + "s.");
  uint64_t number = 0;
  for (size_t i = 0; i < by_time_.size(); ++i) {
    number += by_time_[i];
    const std::string most = i < kBuckets.size() ? kBuckets.at(i).text : "+Inf";
    text += duration + "_bucket{le=\"" + most + "\"} " + std::to_string(number) + "\n";
  }
  text += duration + "_sum " + std::to_string(seconds_) + "\n";
  text += duration + "_count " + std::to_string(number) + "\n";
  return text;
}

void Telemetry::serve(const std::stop_token& stop) {
  LocalListener::Wait wait;
  wait.patience = kRequestTime;
  wait.look = [](std::string_view bytes) {
    const HttpParse parsed = parse_http(bytes, {});
    return LocalListener::Look{parsed.missing, parsed.interim};
  };
  const std::string& name = listener_->name();
  HttpHost host;
  if (!name.starts_with('/')) host = {name, "localhost" + name.substr(name.rfind(':'))};
  while (!stop.stop_requested()) {
    wait.until = Deadline::after(clock_, kTick);
    const auto event = listener_->next(wait);
    if (!event) return log_("metrics are no longer served: " + event.error().message);
    if (event->connection == nullptr || event->is_closed) continue;
    event->connection->send(http_text(answer_to(event->bytes, host, *this)));
    event->connection->finish();
  }
}

// --- spans --------------------------------------------------------------------------------------

void Telemetry::write(const Outcome& outcome, const Span& span) {
  const std::string trace = outcome.trace.empty()
                                ? random_hex(kTraceDigits)
                                : ContentId::of(outcome.trace).hex().substr(0, kTraceDigits);
  ordered_json attributes = ordered_json::array({attribute("galley.outcome", outcome.word)});
  for (const auto& [key, value] : outcome.attributes) {
    if (!value.empty()) attributes.push_back(attribute(key, value));
  }
  ordered_json one = {{"traceId", trace},
                      {"spanId", random_hex(kSpanDigits)},
                      {"name", service_.work},
                      {"kind", service_.is_queued ? kConsumerSpan : kServerSpan},
                      {"startTimeUnixNano", std::to_string(span.begin_wall_ns)},
                      {"endTimeUnixNano", std::to_string(span.begin_wall_ns + span.time.count())},
                      {"attributes", std::move(attributes)}};
  if (outcome.is_failure) one["status"] = {{"code", kErrorStatus}, {"message", outcome.word}};
  const auto list = [](ordered_json element) {
    return ordered_json(ordered_json::array({std::move(element)}));
  };
  const ordered_json scope = {{"scope", {{"name", "galley"}}}, {"spans", list(std::move(one))}};
  const ordered_json resource = {
      {"resource", {{"attributes", list(attribute("service.name", service_.name))}}},
      {"scopeSpans", list(scope)}};
  const std::string line = json_text(ordered_json{{"resourceSpans", list(resource)}}) + "\n";
  const std::lock_guard guard(file_mutex_);
  const auto written = write_host_file(options_.spans, line, true);
  if (!written) log_("a span is lost: " + written.error().message);
}

// --- the whole ----------------------------------------------------------------------------------

Telemetry::Telemetry(TelemetryOptions options, Service service, const Clock& clock, Log log)
    : options_(std::move(options)),
      service_(std::move(service)),
      clock_(clock),
      log_(std::move(log)),
      by_time_(kBuckets.size() + 1) {}

Telemetry::~Telemetry() = default;

Result<std::unique_ptr<Telemetry>> Telemetry::open(TelemetryOptions options, Service service,
                                                   const Clock& clock, Log log) {
  std::unique_ptr<Telemetry> made(
      new Telemetry(std::move(options), std::move(service), clock, std::move(log)));
  if (!made->options_.spans.empty()) GALLEY_TRY(write_host_file(made->options_.spans, {}, true));
  if (made->options_.metrics.empty()) return made;
  GALLEY_ASSIGN(made->listener_, listener_of(made->options_.metrics, clock));
  made->log_("metrics at " + printable_line(made->listener_->name()));
  made->thread_ =
      std::jthread([&telemetry = *made](const std::stop_token& stop) { telemetry.serve(stop); });
  return made;
}

}  // namespace galley
