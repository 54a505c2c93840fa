// A client of `galley serve --grpc` over @grpc/grpc-js. It has no copy of the server's messages: it
// asks the server for them (reflection), as grpcurl does.
//   calls.mjs MODULES
// Each line of standard input is one JSON object:
//   {"connect": ADDRESS, "as": NAME, "ca"?, "key"?, "certificate"?}   files; without them, no TLS
//   {"as": NAME, "call": SERVICE/METHOD, "id": ID, "request": {…}, "deadline_ms"?}
//   {"cancel": ID}
//   {"handler": ADDRESS}      listens as aios.tools.ToolHandler and adds `a` and `b`
// Each line of standard output is one: {"id", "event"}, {"id", "answer"}, {"id", "status", "details"},
// {"connected": NAME, "methods": {METHOD: "unary" | "stream"}}, {"listens": ADDRESS}. Bytes are in base64.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(process.argv[2] + '/');
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const protobuf = require('protobufjs');

const OPTIONS = { keepCase: true, longs: Number, enums: String, bytes: String, defaults: true, oneofs: true };
// The field 4 of an answer has the same bytes as a google.protobuf.FileDescriptorSet.
const STANDARD = `
  syntax = "proto3";
  package grpc;
  message ReflectionRequest { oneof what { string file_containing_symbol = 4; string list_services = 7; } }
  message Service { string name = 1; }
  message Services { repeated Service service = 1; }
  message Missing { int32 error_code = 1; string error_message = 2; }
  message ReflectionAnswer {
    oneof what { bytes files = 4; Services services = 6; Missing error = 7; }
  }
  service ServerReflection { rpc ServerReflectionInfo(stream ReflectionRequest) returns (stream ReflectionAnswer); }
  message HealthCheckRequest { string service = 1; }
  message HealthCheckResponse {
    enum ServingStatus { UNKNOWN = 0; SERVING = 1; NOT_SERVING = 2; SERVICE_UNKNOWN = 3; }
    ServingStatus status = 1;
  }
  service Health {
    rpc Check(HealthCheckRequest) returns (HealthCheckResponse);
    rpc Watch(HealthCheckRequest) returns (stream HealthCheckResponse);
  }`;
const standard = loader.fromJSON(protobuf.parse(STANDARD, { keepCase: true }).root.toJSON(), OPTIONS);
const health = Object.fromEntries(Object.values(standard['grpc.Health']).map(
  (method) => [`grpc.health.v1.Health/${method.path.split('/')[2]}`, method]));
const reflection = standard['grpc.ServerReflection'].ServerReflectionInfo;
const REFLECTION = '/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo';

const say = (told) => console.log(JSON.stringify(told));
const clients = new Map();
const calls = new Map();
let handler;

function reflect(client, request) {
  return new Promise((resolve, reject) => {
    const { requestSerialize, responseDeserialize } = reflection;
    const stream = client.makeBidiStreamRequest(REFLECTION, requestSerialize, responseDeserialize);
    stream.on('data', resolve);
    stream.on('error', reject);
    stream.end(request);
  });
}

async function connect({ connect: address, as, ca, key, certificate }) {
  const read = (file) => file && readFileSync(file);
  const credentials = ca ? grpc.credentials.createSsl(read(ca), read(key), read(certificate))
                         : grpc.credentials.createInsecure();
  const client = new grpc.Client(address, credentials);
  const methods = { ...health };
  const { services } = await reflect(client, { list_services: '*' });
  for (const { name } of services.service) {
    const { files } = await reflect(client, { file_containing_symbol: name });
    if (!files) continue;  // health has no descriptor
    const all = loader.loadFileDescriptorSetFromBuffer(Buffer.from(files, 'base64'), OPTIONS);
    for (const method of Object.values(all[name])) methods[method.path.slice(1)] = method;
    handler ??= all['aios.tools.ToolHandler'];
  }
  clients.set(as, { client, methods });
  const kind = ([name, method]) => [name, method.responseStream ? 'stream' : 'unary'];
  say({ connected: as, services: services.service.map((service) => service.name), methods: Object.fromEntries(Object.entries(methods).map(kind)) });
}

function call({ as, call: name, id, request, deadline_ms: limit = 60_000 }) {
  const { client, methods } = clients.get(as);
  const { requestSerialize, responseDeserialize, responseStream } = methods[name];
  const options = { deadline: Date.now() + limit };
  const fail = (error) => say({ id, status: grpc.status[error.code], details: error.details });
  if (!responseStream) {
    calls.set(id, client.makeUnaryRequest(`/${name}`, requestSerialize, responseDeserialize, request,
      new grpc.Metadata(), options, (error, answer) => error ? fail(error) : say({ id, answer })));
    return;
  }
  const stream = client.makeServerStreamRequest(`/${name}`, requestSerialize, responseDeserialize, request,
    new grpc.Metadata(), options);
  stream.on('metadata', () => say({ id, event: 'begun' }));
  stream.on('data', (event) => say({ id, event }));
  stream.on('error', fail);
  stream.on('end', () => say({ id, answer: null }));
  calls.set(id, stream);
}

function listen(address) {
  const server = new grpc.Server();
  server.addService(handler, {
    Execute({ request }, answer) {
      const { a, b } = JSON.parse(Buffer.from(request.input_json, 'base64'));
      const output_json = Buffer.from(JSON.stringify({ sum: a + b, by: request.agent_id })).toString('base64');
      answer(null, { success: true, output_json });
    },
  });
  server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error) => {
    if (error) throw error;
    say({ listens: address });
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  if (asked.connect) await connect(asked);
  else if (asked.handler) listen(asked.handler);
  else if (asked.cancel) calls.get(asked.cancel).cancel();
  else call(asked);
}
process.exit(0);
