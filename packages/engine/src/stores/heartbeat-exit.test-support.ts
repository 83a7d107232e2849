/** A process that ends while its heartbeat thread does something whole, which writes the file when it is done. */
import { heartbeatThread } from "./heartbeat-thread.ts"

const [path] = process.argv.slice(2) as [string]
const state = new SharedArrayBuffer(4)

heartbeatThread(
  {
    holder: { id: "h", machine: "m", pid: process.pid, born: "" },
    every: 60_000,
    hungAfter: 600_000,
    loopState: new SharedArrayBuffer(1_024),
    onBlocked: () => undefined,
  },
  {
    program: `
      whole(() => {
        const state = new Int32Array(workerData.state)
        Atomics.store(state, 0, 1)
        // For longer than a process takes that does not wait.
        Atomics.wait(state, 0, 1, 500)
        require("node:fs").writeFileSync(workerData.path, "whole")
      })
      const beat = () => undefined
      const dismiss = beat
      const close = beat
    `,
    data: { path, state },
  },
)
setInterval(() => {
  if (Atomics.load(new Int32Array(state), 0) === 1) process.exit(7)
}, 1)
