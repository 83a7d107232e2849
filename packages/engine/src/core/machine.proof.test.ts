/**
 * Any run of any graph keeps what the machine promises (M1 to M10, see machine.ts), whatever happens in whatever
 * order. After every entry the machine is compared with a plain model, with a fold of the stored journal, with
 * machines that were restored on the way, and is offered entries that do not fit.
 */
import fc from "fast-check"
import { expect, inject, test, vi } from "vitest"
import { compileGraph } from "./compile.ts"
import type { Entry, RunStarted } from "./entries.ts"
import { isSuperstepError } from "./errors.ts"
import type { Graph, GraphMap, GraphSpec } from "./graph.ts"
import type { Json } from "./json.ts"
import { Machine } from "./machine.ts"
import { MachineModel } from "./machine-model.test-support.ts"
import { Choices, Play, type PlaySeed } from "./machine-play.test-support.ts"
import { misfits } from "./misfits.test-support.ts"
import { randomGraph } from "./random-graph.test-support.ts"
import type { Effect } from "./state.ts"
import { addUsage } from "./usage.ts"

const plays: fc.Arbitrary<PlaySeed> = fc.record({ seed: fc.noShrink(fc.integer()), steps: fc.nat(80) })

function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

const bytes = (machine: Machine): string => JSON.stringify(machine.snapshot())

/** Effects as data; events apart, since only a machine that is watched makes them. */
function actions(effects: readonly Effect[]): string {
  const others = effects
    .filter(({ type }) => type !== "emit")
    .map((effect) => ("task" in effect ? { ...effect, task: [effect.task.id, effect.task.attempt] } : effect))
  return JSON.stringify(others)
}

interface Step {
  readonly machine: Machine
  readonly entry: Entry
  readonly effects: readonly Effect[]
  readonly choices: Choices
}

/** Plays a run and shows each entry, with what a watched machine made of it. A failure tells what was played. */
function play(graph: Graph, { seed, steps }: PlaySeed, look: (step: Step) => void): Machine {
  const choices = new Choices(seed)
  const game = new Play(graph, choices, steps)
  const journal: Entry[] = [game.start()]
  const { machine, effects: first } = Machine.start(graph, journal[0] as RunStarted, true)
  let effects = first
  try {
    for (;;) {
      const entry = journal.at(-1) as Entry
      game.saw(entry, effects, machine)
      look({ machine, entry, effects, choices })
      const next = game.next(machine)
      if (next === undefined) return machine
      journal.push(next)
      effects = machine.apply(next)
    }
  } catch (error) {
    const lines = journal.map((entry) => JSON.stringify(entry)).join("\n")
    throw new Error(`${error instanceof Error ? error.message : error}\n${lines}`, { cause: error })
  }
}

/** A failure prints its seed. */
const runs = (numRuns: number) => ({ numRuns: inject("isProof") ? 4 * numRuns : Math.ceil(numRuns / 2) })

vi.setConfig({ testTimeout: 600_000 })

test("the journal gives the state, at every prefix, watched or not, restored or not (M6, M8)", () => {
  fc.assert(
    fc.property(randomGraph, plays, (spec, seed) => {
      const { graph } = compileGraph(spec)
      let folded: Machine | undefined
      let quiet: Machine | undefined
      let restored: Machine[] = []
      const kept: { snapshot: unknown; text: string }[] = []
      const machine = play(graph, seed, ({ machine, entry, effects, choices }) => {
        const text = bytes(machine)
        const asked = actions(effects)
        if (folded === undefined || quiet === undefined) {
          folded = Machine.start(graph, stored(entry) as RunStarted).machine
          quiet = Machine.start(graph, entry as RunStarted).machine
        } else {
          expect(actions(folded.apply(stored(entry)))).toBe(asked)
          expect(actions(quiet.apply(entry))).toBe(asked)
          for (const one of restored) expect(actions(one.apply(stored(entry)))).toBe(asked)
        }
        for (const one of [folded, ...restored]) expect(bytes(one)).toBe(text)
        for (const one of kept) expect(JSON.stringify(one.snapshot)).toBe(one.text)
        if (choices.oneIn(12))
          restored = [...restored, Machine.restore(graph, stored(machine.snapshot()))].slice(-2)
        if (choices.oneIn(12)) kept.push({ snapshot: machine.snapshot(), text })
      })
      // It was not asked before, so that it wrote into its lists in place all along.
      expect(bytes(quiet as unknown as Machine)).toBe(bytes(machine))
    }),
    runs(250),
  )
})

