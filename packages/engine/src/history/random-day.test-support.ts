/**
 * A random run: handlers and waits in any order, answers and timers in between, attempts that fail at random, a
 * cancellation, a recording that is made before the end. Its store is synchronous, so the state that a handler sees
 * depends only on the order of the journal.
 */
import fc from "fast-check"
import { type OpenRequest, SuperstepError } from "../core/index.ts"
import { type Callable, Run, type RunOptions, type Store } from "../runtime/index.ts"
import { memoryStore } from "../stores/index.ts"
import { manualClock, settled } from "../testing/index.ts"
import { seededRandom } from "../testing/simulation/simulate-options.ts"
import { replayedProgram } from "./replayed-program.ts"

export interface Day {
  readonly seed: number
  /** The probability that an attempt fails if it is retried. */
  readonly fail: number
  /** Whether timers may fire while other work is left. */
  readonly timersAnytime: boolean
  readonly answers: (request: OpenRequest) => unknown
  readonly run: Pick<RunOptions, "budget" | "timeout">
  /** The number of turns after which the run is cancelled, or the recording is made. */
  readonly cancelAfter?: number | undefined
  readonly recordAfter?: number | undefined
}

export const anyDay: fc.Arbitrary<Day> = fc.record({
  seed: fc.nat(),
  fail: fc.constantFrom(0, 0.2),
  timersAnytime: fc.boolean(),
  answers: fc.constantFrom(
    ({ prompt }) => prompt,
    ({ id }) => (id.endsWith("1") ? undefined : id),
  ),
  run: fc.record(
    {
      budget: fc.record({ modelCalls: fc.integer({ min: 1, max: 9 }) }),
      timeout: fc.integer({ min: 1, max: 200 }),
    },
    { requiredKeys: [] },
  ),
  cancelAfter: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined, freq: 4 }),
  recordAfter: fc.option(fc.integer({ min: 2, max: 60 }), { nil: undefined, freq: 2 }),
})

/** The store that has the run "day". */
export async function playDay<In, Out>(workflow: Callable<In, Out>, input: In, day: Day): Promise<Store> {
  const random = seededRandom(day.seed)
  const store = memoryStore()
  const clock = manualClock(1_000)
  const turns: (() => void)[] = []
  const turn = () => new Promise<void>((resolve) => turns.push(resolve))
  const program = replayedProgram("day", {
    async perform({ frame, node, attempt }, act) {
      const { index, nodes } = workflow.program.graph
      const attempts = frame === "" ? (nodes[index.get(node) ?? -1]?.spec.retry?.attempts ?? 1) : 1
      const fails = () => attempt < attempts && random.chance(day.fail)
      if (fails()) throw new SuperstepError("E1", "bad luck")
      const value = await act({ counts: true, step: () => undefined, live: (step) => step, mayWait: turn })
      await turn()
      if (fails()) throw new SuperstepError("E1", "bad luck, late")
      return value
    },
  })(workflow.program)
  const run: Run = Run.start(program, input, { ...day.run, runId: "day", store, clock }, false)
  const answered = new Set<string>()
  for (let count = 1; count !== day.recordAfter; count++) {
    await settled()
    if (count === day.cancelAfter) run.cancel("enough")
    const open = await store.requests({ runId: "day" })
    const possible: (() => unknown)[] = [
      ...turns.map((take, i) => () => {
        turns.splice(i, 1)
        take()
      }),
      ...open
        .filter(({ id }) => !answered.has(id))
        .map((request) => () => {
          answered.add(request.id)
          const value = day.answers(request)
          if (value !== undefined) void run.respond(request.id, value, { by: "ann" }).catch(() => undefined)
        }),
    ]
    if (clock.pending > 0 && (possible.length === 0 || day.timersAnytime))
      possible.push(() => clock.advanceToNext())
    if (possible.length === 0) break
    await possible[random.below(possible.length)]?.()
  }
  return store
}
