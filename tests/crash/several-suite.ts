/** Several processes want the same run: one gets it, the others receive an error, and one that lost it does no harm. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { bundled } from "../bundled.ts"
import { openStore } from "../stores.ts"
import type { HolderJob, HolderMessage } from "./holder.ts"
import { Process } from "./processes.ts"

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-several-"))
  program = bundled(join(import.meta.dirname, "holder.ts"))
})
afterAll(() => {
  for (const one of all) one.signal("SIGKILL")
  rmSync(folder, { recursive: true, force: true })
})

type Holder = Process<HolderMessage>
const all: Holder[] = []

function holder(path: string, how: HolderJob["how"], open = false): Holder {
  const made = new Process<HolderMessage>(program, { path, runId: "r", how, open } satisfies HolderJob)
  all.push(made)
  return made
}

const atGate = async (one: Holder) => {
  await one.waitFor(({ type }) => type === "gate")
  return one
}
const atEnd = (one: Holder) => one.waitFor(({ type }) => type === "result" || type === "error")
const called = ({ messages }: Holder) => messages.flatMap((one) => (one.type === "called" ? [one.what] : []))

/** A run that a killed process left in the middle. */
async function leftRun(path: string): Promise<string> {
  const first = await atGate(holder(path, "start"))
  first.signal("SIGKILL")
  await first.end()
  return path
}

async function journalOf(path: string): Promise<string[]> {
  const store = openStore(path)
  const records = await store.read("r", 0)
  await store.close()
  return records.map(({ seq, entry }) => `${seq} ${entry.type}`)
}

const DONE = { type: "result", status: "completed", outputs: ["GO!"] }
const JOURNAL = ["1 run.started", "2 task.finished", "3 step.recorded", "4 task.finished", "5 task.finished"]

/** `addressOf` gives the store with this name, in a folder of its own. */
export function severalProcessesTests(addressOf: (folder: string, name: string) => string): void {
  // They wait for leases more than they work.
  describe.concurrent("several processes", () => {
    test("of processes that resume a run at once, one continues it; the others are refused, or have its result", async () => {
      const path = await leftRun(addressOf(folder, "at-once"))
      const four = Array.from({ length: 4 }, () => holder(path, "resume", true))
      const ends = await Promise.all(four.map(atEnd))
      for (const end of ends) expect([DONE, { type: "error", code: "RUN_HELD" }]).toContainEqual(end)
      const worked = four.filter((one) => called(one).length > 0)
      expect(worked.map(called)).toEqual([["wait", "after"]])
      expect(await atEnd(worked[0] as Holder)).toEqual(DONE)
      expect(await journalOf(path)).toEqual(JOURNAL)
    })

    test("a run that is at work in another process is not taken: RUN_HELD", async () => {
      const path = await leftRun(addressOf(folder, "held"))
      const both = [holder(path, "resume"), holder(path, "resume")]
      // The loser may be refused before the winner reaches the gate.
      const winner = await Promise.any(both.map(atGate))
      const loser = both.find((one) => one !== winner) as Holder
      expect(await atEnd(loser)).toEqual({ type: "error", code: "RUN_HELD" })
      expect(called(loser)).toEqual([])
      winner.send("go")
      expect(await atEnd(winner)).toEqual(DONE)
      expect(await journalOf(path)).toEqual(JOURNAL)
    })

    test("processes that start the same run at once start it once", async () => {
      const path = addressOf(folder, "start")
      const four = Array.from({ length: 4 }, () => holder(path, "start", true))
      expect(await Promise.all(four.map(atEnd))).toEqual(four.map(() => DONE))
      expect(four.filter((one) => called(one).length > 0).map(called)).toEqual([
        ["before", "wait", "step", "after"],
      ])
      expect(await journalOf(path)).toEqual(JOURNAL)
    })

    test("a process that was stopped while another one took over its run is refused when it continues, and does no harm", async () => {
      const path = addressOf(folder, "slow")
      const slow = await atGate(holder(path, "start"))
      slow.signal("SIGSTOP")
      const next = await atGate(holder(path, "take over"))
      slow.signal("SIGCONT")
      slow.send("go")
      expect(await atEnd(slow)).toEqual({ type: "error", code: "RUN_TAKEN" })
      expect(called(slow)).toEqual(["before", "wait", "step"])
      expect(await journalOf(path)).toEqual(JOURNAL.slice(0, 3))
      next.send("go")
      expect(await atEnd(next)).toEqual(DONE)
      expect(called(next)).toEqual(["wait", "after"])
      expect(await journalOf(path)).toEqual(JOURNAL)
    })

    test("a process that stands still is alive: its run is not taken", async () => {
      const path = addressOf(folder, "still")
      const slow = await atGate(holder(path, "start"))
      slow.signal("SIGSTOP")
      expect(await atEnd(holder(path, "resume"))).toEqual({ type: "error", code: "RUN_HELD" })
      slow.signal("SIGCONT")
      slow.send("go")
      expect(await atEnd(slow)).toEqual(DONE)
      expect(await journalOf(path)).toEqual(JOURNAL)
    })

    test("a process that stood still until its run was over elsewhere has its result refused too", async () => {
      const path = addressOf(folder, "slow-over")
      const slow = await atGate(holder(path, "start"))
      slow.signal("SIGSTOP")
      const next = holder(path, "take over", true)
      expect(await atEnd(next)).toEqual(DONE)
      slow.signal("SIGCONT")
      slow.send("go")
      expect(await atEnd(slow)).toEqual({ type: "error", code: "RUN_TAKEN" })
      expect(await journalOf(path)).toEqual(JOURNAL)
    })
  })
}