test("a restored machine starts exactly the tasks that were under way, and sets every timer", () => {
  fc.assert(
    fc.property(randomGraph, plays, (spec, seed) => {
      const { graph } = compileGraph(spec)
      const atWork = new Map<number, number>()
      play(graph, seed, ({ machine, effects, choices }) => {
        for (const effect of effects) {
          if (effect.type === "start") atWork.set(effect.task.id, effect.task.attempt)
        }
        for (const [id, attempt] of atWork) if (machine.task(id)?.attempt !== attempt) atWork.delete(id)
        if (!choices.oneIn(4)) return
        const copy = Machine.restore(graph, stored(machine.snapshot()))
        const resumed = copy.resume()
        expect(bytes(copy)).toBe(bytes(machine))
        expect(observed(copy)).toEqual(observed(machine))
        if (machine.pause !== undefined) return expect(resumed).toEqual([])
        const starts = resumed.flatMap((effect) => (effect.type === "start" ? [effect.task] : []))
        expect(new Map(starts.map(({ id, attempt }) => [id, attempt]))).toEqual(atWork)
        expect(starts).toHaveLength(atWork.size)
        const timers = resumed.flatMap((effect) =>
          effect.type === "timer" ? [[effect.timer, effect.at]] : [],
        )
        expect(timers).toEqual(machine.snapshot().timers)
        const reductions = resumed.flatMap((effect) =>
          effect.type === "reduce" ? [[effect.key, effect.writes]] : [],
        )
        expect(reductions).toEqual(machine.snapshot().reducing)
      })
    }),
    runs(150),
  )
})

/** Everything that a driver can ask a machine. */
function observed(machine: Machine): unknown {
  const { graph, status, error, superstep, usage, outputs, undelivered, runId, overBudget, eventCount } =
    machine
  const { claimed, lost } = machine
  const tasks = [...machine.tasks()].map((task) => {
    const { id, node, message, from, status, attempt, map, item, superstep, answers, traces } = task
    return {
      ...{ id, node: node.id, message, from, status, attempt, map: map?.id, superstep },
      ...{ item, answers, traces },
      memo: [...(task.memo ?? [])],
      starts: [...(task.starts ?? [])],
      waits: [...(task.waits ?? [])],
    }
  })
  return stored({
    ...{ status, error, superstep, usage, outputs, undelivered, runId, overBudget, eventCount, tasks },
    ...{ claimed, lost, ended: machine.endedCallsOf("a"), usageOf: machine.usageOf("a") },
    requests: machine.requests(),
    answered: [...machine.answered()],
    signals: [...machine.signals()],
    timers: [...machine.timers()],
    state: machine.allState(),
    local: graph.nodes.map((node) => machine.local(node, "seen")),
    passes: graph.nodes.map((node) => [...node.counted.keys()].map((to) => machine.passes(node, to))),
  })
}

test("the run is what a plain model of it says (M3, M4, M5, M10)", () => {
  fc.assert(
    fc.property(randomGraph, plays, (spec, seed) => {
      const { graph } = compileGraph(spec)
      let model: MachineModel | undefined
      play(graph, seed, ({ machine, entry, effects }) => {
        model ??= new MachineModel(graph, entry as RunStarted)
        model.apply(entry, effects)
        compare(machine, model)
      })
    }),
    runs(400),
  )
})

function compare(machine: Machine, model: MachineModel): void {
  const snapshot = machine.snapshot()
  expect(machine.status).toBe(model.status)
  expect(machine.allState()).toEqual(stored(Object.fromEntries(model.shared)))
  expect(plain(machine.outputs as Json)).toEqual(plain(model.outputs))
  expect(machine.usage).toEqual(model.usage)
  const reserved = [...model.reserved.values()].flatMap((own) => [...own.values()].map(({ usage }) => usage))
  expect(machine.claimed).toEqual(reserved.reduce(addUsage, model.usage))
  expect([machine.superstep, snapshot.nextTask]).toEqual([model.superstep, model.nextTask])
  expect(machine.requests().map(({ id }) => id)).toEqual([...model.requests.keys()])
  expect([...machine.signals()].map(({ id, value }) => [id, value])).toEqual([...model.signals])
  expect(new Set(machine.timers())).toEqual(model.timers)
  expect(new Map(snapshot.reducing)).toEqual(model.reducing)
  const reported = (list: readonly { to?: string | undefined; value: Json }[]) =>
    list.map(({ to, value }) => JSON.stringify([to, plain(value)])).sort()
  expect(reported(machine.undelivered)).toEqual(reported(model.undelivered))
  const live = new Set<number>()
  for (const task of machine.tasks()) {
    live.add(task.id)
    const expected = model.tasks.get(task.id)
    expect([task.node.id, task.attempt, task.superstep]).toEqual([
      expected?.node.id,
      expected?.attempt,
      expected?.superstep,
    ])
    expect(plain(task.message)).toEqual(plain(expected?.message as Json))
    expect([...(task.waits?.keys() ?? [])]).toEqual([...(expected?.waits.keys() ?? [])])
    expect(new Set(task.memo?.keys())).toEqual(expected?.memo)
    expect(task.status === "parked").toBe((expected?.waits.size ?? 0) > 0 || expected?.held === true)
  }
  // Items of a map are created as places free up; every other task exists at once.
  for (const task of model.tasks.values())
    if (!live.has(task.id)) expect([task.map === undefined, task.started]).toEqual([false, false])
  countMessages(machine, model)
}

