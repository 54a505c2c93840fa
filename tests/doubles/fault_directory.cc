#include "doubles/fault_directory.h"

#include <cerrno>

#include "base/result.h"

namespace galley {
namespace {

/// Counts the call. Returns the errno with which it must fail, or 0.
int enter(FaultPlan& plan, FaultCall call) {
  plan.calls.push_back(std::move(call));
  const FaultCall& now = plan.calls.back();
  if (plan.is_dead) return EIO;
  const bool is_here = plan.at != 0 && plan.calls.size() == plan.at;
  const bool is_after = plan.at != 0 && plan.calls.size() > plan.at && plan.is_lasting;
  if (is_here && plan.before) plan.before();
  if (is_here && plan.kills) {
    plan.is_dead = true;
    return EIO;
  }
  if (!is_here && !is_after) return 0;
  if (plan.os_error == 0 || (plan.affects && !plan.affects(now))) return 0;
  plan.has_failed = true;
  return plan.os_error;
}

class FaultFile final : public WritableFile {
 public:
  FaultFile(std::unique_ptr<WritableFile> inner, std::shared_ptr<FaultPlan> plan, std::string path)
      : inner_(std::move(inner)), plan_(std::move(plan)), path_(std::move(path)) {}

  Result<std::string> read_at(uint64_t offset, size_t count) override {
    return call<std::string>("read_at", false, [&] { return inner_->read_at(offset, count); });
  }
  Result<uint64_t> hole_at(uint64_t offset) override {
    return call<uint64_t>("hole_at", false, [&] { return inner_->hole_at(offset); });
  }
  Result<void> write_at(uint64_t offset, std::string_view bytes) override {
    const int code = enter(*plan_, {"write_at", path_, true});
    if (code == 0) return inner_->write_at(offset, bytes);
    if (plan_->writes_half && plan_->calls.size() == plan_->at) {
      static_cast<void>(inner_->write_at(offset, bytes.substr(0, bytes.size() / 2)));
    }
    return os_error(code, "write_at", path_);
  }
  Result<void> allocate(uint64_t size) override {
    return call<void>("allocate", true, [&] { return inner_->allocate(size); });
  }
  Result<void> truncate(uint64_t size) override {
    return call<void>("truncate", true, [&] { return inner_->truncate(size); });
  }
  Result<void> sync_data() override {
    return call<void>("sync_data", true, [&] { return inner_->sync_data(); });
  }
  Result<void> sync() override {
    return call<void>("sync", true, [&] { return inner_->sync(); });
  }
  Result<FileStat> stat() override {
    return call<FileStat>("fstat", false, [&] { return inner_->stat(); });
  }
  /// Not counted: open() has already returned this state.
  Result<FileStat> stat_at_open() override {
    if (plan_->is_dead) return os_error(EIO, "fstat", path_);
    return inner_->stat_at_open();
  }
  Result<void> set_mode(uint32_t mode) override {
    return call<void>("set_mode", true, [&] { return inner_->set_mode(mode); });
  }
  Result<void> set_owner(uint32_t uid, uint32_t gid) override {
    return call<void>("set_owner", true, [&] { return inner_->set_owner(uid, gid); });
  }
  Result<void> set_modified(int64_t mtime_ns) override {
    return call<void>("set_modified", true, [&] { return inner_->set_modified(mtime_ns); });
  }
  Result<std::vector<ExtendedAttribute>> attributes() override {
    return call<std::vector<ExtendedAttribute>>("attributes", false,
                                                [&] { return inner_->attributes(); });
  }
  Result<void> set_attribute(const ExtendedAttribute& attribute) override {
    return call<void>("set_attribute", true, [&] { return inner_->set_attribute(attribute); });
  }
  Result<void> remove_attribute(const std::string& name) override {
    return call<void>("remove_attribute", true, [&] { return inner_->remove_attribute(name); });
  }
  Result<bool> try_lock(LockMode mode) override {
    return call<bool>("try_lock", false, [&] { return inner_->try_lock(mode); });
  }
  [[nodiscard]] int descriptor() const override { return inner_->descriptor(); }

 private:
  template <class T, class Call>
  Result<T> call(const char* name, bool mutates, const Call& inner) {
    const int code = enter(*plan_, {name, path_, mutates});
    if (code != 0) return os_error(code, name, path_);
    return inner();
  }

  std::unique_ptr<WritableFile> inner_;
  std::shared_ptr<FaultPlan> plan_;
  std::string path_;
};

class FaultDirectory final : public WritableDirectory {
 public:
  FaultDirectory(std::unique_ptr<WritableDirectory> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}

