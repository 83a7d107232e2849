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
  headers: Readonly<Record<string, string>> = {},
): Response {
  const write = format === "sse" ? sse : ndjson
  const frames = (client: AbortSignal) =>
    textOf(feeds, run, write, options, AbortSignal.any([client, signals.drain]))
  const type = format === "sse" ? EVENT_STREAM : "application/x-ndjson"
  return streamResponse(signals.request, frames, type, headers)
}

export const EVENT_STREAM = "text/event-stream; charset=utf-8"

/** A response whose body arrives in pieces, until its client leaves. */
export function streamResponse(
  request: AbortSignal,
  make: (client: AbortSignal) => AsyncGenerator<string, void>,
  type: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const left = new AbortController()
  const frames = make(AbortSignal.any([request, left.signal]))
  const batches = batchesOf(frames)
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await batches.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      left.abort()
      // Not of the batches, which may wait for the next frame.
      await frames.return(undefined)
    },
  })
  const fixed = { "content-type": type, "cache-control": "no-store", "x-accel-buffering": "no" }
  return new Response(body, { headers: { ...headers, ...fixed } })
}

const MAX_BATCH = 65_536

/**
 * Frames that are ready in the same turn of the event loop, as one text: a past of thousands of events is written in a few
 * pieces, and a new event alone without delay.
 */
async function* batchesOf(frames: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  let next = frames.next()
  for (;;) {
    const first = await next
    if (first.done) return
    let text = first.value
    next = frames.next()
    const turn = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
    while (text.length < MAX_BATCH) {
      const arrived = await Promise.race([next, turn])
      if (arrived === undefined || arrived.done) break
      text += arrived.value
      next = frames.next()
    }
    yield text
  }
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
  for await (const event of withHeartbeats(events, heartbeat)) {
    if (event === undefined) {
      yield write.heartbeat
      continue
    }
    if (event.type === "run.finished" && pathOf(event).length === 0) status = event.status
    const isChosen = types === undefined || types.has(event.type)
    if (isChosen && (depth === undefined || pathOf(event).length <= depth)) yield write.event(event)
  }
  // A runtime that closes ends its events too, perhaps before the server's signal: only an end that was seen is one.
  const isOver = !signal.aborted && status !== undefined
  yield write.end(isOver ? { reason: "ended", status } : { reason: "reconnect" })
}

/** The values of the source, and undefined for every time so many milliseconds that nothing came. */
export async function* withHeartbeats<T>(
  source: AsyncGenerator<T, void>,
  milliseconds: number,
): AsyncGenerator<T | undefined, void> {
  let next = source.next()
  try {
    for (;;) {
      const arrived = await within(next, milliseconds)
      if (arrived === undefined) {
        yield undefined
        continue
      }
      if (arrived.done) return
      next = source.next()
      yield arrived.value
    }
  } finally {
    await source.return(undefined)
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
