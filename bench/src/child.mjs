// A new process that measures one thing, sends it to its parent, and ends.
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { measuredEnvironment } from "./environment.mjs"

/** @returns what the script sent last. Flags given to the program, such as --cpu-prof, are given to it too */
export function inNewProcess(script, args, flags = []) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(script), args.map(String), {
      env: measuredEnvironment,
      execArgv: [...process.execArgv, "--no-warnings", ...flags],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    })
    let answer
    child.on("message", (message) => {
      answer = message
    })
    child.once("error", reject)
    child.once("exit", (code, signal) => {
      // One that kills itself, as some do on purpose, has sent its answer before.
      if (answer !== undefined && (code === 0 || signal === "SIGKILL")) resolve(answer)
      else reject(new Error(`${fileURLToPath(script)} ${args.join(" ")} ended with ${signal ?? code}`))
    })
  })
}

/** The last thing that a measuring process does. It ends by itself, unless a peer leaves something open. */
export function answerParent(answer) {
  process.send(answer, () => process.disconnect())
  setTimeout(() => process.exit(0), 1_000).unref()
}
