/**
 * Plays a run without a driver: picks what happens next among all that could, and gives the entry for it.
 */

import type { Entry, RunStarted } from "./entries.ts"
import { type Graph, type GraphNode, joinId, type OutGroup } from "./graph.ts"
import type { Json } from "./json.ts"
import type { Machine } from "./machine.ts"
import type { RequestSpec, Route, Send, SignalWaitSpec } from "./messages.ts"
import { biggest } from "./model-parts.test-support.ts"
import type { Effect } from "./state.ts"
import type { Task } from "./task.ts"
import type { Usage } from "./usage.ts"

/** What is picked follows from the seed (mulberry32); after that many steps the play ends. */
export interface PlaySeed {
  readonly seed: number
  readonly steps: number
}

export class Choices {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) % n
  }

  oneIn(n: number): boolean {
    return this.below(n) === n - 1
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T
  }
}

/** Chooses the next entry. It sees the effects of each entry: the reductions that the machine asks for come next. */
export class Play {
  readonly #graph: Graph
  readonly #choices: Choices
  /** Every second play is paused now and then. Apart from the other choices, so that a seed plays the same without. */
  readonly #pauses: Choices | undefined
  readonly #reductions = new Map<string, Effect & { type: "reduce" }>()
  #stepsLeft: number
  #now = 0
  #count = 0

  constructor(graph: Graph, choices: Choices, steps: number) {
    this.#graph = graph
    this.#choices = choices
    this.#stepsLeft = steps
    this.#pauses = steps % 2 === 1 ? new Choices(steps) : undefined
  }

  start(): RunStarted {
    const choices = this.#choices
    const budget = choices.oneIn(4) ? { modelCalls: choices.below(9) } : undefined
    return {
      type: "run.started",
      at: 0,
      runId: "r",
      workflow: this.#graph.name,
      signature: "s",
      graph: "g",
      input: this.#messageFor(this.#graph.nodes[this.#graph.start] as GraphNode),
      limits: {
        supersteps: choices.oneIn(4) ? 2 + choices.below(12) : undefined,
        loops: choices.oneIn(4) ? 1 + choices.below(3) : undefined,
        visits: choices.oneIn(6) ? 1 + choices.below(4) : undefined,
        ...(choices.oneIn(3) ? { concurrency: 1 + choices.below(3) } : {}),
        ...(choices.oneIn(6) ? { concurrency: undefined } : {}),
      },
      budget,
      deadline: choices.oneIn(4) ? 50 + choices.below(100) : undefined,
    }
  }

  /** What an entry led to. */
  saw(entry: Entry, effects: readonly Effect[], machine: Machine): void {
    if (entry.type === "state.reduced") this.#reductions.delete(entry.key)
    for (const effect of effects) if (effect.type === "reduce") this.#reductions.set(effect.key, effect)
    if (
      machine.isOver() ||
      effects.some((effect) => effect.type === "emit" && effect.event.type === "limit.reached")
    )
      this.#reductions.clear()
  }

