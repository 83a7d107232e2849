/**
 * The events of a run as one stream, over as many connections as it takes.
 *
 * Invariants:
 * S1 Journaled events arrive once each, in the order of their numbers.
 * S2 A live event has no number of its own, so a server that is asked again repeats the latest ones. What this stream has
 *    already yielded is recognised by its text and its position in the order, and not yielded again.
 * S3 The stream ends when the server says that the run has ended; until then, it connects again.
 */
import type { RunEvent } from "./generated/events.ts"
import { isTransient, type Transport } from "./transport.ts"

export interface EventOptions {
  /** The number of the last journaled event that you have; live events that followed it are sent. Default: 0. */
  readonly after?: number | undefined
  /** Only these types. */
  readonly types?: readonly RunEvent["type"][] | undefined
  /** Levels of sub-workflows; 0: the run itself. Default: all. */
  readonly depth?: number | undefined
  readonly signal?: AbortSignal | undefined
}

interface Frame {
  /** The number of a journaled event; empty for others. */
  readonly id: string
  readonly name: string
  readonly data: string
}

/** More than a server repeats to a client that connects again. */
const MAX_RECENT = 5_000
/** Milliseconds without a byte, heartbeats included, after which the connection counts as dead. */
const MAX_SILENCE = 60_000

export async function* eventsOf(
  transport: Transport,
  path: string,
  { after = 0, types, depth, signal }: EventOptions,
): AsyncGenerator<RunEvent, void> {
  const cursor = new StreamCursor(after)
  for (let failures = 1; ; failures++) {
    const connection = new AbortController()
    const stop = () => connection.abort(signal?.reason)
    signal?.addEventListener("abort", stop, { once: true })
    try {
      signal?.throwIfAborted()
      const response = await transport.send(
        "GET",
        path,
        {
          query: { after: cursor.before, types: types?.join(","), depth },
          headers: { accept: "text/event-stream" },
          signal: connection.signal,
        },
        false,
      )
      cursor.rejoin()
      for await (const frame of framesOf(response, connection)) {
        failures = 0
        if (frame.name !== "end") yield* cursor.take(frame)
        else if (JSON.parse(frame.data).reason === "ended") return
        else break
      }
    } catch (error) {
      if (signal?.aborted || !isTransient(error)) throw error
      if (failures > 0) await transport.pause(failures, signal, error)
      continue
    } finally {
      signal?.removeEventListener("abort", stop)
      connection.abort()
    }
    await transport.pause(1, signal)
  }
}

/** Which events were yielded. */
class StreamCursor {
  /** The number of the last journaled event that was yielded, or that a live event followed. */
  seq: number
  /** Live events that were yielded since then, as text. */
  #recent: string[] = []
  /** Of these, the first one that the server may still repeat. */
  #next = 0
  /** A gap that the server reports before events that were yielded already: it may be one that this stream does not have. */
  #gap: RunEvent | undefined
  /** How many live events were yielded before the last gap. */
  #gapAt = -1

  constructor(seq: number) {
    this.seq = seq
  }

  /** The number to continue after. Live events belong to the journaled event before them, so that one is requested too. */
  get before(): number {
    return Math.max(0, this.seq - 1)
  }

  rejoin(): void {
    this.#next = 0
    this.#gap = undefined
  }

  *take({ id, data }: Frame): Generator<RunEvent> {
    const event: RunEvent = JSON.parse(data)
    const isLive = id === ""
    if (event.seq < this.seq || (event.seq === this.seq && !isLive)) return
    if (event.seq > this.seq) {
      yield* this.#takeGap()
      this.seq = event.seq
      this.#recent = []
      this.#next = 0
      this.#gapAt = -1
    }
    if (!isLive) yield event
    else if (event.type === "live.gap") yield* this.#addGap(event)
    else if (!this.#isRepeated(data)) {
      yield* this.#takeGap()
      this.#recent.push(data)
      if (this.#recent.length > MAX_RECENT) this.#recent.shift()
      this.#next = this.#recent.length
      yield event
    }
  }

  #isRepeated(data: string): boolean {
    const at = this.#recent.indexOf(data, this.#next)
    if (at === -1) return false
    // What the gap replaces comes before this event, so it was yielded.
    this.#gap = undefined
    this.#next = at + 1
    return true
  }

  *#addGap(gap: RunEvent): Generator<RunEvent> {
    this.#gap = gap
    if (this.#next === this.#recent.length) yield* this.#takeGap()
  }

  *#takeGap(): Generator<RunEvent> {
    const gap = this.#gap
    this.#gap = undefined
    if (gap === undefined || this.#gapAt === this.#recent.length) return
    this.#gapAt = this.#recent.length
    yield gap
  }
}

/** The frames of a response. A frame that is cut off does not count. */
async function* framesOf(response: Response, connection: AbortController): AsyncGenerator<Frame> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ""
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    for (;;) {
      timer = setTimeout(() => connection.abort(new Error("The server is silent.")), MAX_SILENCE)
      const { done, value } = await reader.read()
      clearTimeout(timer)
      if (done) return
      const parts = (text + decoder.decode(value, { stream: true })).split("\n\n")
      text = parts.pop() as string
      for (const part of parts) {
        const frame = frameOf(part)
        if (frame.data !== "") yield frame
      }
    }
  } finally {
    clearTimeout(timer)
  }
}

function frameOf(text: string): Frame {
  const fields: Record<string, string> = {}
  for (const line of text.split("\n")) {
    const at = line.indexOf(":")
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart()
  }
  const { id = "", event: name = "", data = "" } = fields
  return { id, name, data }
}
