/** A server of the API on a store that other processes use too. It drains and exits on SIGTERM. */
import { appendFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { createServer, listen } from "@superstep/server"
import { node, Runtime, workflow } from "superstep"
import { openStore } from "../stores.ts"

export interface ServerJob {
  readonly store: string
  /** Each effect of a run is a line of this file. */
  readonly trail: string
}
export type ServerMessage = { readonly type: "ready"; readonly port: number } | { readonly type: "drained" }

const { store: address, trail }: ServerJob = JSON.parse(process.argv[2] as string)

const work = node("work", async (name: string, ctx) => {
  for (let i = 0; i < 5; i++) {
    ctx.emit("progress", { i })
    await ctx.step(`step ${i}`, async () => {
      await sleep(20)
      appendFileSync(trail, `${name} ${i}\n`)
    })
  }
  return `${name} said ${await ctx.ask<string>("Done?")}`
})
const flow = workflow("work").start(work).build()

const store = openStore(address)
const runtime = new Runtime({ store, workflows: [flow], lease: 2_000 })
await runtime.recover()
const server = createServer({ runtime, workflows: [flow as never], heartbeat: 1_000 })
const listening = await listen(server, { port: 0 })

process.once("SIGTERM", async () => {
  await listening.close()
  await runtime.close({ grace: 50 })
  await store.close()
  report({ type: "drained" })
  process.exit(0)
})
// The parent has exited.
process.stdin.once("end", () => process.exit(1)).resume()
report({ type: "ready", port: listening.port })

function report(message: ServerMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}