  /** The next entry; undefined when nothing can happen any more. */
  next(machine: Machine): Entry | undefined {
    if (machine.isOver() || this.#stepsLeft-- === 0) return undefined
    const choices = this.#choices
    this.#now += choices.below(3) * 5
    if (choices.oneIn(150)) return { type: "run.cancelled", at: this.#now }
    if (choices.oneIn(200)) return { type: "run.failed", at: this.#now, error: { code: "X", message: "x" } }
    // A driver answers these before anything else.
    if (this.#reductions.size > 0) return this.#reduce(choices.of([...this.#reductions.values()]))
    const pause = this.#pause(machine)
    if (pause !== undefined) return pause
    const possible = [
      ...this.#ofTasks(machine),
      ...machine.requests().flatMap((request) => this.#times(3, () => this.#answer(request.id))),
      ...this.#ofSignals(machine),
      // A driver keeps them until the run is resumed.
      ...(machine.pause === undefined ? this.#ofTimers(machine) : []),
    ]
    if (possible.length > 0) return choices.of(possible)()
    return machine.pause === undefined ? undefined : { type: "run.resumed", at: this.#now }
  }

  #pause(machine: Machine): Entry | undefined {
    if (machine.pause !== undefined)
      return this.#pauses?.oneIn(5) ? { type: "run.resumed", at: this.#now, by: "someone" } : undefined
    return this.#pauses?.oneIn(12) ? { type: "run.paused", at: this.#now, reason: "why" } : undefined
  }

  #times(n: number, make: () => Entry): (() => Entry)[] {
    return Array.from({ length: n }, () => make)
  }

  /** Signals arrive, and any wait takes any of them: the driver decides which. */
  *#ofSignals(machine: Machine): Generator<() => Entry> {
    const id = `s${this.#choices.below(1_000)}`
    if (!machine.hasReceived(id)) {
      yield () => ({ type: "signal.received", at: this.#now, id, name: "go", value: this.#unique() })
    }
    for (const { id, name } of machine.signals()) {
      if (this.#choices.oneIn(5)) yield () => ({ type: "signal.taken", at: this.#now, id, name })
    }
    for (const { id: task, waits } of machine.tasks()) {
      for (const [key, wait] of waits ?? []) {
        if (wait.kind !== "signal") continue
        const [own] = machine.signals()
        const signal = own === undefined ? { id: "below", value: this.#unique() } : { id: own.id }
        yield* this.#times(2, () => ({
          type: "signal.taken",
          at: this.#now,
          name: "go",
          task,
          key,
          ...signal,
        }))
      }
    }
  }

  #signalWait(): SignalWaitSpec {
    return {
      name: "go",
      order: 1,
      ...(this.#choices.oneIn(2) ? { deadline: this.#now + 30 } : {}),
      ...(this.#choices.oneIn(2) ? { default: "none" } : {}),
    }
  }

  /** Those that may end the run are put off. */
  #ofTimers(machine: Machine): (() => Entry)[] {
    const { timers } = machine.snapshot()
    const harmless = this.#choices.oneIn(12) ? [] : timers.filter(([id]) => /^(sleep|retry|signal)/.test(id))
    return (harmless.length > 0 ? harmless : timers).map((timer) => () => this.#fire(timer))
  }

  *#ofTasks(machine: Machine): Generator<() => Entry> {
    const rarely = this.#choices.oneIn(25)
    for (const task of machine.tasks()) {
      if (task.status !== "running" && task.status !== "parked") continue
      const { id } = task
      yield* this.#times(4, () => this.#finish(task, machine))
      // Most failures should be survived: a run that is over shows nothing more.
      if (survives(task) || rarely) yield* this.#times(2, () => this.#fail(task))
      if (rarely) yield () => ({ type: "task.rejected", at: this.#now, task: id, reason: "no" })
      yield () => ({
        type: "step.recorded",
        at: this.#now,
        task: id,
        key: this.#key("step"),
        value: 1,
        usage: this.#usage(),
      })
      yield () => this.#startStep(id, this.#key("step"), false)
      for (const key of task.starts ?? []) {
        // It is tried again in another process, needs more, has a result, or failed.
        yield () => this.#startStep(id, key, this.#choices.oneIn(2))
        yield* this.#times(2, () => this.#recordStep(id, key))
        yield () => this.#spent(id, key)
      }
      yield () => ({
        type: "request.opened",
        at: this.#now,
        task: id,
        key: this.#key("ask"),
        request: this.#question(),
      })
      yield () => ({
        type: "signal.awaited",
        at: this.#now,
        task: id,
        key: this.#key("signal"),
        wait: this.#signalWait(),
      })
      yield () => ({
        type: "timer.set",
        at: this.#now,
        task: id,
        key: this.#key("sleep"),
        until: this.#now + 20,
      })
      yield () => ({ type: "call.started", at: this.#now, task: id, key: this.#key("call"), workflow: "w" })
      for (const [key, wait] of task.waits ?? []) {
        if (wait.kind !== "call") continue
        yield () => ({ type: "usage.recorded", at: this.#now, task: id, usage: { modelCalls: 1 } })
        yield () => ({
          type: "usage.reserved",
          at: this.#now,
          task: id,
          hold: `below ${this.#choices.below(3)}`,
          usage: { modelCalls: 1, usd: 0.5 },
          source: { agent: "below" },
        })
        yield () => this.#spent(id, `below ${this.#choices.below(3)}`)
        yield* this.#times(3, () => this.#endCall(id, key))
      }
    }
  }

  #startStep(task: number, key: string, isRaise: boolean): Entry {
    const usage = { modelCalls: 1, inputTokens: this.#choices.below(9), usd: 0.5 }
    const source = this.#choices.oneIn(2) ? { agent: "a" } : undefined
    const spent = this.#choices.oneIn(3)
      ? [{ usage: { modelCalls: 1 } }, { usage: { usd: 0.25 } }]
      : undefined
    return { type: "step.started", at: this.#now, task, key, usage, source, isRaise, spent }
  }

  #recordStep(task: number, key: string): Entry {
    const settles = this.#choices.oneIn(3) ? undefined : true
    const usage = this.#usage()
    return {
      type: "step.recorded",
      at: this.#now,
      task,
      key,
      value: 1,
      usage,
      settles,
      source: { agent: "a" },
      also: this.#choices.oneIn(3) ? [{ usage: { modelCalls: 2 }, source: { agent: "b" } }] : undefined,
    }
  }

  #spent(task: number, settles: string): Entry {
    const usage = this.#choices.oneIn(2) ? { modelCalls: 1 } : {}
    return { type: "usage.recorded", at: this.#now, task, usage, settles }
  }

  #reduce({ key, current, writes }: Effect & { type: "reduce" }): Entry {
    return { type: "state.reduced", at: this.#now, key, value: biggest(current, writes) }
  }

  #answer(request: string): Entry {
    const by = this.#choices.oneIn(2) ? "someone" : undefined
    return { type: "request.answered", at: this.#now, request, value: this.#unique(), by }
  }

  #fire([timer, due]: readonly [string, number]): Entry {
    this.#now = Math.max(this.#now, due)
    return { type: "timer.fired", at: this.#now, timer }
  }

  #endCall(task: number, key: string): Entry {
    const outcome = this.#choices.oneIn(3)
      ? { ok: false as const, error: { code: "E1", message: "below" } }
      : { ok: true as const, value: [this.#unique()] }
    return { type: "call.finished", at: this.#now, task, key, outcome }
  }

  #fail({ id, attempt }: Task): Entry {
    const choices = this.#choices
    const error = {
      code: choices.oneIn(10) ? "E2" : "E1",
      message: "failed",
      ...(choices.oneIn(30) ? { fatal: true } : {}),
      ...(choices.oneIn(8) ? { retryable: false } : {}),
    }
    return { type: "task.failed", at: this.#now, task: id, attempt, error, usage: this.#usage() }
  }

  #finish(task: Task, machine: Machine): Entry {
    const choices = this.#choices
    const sends: Send[] = []
    for (let i = choices.below(8); i > 6; i--) sends.push(this.#send(task.node, machine, false))
    const settles = task.node.spec.onError === "settle" || task.map?.map.group.settle === true
    const settled = settles && choices.oneIn(3) ? { code: "E2", message: "settled" } : undefined
    if (!choices.oneIn(20)) sends.push(this.#send(task.node, machine, true))
    return {
      type: "task.finished",
      at: this.#now,
      task: task.id,
      sends,
      settled,
      ...(settled === undefined ? { writes: this.#writes(), local: this.#localWrites() } : {}),
      requests: choices.oneIn(8) ? [this.#question()] : undefined,
      usage: this.#usage(),
      trace: choices.oneIn(3) ? `trace-${task.id}` : undefined,
    }
  }

  /** A message with its route, as the node's edges allow: conditions, selections and cases are picked. */
  #send(node: GraphNode, machine: Machine, returned: boolean): Send {
    const route: { -readonly [K in keyof Route]: Route[K] } = {}
    if (returned && node.isWorker) route.result = true
    else if (returned && node.isOutput) route.output = true
    for (const group of node.out) this.#choose(route, group, node, machine)
    if (!returned && this.#choices.oneIn(3)) return { value: this.#unique(), route: { output: true } }
    if (Object.keys(route).length === 0) route.reason = "nothing held"
    return { value: this.#messageFor(node), route }
  }

  #choose(
    route: { -readonly [K in keyof Route]: Route[K] },
    group: OutGroup,
    node: GraphNode,
    machine: Machine,
  ): void {
    const choices = this.#choices
    const to = (...ids: readonly string[]) => {
      if (ids.length > 0) route.nodes = [...(route.nodes ?? []), ...ids]
    }
    if (group.kind === "single") to(...(group.conditional && choices.oneIn(4) ? [] : [group.to]))
    else if (group.kind === "fan-out") to(...group.to.filter(() => !group.selective || !choices.oneIn(3)))
    else if (group.kind === "fan-in") route.joins = [...(route.joins ?? []), joinId(group)]
    else if (group.kind === "map") route.maps = [...(route.maps ?? []), group.worker]
    else {
      const held = group.cases.filter(
        (one) => !one.conditional || one.to === undefined || machine.passes(node, one.to) < (one.max ?? 9),
      )
      const target = choices.of(held).to
      if (target === undefined) route.output = true
      else to(target)
    }
  }

  /** A node that feeds a map sends lists. */
  #messageFor(node: GraphNode): Json {
    if (!node.out.some((group) => group.kind === "map")) return this.#unique()
    return Array.from({ length: this.#choices.below(5) }, () => this.#unique())
  }

  #writes(): [string, Json][] | undefined {
    const choices = this.#choices
    const writes: [string, Json][] = []
    while (choices.oneIn(2)) writes.push(this.#write(choices.of([...this.#graph.channels.keys()])))
    return writes.length === 0 ? undefined : writes
  }

  #write(key: string): [string, Json] {
    const choices = this.#choices
    switch (this.#graph.channels.get(key)?.reducer) {
      case "append":
        return [key, [this.#unique(), choices.below(3)]]
      case "union":
        return [key, [choices.below(4), choices.below(4)]]
      case "merge":
        return [key, { [choices.of(["a", "b"])]: choices.oneIn(4) ? undefined : choices.below(9) }]
      case "add":
      case "biggest":
        return [key, choices.below(9)]
      default:
        return [key, this.#unique()]
    }
  }

  #localWrites(): [string, Json][] | undefined {
    return this.#choices.oneIn(3) ? [["seen", this.#unique()]] : undefined
  }

  #usage(): Usage | undefined {
    return this.#choices.oneIn(4) ? { modelCalls: 1, usd: 0.25 } : undefined
  }

  #question(): RequestSpec {
    const choices = this.#choices
    const deadline = choices.oneIn(3) ? this.#now + 15 : undefined
    const escalates = deadline !== undefined && choices.oneIn(3)
    return {
      prompt: "?",
      deadline,
      ...(escalates ? { escalate: [{ to: "first", timeout: 10 }, { to: "last" }] } : {}),
      ...(choices.oneIn(2) ? { default: "by default" } : {}),
    }
  }

  /** No two messages are alike, so that none can be taken for another. */
  #unique(): string {
    return `m${this.#count++}`
  }

  #key(kind: string): string {
    return `${kind}:${this.#count++}`
  }
}

function survives({ node, attempt }: Task): boolean {
  return attempt < (node.spec.retry?.attempts ?? 1) || node.onError !== undefined || node.settles.length > 0
}
