/**
 * Two servers on one store behind a balancer, restarted one after the other while clients start runs, follow their events,
 * and answer their questions: no event and no answer is lost, and no effect is repeated.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ApiError, type Client, createClient, type RunEvent } from "@superstep/client"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../bundled.ts"
import { Process } from "../crash/processes.ts"
import { all } from "./all.test-support.ts"
import type { ServerJob, ServerMessage } from "./server-process.ts"
import { tcpProxy } from "./tcp-proxy.test-support.ts"

/** Of each server. */
const RESTARTS = 1
const CLIENTS = 4

/** `address` returns that of a new store, given an empty folder. */
export function rollingTests(address: (folder: string) => string): void {
  test("a rolling restart of two servers under load loses no event and no answer", async () => {
    const program = bundled(join(import.meta.dirname, "server-process.ts"))
    const folder = mkdtempSync(join(tmpdir(), "superstep-rolling-"))
    const job: ServerJob = { store: address(folder), trail: join(folder, "trail") }
    writeFileSync(job.trail, "")
    const servers: { process: Process<ServerMessage>; port: number }[] = []
    onTestFinished(() => {
      for (const { process } of servers) process.signal("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
    })
    const balancer = await tcpProxy()
    async function add(): Promise<void> {
      const process = new Process<ServerMessage>(program, job)
      const ready = await process.waitFor(({ type }) => type === "ready")
      servers.push({ process, port: ready.type === "ready" ? ready.port : 0 })
      balancer.targets = servers.map(({ port }) => port)
    }
    await add()
    await add()

    let isOver = false
    const client = createClient({ url: balancer.url, retry: { attempts: 20, delay: 20, maxDelay: 500 } })
    const load = Array.from({ length: CLIENTS }, async (_, number) => {
      const events: (readonly RunEvent[])[] = []
      for (let i = 0; !isOver || i === 0; i++) events.push(await converse(client, `${number}-${i}`))
      return events
    })
    for (let i = 0; i < 2 * RESTARTS; i++) {
      // Under load: a run has begun since the last restart.
      const before = trailOf(job).length
      while (trailOf(job).length <= before) await new Promise((resolve) => setTimeout(resolve, 10))
      await add()
      const [oldest] = servers.splice(0, 1)
      oldest?.process.signal("SIGTERM")
      await oldest?.process.end()
      balancer.targets = servers.map(({ port }) => port)
    }
    isOver = true
    const runs = (await Promise.all(load)).flat()
    for (const events of runs) {
      const numbers = events
        .filter(({ type }) => type !== "custom" && type !== "live.gap")
        .map(({ seq }) => seq)
      expect(numbers).toEqual(numbers.map((_, index) => index + 1))
      expect(events.at(-1)).toMatchObject({ type: "run.finished", status: "completed" })
    }
    const trail = trailOf(job)
    expect(new Set(trail).size).toBe(5 * runs.length)
    expect(await all(client.list({ status: "completed" }))).toHaveLength(runs.length)
    const count = runs.reduce((sum, events) => sum + events.length, 0)
    const repeated = trail.length - new Set(trail).size
    console.log(
      `${2 * RESTARTS} restarts, ${runs.length} runs, ${count} events, ${runs.length} answers, ${repeated} steps repeated`,
    )
  }, 180_000)
}

function trailOf({ trail }: ServerJob): string[] {
  return readFileSync(trail, "utf8").split("\n").filter(Boolean)
}

/** Starts a run, follows it to its end, and answers its question meanwhile. */
async function converse(client: Client, name: string): Promise<readonly RunEvent[]> {
  const run = await client.start("work", name)
  const events: RunEvent[] = []
  for await (const event of run.events()) {
    events.push(event)
    if (event.type !== "request.opened") continue
    await run.respond(event.request.id, "yes").catch((error: unknown) => {
      // Sent twice: the first response was lost with its connection.
      if (!(error instanceof ApiError && error.attempts > 1 && error.status === 409)) throw error
    })
  }
  expect((await run.result()).outputs).toEqual([`${name} said yes`])
  return events
}
