/** A run's events over HTTP: server-sent events whose ids are event numbers, or one JSON value per line. */
import type { RunEvent, StoredRun } from "@superstep/engine"
import { hasEnded } from "@superstep/engine"
import { isLive } from "@superstep/engine/protocol"
import type { Feeds } from "./feed.ts"

export interface EventOptions {
  /** The number of the last event that the client has. */
  readonly after: number
  /** Only these types; undefined: all. */
  readonly types: ReadonlySet<string> | undefined
  /** Sub-workflows down to this depth; 0: the run itself; undefined: all. */
  readonly depth: number | undefined
  readonly heartbeat: number
}

type Format = "sse" | "ndjson"

/** Server-sent events are the default: browsers ask for them, and clients that accept anything receive them. */
export function eventFormat(accept: string | undefined): Format | undefined {
  const types = (accept ?? "*/*").split(",").map((type) => type.split(";")[0]?.trim().toLowerCase())
  if (types.includes("application/x-ndjson")) return "ndjson"
  return types.some((type) => type === "text/event-stream" || type === "text/*" || type === "*/*")
    ? "sse"
    : undefined
}

export function eventResponse(
  feeds: Feeds,
  run: StoredRun,
  format: Format,
  options: EventOptions,
  signals: { readonly request: AbortSignal; readonly drain: AbortSignal },
): Response {
  const write = format === "sse" ? sse : ndjson
  const signal = AbortSignal.any([signals.request, signals.drain])
  const frames = textOf(feeds, run, write, options, signal)
  const body = new ReadableStream<string>({
    async pull(controller) {
      const { done, value } = await frames.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await frames.return(undefined)
    },
  }).pipeThrough(new TextEncoderStream())
  return new Response(body, {
    headers: {
      "content-type": format === "sse" ? "text/event-stream; charset=utf-8" : "application/x-ndjson",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    },
  })
}

interface Writer {
  event(event: RunEvent): string
  heartbeat: string
  /** The last frame of a stream: the run has ended, or the client must connect again. */
  end(data: { readonly reason: "ended" | "reconnect"; readonly status?: string | undefined }): string
}

const sse: Writer = {
  // A live event has no id of its own: a client that connects again continues after the last journaled one.
  event: (event) =>
    `${isLive(event) ? "" : `id: ${event.seq}\n`}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
  heartbeat: ": \n\n",
  end: (data) => `event: end\ndata: ${JSON.stringify(data)}\n\n`,
}

const ndjson: Writer = {
  event: (event) => `${JSON.stringify(event)}\n`,
  heartbeat: "\n",
  end: (data) => `${JSON.stringify({ type: "end", ...data })}\n`,
}

async function* textOf(
  feeds: Feeds,
  run: StoredRun,
  write: Writer,
  { after, types, depth, heartbeat }: EventOptions,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const events = feeds.watch(run.runId, after, signal)
  let status = hasEnded(run) ? run.status : undefined
  let next = events.next()
  try {
    for (;;) {
      const arrived = await within(next, heartbeat)
      if (arrived === undefined) {
        yield write.heartbeat
        continue
      }
      if (arrived.done) break
      next = events.next()
      const event = arrived.value
      if (event.type === "run.finished" && pathOf(event).length === 0) status = event.status
      const isChosen = types === undefined || types.has(event.type)
      if (isChosen && (depth === undefined || pathOf(event).length <= depth)) yield write.event(event)
    }
    yield write.end(signal.aborted ? { reason: "reconnect" } : { reason: "ended", status })
  } finally {
    await events.return(undefined)
  }
}

/** The sub-workflows that the event happened in, from the run down. */
function pathOf(event: RunEvent): readonly unknown[] {
  return "path" in event && Array.isArray(event.path) ? event.path : []
}

/** What the promise resolves to, or undefined if that takes longer than this many milliseconds. */
async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
