/** Everything that the events say about one task: what it received and sent, wrote, recorded, cost, and why it failed. Pure. */
import type { RunEvent } from "@superstep/engine/protocol"

type TaskEvent<T extends RunEvent["type"]> = Extract<RunEvent, { type: T }>

interface Attempt {
  readonly number: number
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly error: TaskEvent<"task.failed">["error"] | undefined
  readonly retryAt: number | undefined
}

/** A reply of a model, as it was recorded. */
export interface ModelTurn {
  readonly key: string
  readonly seq: number
  readonly at: number
  readonly model: string
  readonly finish: string
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly {
    readonly id: string
    readonly name: string
    readonly args: unknown
    readonly result: unknown
  }[]
  readonly usage: { readonly inputTokens?: number; readonly outputTokens?: number; readonly usd?: number }
  /** Milliseconds to the first token, of a call that was streamed. */
  readonly firstToken: number | undefined
  readonly request: RawRequest
  readonly response: unknown
}

/** A request as the journal has it. */
interface RawRequest {
  readonly instructions?: string
  /** What the model saw: the input of the task, then earlier replies and results. Undefined: the agent had more of a past. */
  readonly messages?: readonly unknown[]
  readonly [setting: string]: unknown
}

export interface TaskDetail {
  readonly input: unknown
  readonly from: string | undefined
  /** What it sent, with where it went. */
  readonly sends: TaskEvent<"task.finished">["sends"]
  readonly attempts: readonly Attempt[]
  readonly writes: readonly { readonly key: string; readonly reducer: string; readonly value: unknown }[]
  readonly steps: readonly { readonly key: string; readonly value: unknown; readonly seq: number }[]
  readonly turns: readonly ModelTurn[]
  readonly usage: readonly {
    readonly model: string | undefined
    readonly usage: TaskEvent<"usage.recorded">["usage"]
  }[]
  readonly waits: readonly { readonly seq: number; readonly wait: TaskEvent<"task.parked">["wait"] }[]
}

export function taskDetail(events: readonly RunEvent[]): TaskDetail {
  const of = <T extends RunEvent["type"]>(type: T) =>
    events.filter((event): event is TaskEvent<T> => event.type === type)
  const [started] = of("task.started")
  const steps = of("step.recorded").map(({ key, value, seq, at, details }) => ({
    key,
    value,
    seq,
    at,
    details,
  }))
  return {
    input: started?.input,
    from: started?.from,
    sends: of("task.finished").at(-1)?.sends ?? [],
    attempts: attemptsOf(events),
    writes: of("state.written").map(({ key, reducer, value }) => ({ key, reducer, value })),
    steps: steps.map(({ key, value, seq }) => ({ key, value, seq })),
    turns: turnsOf(steps, started?.input),
    usage: of("usage.recorded").map(({ source, usage }) => ({ model: source?.model, usage })),
    waits: of("task.parked").map(({ seq, wait }) => ({ seq, wait })),
  }
}

function attemptsOf(events: readonly RunEvent[]): readonly Attempt[] {
  const attempts: Attempt[] = []
  for (const event of events) {
    const last = attempts.at(-1)
    if (event.type === "task.started") {
      attempts.push({
        number: event.attempt,
        startedAt: event.at,
        endedAt: undefined,
        error: undefined,
        retryAt: undefined,
      })
    } else if (last !== undefined && event.type === "task.failed") {
      attempts[attempts.length - 1] = {
        ...last,
        endedAt: event.at,
        error: event.error,
        retryAt: event.retryAt,
      }
    } else if (last !== undefined && (event.type === "task.finished" || event.type === "task.cancelled")) {
      attempts[attempts.length - 1] = { ...last, endedAt: event.at }
    }
  }
  return attempts
}

interface Step {
  readonly key: string
  readonly value: unknown
  readonly seq: number
  readonly at: number
  readonly details?: unknown
}

/** Replies are recognised by their shape; the result of a tool call is the step whose name ends with the id of the call. */
function turnsOf(steps: readonly Step[], input: unknown): readonly ModelTurn[] {
  const exchange: unknown[] = [{ role: "user", content: input }]
  let instructions: string | undefined
  return steps.flatMap((step) => {
    const reply = replyOf(step.value)
    if (reply === undefined) return []
    const { request, response } = detailsOf(step.details)
    // They are recorded when they change.
    if (typeof request.instructions === "string") instructions = request.instructions
    const { messages: sent, ...settings } = request
    const earlier = [...exchange]
    const parts = reply.content
    const text = (type: string) =>
      parts.map((part) => (part.type === type && typeof part.text === "string" ? part.text : "")).join("")
    const calls = parts
      .filter((part) => part.type === "tool-call")
      .map((part) => {
        const id = String(part.id)
        const result = steps.find((one) => one.seq > step.seq && one.key.includes(`:${id}`))
        return { id, name: String(part.name), args: parsed(part.args), result: result?.value }
      })
    exchange.push({ role: "assistant", content: parts })
    if (calls.length > 0)
      exchange.push({ role: "tool", content: calls.map(({ id, result }) => ({ id, result })) })
    return [
      {
        key: step.key,
        seq: step.seq,
        at: step.at,
        model: reply.model,
        finish: reply.finish,
        text: text("text"),
        reasoning: text("reasoning"),
        calls,
        usage: reply.usage,
        firstToken: typeof response.firstToken === "number" ? response.firstToken : undefined,
        request: {
          model: reply.model,
          ...settings,
          ...(instructions !== undefined && { instructions }),
          // A longer conversation came from somewhere else: what this task recorded is not all of it.
          ...(sent === undefined || sent === earlier.length ? { messages: earlier } : { messageCount: sent }),
        },
        response: { ...response, ...(step.value as object) },
      },
    ]
  })
}

function detailsOf(details: unknown): { readonly request: Data; readonly response: Data } {
  const { request, response } = dataOf(details)
  return { request: dataOf(request), response: dataOf(response) }
}

type Data = { readonly [name: string]: unknown }

function dataOf(value: unknown): Data {
  return typeof value === "object" && value !== null ? (value as Data) : {}
}

interface Reply {
  readonly content: readonly { readonly type: string; readonly [name: string]: unknown }[]
  readonly finish: string
  readonly model: string
  readonly usage: ModelTurn["usage"]
}

function replyOf(value: unknown): Reply | undefined {
  if (typeof value !== "object" || value === null) return undefined
  const { content, finish, model, usage } = value as Partial<Record<keyof Reply, unknown>>
  const isReply = Array.isArray(content) && typeof finish === "string" && typeof model === "string"
  if (!isReply) return undefined
  const parts = content.filter((part) => typeof part === "object" && part !== null)
  return {
    content: parts,
    finish,
    model,
    usage: typeof usage === "object" && usage !== null ? usage : {},
  } as Reply
}

/** Arguments are recorded as the model wrote them: as text. */
function parsed(args: unknown): unknown {
  if (typeof args !== "string") return args
  try {
    return JSON.parse(args)
  } catch {
    return args
  }
}