  Result<std::unique_ptr<WritableDirectory>> open_writable_directory(
      const RelPath& path) const override {
    auto opened = call<std::unique_ptr<WritableDirectory>>(
        "open_directory", path, false, [&] { return inner_->open_writable_directory(path); });
    if (!opened) return opened;
    return make_fault_directory(std::move(*opened), plan_);
  }
  Result<std::unique_ptr<WritableFile>> open_writable_file(const RelPath& path, OpenMode mode,
                                                           uint32_t create_mode) const override {
    const bool creates = mode == OpenMode::kCreateNew || mode == OpenMode::kOpenOrCreate;
    auto opened = call<std::unique_ptr<WritableFile>>("open_file", path, creates, [&] {
      return inner_->open_writable_file(path, mode, create_mode);
    });
    if (!opened) return opened;
    return std::unique_ptr<WritableFile>(
        std::make_unique<FaultFile>(std::move(*opened), plan_, path.str()));
  }
  Result<FileStat> stat(const RelPath& path) const override {
    return call<FileStat>("stat", path, false, [&] { return inner_->stat(path); });
  }
  Result<std::string> read_link(const RelPath& path) const override {
    return call<std::string>("read_link", path, false, [&] { return inner_->read_link(path); });
  }
  Result<std::vector<DirectoryEntry>> list() const override {
    return call<std::vector<DirectoryEntry>>("list", RelPath::root(), false,
                                             [&] { return inner_->list(); });
  }
  Result<void> make_directory(const RelPath& path, uint32_t mode) const override {
    return call<void>("make_directory", path, true,
                      [&] { return inner_->make_directory(path, mode); });
  }
  Result<void> make_symlink(const RelPath& path, std::string_view target) const override {
    return call<void>("make_symlink", path, true,
                      [&] { return inner_->make_symlink(path, target); });
  }
  Result<void> make_hard_link(const RelPath& from, const WritableDirectory& to_directory,
                              const RelPath& to) const override {
    return call<void>("make_hard_link", from, true,
                      [&] { return inner_->make_hard_link(from, unwrap(to_directory), to); });
  }
  Result<void> remove_file(const RelPath& path) const override {
    return call<void>("remove_file", path, true, [&] { return inner_->remove_file(path); });
  }
  Result<void> remove_directory(const RelPath& path) const override {
    return call<void>("remove_directory", path, true,
                      [&] { return inner_->remove_directory(path); });
  }
  Result<void> rename(const RelPath& from, const WritableDirectory& to_directory, const RelPath& to,
                      RenameMode mode) const override {
    const bool is_missing = (mode == RenameMode::kExchange && !plan_->has_exchange) ||
                            (mode == RenameMode::kNoReplace && !plan_->has_no_replace);
    return call<void>("rename", from, true, [&]() -> Result<void> {
      if (is_missing) return os_error(EINVAL, "rename", from.str());
      return inner_->rename(from, unwrap(to_directory), to, mode);
    });
  }
  Result<void> set_mode(const RelPath& path, uint32_t mode) const override {
    return call<void>("set_mode", path, true, [&] { return inner_->set_mode(path, mode); });
  }
  Result<void> set_owner(const RelPath& path, uint32_t uid, uint32_t gid) const override {
    return call<void>("set_owner", path, true, [&] { return inner_->set_owner(path, uid, gid); });
  }
  Result<std::vector<ExtendedAttribute>> attributes(const RelPath& path) const override {
    return call<std::vector<ExtendedAttribute>>("attributes", path, false,
                                                [&] { return inner_->attributes(path); });
  }
  Result<void> set_attribute(const RelPath& path,
                             const ExtendedAttribute& attribute) const override {
    return call<void>("set_attribute", path, true,
                      [&] { return inner_->set_attribute(path, attribute); });
  }
  Result<void> remove_attribute(const RelPath& path, const std::string& name) const override {
    return call<void>("remove_attribute", path, true,
                      [&] { return inner_->remove_attribute(path, name); });
  }
  Result<bool> is_writable() const override { return inner_->is_writable(); }
  Result<void> sync() const override {
    return call<void>("sync", RelPath::root(), true, [&] { return inner_->sync(); });
  }
  Result<void> sync_file_system() const override {
    return call<void>("sync_file_system", RelPath::root(), true,
                      [&] { return inner_->sync_file_system(); });
  }
  [[nodiscard]] int descriptor() const override { return inner_->descriptor(); }

 private:
  static const WritableDirectory& unwrap(const WritableDirectory& directory) {
    const auto* wrapped = dynamic_cast<const FaultDirectory*>(&directory);
    GALLEY_CHECK(wrapped != nullptr);
    return *wrapped->inner_;
  }
  template <class T, class Call>
  Result<T> call(const char* name, const RelPath& path, bool mutates, const Call& inner) const {
    const int code = enter(*plan_, {name, path.str(), mutates});
    if (code != 0) return os_error(code, name, path.str());
    return inner();
  }

  std::unique_ptr<WritableDirectory> inner_;
  std::shared_ptr<FaultPlan> plan_;
};

}  // namespace

std::unique_ptr<WritableDirectory> make_fault_directory(std::unique_ptr<WritableDirectory> inner,
                                                        std::shared_ptr<FaultPlan> plan) {
  return std::make_unique<FaultDirectory>(std::move(inner), std::move(plan));
}

}  // namespace galley
