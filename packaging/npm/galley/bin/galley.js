#!/usr/bin/env node
// Starts the program for this machine. The program is in a separate package.
"use strict";

const os = require("node:os");

const platform = `@galley/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/bin/galley`);
} catch {
  console.error(
    `galley: the package ${platform} is not installed. There are programs for Linux with glibc on x64 and arm64; ` +
      "they are optional dependencies, which npm leaves out with --omit=optional.",
  );
  process.exit(1);
}

const words = process.argv.slice(2);

function startAndWait() {
  const child = require("node:child_process").spawn(program, words, { stdio: "inherit" });
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    console.error(`galley: ${program} cannot be started: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (status, signal) => {
    if (signal === null) process.exit(status);
    // Whoever started us sees how the program ended.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    setTimeout(() => process.exit(128 + os.constants.signals[signal]), 1000);
  });
}

// node 22.15 and later can become the program: it keeps no memory, and signals need nobody to pass them on.
if (typeof process.execve === "function") {
  process.execve(program, [program, ...words], process.env);
} else {
  startAndWait();
}
