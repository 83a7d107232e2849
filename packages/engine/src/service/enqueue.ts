/**
 * Creates runs without executing them: any process that has their workflow claims them from the queue. Options that merge
 * inputs (`throttle`, `debounce`, `batch`) decide here which run an input goes to; what limits how many runs execute is
 * enforced when runs are claimed.
 */
import {
  isSuperstepError,
  type Json,
  Machine,
  type RunId,
  type RunStarted,
  SuperstepError,
} from "../core/index.ts"
import {
  type Clock,
  type CreatedRun,
  cancelExpired,
  DEFAULT_QUEUE,
  flowKey,
  flowOf,
  type JournalRecord,
  type Keeper,
  type Lane,
  type Program,
  type ProgramFlow,
  type RunFlow,
  type RunOptions,
  type RunStart,
  type Store,
  type StoredRun,
} from "../runtime/index.ts"
import {
  checkInput,
  checkSameRun,
  checkThreadState,
  isOptions,
  lastingState,
  NewRun,
  newRunId,
  type OptionNames,
  ownInput,
  ownOptions,
  RUN_OPTIONS,
  runStarted,
  shown,
  unknownOption,
  valueBytesOf,
} from "../runtime/internal.ts"

export interface EnqueueOptions
  extends Pick<
    RunOptions,
    "runId" | "key" | "thread" | "labels" | "limits" | "timeout" | "budget" | "trace" | "state"
  > {
  /** Milliseconds until the run may start. */
  readonly delay?: number | undefined
  /** When the run may start. */
  readonly startAt?: number | Date | undefined
  /** Higher is earlier; each point is worth a minute of waiting. From -1,000 to 1,000; default 0. */
  readonly priority?: number | undefined
  /** Processes choose the queues that they serve. Default `default`. */
  readonly queue?: string | undefined
  /** Whose run it is: tenants are served in turn. */
  readonly tenant?: string | undefined
  /** A run that no process has claimed by then ends as `cancelled`, with RUN_EXPIRED. */
  readonly expiresAt?: number | Date | undefined
}

/** Of a batch, an item may be enqueued: the run gets a list of them. */
export type Enqueued<In> = In | (In extends readonly (infer Item)[] ? Item : never)

const OWN: OptionNames<Omit<EnqueueOptions, keyof RunOptions>> = {
  delay: true,
  startAt: true,
  priority: true,
  queue: true,
  tenant: true,
  expiresAt: true,
}
const {
  onBusy: _,
  context: __,
  signal: ___,
  store: ____,
  clock: _____,
  telemetry: ______,
  ...SHARED
} = RUN_OPTIONS
const ENQUEUE: OptionNames<EnqueueOptions> = { ...SHARED, ...OWN }
const MAX_PRIORITY = 1_000

export interface QueueEnvironment {
  readonly keeper: Keeper
  readonly clock: Clock
}

/** A run to be created, or an input to be added to one. */
export interface Order {
  readonly program: Program
  readonly input: Json
  readonly options: RunOptions
  readonly flow: RunFlow
  readonly startAt: number | undefined
  readonly now: number
  /** Of a throttled run: the one run of its period has it. */
  readonly periodKey?: string | undefined
}

/** Returns the id of the run: a new one, or the one that the input was merged into. */
export async function enqueue(
  { keeper, clock }: QueueEnvironment,
  program: Program,
  value: unknown,
  options: EnqueueOptions,
): Promise<RunId> {
  return await place(keeper, await orderOf(program, value, options, clock.now()))
}

/** The first append of a run that is not stored yet. `lane` limits it besides those of its workflow. */
export async function queuedRun(
  { keeper: { store } }: Pick<QueueEnvironment, "keeper">,
  program: Program,
  value: unknown,
  options: EnqueueOptions & { readonly runId: RunId },
  { now, lane }: { readonly now: number; readonly lane?: Lane | undefined },
): Promise<CreatedRun> {
  const order = await orderOf(program, value, options, now)
  const { lanes = [] } = order.flow
  const flow = lane === undefined ? order.flow : { ...order.flow, lanes: [...lanes, lane] }
  return await createdRun(store, options.runId, { ...order, flow })
}

