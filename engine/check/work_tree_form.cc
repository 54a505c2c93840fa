#include "engine/check/work_tree_form.h"

namespace galley {

Result<std::string> WorkTreeForm::stored_id(const std::string& path, std::string_view bytes) const {
  GALLEY_ASSIGN(std::string id,
                git_->run({"-C", work_tree_, "hash-object", "--stdin", "--path=" + path}, bytes));
  while (id.ends_with('\n')) id.pop_back();
  return id;
}

Result<std::string> WorkTreeForm::file_of(const std::string& path, const std::string& id) const {
  return git_->run({"-C", work_tree_, "cat-file", "--filters", "--path=" + path, id});
}

}  // namespace galley
