#include "staging/git/git_objects.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "base/text.h"

namespace galley {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10U;
constexpr size_t kMaxHeadBytes = size_t{16} << 10U;

/// The names that one request has. They fit into the socket, so git can write its answers before
/// they are read.
constexpr size_t kNamesAtOnce = 64;
constexpr size_t kMaxNamesBytes = size_t{16} << 10U;

bool is_askable(const std::string& name) {
  return !name.empty() && name.find_first_of(std::string_view("\n\0", 2)) == std::string::npos;
}

Error too_large(const GitObjectHead& head, uint64_t max_bytes) {
  return {ErrorKind::kQuota, "limit.file_size",
          "the object " + head.id + " has " + std::to_string(head.size) + " bytes, more than the " +
              std::to_string(max_bytes) + " that are read"};
}

}  // namespace

/// One running git-cat-file.
class GitObjects::Reader {
 public:
  explicit Reader(std::unique_ptr<PipedProcess> process) : process_(std::move(process)) {}

  Result<GitObjectHead> ask(const Question& question) {
    GALLEY_TRY(send(question.name + "\n"));
    return receive(question);
  }

  Result<void> send(const std::string& names) {
    const auto sent = process_->write(names);
    return sent ? Result<void>() : fail(broken(sent.error()));
  }

  /// Reads the answer to the oldest name that was sent and not yet answered.
  Result<GitObjectHead> receive(const Question& question) {
    const auto& [name, take, max_bytes] = question;
    GALLEY_ASSIGN(const std::string line, next_line());
    auto read = head_of(line, name);
    if (!read) return fail(told_from_damage(read.error()));
    GitObjectHead head = *std::move(read);
    if (take == nullptr) return head;
    if (head.size > max_bytes) return fail(too_large(head, max_bytes));
    GALLEY_TRY(take_bytes(head.size, take));
    GALLEY_TRY(take_bytes(1, nullptr));
    return head;
  }

 private:
  /// git reports an object that it cannot unpack as missing, too, but first writes an error.
  Error told_from_damage(const Error& missing) {
    const std::string complaint = process_->complaint();
    const size_t heard = std::exchange(heard_, complaint.size());
    Error told = GitProgram::error(std::string_view(complaint).substr(heard));
    return told.reason == "git.object_damaged" ? told : missing;
  }
  [[nodiscard]] Error broken() const { return GitProgram::error(process_->complaint()); }
  /// Prefers git's message to the error of the broken pipe.
  [[nodiscard]] Error broken(const Error& why) const {
    return why.kind == ErrorKind::kTimeout ? GitProgram::unreadable_output(why) : broken();
  }

  Result<void> fill() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const auto some = process_->read(kReadBytes);
    if (!some) return fail(broken(some.error()));
    if (some->empty()) return fail(broken());
    buffer_ += *some;
    return {};
  }

  Result<std::string> next_line() {
    while (true) {
      const size_t end = buffer_.find('\n', begin_);
      if (end != std::string::npos) {
        std::string line = buffer_.substr(begin_, end - begin_);
        begin_ = end + 1;
        return line;
      }
      if (buffer_.size() - begin_ > kMaxHeadBytes) return fail(broken());
      GALLEY_TRY(fill());
    }
  }

  Result<void> take_bytes(uint64_t count, const Take* take) {
    while (count > 0) {
      if (begin_ == buffer_.size()) GALLEY_TRY(fill());
      const size_t some = std::min<uint64_t>(count, buffer_.size() - begin_);
      if (take != nullptr) (*take)(std::string_view(buffer_).substr(begin_, some));
      begin_ += some;
      count -= some;
    }
    return {};
  }

  /// Reads `<id> <type> <size>`, or `<name> missing` and similar lines.
  static Result<GitObjectHead> head_of(const std::string& line, const std::string& name) {
    const size_t type = line.find(' ');
    const size_t size = type == std::string::npos ? type : line.find(' ', type + 1);
    GitObjectHead head;
    if (size != std::string::npos && !line.starts_with(name + " ambiguous")) {
      head.id = line.substr(0, type);
      head.type = line.substr(type + 1, size - type - 1);
      const auto bytes = number_of<uint64_t>(std::string_view(line).substr(size + 1));
      if (bytes) {
        head.size = *bytes;
        return head;
      }
    }
    const std::string words = line.starts_with(name) ? line.substr(name.size()) : " missing";
    return fail(ErrorKind::kNotFound, "git.no_such_object",
                "'" + printable_line(name) + "' is" + printable_line(words) +
                    " in this repository; look at: git rev-parse --verify");
  }

  std::unique_ptr<PipedProcess> process_;
  std::string buffer_;
  size_t begin_ = 0;
  size_t heard_ = 0;  ///< bytes of error output at the last missing object
};

