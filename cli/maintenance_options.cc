#include "cli/option_table.h"
#include "engine/git_hooks/hook_script.h"
#include "server/agents/agent_programs.h"
#include "tools/shapes.h"

namespace galley {
namespace {

void add_setup_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* init = table.add("init", "Write a galley.toml that fits this workspace")) {
    table.add_dry_run(init, "Print it instead");
    init->add_flag("--force", args.force, "Replace an existing one");
    init->add_flag("--enable", args.enables,
                   "Enable the commands that were found, instead of\nwriting them as comments");
  }
  if (CLI::App* trust = table.add("trust", "Trust the commands and rights in galley.toml")) {
    table.add_dry_run(trust, "As --show");
    CLI::Option* show =
        trust->add_flag("--show", args.show, "Only show it, with its hash for GALLEY_TRUST");
    CLI::Option* list =
        trust->add_flag("--list", args.list, "List what you trust, in all workspaces");
    trust->add_flag("--revoke", args.revoke, "Trust this workspace no longer")
        ->excludes(show)
        ->excludes(list);
    list->excludes(show);
  }
  for (CLI::App* command : {table.add("grant", "Give an agent a capability"),
                            table.add("revoke", "Take a capability from an agent")}) {
    if (command == nullptr) continue;
    command->add_option("agent", args.id, "Name of the agent")->required();
    command->add_option("capability", args.input, "custom:deploy, fs:write:src/** …")->required();
    add_option(command, "--by NAME", args.name, "Name of the person; for the record");
  }
  table.add("grants", "List granted and revoked capabilities");
  if (CLI::App* recover =
          table.add("recover", "Finish or revert commits that a crash interrupted")) {
    table.add_dry_run(recover, "Only say what it would do");
    recover->add_flag("--adopt", args.adopt, "Adopt a .galley that is not trusted");
  }
  if (CLI::App* gc = table.add("gc", "Remove leftovers of dead processes and old history")) {
    table.add_dry_run(gc, "Only say what it would clear");
  }
  if (CLI::App* doctor = table.add("doctor", "Check the workspace and what this machine offers")) {
    doctor->add_flag("--repair", args.repair, "Repair what can be repaired");
  }
}

void add_tools_add(OptionTable& table, CLI::App* tools) {
  Arguments& args = table.arguments();
  CLI::App* add =
      table.add_member(tools, "add", "Add the programs of a folder or the tools of an MCP server");
  add->add_option("folder", args.words,
                  "A folder with manifest.json; with --mcp the server's command, after --");
  CLI::Option* server =
      add_option(add, "--mcp NAME", args.mcp.name, "Add the tools of an MCP server as NAME.tool");
  CLI::Option* url =
      add_option(add, "--url URL", args.mcp.url, "Ask the server over HTTP at this URL")
          ->needs(server);
  add_list(add, "--header NAME:VALUE", args.mcp.headers,
           "Send this to a server with a URL; $ENV.NAME is a secret")
      ->needs(url);
  add_list(add, "--env NAME=VALUE", args.call.environment, "Set this in its environment")
      ->needs(server);
  add_list(add, "--secret NAME", args.call.secrets,
           "Give it this secret of the call in its environment or headers")
      ->needs(server);
  add_list(add, "--readable DIR", args.mcp.readable, "Let it read this folder of the machine")
      ->needs(server);
  add->add_flag("--read-only", args.mcp.is_read_only, "Drop what it writes")->needs(server);
  add->add_flag("--network", args.exec.shares_network, "Give it the host's network")->needs(server);
  add_seconds(add, "--timeout", args.exec.timeout_s, "Seconds that one call may take (10)")
      ->needs(server);
  add_size(add, "--memory", args.exec.memory_bytes,
           "Memory of all its processes, such as 512mb (200mb)")
      ->needs(server);
  table.add_dry_run(add, "Only show what they are and may do");
}

