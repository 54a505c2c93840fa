// Drives a page in Debian's Chromium. Reads steps as JSON from stdin and prints the results.
//
//   {"packages": FOLDER, "url": URL, "theme": "light"|"dark", "before": SCRIPT, "steps": [[VERB, ARGUMENT, ...], ...]}
//
// Verbs: press KEY, click SELECTOR, fill SELECTOR TEXT, select SELECTOR VALUE, until EXPRESSION,
// note NAME EXPRESSION, axe NAME, media TYPE, picture FILE, pdf, metrics NAME, run ARGUMENTS
// VARIABLES. The debugger evaluates expressions, and the script that runs before the page's own.
// The policy of the page does not apply to them, but stays in force for the page itself.
import {readFileSync} from 'node:fs';
import {execFileSync} from 'node:child_process';
import {createRequire} from 'node:module';

const deadline = 60_000;
const order = JSON.parse(readFileSync(0, 'utf8'));
const require = createRequire(`${order.packages}/`);
const {chromium} = require('playwright-core');
const found = {notes: {}, console: [], errors: [], requests: [], refused: []};

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  // As root or in a container, the browser's sandbox has no namespaces to use.
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
});
try {
  const context = await browser.newContext({
    colorScheme: order.theme || 'light', viewport: order.viewport || {width: 1280, height: 900},
  });
  context.setDefaultTimeout(deadline);
  const page = await context.newPage();
  const debug = await context.newCDPSession(page);
  if (order.before) await page.addInitScript({content: order.before});
  await debug.send('Performance.enable');
  page.on('console', (message) => found.console.push(message.text()));
  page.on('pageerror', (error) => found.errors.push(String(error.stack || error)));
  page.on('dialog', (dialog) => { found.errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => found.requests.push(`${request.method()} ${request.url()}`));

  const evaluate = async (expression) => {
    const answer = await debug.send('Runtime.evaluate', {
      expression, returnByValue: true, awaitPromise: true, allowUnsafeEvalBlockedByCSP: true,
    });
    if (answer.exceptionDetails) {
      throw new Error(`${expression}: ${answer.exceptionDetails.exception?.description || answer.exceptionDetails.text}`);
    }
    return answer.result.value;
  };
  const verbs = {
    press: (key) => page.keyboard.press(key),
    click: (selector) => page.locator(selector).first().click(),
    fill: (selector, text) => page.locator(selector).first().fill(text),
    select: (selector, value) => page.locator(selector).first().selectOption(value),
    media: (media) => page.emulateMedia({media}),
    picture: (file) => page.screenshot({path: file}),
    pdf: async () => { found.pdf = (await page.pdf()).length; },
    run: ([program, ...words], variables) => {
      execFileSync(program, words, {env: {...process.env, ...variables}, stdio: 'ignore'});
    },
    until: async (expression) => {
      const ends = Date.now() + deadline;
      for (;;) {
        // The page may be loading another page.
        if (await evaluate(`Boolean(${expression})`).catch(() => false)) return;
        if (Date.now() > ends) throw new Error(`never true: ${expression}`);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
      }
    },
    note: async (name, expression) => { found.notes[name] = await evaluate(expression); },
    // The browser's counters since the page began: layouts, seconds of script, bytes of the heap.
    metrics: async (name) => {
      const {metrics} = await debug.send('Performance.getMetrics');
      found.notes[name] = Object.fromEntries(metrics.map((one) => [one.name, one.value]));
    },
    axe: async (name) => {
      await evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
      found.notes[name] = await evaluate(`axe.run().then((said) => said.violations.map((one) =>
        one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html).join(' | ')))`);
      found.notes[`${name} passes`] = await evaluate('axe.run().then((said) => said.passes.length)');
    },
  };
  await page.goto(order.url);
  for (const [verb, ...words] of order.steps) await verbs[verb](...words);
} catch (error) {
  found.failed = String(error.stack || error);
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(found));
