/**
 * Metrics in the text format of Prometheus: what this process has executed and answered since it started, and the queue of the
 * store. Labels name workflows, nodes and routes, never runs or users: the number of series stays small.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks"
import { isInternal, type RunObserver, type Runtime } from "@superstep/engine"
import type { MiddlewareHandler } from "hono"
import { matchedRoutes } from "hono/route"
import type { Env } from "./access.ts"
import type { Feeds } from "./feed.ts"

const RUN_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600]
const TASK_SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300]
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** Queued runs that are counted with a scrape. */
const MAX_QUEUED = 1_000
/** Nanoseconds in a second. */
const NANO = 1e9

type Label = string | number

/** The values of labels as a key; ids of definitions cannot have the separator. Their text is made when it is asked for. */
const keyOf = (values: readonly Label[]) => values.join("\0")

class Counter {
  readonly kind = "counter"
  readonly #series = new Map<string, { readonly values: readonly Label[]; sum: number }>()
  readonly #labels: readonly string[]
  readonly name: string
  readonly help: string

  constructor(name: string, help: string, labels: readonly string[]) {
    this.name = name
    this.help = help
    this.#labels = labels
  }

  /** To the series with these values of its labels. */
  add(values: readonly Label[], amount = 1): void {
    const key = keyOf(values)
    const series = this.#series.get(key)
    if (series === undefined) this.#series.set(key, { values, sum: amount })
    else series.sum += amount
  }

  lines(): string[] {
    return [...this.#series.values()].map(
      ({ values, sum }) => `${this.name}${labelText(this.#labels, values)} ${sum}`,
    )
  }
}

class Histogram {
  readonly kind = "histogram"
  readonly name: string
  readonly help: string
  readonly #labels: readonly string[]
  readonly #bounds: readonly number[]
  readonly #series = new Map<
    string,
    { readonly values: readonly Label[]; readonly counts: number[]; sum: number; count: number }
  >()

  constructor(name: string, help: string, labels: readonly string[], bounds: readonly number[]) {
    this.name = name
    this.help = help
    this.#labels = labels
    this.#bounds = bounds
  }

  observe(values: readonly Label[], value: number): void {
    const key = keyOf(values)
    let series = this.#series.get(key)
    if (series === undefined) {
      series = { values, counts: this.#bounds.map(() => 0), sum: 0, count: 0 }
      this.#series.set(key, series)
    }
    series.sum += value
    series.count++
    const bucket = this.#bounds.findIndex((bound) => value <= bound)
    if (bucket >= 0) series.counts[bucket] = (series.counts[bucket] as number) + 1
  }

  lines(): string[] {
    const bounded = [...this.#labels, "le"]
    return [...this.#series.values()].flatMap(({ values, counts, sum, count }) => {
      let below = 0
      const buckets = this.#bounds.map((bound, i) => {
        below += counts[i] as number
        return `${this.name}_bucket${labelText(bounded, [...values, bound])} ${below}`
      })
      const own = labelText(this.#labels, values)
      return [
        ...buckets,
        `${this.name}_bucket${labelText(bounded, [...values, "+Inf"])} ${count}`,
        `${this.name}_sum${own} ${sum}`,
        `${this.name}_count${own} ${count}`,
      ]
    })
  }
}

const observed = new WeakMap<Runtime, RunMetrics>()

/** One for each runtime: a server that replaces another one continues its counts. */
function runMetricsOf(runtime: Runtime): RunMetrics {
  const known = observed.get(runtime)
  if (known !== undefined) return known
  const metrics = new RunMetrics()
  runtime.observe(metrics)
  observed.set(runtime, metrics)
  return metrics
}

class RunMetrics implements RunObserver {
  readonly runs = new Counter("superstep_runs_total", "Runs that ended, by workflow and status.", [
    "workflow",
    "status",
  ])
  readonly runSeconds = new Histogram(
    "superstep_run_duration_seconds",
    "How long a run took in this process.",
    ["workflow"],
    RUN_SECONDS,
  )
  readonly tasks = new Counter("superstep_tasks_total", "Attempts at tasks that ended, by outcome.", [
    "workflow",
    "node",
    "outcome",
  ])
  readonly taskSeconds = new Histogram(
    "superstep_task_duration_seconds",
    "How long an attempt at a task took, waiting included.",
    ["workflow", "node"],
    TASK_SECONDS,
  )
  readonly tokens = new Counter(
    "superstep_tokens_total",
    "Tokens of models that runs used, when they ended.",
    ["workflow", "type"],
  )
  readonly cost = new Counter("superstep_cost_usd_total", "What runs cost in US dollars, when they ended.", [
    "workflow",
  ])
  readonly deliveries = new Counter(
    "superstep_webhook_deliveries_total",
    "Deliveries of webhooks that ended.",
    ["status"],
  )