/** M5: what was sent has arrived, is buffered in a join, was reported, or waits for its superstep to commit. */
function countMessages(machine: Machine, { messages }: MachineModel): void {
  if (messages.dropped) return
  const { joins, finished, committing } = machine.snapshot()
  const buffered = joins
    .flatMap(({ rounds }) => rounds)
    .reduce((sum, { fired, values }) => sum + (fired ? 0 : values.length), 0)
  const uncommitted = [...finished, ...committing]
    .flatMap(({ sends }) => sends)
    .reduce((sum, { route }) => {
      const { nodes = [], joins: to = [], maps = [], output, result } = route
      const places = nodes.length + to.length + maps.length
      return sum + (places > 0 || output || result ? places : 1)
    }, 0)
  const reported = machine.undelivered.length - messages.rejected
  expect(messages.delivered + buffered + reported + uncommitted).toBe(messages.sent)
}

/** Values without the details of failures, which are the machine's. */
function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== "object" || value === null) return value
  const record = value as { readonly [key: string]: Json }
  if ("error" in record || "failed" in record) return "failed"
  if ("code" in record) return { code: record.code }
  return Object.fromEntries(Object.entries(record).map(([key, item]) => [key, plain(item)]))
}

test("an entry that does not fit is refused, and changes nothing (M1, M7)", () => {
  fc.assert(
    fc.property(randomGraph, plays, (spec, seed) => {
      const { graph } = compileGraph(spec)
      const ended: number[] = []
      play(graph, seed, ({ machine, entry, choices }) => {
        const task = "task" in entry ? entry.task : undefined
        if (task !== undefined && machine.task(task) === undefined) ended.push(task)
        const before = bytes(machine)
        const events = machine.eventCount
        const offered = misfits(machine, ended, choices)
        for (let i = 0; i < 6; i++) {
          const { entry: misfit, codes } = choices.of(offered)
          let error: unknown
          try {
            machine.apply(misfit)
          } catch (thrown) {
            error = thrown
          }
          expect(isSuperstepError(error) ? error.code : error, JSON.stringify(misfit)).toBeOneOf([...codes])
          expect(bytes(machine)).toBe(before)
          expect(machine.eventCount).toBe(events)
        }
      })
    }),
    runs(200),
  )
})

test("tasks start once an attempt and never again, and only where there is room and budget (M1)", () => {
  fc.assert(
    fc.property(randomGraph, plays, (spec, seed) => {
      const { graph } = compileGraph(spec)
      const started = new Set<string>()
      const ended = new Set<number>()
      let limit = Number.POSITIVE_INFINITY
      let events = 0
      const timers = new Set<string>()
      play(graph, seed, ({ machine, entry, effects }) => {
        if (entry.type === "run.started") {
          limit = stored({ ...graph.spec.limits, ...stored(entry.limits) }).concurrency ?? limit
        }
        if (entry.type === "timer.fired") timers.delete(entry.timer)
        for (const effect of effects) {
          if (effect.type === "emit") events++
          if (effect.type === "timer") timers.add(effect.timer)
          if (effect.type === "clear-timer") timers.delete(effect.timer)
          if (effect.type !== "start") continue
          const { id, attempt } = effect.task
          expect(ended.has(id)).toBe(false)
          expect(started.has(`${id}.${attempt}`)).toBe(false)
          expect(machine.task(id)?.status, "what an entry starts is not stopped by the same entry").toBe(
            "running",
          )
          started.add(`${id}.${attempt}`)
        }
        const ids = new Set([...machine.tasks()].map(({ id }) => id))
        for (const key of started) if (!ids.has(Number.parseInt(key, 10))) ended.add(Number.parseInt(key, 10))
        expect(events).toBe(machine.eventCount)
        expect(timers).toEqual(new Set(machine.timers()))
        checkPlaces(machine, limit, effects)
        if (!machine.isOver()) checkProgress(machine)
      })
    }),
    { ...runs(250), examples: [[overBudgetWithAQueue, { seed: -1195180860, steps: 36 }]] },
  )
})

