// An editor made of the SDK of the Agent Client Protocol. Arguments: a command that speaks the
// protocol. It reads a JSON object {cwd, prompts, answer} on standard input, sends each prompt, and
// prints what it got. `answer` is the option that it takes when it is asked.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";

const { client, methods, ndJsonStream } = await import(process.env.ACP_SDK);
const task = JSON.parse(readFileSync(0, "utf8"));
const [program, ...words] = process.argv.slice(2);
const agent = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"], cwd: task.cwd });
const got = { updates: [], asked: [], answers: [] };
const app = client({ name: "editor" })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    got.asked.push(params);
    return { outcome: { outcome: "selected", optionId: task.answer } };
  })
  .onNotification(methods.client.session.update, ({ params }) => {
    got.updates.push(params.update);
  });
const stream = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await app.connectWith(stream, async (side) => {
  got.initialized = await side.request(methods.agent.initialize, {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: true }, terminal: true },
  });
  if (task.prompts.length === 0) return;
  const { sessionId } = await side.request(methods.agent.session.new, { cwd: task.cwd, mcpServers: [] });
  for (const text of task.prompts) {
    got.answers.push(
      await side.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] }),
    );
  }
});
agent.stdin.end();
got.status = await new Promise((resolve) => agent.on("close", resolve));
process.stdout.write(JSON.stringify(got));
process.exit(0);