  runEnded({ workflow, status, milliseconds, usage }: Parameters<RunObserver["runEnded"]>[0]): void {
    if (isInternal(workflow)) return this.deliveries.add([status === "completed" ? "delivered" : "failed"])
    this.runs.add([workflow, status])
    this.runSeconds.observe([workflow], milliseconds / 1_000)
    const { inputTokens, outputTokens, usd } = usage
    if (inputTokens !== undefined) this.tokens.add([workflow, "input"], inputTokens)
    if (outputTokens !== undefined) this.tokens.add([workflow, "output"], outputTokens)
    if (usd !== undefined) this.cost.add([workflow], usd)
  }

  taskEnded({ workflow, node, outcome, milliseconds }: Parameters<RunObserver["taskEnded"]>[0]): void {
    if (isInternal(workflow)) return
    this.tasks.add([workflow, node, outcome])
    this.taskSeconds.observe([workflow, node], milliseconds / 1_000)
  }

  get all() {
    return [this.runs, this.runSeconds, this.tasks, this.taskSeconds, this.tokens, this.cost, this.deliveries]
  }
}

export class Metrics {
  readonly #runtime: Runtime
  readonly #feeds: Feeds
  readonly #runs: RunMetrics
  readonly #requests = new Counter("superstep_http_requests_total", "HTTP requests, by route and status.", [
    "method",
    "route",
    "status",
  ])
  readonly #requestSeconds = new Histogram(
    "superstep_http_request_duration_seconds",
    "Time until the response began.",
    ["route"],
    REQUEST_SECONDS,
  )
  #delay: IntervalHistogram | undefined

  constructor(runtime: Runtime, feeds: Feeds, stop: AbortSignal) {
    this.#runtime = runtime
    this.#feeds = feeds
    this.#runs = runMetricsOf(runtime)
    stop.addEventListener("abort", () => this.#delay?.disable(), { once: true })
  }

  get middleware(): MiddlewareHandler<Env> {
    return async (c, next) => {
      const began = performance.now()
      await next()
      const { method } = c.req
      const route = matchedRoutes(c).at(-1)?.path ?? "/*"
      this.#requests.add([METHODS.has(method) ? method : "other", route, c.res.status])
      this.#requestSeconds.observe([route], (performance.now() - began) / 1_000)
    }
  }

  /** What a scrape gets. */
  async text(now = Date.now()): Promise<string> {
    const queued = await this.#runtime.runs({ status: ["queued"], limit: MAX_QUEUED })
    const oldest = Math.min(now, ...queued.map(({ createdAt }) => createdAt))
    const families = [
      ...this.#runs.all.map(familyText),
      familyText(this.#requests),
      familyText(this.#requestSeconds),
      gauge("superstep_queue_depth", `Queued runs, up to ${MAX_QUEUED}.`, queued.length),
      gauge("superstep_queue_age_seconds", "How long the oldest of them has waited.", (now - oldest) / 1_000),
      gauge("superstep_open_streams", "Clients that follow events of a run.", this.#feeds.watching),
      this.#loopText(),
      gauge("process_resident_memory_bytes", "Memory of the process.", process.memoryUsage.rss()),
      gauge(
        "process_start_time_seconds",
        "When the process started.",
        Math.round(now / 1_000 - process.uptime()),
      ),
    ]
    return families.join("")
  }

  /** Since the scrape before; measured from the first one on. */
  #loopText(): string {
    if (this.#delay === undefined) {
      this.#delay = monitorEventLoopDelay({ resolution: 20 })
      this.#delay.enable()
    }
    const { mean, max } = this.#delay
    const p99 = this.#delay.percentile(99)
    this.#delay.reset()
    const seconds = (value: number) => (Number.isFinite(value) ? value / NANO : 0)
    return [
      gauge(
        "superstep_event_loop_delay_mean_seconds",
        "Delay of timers since the last scrape.",
        seconds(mean),
      ),
      gauge("superstep_event_loop_delay_p99_seconds", "Its 99th percentile.", seconds(p99)),
      gauge("superstep_event_loop_delay_max_seconds", "Its maximum.", seconds(max)),
    ].join("")
  }
}

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])

function familyText(metric: Counter | Histogram): string {
  const { name, help, kind } = metric
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${metric
    .lines()
    .map((line) => `${line}\n`)
    .join("")}`
}

function gauge(name: string, help: string, value: number): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${name} ${value}\n`
}

function labelText(names: readonly string[], values: readonly Label[]): string {
  return `{${names.map((name, i) => `${name}="${escaped(String(values[i]))}"`).join(",")}}`
}

function escaped(text: string): string {
  if (!/[\\"\n]/.test(text)) return text
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
}