async function orderOf(
  program: Program,
  value: unknown,
  options: EnqueueOptions,
  now: number,
): Promise<Order> {
  checkEnqueueOptions(program, options)
  const { flow } = program
  const own = ownOptions(program, runOptions(options))
  const input = ownInput(
    program,
    flow?.batch === undefined ? value : [value],
    valueBytesOf(program, own.limits),
  )
  await checkInput(program, input)
  return {
    program,
    input,
    options: own,
    flow: { ...queuedAs(program, input, options), ...groupOf(program, input) },
    startAt: startOf(flow, options, now),
    now,
    periodKey: periodKeyOf(program, input, now),
  }
}

/**
 * A run of a workflow that has limits is started through the same queue: its lanes count it from its claim on. So is one that another
 * process executes.
 */
export async function startOrder(
  { keeper, clock }: QueueEnvironment,
  program: Program,
  value: unknown,
  options: RunOptions & { readonly runId: RunId },
): Promise<Order> {
  const own = ownOptions(program, options)
  if (own.onBusy !== undefined && own.onBusy !== "reject") {
    const where = keeper.dispatcher === undefined ? "for workflows with flow limits" : "with a dispatcher"
    const then = `Omit it, and start the run again when thread "${own.thread}" is free.`
    const text = `Bad run option: onBusy "${own.onBusy}" is not available ${where}. ${then}`
    throw new SuperstepError("OPTION_INVALID", text)
  }
  const input = ownInput(program, value, valueBytesOf(program, own.limits))
  await checkInput(program, input)
  const flow = queuedAs(program, input, {})
  return { program, input, options: own, flow, startAt: undefined, now: clock.now() }
}

/** The run as data, if another process can create it: nothing has to be counted or read before it begins. */
export function runStartOf({ program, input, options, flow, now }: Order): RunStart | undefined {
  const { runId, key, labels, thread } = options
  if (runId === undefined || thread !== undefined || flow.lanes !== undefined) return undefined
  const entry = runStarted(program, runId, input, now, {
    state: options.state,
    limits: options.limits,
    timeout: options.timeout ?? program.timeout,
    budget: options.budget ?? program.budget,
    trace: options.trace,
  })
  const { workflow, graph } = entry
  return { runId, created: { workflow, graph, key, labels, flow }, entry }
}

/** Creates a queued run, or merges the input into one, or finds the run that exists. */
export async function place(keeper: Keeper, order: Order): Promise<RunId> {
  const { name } = order.program.graph
  for (;;) {
    const runId = order.options.runId ?? newRunId()
    try {
      const { lease, records, change } = await createdRun(keeper.store, runId, order)
      await keeper.store.append(lease, 0, records, change)
      return runId
    } catch (error) {
      if (isSuperstepError(error, "GROUP_TAKEN")) {
        const found = error.run as RunId
        if (await mergeInto(keeper, found, order)) return found
      } else if (isSuperstepError(error, "RUN_EXISTS") || isSuperstepError(error, "KEY_TAKEN")) {
        const found = (error.run as RunId | undefined) ?? runId
        if (order.periodKey === undefined) await checkSameRun(keeper.store, found, name, order.input)
        return found
      } else throw error
    }
  }
}

