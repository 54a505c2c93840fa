// The table of agents. `agents install` and `galley run` read only this table.
//
// The agents with a version in `tested` were run so; the rows of the others are from their
// documentation (2026-11).
#include "server/agents/agent_programs.h"

namespace galley {
namespace {

using Words = std::vector<std::string_view>;

/// Folders of the XDG base directory specification with this name.
std::vector<AgentFolder> xdg_folders(std::string_view name) {
  return {{"XDG_CONFIG_HOME", ".config", name},
          {"XDG_DATA_HOME", ".local/share", name},
          {"XDG_STATE_HOME", ".local/state", name},
          {"XDG_CACHE_HOME", ".cache", name}};
}

/// The keys of models that agents without a provider of their own accept.
Words with_model_keys(Words own) {
  for (const std::string_view key : {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL",
                                     "OPENROUTER_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}) {
    own.push_back(key);
  }
  return own;
}

AgentProgram codex() {
  AgentProgram agent;
  agent.name = "codex";
  agent.title = "codex";
  agent.tested = "0.169";
  agent.usual = AgentScope::kUser;
  agent.state = {{"CODEX_HOME", ".codex", ""}};
  agent.variables = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY"};
  agent.hosts = {"api.openai.com", "chatgpt.com", "auth.openai.com"};
  // It cannot make its own sandbox inside Galley's, which replaces it.
  agent.options = {"-c", "sandbox_mode=danger-full-access"};
  agent.login = "log in with codex login, or set CODEX_API_KEY";
  agent.acp_programs = {"codex-acp"};
  return agent;
}

AgentProgram claude() {
  AgentProgram agent;
  agent.name = "claude";
  agent.title = "Claude Code";
  agent.tested = "2.1.330";
  agent.usual = AgentScope::kProject;
  agent.state = {{"CLAUDE_CONFIG_DIR", ".claude", ""}};
  agent.settings_file = ".claude.json";
  agent.variables = {"ANTHROPIC_API_KEY",       "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL",
                     "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_MODEL",      "CLAUDE_CODE_USE_BEDROCK",
                     "CLAUDE_CODE_USE_VERTEX"};
  agent.hosts = {"api.anthropic.com", "claude.ai", "platform.claude.com"};
  agent.login = "type /login in claude, or set ANTHROPIC_API_KEY";
  agent.acp_programs = {"claude-agent-acp", "claude-code-acp"};  // the older name last
  return agent;
}

AgentProgram gemini() {
  AgentProgram agent;
  agent.name = "gemini";
  agent.title = "Gemini CLI";
  agent.tested = "0.61";
  agent.usual = AgentScope::kProject;
  agent.state = {{"GEMINI_CLI_HOME", "", ".gemini"}};
  agent.variables = {"GEMINI_API_KEY",
                     "GOOGLE_API_KEY",
                     "GOOGLE_CLOUD_PROJECT",
                     "GOOGLE_CLOUD_LOCATION",
                     "GOOGLE_GENAI_USE_VERTEXAI",
                     "GOOGLE_GEMINI_BASE_URL",
                     "GEMINI_CLI_TRUST_WORKSPACE"};
  agent.hosts = {"generativelanguage.googleapis.com", "cloudcode-pa.googleapis.com",
                 "oauth2.googleapis.com"};
  agent.login = "sign in with gemini, or set GEMINI_API_KEY";
  agent.acp_words = {"--experimental-acp"};
  return agent;
}

AgentProgram opencode() {
  AgentProgram agent;
  agent.name = "opencode";
  agent.title = "opencode";
  agent.tested = "1.18";
  agent.usual = AgentScope::kProject;
  agent.state = xdg_folders("opencode");
  agent.variables = with_model_keys({"OPENCODE_API_KEY"});
  agent.hosts = {"opencode.ai", "models.dev", "the provider of your model"};
  agent.login = "log in with opencode auth login, or set the key of your model's provider";
  agent.acp_words = {"acp"};
  return agent;
}

AgentProgram qwen() {
  AgentProgram agent;
  agent.name = "qwen";
  agent.title = "Qwen Code";
  agent.tested = "0.24";
  agent.state = {{"", ".qwen", ""}};
  agent.variables = {"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY"};
  agent.hosts = {"chat.qwen.ai", "portal.qwen.ai", "dashscope.aliyuncs.com"};
  agent.login = "type /auth in qwen, or set OPENAI_API_KEY";
  agent.acp_words = {"--experimental-acp"};
  return agent;
}

AgentProgram cline() {
  AgentProgram agent;
  agent.name = "cline";
  agent.title = "Cline";
  agent.tested = "3.0";
  agent.state = {{"CLINE_DIR", ".cline", ""}};
  agent.variables = with_model_keys({"CLINE_API_KEY", "CLINE_PROVIDER", "CLINE_MODEL"});
  // Otherwise a daemon that cline left outside of the run makes the edits and runs the commands.
  agent.settings = {{"CLINE_SESSION_BACKEND_MODE", "local"}};
  agent.hosts = {"api.cline.bot", "the provider of your model"};
  agent.login = "log in with cline auth, or set CLINE_API_KEY";
  agent.acp_words = {"--acp"};
  return agent;
}

AgentProgram goose() {
  AgentProgram agent;
  agent.name = "goose";
  agent.title = "goose";
  agent.state = xdg_folders("goose");
  agent.variables = with_model_keys({"GOOSE_PROVIDER", "GOOSE_MODEL", "GOOSE_MODE"});
  // The keyring of the desktop cannot be reached from a sandbox.
  agent.settings = {{"GOOSE_DISABLE_KEYRING", "1"}};
  agent.hosts = {"the provider of your model"};
  agent.login =
      "the desktop's keyring is not reachable in the run: set the key of your model's provider, or "
      "store it with GOOSE_DISABLE_KEYRING=1 goose configure";
  agent.acp_words = {"acp"};
  return agent;
}

/// Continue's program is called cn.
AgentProgram cn() {
  AgentProgram agent;
  agent.name = "cn";
  agent.title = "Continue";
  agent.tested = "1.5";
  agent.state = {{"CONTINUE_GLOBAL_DIR", ".continue", ""}};
  agent.variables = with_model_keys({});
  agent.hosts = {"api.continue.dev", "the provider of your model"};
  agent.login = "start cn and choose a model, or set ANTHROPIC_API_KEY";
  return agent;
}

AgentProgram amp() {
  AgentProgram agent;
  agent.name = "amp";
  agent.title = "Amp";
  agent.state = xdg_folders("amp");
  agent.variables = {"AMP_API_KEY", "AMP_URL"};
  agent.hosts = {"ampcode.com"};
  agent.login = "log in with amp login, or set AMP_API_KEY";
  return agent;
}

}  // namespace

const std::vector<AgentProgram>& agent_programs() {
  static const std::vector<AgentProgram> kPrograms = {
      codex(), claude(), gemini(), opencode(), qwen(), cline(), goose(), amp(), cn()};
  return kPrograms;
}

}  // namespace galley