GitObjects::GitObjects(GitProgram program) : program_(std::move(program)) {}
GitObjects::~GitObjects() = default;

Result<std::unique_ptr<GitObjects::Reader>> GitObjects::reader_for(Readers& idle,
                                                                   const char* mode) const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle.empty()) {
      auto reader = std::move(idle.back());
      idle.pop_back();
      return reader;
    }
  }
  GALLEY_ASSIGN(auto process, program_.start({"cat-file", mode}));
  return std::make_unique<Reader>(std::move(process));
}

void GitObjects::put_back(Readers& idle, std::unique_ptr<Reader> reader) const {
  const std::lock_guard lock(mutex_);
  idle.push_back(std::move(reader));
}

Result<GitObjectHead> GitObjects::ask(Readers& idle, const char* mode,
                                      const Question& question) const {
  const std::string& name = question.name;
  if (!is_askable(name)) {
    return fail(ErrorKind::kUsage, "git.bad_revision",
                "'" + printable_line(name) + "' is not a name of a revision");
  }
  GALLEY_ASSIGN(auto reader, reader_for(idle, mode));
  auto head = reader->ask(question);
  // A reader is not reused after a failure.
  if (head || head.error().reason == "git.no_such_object") put_back(idle, std::move(reader));
  return head;
}

size_t GitObjects::read_each(std::span<const Wanted> wanted,
                             const std::function<void(size_t)>& on_read) const {
  size_t done = 0;
  while (done < wanted.size()) {
    const auto some = wanted.subspan(done, std::min(wanted.size() - done, kNamesAtOnce));
    std::string names;
    for (const Wanted& one : some) {
      if (!is_askable(one.name) || names.size() + one.name.size() >= kMaxNamesBytes) break;
      names += one.name + "\n";
    }
    auto reader = reader_for(readers_, "--batch");
    if (names.empty() || !reader || !(*reader)->send(names)) return done;
    const auto count = static_cast<size_t>(std::count(names.begin(), names.end(), '\n'));
    for (const Wanted& one : some.first(count)) {
      if (!(*reader)->receive({one.name, &one.take, one.max_bytes})) return done;
      on_read(done++);
    }
    put_back(readers_, std::move(*reader));
  }
  return done;
}

Result<GitObjectHead> GitObjects::look(const std::string& name) const {
  return ask(lookers_, "--batch-check", {name});
}

Result<GitObjectHead> GitObjects::read(const std::string& name, const Take& take,
                                       uint64_t max_bytes) const {
  return ask(readers_, "--batch", {name, &take, max_bytes});
}

Result<std::string> GitObjects::content(const std::string& name, std::string_view type,
                                        uint64_t max_bytes) const {
  std::string bytes;
  const Take take = [&](std::string_view some) { bytes += some; };
  GALLEY_ASSIGN(const GitObjectHead head, read(name, take, max_bytes));
  if (head.type == type) return bytes;
  return fail(ErrorKind::kUsage, "git.wrong_type",
              "'" + printable_line(name) + "' is a " + head.type + ", not a " + std::string(type));
}

}  // namespace galley