async function createdRun(store: Store, runId: RunId, order: Order): Promise<CreatedRun> {
  const { program, input, options, flow, startAt, now, periodKey } = order
  const { thread: id } = options
  const thread = id === undefined ? undefined : { id, ...(await store.thread(id)) }
  if (thread !== undefined) checkThreadState(program.graph, thread)
  const timeout = options.timeout ?? program.timeout
  const entry = runStarted(program, runId, input, now, {
    state: options.state,
    limits: options.limits,
    // Its time begins when it may start.
    timeout: timeout === undefined ? undefined : timeout + Math.max(0, (startAt ?? now) - now),
    budget: options.budget ?? program.budget,
    trace: options.trace,
    thread: thread && { id: thread.id, version: thread.version },
  })
  const state = thread && { ...lastingState(program.graph, thread.state), ...entry.state }
  const { machine, effects } = Machine.start(program.graph, state === undefined ? entry : { ...entry, state })
  const made = new NewRun(store, new Map([["", machine]]), { seq: 0, events: 0 })
  made.addStart(machine, entry, effects)
  const { workflow, graph } = entry
  const created = {
    workflow,
    graph,
    key: periodKey ?? options.key,
    labels: options.labels,
    thread: id,
    threadVersion: thread?.version,
    flow,
  }
  return made.queued(runId, created, startAt)
}

/** A throttle period has one run: its key is unique. */
function periodKeyOf({ flow, graph: { name } }: Program, input: Json, now: number): string | undefined {
  if (flow?.throttle === undefined) return undefined
  const { period, key } = flow.throttle
  return JSON.stringify([
    "throttle",
    name,
    flowKey(`workflow "${name}"`, "throttle.key", key, input),
    Math.floor(now / period),
  ])
}

/** Adds the input to a queued run. False if the run is no longer queued: then its group is free. */
async function mergeInto(keeper: Keeper, runId: RunId, order: Order): Promise<boolean> {
  const { store } = keeper
  const { flow } = order.program
  const run = await store.run(runId)
  if (run?.status !== "queued") return false
  if ((run.flow?.expiresAt ?? Number.POSITIVE_INFINITY) <= order.now) {
    await cancelExpired(keeper, run, order.now)
    return false
  }
  const [first] = await store.read(runId, 0, 1)
  const entry = first?.entry
  if (first === undefined || entry?.type !== "run.started") return false
  const { token } = run
  if (flow?.batch === undefined) {
    const record = withInput(first, entry, order.input)
    return await store.queue.amend({
      runId,
      token,
      records: [record],
      wakeAt: debouncedUntil(run, order),
      closed: false,
    })
  }
  const items = [...(entry.input as Json[]), ...(order.input as Json[])]
  const input = ownInput(order.program, items, valueBytesOf(order.program, entry.limits))
  const isFull = items.length >= flow.batch.maxSize
  const wakeAt = isFull ? undefined : run.wakeAt
  return await store.queue.amend({
    runId,
    token,
    records: [withInput(first, entry, input)],
    wakeAt,
    closed: isFull,
  })
}

function withInput(record: JournalRecord, entry: RunStarted, input: Json): JournalRecord {
  return { ...record, entry: { ...entry, input } }
}

function debouncedUntil({ createdAt }: StoredRun, { program, now }: Order): number {
  const { period = 0, timeout = Number.POSITIVE_INFINITY } = program.flow?.debounce ?? {}
  return Math.min(now + period, createdAt + timeout)
}

function startOf(flow: ProgramFlow | undefined, options: EnqueueOptions, now: number): number | undefined {
  const { delay, startAt } = options
  if (flow?.debounce !== undefined) {
    const { period, timeout = Number.POSITIVE_INFINITY } = flow.debounce
    return now + Math.min(period, timeout)
  }
  if (flow?.batch !== undefined) return flow.batch.maxSize === 1 ? undefined : now + flow.batch.timeout
  if (startAt !== undefined) return Number(startAt)
  return delay === undefined ? undefined : now + delay
}

/** Whether the run is not due when it is created. */
export function isDelayed({ flow }: Program, { delay, startAt }: EnqueueOptions): boolean {
  return [delay, startAt, flow?.debounce, flow?.batch].some((one) => one !== undefined)
}