void add_command_groups(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* tools = table.add_group("tools", "List, add, check and remove tools")) {
    CLI::App* list = table.add_member(tools, "list", "List the tools, one line each");
    CLI::App* show = table.add_member(tools, "show", "Show one tool with its schemas");
    show->add_option("name", args.name, "Name of the tool")->required();
    for (CLI::App* command : {list, show}) {
      table.add_profile(command);
      table.add_choice(command, "--format NAME", args.shape, tool_shape_names(),
                       "Use the format of this system");
    }
    show->add_flag("--manifest", args.manifest, "Its manifest, in Nachos' shape unless --format");
    table.add_member(tools, "check", "Check a tool against the checklist")
        ->add_option("name", args.name, "Name of the tool")
        ->required();
    CLI::App* validate = table.add_member(tools, "validate", "Check the arguments of a call");
    validate->add_option("name", args.name, "Name of the tool")->required();
    validate->add_option("args", args.input, "JSON object; - is standard input")->required();
    add_tools_add(table, tools);
    CLI::App* trust = table.add_member(tools, "trust", "Trust the present tools of an MCP server");
    trust->add_option("name", args.name, "Name of the server")->required();
    table.add_dry_run(trust, "Only show what they are and what has changed");
    CLI::App* remove = table.add_member(tools, "remove", "Remove a custom tool or an MCP server");
    remove->add_option("name", args.name, "Name of the tool, or of an MCP server")->required();
    table.add_dry_run(remove, "Only say whether there is one");
  }
  if (CLI::App* audit = table.add_group("audit", "Verify and export the record of every call")) {
    table.add_member(audit, "verify", "Check the chain of records");
    CLI::App* as = table.add_member(audit, "export",
                                    "Print the record for other programs, one JSON object a line");
    table.add_choice(as, "format", args.input, {"aios", "agent-trace"}, "aios or agent-trace")
        ->required();
  }
  if (CLI::App* policy = table.add_group("policy", "Explain and test path and effect rules")) {
    CLI::App* explain = table.add_member(policy, "explain", "Show which rules apply to a path");
    explain->add_option("path", args.name, "A path")->required();
    table.add_member(policy, "test", "Check a table of expectations")
        ->add_option("file", args.input, "A TOML file")
        ->required();
  }
  if (CLI::App* rescue = table.add_group("rescue", "List and delete files that were moved aside")) {
    table.add_member(rescue, "list", "List the files");
    table.add_member(rescue, "show", "Print one file")
        ->add_option("name", args.name, "Its name")
        ->required();
    table.add_member(rescue, "drop", "Delete one file permanently")
        ->add_option("name", args.name, "Its name")
        ->required();
  }
}

void add_hook_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  std::vector<std::string> names;
  for (const HookKind& kind : hook_kinds()) names.emplace_back(kind.name);
  if (CLI::App* hook = table.add_group("hook", "Install, remove and run git hooks")) {
    CLI::App* install = table.add_member(hook, "install", "Write hooks that ask Galley");
    CLI::App* uninstall = table.add_member(hook, "uninstall", "Put back what was there before");
    for (CLI::App* command : {install, uninstall}) {
      table.add_choice_list(command, "--hook NAME", args.words, names, "Only this hook");
      table.add_dry_run(command, "Only say what it would do");
    }
    install->add_flag("--force", args.force,
                      "Also where core.hooksPath is for every repository, or with lefthook");
    CLI::App* run = table.add_member(hook, "run", "Do what a hook does, as git runs it");
    table.add_choice(run, "name", args.name, names, "A hook")->required();
    add_option(run, "words ARGUMENT", args.words, "What git gives the hook");
  }
}

void add_agents_commands(OptionTable& table) {
  AgentArguments& which = table.arguments().agents;
  std::vector<std::string> names;
  for (const AgentProgram& program : agent_programs()) names.emplace_back(program.name);
  if (CLI::App* agents = table.add_group("agents", "Configure agents, and show what they do")) {
    table.add_member(agents, "list", "List which agents are configured, and where");
    CLI::App* status = table.add_member(agents, "status",
                                        "Show what agents have staged and committed, and overlaps");
    add_option(status, "-n,--limit N", table.arguments().limit,
               "Show at most N sessions; 20 by default");
    status->add_flag("-f,--follow", which.follow,
                     "Go on, and show each new overlap, until it is stopped");
    CLI::App* install = table.add_member(agents, "install", "Write Galley into an agent's files");
    CLI::App* uninstall = table.add_member(agents, "uninstall", "Remove exactly that again");
    names.emplace_back(kAllAgents);
    for (CLI::App* command : {install, uninstall}) {
      table
          .add_choice(command, "name", table.arguments().name, names,
                      "An agent; all: each that is found here")
          ->required();
      command->add_flag("--mcp", which.mcp, "Galley's tools; so without any of these five");
      command->add_flag("--hook", which.hook, "The hook that judges its own; so without any, too");
      command->add_flag("--commands", which.commands,
                        "/galley-undo and the like, to type in it; so without any, too");
      command->add_flag("--wrapper", which.wrapper, "A script galley-NAME that runs it staged");
      command->add_flag("--run", which.run, "Your consent to what it needs in galley run");
      CLI::Option* project =
          command->add_flag("--project", which.project, "In the files of this project");
      command->add_flag("--user", which.user, "In your own, for all projects")->excludes(project);
      command->add_flag("--yes", which.yes, "Do not ask");
      table.add_dry_run(command, "Only show what it would change");
    }
  }
}

void add_help_commands(OptionTable& table) {
  Arguments& args = table.arguments();
  if (CLI::App* completions = table.add("completions", "Print a completion script for a shell")) {
    table.add_choice(completions, "shell", args.name, {"bash", "zsh", "fish"}, "bash, zsh or fish")
        ->required();
  }
  if (CLI::App* help = table.add("help", "Explain a command, an error's reason or a key")) {
    add_option(help, "words NAME", args.words,
               "A command, a reason (path.outside) or a key (policy.mode)");
    help->add_flag("--man", args.show, "Print the manual page, for man(1)");
  }
}

}  // namespace

void add_maintenance_commands(OptionTable& table) {
  add_setup_commands(table);
  add_command_groups(table);
  add_hook_commands(table);
  add_agents_commands(table);
  add_help_commands(table);
}

}  // namespace galley
