/**
 * What a run is to be after each entry, written as plainly as possible: lists and maps, no queues, no places, no
 * speed. Which task gets a place when is not modelled, only that a task is executing, waits, or has ended. The
 * machine is compared with it after every entry.
 */

import type { Entry, RunStarted, TaskFailed, TaskFinished } from "./entries.ts"
import type { ErrorData } from "./errors.ts"
import type { CountedEdge, Graph, GraphJoin, GraphMap, GraphNode, Limits } from "./graph.ts"
import type { Json } from "./json.ts"
import type { RequestSpec, Route, RunStatus, Send } from "./messages.ts"
import {
  failureRoute,
  joinTimer,
  type ModelMap,
  type ModelRequest,
  type ModelTask,
  placesFor,
  placesOf,
  type Round,
  reduced,
  type Sender,
} from "./model-parts.test-support.ts"
import { retryDelay } from "./retry.ts"
import type { Effect } from "./state.ts"
import { addUsage, exhausted, type Usage } from "./usage.ts"

export class MachineModel {
  readonly graph: Graph
  status: RunStatus = "running"
  readonly tasks = new Map<number, ModelTask>()
  readonly requests = new Map<string, ModelRequest>()
  readonly signals = new Map<string, Json>()
  readonly timers = new Set<string>()
  readonly shared = new Map<string, Json>()
  readonly reducing = new Map<string, Json[]>()
  outputs: Json[] = []
  undelivered: { to: string | undefined; value: Json }[] = []
  rounds: Round[] = []
  usage: Usage = {}
  /** What is reserved, by task and key, and what is counted of it when it is lost. */
  readonly reserved = new Map<number, Map<string, { readonly usage: Usage; readonly spent: Usage }>>()
  superstep = 0
  nextTask = 1
  onLimitRoute = false
  /** Messages, one for each place they were to go, while the run has dropped nothing yet. */
  readonly messages = { sent: 0, delivered: 0, rejected: 0, dropped: false }

  readonly #start: RunStarted
  readonly #limits: Limits
  readonly #visits = new Map<GraphNode, number>()
  readonly #passes = new Map<CountedEdge, number>()
  readonly #arrivals = new Map<string, number>()
  #finished: Sender[] = []
  #committing: Sender[] = []
  #nextRequest = 1
  /** Of the entry being applied: the limit that the machine says was reached. */
  #reached: ErrorData | undefined
  /** And that a node or an edge was counted past its limit. */
  #counted = false

  constructor(graph: Graph, start: RunStarted) {
    this.graph = graph
    this.#start = start
    this.#limits = { ...graph.spec.limits, ...JSON.parse(JSON.stringify(start.limits ?? {})) }
    for (const { key, initial } of graph.channels.values())
      if (initial !== undefined) this.shared.set(key, initial)
    if (start.deadline !== undefined) this.timers.add("run")
  }

  /** Takes an entry, and what the machine made of it: that tasks started, and that a limit was reached. */
  apply(entry: Entry, effects: readonly Effect[]): void {
    this.#reached = undefined
    this.#counted = false
    for (const effect of effects) {
      if (effect.type === "emit" && effect.event.type === "limit.reached") this.#reached = effect.event.error
    }
    this.#take(entry)
    this.#begun(effects)
    if (this.#reached !== undefined && this.isLive) {
      this.#reachLimit(this.#reached)
      this.#begun(effects)
    }
    this.#wait()
  }

