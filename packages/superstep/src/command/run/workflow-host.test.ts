/** What a host says about its runs when it stops. */
import { Runtime } from "@superstep/engine"
import { expect, test } from "vitest"
import { terminal } from "../terminal/terminal.ts"
import { testIo } from "../test-io.test-support.ts"
import { type Front, hostWorkflows } from "./workflow-host.ts"

const ASK = 'name: ask\nworkflow: [{ id: ask, type: human, prompt: "Why?" }]\n'

test("a run that continues and ends while the host stops is not one of the unfinished", async () => {
  const io = testIo({ files: { "ask.yaml": ASK } })
  const cli = { io, out: terminal(io.stdout), err: terminal(io.stderr), isVerbose: false, exit: () => {} }
  const released: (() => void)[] = []
  const front = (): Front => {
    let runtime: Runtime
    let ask: Parameters<NonNullable<Front["attach"]>>[1][number]
    return {
      async runtime({ onRun, ...options }) {
        // A run that waits is released with the next sweep.
        runtime = new Runtime({
          ...options,
          evictAfter: 0,
          onRun(run) {
            onRun?.(run)
            if (run.type === "released") released.shift()?.()
          },
        })
        return runtime
      },
      attach: (_, [only]) => {
        ask = only as typeof ask
      },
      listen: async () => undefined,
      announce: () => io.interrupt(),
      async drain() {
        const waits = new Promise<void>((resolve) => released.push(resolve))
        const { runId, requests } = await runtime.start(ask as never, "x" as never).result
        await waits
        await runtime.respond(runId, requests[0]?.id as string, "because")
        expect((await runtime.get(runId).result).status).toBe("completed")
      },
      close: () => undefined,
    }
  }
  await hostWorkflows(cli, ["ask.yaml"], { concurrency: 1 }, front)
  expect(io.written.stderr).toMatch(/✓ ask .* completed\nStopped\.\n$/)
})
