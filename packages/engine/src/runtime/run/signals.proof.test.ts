/** Random programs that wait for signals, on random days with crashes: the journal shows who took what. */
import * as fc from "fast-check"
import { expect, inject, test } from "vitest"
import { type Context, type JournalRecord, node, workflow } from "../../index.ts"
import { simulate } from "../../testing/index.ts"

const NAMES = ["a", "b"] as const

interface Wait {
  readonly name: string
  /** Ends by itself. */
  readonly timed: boolean
  /** In a sub-workflow of its own. */
  readonly below: boolean
}

const below = workflow("below")
  .start(
    node("below", async ({ name, timed }: Wait, ctx: Context) =>
      ctx.waitFor<string>(name, timed ? { timeout: 50, default: "none" } : {}),
    ),
  )
  .build()

const begin = node("begin", (lists: readonly (readonly Wait[])[]) => lists)
const worker = node({
  id: "worker",
  retry: { attempts: 3, delay: 1 },
  run: async (list: readonly Wait[], ctx: Context) => {
    const values: string[] = []
    for (const wait of list) {
      const { name, timed } = wait
      if (wait.below) values.push(...(await ctx.call(below, wait)))
      else values.push(await ctx.waitFor<string>(name, timed ? { timeout: 50, default: "none" } : {}))
    }
    return values
  },
})
const end = node("end", (all: readonly (readonly string[])[]) => all.flat())

/** One worker for each list of waits, all at the same time. */
const waits = workflow("waits").start(begin).map(begin, worker, end).build()

const wait = fc.record({ name: fc.constantFrom(...NAMES), timed: fc.boolean(), below: fc.boolean() })
const lists = fc.array(fc.array(wait, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 })
const signals = fc.array(fc.constantFrom(...NAMES), { maxLength: 10 })

test("each accepted signal is received once, and taken by the oldest open wait for its name, or buffered (M9)", async () => {
  await fc.assert(
    fc.asyncProperty(lists, signals, fc.nat(), async (program, names, seed) => {
      const sent = names.map((name, i) => ({ name, value: `${name}${i}`, id: `${name}${i}` }))
      const faults = { crash: 4, takeOver: 0.3, fail: 0.2, duplicateTimers: 0.2 }
      const { journal, result } = await simulate(waits, program, {
        seed,
        signals: sent,
        faults,
        timers: "anytime",
      })
      const { received, buffered, open } = played(journal)
      const isOver = result.status === "completed"
      expect(received).toEqual(sent.slice(0, received.length).map(({ id }) => id))
      if (isOver) return
      expect(received).toHaveLength(sent.length)
      // S1: at rest, nothing waits for what is buffered.
      for (const { name } of buffered) expect(open.map((one) => one.name)).not.toContain(name)
      expect(result.waits.map(({ name }) => name)).toEqual(open.map(({ name }) => name))
    }),
    { numRuns: inject("isProof") ? 600 : 60 },
  )
})

interface Open {
  readonly place: string
  readonly name: string
  readonly order: number
}

/** Follows the journal, without the machine, and checks every match of a signal with a wait. */
function played(journal: readonly JournalRecord[]) {
  const received: string[] = []
  let buffered: { readonly id: string; readonly name: string }[] = []
  let open: Open[] = []
  const leave = (place: string) => {
    open = open.filter((one) => one.place !== place)
  }
  for (const { frame, entry } of journal) {
    if (entry.type === "signal.received") {
      expect(received).not.toContain(entry.id)
      received.push(entry.id)
      buffered.push(entry)
    } else if (entry.type === "signal.awaited") {
      open.push({ place: `${frame} ${entry.task} ${entry.key}`, ...entry.wait })
    } else if (entry.type === "signal.taken") {
      const { id, name, task, key } = entry
      if (frame === "") {
        expect(buffered.find((one) => one.name === name)?.id).toBe(id)
        buffered = buffered.filter((one) => one.id !== id)
      }
      if (task === undefined) continue
      const rivals = open.filter((one) => one.name === name).sort((a, b) => a.order - b.order)
      expect(rivals[0]?.place).toBe(`${frame} ${task} ${key}`)
      leave(`${frame} ${task} ${key}`)
    } else if (entry.type === "timer.fired" && entry.timer.startsWith("signal:")) {
      leave(`${frame} ${entry.timer.slice("signal:".length).replace(":", " ")}`)
    } else if (entry.type === "task.finished" || entry.type === "task.failed") {
      // What the task called ends with it.
      const calls = `${frame === "" ? "" : `${frame}/`}${entry.task}.`
      open = open.filter(
        ({ place }) => !place.startsWith(`${frame} ${entry.task} `) && !place.startsWith(calls),
      )
    }
  }
  return { received, buffered, open: open.sort((a, b) => a.order - b.order) }
}