/** Played with that seed, two of three places are taken and a task waits for the third, when the budget is used up. */
const overBudgetWithAQueue: GraphSpec = {
  name: "random",
  schedule: "flow",
  start: "n0",
  nodes: [
    { id: "n0", kind: "node" },
    { id: "n1", kind: "node" },
    { id: "n2", kind: "node", onError: "settle" },
    { id: "n3", kind: "node", retry: { attempts: 2, delay: 0 }, concurrency: 2, onError: "settle" },
    { id: "n4", kind: "node", retry: { attempts: 2, delay: 10 }, concurrency: 2 },
    { id: "n5", kind: "node" },
  ],
  edges: [
    { kind: "single", from: "n0", to: "n1", conditional: false },
    { kind: "fan-in", from: ["n0", "n1"], to: "n2", join: { kind: "settle" }, timeout: 30 },
    { kind: "fan-in", from: ["n0", "n1", "n2"], to: "n3", join: { kind: "all" } },
    { kind: "fan-out", from: "n1", to: ["n4", "n2"], selective: false },
    { kind: "map", from: "n2", worker: "n5", settle: true },
    { kind: "single", from: "n2", to: "n1", conditional: true, max: 1 },
    { kind: "single", from: "n2", to: "n0", conditional: true, max: 1 },
    { kind: "single", from: "n0", to: "n0", conditional: true, max: 2 },
  ],
  channels: [
    { key: "last", reducer: "replace" },
    { key: "list", reducer: "append", initial: ["first"] },
    { key: "bag", reducer: "append" },
    { key: "set", reducer: "union" },
    { key: "record", reducer: "merge", initial: { a: 0 } },
    { key: "sum", reducer: "add" },
    { key: "top", reducer: "biggest" },
    { key: "peak", reducer: "biggest", initial: 1 },
  ],
}

/**
 * Nodes, maps and the run have so many places; none stays empty while somebody waits for it, unless a budget is used
 * up or the run is paused (M10): then nothing starts.
 */
function checkPlaces(machine: Machine, limit: number, effects: readonly Effect[]): void {
  const tasks = [...machine.tasks()]
  const running = tasks.filter(({ status }) => status === "running").length
  const starts = effects.some((effect) => effect.type === "start")
  if (starts) {
    expect(running).toBeLessThanOrEqual(limit)
    expect(machine.overBudget).toBe(undefined)
  }
  const { nodes } = machine.graph
  const isHeldBack =
    machine.pause !== undefined ||
    machine.overBudget !== undefined ||
    nodes.some((node) => machine.nodeOverBudget(node) !== undefined)
  for (const node of nodes) {
    const own = tasks.filter((task) => task.node === node && task.map === undefined)
    const queued = own.filter(({ status }) => status === "queued").length
    const places = node.spec.concurrency ?? 1
    expect(own.length - queued).toBeLessThanOrEqual(places)
    if (queued > 0 && own.length - queued < places && !isHeldBack)
      expect(running).toBeGreaterThanOrEqual(limit)
  }
  for (const { id, worker, next, items } of machine.snapshot().maps) {
    const { group } = machine.graph.maps.get(worker) as GraphMap
    const node = machine.graph.nodes[machine.graph.index.get(worker) ?? -1]
    const places = group.concurrency ?? node?.spec.concurrency ?? Number.POSITIVE_INFINITY
    const active = tasks.filter((task) => task.map?.id === id).length
    expect(active).toBeLessThanOrEqual(places)
    if (next < items.length) expect(active).toBe(places)
  }
}

/** A run that is not over has something to wait for. */
function checkProgress(machine: Machine): void {
  const { timers, requests, reducing } = machine.snapshot()
  const working = [...machine.tasks()].some(({ status }) => status === "running" || status === "parked")
  expect(
    machine.pause !== undefined || working || timers.length > 0 || requests.length > 0 || reducing.length > 0,
  ).toBe(true)
}
