// Asks galley before each call of a tool, and tells it of calls, prompts and answers.
// 'galley agents uninstall opencode' removes this file.
import { spawn } from "node:child_process"

const TIME_MS = 60_000

function ask(request, cwd) {
  return new Promise((resolve, reject) => {
    const hook = spawn("galley", ["agent-hook", "--agent", "opencode"], { cwd, stdio: "pipe" })
    let answer = ""
    let complaint = ""
    const timer = setTimeout(() => {
      hook.kill("SIGKILL")
      reject(new Error("galley agent-hook took too long, so the call is denied"))
    }, TIME_MS)
    hook.stdout.setEncoding("utf8").on("data", (text) => { answer += text })
    hook.stderr.setEncoding("utf8").on("data", (text) => { complaint += text })
    hook.stdin.on("error", () => {})
    hook.on("error", (error) => {
      clearTimeout(timer)
      reject(new Error(`galley could not be asked, so the call is denied: ${error.message}`))
    })
    hook.on("close", (status) => {
      clearTimeout(timer)
      if (status !== 0) {
        return reject(new Error(complaint || `galley agent-hook ended with ${status}`))
      }
      try {
        resolve(JSON.parse(answer))
      } catch (error) {
        reject(new Error(`galley answered what cannot be read: ${error.message}`))
      }
    })
    hook.stdin.end(JSON.stringify(request))
  })
}

// The call was made already, so it cannot be denied.
async function report(request, cwd) {
  try {
    return await ask(request, cwd)
  } catch (error) {
    return { reason: `galley did not record this: ${error.message}` }
  }
}

export const Galley = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const answer = await ask({
      hook_event_name: "tool.execute.before",
      tool_name: input.tool,
      tool_input: output.args ?? {},
      tool_use_id: input.callID,
      session_id: input.sessionID,
      cwd: directory,
    }, directory)
    if (answer.decision === "deny") throw new Error(answer.reason)
    if (answer.tool_input) Object.assign(output.args, answer.tool_input)
  },
  "tool.execute.after": async (input, output) => {
    const answer = await report({
      hook_event_name: "tool.execute.after",
      tool_name: input.tool,
      tool_input: input.args ?? {},
      tool_use_id: input.callID,
      session_id: input.sessionID,
      cwd: directory,
    }, directory)
    if (answer.reason) output.output = `${output.output ?? ""}\n${answer.reason}`
  },
  "chat.message": async (input, output) => {
    const parts = (output.parts ?? []).filter((part) => part.type === "text")
    await report({
      hook_event_name: "chat.message",
      session_id: input.sessionID,
      prompt: parts.map((part) => part.text).join(" "),
      cwd: directory,
    }, directory)
  },
  event: async ({ event }) => {
    if (event.type !== "session.idle") return
    await report({
      hook_event_name: "session.idle",
      session_id: event.properties.sessionID,
      cwd: directory,
    }, directory)
  },
})