  #begun(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.type === "start" && this.status === "paused")
        throw new Error("a paused run started a task (M10)")
      const task = effect.type === "start" ? this.tasks.get(effect.task.id) : undefined
      if (task !== undefined) task.started = true
    }
  }

  get isLive(): boolean {
    return this.status === "running" || this.status === "waiting" || this.status === "paused"
  }

  /** Whether the superstep has tasks to wait for: those that wait have left it, and so have those behind them. */
  get isBusy(): boolean {
    const byGate = new Map<object, ModelTask[]>()
    for (const task of this.tasks.values()) {
      const gate = task.map ?? task.node
      byGate.set(gate, [...(byGate.get(gate) ?? []), task])
    }
    for (const tasks of byGate.values()) {
      const [{ map, node }] = tasks as [ModelTask]
      const places = map === undefined ? (node.spec.concurrency ?? 1) : placesFor(map, node)
      if (tasks.slice(0, places).some((task) => task.waits.size === 0 && !task.held)) return true
    }
    return false
  }

  get buffered(): number {
    return this.rounds.filter(({ fired }) => !fired).reduce((sum, { count }) => sum + count, 0)
  }

  get isOverBudget(): boolean {
    const { budget } = this.#start
    return budget !== undefined && !this.onLimitRoute && exhausted(budget, this.usage).length > 0
  }

  #wait(): void {
    if (!this.isLive || this.status === "paused") return
    const signalWaits = [...this.tasks.values()].some(({ waits }) => [...waits.values()].some(isSignal))
    const timers = this.timers.size - (this.timers.has("run") ? 1 : 0)
    const aims = this.requests.size + timers + Number(signalWaits)
    this.status = !this.isBusy && this.reducing.size === 0 && aims > 0 ? "waiting" : "running"
  }

  #take(entry: Entry): void {
    const id = "task" in entry ? entry.task : undefined
    const task = id === undefined ? undefined : (this.tasks.get(id) as ModelTask)
    this.#count(entry)
    switch (entry.type) {
      case "run.started":
        return this.#begin(this.graph.nodes[this.graph.start] as GraphNode, entry.input)
      case "task.finished":
        for (const request of entry.requests ?? []) this.#ask(task as ModelTask, request)
        return this.#end(task as ModelTask, entry.sends, entry.writes)
      case "task.failed":
        return this.#fail(task as ModelTask, entry)
      case "task.rejected":
        this.messages.rejected++
        this.#report((task as ModelTask).node.id, (task as ModelTask).message)
        return this.#end(task as ModelTask, [], undefined)
      case "step.recorded":
        task?.memo.add(entry.key)
        return
      case "request.opened":
        task?.waits.set(entry.key, this.#ask(task, entry.request))
        return this.#settle()
      case "signal.received":
        this.signals.set(entry.id, entry.value)
        return
      case "signal.awaited":
        task?.waits.set(entry.key, entry.wait.default === undefined ? "signal" : "signal or default")
        if (entry.wait.deadline !== undefined) this.timers.add(`signal:${entry.task}:${entry.key}`)
        return this.#settle()
      case "signal.taken":
        this.signals.delete(entry.id)
        this.timers.delete(`signal:${entry.task}:${entry.key}`)
        if (task !== undefined) this.#endWait(task, entry.key as string, true)
        return
      case "timer.set":
        task?.waits.set(entry.key, "timer")
        this.timers.add(`sleep:${entry.task}:${entry.key}`)
        return this.#settle()
      case "call.started":
        task?.waits.set(entry.key, "call")
        return this.#settle()
      case "call.finished":
        return this.#endWait(task as ModelTask, entry.key, entry.outcome.ok)
      case "request.answered":
        return this.#answer(entry.request, entry.value)
      case "timer.fired":
        return this.#fire(entry.timer)
      case "state.reduced":
        this.reducing.delete(entry.key)
        this.shared.set(entry.key, entry.value)
        if (this.reducing.size === 0) this.#deliverAll()
        return this.#settle()
      case "run.paused":
        this.status = "paused"
        return
      case "run.resumed":
        this.status = "running"
        for (const task of this.tasks.values()) task.held = false
        return this.#settle()
      case "run.failed":
        return this.#finish("failed")
      case "run.cancelled":
        return this.#finish("cancelled")
      case "step.started":
      case "usage.recorded":
      case "usage.reserved":
      case "signal.replied":
      case "answer.kept":
        return
    }
  }

  #count(entry: Entry): void {
    switch (entry.type) {
      case "step.started":
      case "usage.reserved": {
        const key = entry.type === "step.started" ? entry.key : entry.hold
        if (!entry.isRaise) this.#lose(entry.task, key)
        const { usage } = entry
        const own = this.reserved.get(entry.task) ?? new Map<string, { usage: Usage; spent: Usage }>()
        const spent = entry.spent?.map((one) => one.usage).reduce(addUsage, {}) ?? usage
        this.reserved.set(entry.task, own.set(key, { usage, spent }))
        return
      }
      case "step.recorded":
        if (entry.settles) this.reserved.get(entry.task)?.delete(entry.key)
        else this.#lose(entry.task, entry.key)
        break
      case "usage.recorded":
        if (entry.settles !== undefined) this.reserved.get(entry.task)?.delete(entry.settles)
        break
      case "task.finished":
      case "task.failed":
      case "task.rejected":
        this.#loseAll(entry.task)
    }
    if ("usage" in entry && entry.usage !== undefined) this.usage = addUsage(this.usage, entry.usage)
    if ("also" in entry) for (const { usage } of entry.also ?? []) this.usage = addUsage(this.usage, usage)
  }

  #lose(task: number, key: string): void {
    const lost = this.reserved.get(task)?.get(key)
    if (lost === undefined) return
    this.usage = addUsage(this.usage, lost.spent)
    this.reserved.get(task)?.delete(key)
  }

  #loseAll(task: number): void {
    for (const key of this.reserved.get(task)?.keys() ?? []) this.#lose(task, key)
  }

  // Tasks

  #add(node: GraphNode, message: Json, superstep: number, map?: ModelMap, item = 0): void {
    const id = this.nextTask++
    const [waits, memo] = [new Map<string, string>(), new Set<string>()]
    this.tasks.set(id, {
      id,
      node,
      message,
      superstep,
      map,
      item,
      attempt: 1,
      started: false,
      held: false,
      waits,
      memo,
    })
    this.#visit(node)
  }

  #begin(node: GraphNode, message: Json): void {
    this.#add(node, message, this.superstep + 1)
    if (this.#reached === undefined) this.superstep++
  }

  #end(task: ModelTask, sends: readonly Send[], writes: TaskFinished["writes"]): void {
    const { id, node, map, item } = task
    this.#withdraw(task)
    this.tasks.delete(id)
    const superstep = this.graph.schedule === "flow" ? task.superstep : this.superstep
    this.#finished.push({ id, node, superstep, sends, writes, map, item })
    for (const { route } of sends) this.messages.sent += placesOf(route)
    this.#settle()
  }

  #fail(task: ModelTask, { error, at: _ }: TaskFailed): void {
    const { node } = task
    const delay = retryDelay(node.spec.retry, task.attempt, error, `${this.#start.runId}:${task.id}`)
    if (delay !== undefined) {
      this.#withdraw(task)
      task.attempt++
      if (delay > 0) this.timers.add(`retry:${task.id}`)
      return
    }
    const value = { failed: task.id }
    const route = error.fatal ? undefined : failureRoute(node)
    if (route === undefined) return this.#finish("failed")
    this.#end(task, [{ value, route }], undefined)
  }

  // Waiting

  #ask(task: ModelTask, spec: RequestSpec): string {
    const id = `r${this.#nextRequest++}`
    const deadline = spec.deadline !== undefined
    const stages = (spec.escalate ?? []).map(({ timeout }) => timeout !== undefined)
    this.requests.set(id, { node: task.node, task: task.id, deadline, stages, fallback: spec.default })
    if (deadline) this.timers.add(`request:${id}`)
    return id
  }

  #close(id: string): void {
    this.requests.delete(id)
    this.timers.delete(`request:${id}`)
  }

  #withdraw(task: ModelTask): void {
    for (const [key, what] of task.waits) {
      if (what === "timer") this.timers.delete(`sleep:${task.id}:${key}`)
      else if (isSignal(what)) this.timers.delete(`signal:${task.id}:${key}`)
      else if (what !== "call") this.#close(what)
    }
    task.waits.clear()
    task.held = false
  }

  #endWait(task: ModelTask, key: string, ok: boolean): void {
    task.waits.delete(key)
    if (this.status === "paused") task.held = true
    if (ok) task.memo.add(key)
  }

  #waitingFor(id: string): { task: ModelTask; key: string } | undefined {
    for (const task of this.tasks.values())
      for (const [key, what] of task.waits) if (what === id) return { task, key }
    return undefined
  }

  #answer(id: string, value: Json): void {
    const { node } = this.requests.get(id) as ModelRequest
    const waiting = this.#waitingFor(id)
    this.#close(id)
    if (waiting !== undefined) return this.#endWait(waiting.task, waiting.key, true)
    this.#fromOutside(node, value)
    this.#settle()
  }

  #fromOutside(node: GraphNode, value: Json, route: Route = { nodes: [node.id] }): void {
    const sends = [{ value, route }]
    const sender = { id: Number.POSITIVE_INFINITY, node, superstep: this.superstep, item: 0, outside: true }
    this.#finished.push({ ...sender, sends, writes: undefined })
    this.messages.sent += placesOf(route)
  }

  #fire(timer: string): void {
    this.timers.delete(timer)
    const [kind, first = "", ...rest] = timer.split(":")
    if (kind === "sleep") this.#endWait(this.tasks.get(Number(first)) as ModelTask, rest.join(":"), true)
    if (kind === "signal") {
      const [task, key] = [this.tasks.get(Number(first)) as ModelTask, rest.join(":")]
      this.#endWait(task, key, task.waits.get(key) === "signal or default")
    }
    if (kind === "request") this.#expire(first)
    if (kind === "join") {
      const round = this.rounds.find((one) => one.join.id === rest.join(":") && one.number === Number(first))
      if (round?.join.group.join.kind !== "settle") return this.#finish("failed")
      this.#fireEarly(round)
      this.#settle()
    }
  }

  #expire(id: string): void {
    const { node, stages, fallback } = this.requests.get(id) as ModelRequest
    const hasDeadline = stages.shift()
    if (hasDeadline !== undefined) {
      if (hasDeadline) this.timers.add(`request:${id}`)
      return
    }
    if (fallback !== undefined) return this.#answer(id, fallback)
    const waiting = this.#waitingFor(id)
    this.#close(id)
    if (waiting !== undefined) return this.#endWait(waiting.task, waiting.key, false)
    const route = failureRoute(node)
    if (route === undefined) return this.#finish("failed")
    this.#fromOutside(node, { failed: "expired" }, route)
    this.#settle()
  }

  // Commits

  #settle(): void {
    while (this.isLive && this.reducing.size === 0) {
      if (this.graph.schedule === "superstep" && this.isBusy) return
      if (this.#finished.length > 0) this.#commit()
      else if (this.isBusy || this.tasks.size > 0 || this.requests.size > 0) return
      else if (!this.#rest()) return
    }
  }

  /** Nothing runs or waits inside: joins that settle fire with what they have; else the run has ended. */
  #rest(): boolean {
    const settling = this.rounds.filter(({ fired, join }) => !fired && join.group.join.kind === "settle")
    settling.sort((a, b) => a.join.index - b.join.index)
    if (settling[0] !== undefined) this.#fireEarly(settling[0])
    else if (this.timers.size > (this.timers.has("run") ? 1 : 0)) return false
    else this.#finish("completed")
    return true
  }

  /** M4: in task order, all writes before any message. */
  #commit(): void {
    this.#committing = this.#finished.sort((a, b) => (a.id === b.id ? 0 : a.id - b.id))
    this.#finished = []
    for (const { writes } of this.#committing) {
      for (const [key, value] of writes ?? []) {
        const reducer = this.graph.channels.get(key)?.reducer as string
        if (reducer === "biggest") this.reducing.set(key, [...(this.reducing.get(key) ?? []), value])
        else this.shared.set(key, reduced(reducer, this.shared.get(key), value))
      }
    }
    if (this.reducing.size === 0) this.#deliverAll()
  }

  #deliverAll(): void {
    const before = this.nextTask
    const batch = this.#committing
    this.#committing = []
    for (const sender of batch) {
      for (const send of sender.sends) this.#deliver(sender, send)
      if (sender.map !== undefined && --sender.map.left === 0) this.#gather(sender, sender.map)
    }
    const added = [...this.tasks.values()].filter(({ id }) => id >= before)
    if (added.length === 0) return
    const superstep = Math.max(this.superstep, ...added.map((task) => task.superstep))
    const breaks = this.#breaksLimit(superstep)
    if (breaks !== (this.#reached !== undefined)) {
      throw new Error(
        `the model ${breaks ? "reaches a" : "knows no"} limit; the machine: ${this.#reached?.code}`,
      )
    }
    if (!breaks) this.superstep = superstep
  }

  #breaksLimit(superstep: number): boolean {
    const tooLong = !this.onLimitRoute && superstep > (this.#limits.supersteps ?? 100)
    return this.#counted || tooLong || this.isOverBudget
  }

  #visit(node: GraphNode): void {
    const visits = (this.#visits.get(node) ?? 0) + 1
    this.#visits.set(node, visits)
    if (visits > Math.min(node.maxVisits, this.#limits.visits ?? visits)) this.#counted = true
  }

  #pass(from: GraphNode, to: string): void {
    const edge = from.counted.get(to)
    if (edge === undefined) return
    const passes = (this.#passes.get(edge) ?? 0) + 1
    this.#passes.set(edge, passes)
    if (passes > Math.min(edge.max, edge.back ? (this.#limits.loops ?? passes) : passes)) this.#counted = true
  }

  #deliver(sender: Sender, { value, route }: Send): void {
    const next = sender.superstep + 1
    for (const id of route.nodes ?? []) {
      if (!sender.outside) this.#pass(sender.node, id)
      this.messages.delivered++
      this.#add(this.graph.nodes[this.graph.index.get(id) as number] as GraphNode, value, next)
    }
    for (const id of route.joins ?? []) this.#arrive(sender, id, value, route.failed === true)
    for (const id of route.maps ?? [])
      this.#startMap(sender, this.graph.maps.get(id) as GraphMap, value as Json[])
    if (route.output) this.outputs.push(value)
    if (route.result && sender.map !== undefined) sender.map.results[sender.item] = value
    if (placesOf(route) === 1 && !route.nodes && !route.joins && !route.maps) this.#report(undefined, value)
  }

  #startMap(sender: Sender, map: GraphMap, items: readonly Json[]): void {
    this.messages.delivered++
    const run: ModelMap = { map, results: items.map(() => null), left: items.length }
    if (items.length === 0) return this.#gather(sender, run)
    const worker = this.graph.nodes[map.worker] as GraphNode
    items.forEach((item, i) => {
      this.#add(worker, item, sender.superstep + 1, run, i)
    })
  }

  #gather(sender: Sender, { map, results }: ModelMap): void {
    if (map.target === undefined) this.outputs.push(results)
    else this.#add(this.graph.nodes[map.target] as GraphNode, results, sender.superstep + 1)
  }

  // Joins

  #arrive(sender: Sender, id: string, value: Json, failed: boolean): void {
    const join = this.graph.joinIndex.get(id) as GraphJoin
    const source = join.group.from.indexOf(sender.node.id)
    const number = this.#arrivals.get(`${source} ${id}`) ?? 0
    this.#arrivals.set(`${source} ${id}`, number + 1)
    let round = this.rounds.find((one) => one.join === join && one.number === number)
    if (round === undefined) {
      round = { join, number, values: join.group.from.map(() => undefined), count: 0, fired: false }
      this.rounds.push(round)
      if (join.group.timeout !== undefined) this.timers.add(joinTimer(round))
    }
    if (round.fired) return this.#report(join.group.to, value)
    round.count++
    round.values[source] = join.group.join.kind === "settle" && !failed ? { ok: true, value } : value
    if (round.count < (join.needs ?? join.group.from.length)) return
    this.messages.delivered += round.count
    this.#add(this.graph.nodes[join.target] as GraphNode, this.#list(round), sender.superstep + 1)
  }

  #list(round: Round): Json {
    round.fired = true
    this.timers.delete(joinTimer(round))
    const { values, join } = round
    if (join.group.join.kind !== "settle") return values.filter((value) => value !== undefined)
    return values.map((value) => value ?? { failed: "not sent" })
  }

  /** What was buffered has arrived; the list goes out with the next commit. */
  #fireEarly(round: Round): void {
    this.messages.delivered += round.count
    this.#fromOutside(this.graph.nodes[round.join.target] as GraphNode, this.#list(round))
  }

  // Ends

  #report(to: string | undefined, value: Json): void {
    this.undelivered.push({ to, value })
  }

  #finish(status: RunStatus): void {
    this.status = status
    this.#drop()
  }

  #reachLimit(error: ErrorData): void {
    const { onLimit } = this.graph
    if (error.code === "BUDGET_EXCEEDED" && !this.isOverBudget) throw new Error("the budget is not used up")
    if (onLimit === undefined || this.onLimitRoute) return this.#finish("limit")
    this.#drop()
    this.onLimitRoute = true
    this.#reached = undefined
    this.#begin(this.graph.nodes[onLimit] as GraphNode, { code: error.code })
  }

  /** M5: messages that nobody took are reported; M3, M4: writes of a superstep that does not commit are gone. */
  #drop(): void {
    this.messages.dropped = true
    for (const task of this.reserved.keys()) this.#loseAll(task)
    for (const { started, node, message } of this.tasks.values()) if (!started) this.#report(node.id, message)
    for (const { sends } of [...this.#committing, ...this.#finished]) {
      for (const { value, route } of sends) {
        if (route.output) this.outputs.push(value)
        for (const to of route.nodes ?? []) this.#report(to, value)
        for (const id of route.joins ?? []) this.#report(this.graph.joinIndex.get(id)?.group.to, value)
        for (const to of route.maps ?? []) this.#report(to, value)
        if (!route.nodes && !route.joins && !route.maps && placesOf(route) === 1)
          this.#report(undefined, value)
      }
    }
    for (const { join, values, fired } of this.rounds) {
      if (!fired) for (const value of values) if (value !== undefined) this.#report(join.group.to, value)
    }
    this.rounds = []
    this.#arrivals.clear()
    for (const part of [this.tasks, this.requests, this.timers, this.reducing]) part.clear()
    this.#finished = []
    this.#committing = []
  }
}

function isSignal(what: string): boolean {
  return what.startsWith("signal")
}
