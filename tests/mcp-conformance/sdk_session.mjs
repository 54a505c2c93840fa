// Drives `galley mcp --http` with the TypeScript SDK's clients: a session of each era, two at a
// time, and one that is killed in the middle of a call.
//
//     node sdk_session.mjs NODE_MODULES URL TOKEN WORKSPACE        the workspace has a.txt: 30 lines
//     node sdk_session.mjs NODE_MODULES URL TOKEN WORKSPACE dies   kills itself during a call
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, url, token, workspace, mode] = process.argv.slice(2);
const file = join(workspace, "a.txt");
const sdk = (path) => import(pathToFileURL(join(modules, "@modelcontextprotocol", path)));
const earlier = {
  ...(await sdk("sdk/dist/esm/client/index.js")),
  ...(await sdk("sdk/dist/esm/client/streamableHttp.js")),
};
const current = await sdk("client/dist/index.mjs");

async function connected({ Client, StreamableHTTPClientTransport }, options = {}) {
  const client = new Client({ name: "sdk", version: "1" }, { capabilities: {}, ...options });
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { Authorization: `Bearer ${token}` } },
  });
  await client.connect(transport);
  return { client, transport };
}

async function call({ client }, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  return { ...result.structuredContent, text: result.content[0].text };
}

const lines = (changes) =>
  Array.from({ length: 30 }, (_, i) => `${changes[i + 1] ?? `line ${i + 1}`}\n`).join("");

/// Reads, edits, resolves a conflict, commits and undoes. A stateless client names its transaction.
async function session(peer, isStateless) {
  writeFileSync(file, lines({}));
  assert.match((await call(peer, "Read", { file_path: "a.txt" })).text, /line 30/);
  const edited = await call(peer, "Edit", { file_path: "a.txt", old_string: "line 5\n", new_string: "staged 5\n" });
  const tx = isStateless ? { tx: edited.tx } : {};
  assert.equal(readFileSync(file, "utf8"), lines({}));
  writeFileSync(file, lines({ 5: "disk 5", 25: "disk 25" }));
  const conflict = await call(peer, "galley_commit", tx);
  assert.equal(conflict.outcome, "conflict");
  const { path, version, hunks } = conflict.conflicts[0];
  assert.deepEqual([hunks[0].disk, hunks[0].staged], ["disk 5\n", "staged 5\n"]);
  const resolved = await call(peer, "galley_resolve", { path, version, hunks: [{ text: "both 5\n" }], ...tx });
  assert.deepEqual(resolved.conflicts, []);
  const committed = await call(peer, "galley_commit", tx);
  assert.equal(committed.outcome, "committed");
  assert.equal(readFileSync(file, "utf8"), lines({ 5: "both 5", 25: "disk 25" }));
  await call(peer, "galley_undo", isStateless ? { id: committed.id } : {});
  assert.equal(readFileSync(file, "utf8"), lines({ 5: "disk 5", 25: "disk 25" }));
}

async function together() {
  const peers = await Promise.all([connected(earlier), connected(earlier), connected(earlier)]);
  await Promise.all(peers.map(async (peer, number) => {
    for (let step = 0; step < 20; ++step) {
      await call(peer, "Write", { file_path: `p${number}/${step}.txt`, content: `${step}\n` });
    }
    const staged = await call(peer, "galley_status");
    const files = staged.changes.filter((change) => change.path.endsWith(".txt"));
    assert.equal(files.length, 20);
    assert.ok(files.every((change) => change.path.startsWith(`p${number}/`)));
    assert.equal((await call(peer, "galley_commit")).outcome, "committed");
    await peer.transport.terminateSession();
    await peer.client.close();
  }));
  for (let number = 0; number < peers.length; ++number) {
    assert.equal(readFileSync(join(workspace, `p${number}`, "19.txt"), "utf8"), "19\n");
  }
}

if (mode === "dies") {
  const peer = await connected(earlier);
  await call(peer, "Write", { file_path: "kept.txt", content: "kept\n" });
  void call(peer, "Bash", { command: "sleep 3; echo late > late.txt" });
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 500);
} else {
  const first = await connected(earlier);
  await session(first, false);
  const listed = await first.client.listTools();
  assert.ok(listed.tools.some((tool) => tool.name === "galley_commit"));
  await session(await connected(current, { versionNegotiation: { mode: { pin: "2026-07-28" } } }), true);
  await together();
  const dead = spawnSync(process.execPath, [process.argv[1], modules, url, token, workspace, "dies"]);
  assert.equal(dead.signal, "SIGKILL", dead.stderr.toString());
  await session(first, false);
  assert.ok(!existsSync(join(workspace, "kept.txt")));
  const open = (await call(first, "galley_status")).open;
  assert.equal(open.length, 1, "what the killed client had staged is kept");
  assert.equal((await call(first, "galley_commit", { tx: open[0].tx })).outcome, "committed");
  assert.equal(readFileSync(join(workspace, "kept.txt"), "utf8"), "kept\n");
  await first.client.close();
  console.log("the TypeScript SDK's clients passed");
  process.exit(0);
}