function queuedAs(
  { flow, graph: { name } }: Program,
  input: Json,
  { queue, tenant, priority, expiresAt }: EnqueueOptions,
): RunFlow {
  return {
    queue: queue ?? DEFAULT_QUEUE,
    ...flowOf(name, flow, keyed(flow, input)),
    ...(tenant === undefined ? {} : { tenant }),
    ...(priority === undefined ? {} : { priority }),
    ...(expiresAt === undefined ? {} : { expiresAt: Number(expiresAt) }),
  }
}

/** What keys are functions of: of a batch, the first item. */
function keyed(flow: ProgramFlow | undefined, input: Json): Json {
  return flow?.batch === undefined ? input : ((input as Json[])[0] ?? null)
}

function groupOf({ graph: { name }, flow }: Program, input: Json): Pick<RunFlow, "group"> {
  for (const option of ["debounce", "batch"] as const) {
    const merged = flow?.[option]
    if (merged === undefined) continue
    const isFull = "maxSize" in merged && merged.maxSize === 1
    const key = flowKey(`workflow "${name}"`, `${option}.key`, merged.key, keyed(flow, input))
    if (!isFull) return { group: JSON.stringify([option, name, key]) }
  }
  return {}
}

function runOptions(options: EnqueueOptions): RunOptions {
  const names = Object.keys(SHARED) as (keyof typeof SHARED)[]
  return Object.fromEntries(
    names.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  )
}

/** Callers may not be typed. */
function checkEnqueueOptions({ flow, graph }: Program, options: EnqueueOptions): void {
  if (!isOptions(options)) throw optionInvalid(`the options must be an object, not ${shown(options)}`)
  const unknown = unknownOption(options, ENQUEUE)
  if (unknown !== undefined) throw optionInvalid(unknown)
  for (const name of ["queue", "tenant"] as const) {
    const value = options[name]
    if (value === undefined || (typeof value === "string" && value !== "")) continue
    throw optionInvalid(`${name} must be a non-empty string, not ${shown(value)}`)
  }
  for (const name of ["startAt", "expiresAt"] as const) {
    const value = options[name]
    const isTime = (typeof value === "number" || value instanceof Date) && Number.isFinite(Number(value))
    if (value !== undefined && !isTime) {
      throw optionInvalid(`${name} must be a Date, or milliseconds since 1970, not ${shown(value)}`)
    }
  }
  const { delay, startAt, priority } = options
  if (delay !== undefined && !(Number.isFinite(delay) && delay >= 0)) {
    throw optionInvalid(`delay must be milliseconds, at least 0, not ${shown(delay)}`)
  }
  if (delay !== undefined && startAt !== undefined)
    throw optionInvalid("delay and startAt exclude each other")
  if (priority !== undefined && !(Math.abs(priority) <= MAX_PRIORITY)) {
    throw optionInvalid(
      `priority must be a number from -${MAX_PRIORITY} to ${MAX_PRIORITY}, not ${shown(priority)}`,
    )
  }
  checkMerged(graph.name, flow, options)
}

/** An option that merges inputs says itself which run an input goes to, and when that starts. */
function checkMerged(name: string, flow: ProgramFlow | undefined, options: EnqueueOptions): void {
  for (const option of ["throttle", "debounce", "batch"] as const) {
    if (flow?.[option] === undefined) continue
    const decided =
      option === "throttle"
        ? (["key", "runId"] as const)
        : (["key", "runId", "delay", "startAt", "thread"] as const)
    const taken = decided.find((one) => options[one] !== undefined)
    if (taken === undefined) continue
    throw optionInvalid(`${taken} is decided by flow.${option} of workflow "${name}"`)
  }
}

function optionInvalid(message: string): SuperstepError {
  return new SuperstepError(
    "OPTION_INVALID",
    `Bad enqueue option: ${message}${message.endsWith("?") ? "" : "."}`,
  )
}
