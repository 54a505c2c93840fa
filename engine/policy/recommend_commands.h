#pragma once

#include <string>
#include <vector>

#include "engine/policy/project_survey.h"
#include "engine/policy/recommend.h"

namespace galley {

/// A command validator for one thing that a workspace has and configures.
struct RecommendedCommand {
  std::string name;
  std::vector<std::string> command;
  std::string program;   ///< what it needs besides the workspace's own files
  std::string keys;      ///< the other keys, as TOML, a line each
  bool is_there = true;  ///< whether `program` was found
};

[[nodiscard]] std::vector<RecommendedCommand> recommended_commands(const ProjectSurvey& found,
                                                                   const FoundPrograms& programs);

/// Its `[[validator]]` table.
[[nodiscard]] std::string command_text(const RecommendedCommand& command);

}  // namespace galley
