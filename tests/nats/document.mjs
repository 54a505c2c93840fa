// Nachos' own programs (fixtures/specs/nachos.json) over the NATS client of npm.
//   document.mjs MODULES serve ADDRESS    runs the document's ToolRunner with its FilesystemTool, in
//                                         this folder; prints a line when it listens
//   document.mjs MODULES host ADDRESS     the same, but the ToolRunner has Galley's tool `filesystem`, which it
//                                         calls with the program $GALLEY
//   document.mjs MODULES ask ADDRESS      sends requests, one JSON object {subject, data} on each
//                                         line of standard input; prints each reply on a line
import { spawnSync } from 'node:child_process';
import { promises as fs, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [modules, verb, address] = process.argv.slice(2);
const require = createRequire(modules + '/');
const { connect } = require('nats');

/** The document names types that it defines elsewhere; only SecurityTier is a value. */
function classesOfTheDocument() {
  const ts = require('typescript');
  const file = new URL('../../fixtures/specs/nachos.json', import.meta.url);
  const { samples } = JSON.parse(readFileSync(file, 'utf8'));
  const source = samples.map((sample) => sample.document_tool ?? sample.document_runner ?? '').join('\n');
  const options = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
  const { outputText } = ts.transpileModule(source, { compilerOptions: options });
  const exports = {};
  new Function('exports', 'fs', 'SecurityTier', outputText)(exports, fs, { ELEVATED: 2 });
  return exports;
}

/** The client's messages have a Uint8Array, whose toString() is not the text that the document expects. */
function withBuffers(nats) {
  return {
    async *subscribe(topic) {
      for await (const message of nats.subscribe(topic)) {
        yield { data: Buffer.from(message.data), respond: (text) => message.respond(text) };
      }
    },
  };
}

const nats = await connect({ servers: address });
/** Galley's tool of this name, as the document's ToolRunner calls a tool. Each call is committed. */
function toolOfGalley(toolId) {
  const galley = (...words) => spawnSync(process.env.GALLEY, words, { encoding: 'utf8' });
  return {
    toolId,
    name: toolId,
    async execute(parameters) {
      const called = galley('call', '--begin', '--profile', 'nachos', '--format', 'nachos', toolId, JSON.stringify(parameters));
      if (galley('commit').status !== 0) galley('rollback');
      return JSON.parse(called.stdout);
    },
  };
}

if (verb === 'serve' || verb === 'host') {
  const { FilesystemTool, ToolRunner } = classesOfTheDocument();
  const tool = verb === 'host' ? toolOfGalley('filesystem') : new FilesystemTool();
  if (verb === 'serve') await tool.initialize({ config: {} });
  const served = new ToolRunner(tool, withBuffers(nats)).start();
  await Promise.resolve();
  await nats.flush();
  console.log('serving');
  await served;
} else {
  for await (const line of createInterface({ input: process.stdin })) {
    const { subject, data } = JSON.parse(line);
    const reply = await nats.request(subject, data, { timeout: 60000 });
    console.log(JSON.stringify(reply.json()));
  }
  await nats.close();
}
