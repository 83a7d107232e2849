/**
 * The live channel. The holder's side first: watchers in other processes name a run, and get its signals as messages. What a
 * watcher's messages cannot keep up with is dropped and counted, up to a `live.gap`; nothing waits for it.
 */
import { randomUUID } from "node:crypto"
import type {
  LiveListener,
  LiveQuery,
  LiveService,
  LiveSignal,
  LiveSubscription,
  RunEvent,
  WatchLive,
} from "@superstep/engine"
import type { Signals } from "./signals.ts"

/** Milliseconds that a holder lives before it listens: most runs of a script are over by then. */
const LISTEN_AFTER = 20
/** Milliseconds between two messages that show that a side is alive, and without one until the other side counts as gone. */
const ALIVE_EVERY = 5_000
const GONE_AFTER = 15_000
/** Characters of live events that are sent to a watcher in one go; others are dropped. */
const MAX_AT_ONCE = 1_048_576
const GO = 15

/** From a watcher. */
type LiveRequest =
  | {
      readonly type: "open"
      readonly id: string
      readonly reply: string
      readonly run: string
      readonly from?: number
    }
  | { readonly type: "alive"; readonly id: string }
  | { readonly type: "leave"; readonly id: string }

/** To a watcher: a signal, or a message that shows that it is alive. */
interface LiveReply {
  readonly id: string
  readonly signal?: LiveSignal
}

function holderAddress(holder: string): string {
  return `holder ${holder}`
}

export function serveLive(signals: Signals, holder: string, watch: WatchLive): LiveService {
  const watchers = new Map<string, Watcher>()
  let stop: (() => void) | undefined

  const onMessage = (message: unknown) => {
    const request = message as LiveRequest | null
    // What a watcher sent may be missing; it says again that it is alive.
    if (typeof request?.id !== "string") return
    const known = watchers.get(request.id)
    if (request.type === "leave") known?.close()
    else if (known !== undefined) known.seenAt = performance.now()
    else if (
      request.type === "open" &&
      typeof request.run === "string" &&
      typeof request.reply === "string"
    ) {
      watchers.set(request.id, new Watcher(signals, request, watch, () => watchers.delete(request.id)))
    }
  }
  const look = setInterval(() => {
    for (const watcher of watchers.values()) {
      if (performance.now() - watcher.seenAt > GONE_AFTER) watcher.close()
      else watcher.reply(undefined)
    }
  }, ALIVE_EVERY)
  look.unref()
  const timer = setTimeout(() => {
    stop = signals.listen(holderAddress(holder), onMessage)
  }, LISTEN_AFTER)
  timer.unref()
  return {
    close() {
      clearTimeout(timer)
      clearInterval(look)
      stop?.()
      for (const watcher of watchers.values()) watcher.end("lost")
    },
  }
}

class Watcher {
  readonly #signals: Signals
  readonly #id: string
  readonly #address: string
  readonly #onEnd: () => void
  readonly #subscription: LiveSubscription
  seenAt: number = performance.now()
  #isOver = false
  /** How far the journal has come, not sent to the watcher yet. */
  #reached: number | undefined
  #flush: ReturnType<typeof setTimeout> | undefined
  /** Characters that were sent in this go. */
  #size = 0
  /** The first live event that was dropped, and how many were. */
  #dropped: { readonly first: RunEvent; lost: number } | undefined

  constructor(
    signals: Signals,
    request: LiveRequest & { type: "open" },
    watch: WatchLive,
    onEnd: () => void,
  ) {
    this.#signals = signals
    this.#id = request.id
    this.#address = request.reply
    this.#onEnd = onEnd
    const { run: runId, from } = request
    this.#subscription = watch(typeof from === "number" ? { runId, from } : { runId }, (signal) =>
      this.#send(signal),
    )
    // The first signal may have been the last one.
    if (this.#isOver) this.#subscription.leave()
  }

  #send(signal: LiveSignal): void {
    if (this.#isOver) return
    switch (signal.type) {
      case "event":
        if (this.#dropped !== undefined || this.#size > MAX_AT_ONCE) this.#drop(signal.event)
        else {
          this.#size += JSON.stringify(signal.event).length
          this.reply(signal)
        }
        this.#flushSoon()
        break
      case "reached":
        // Of many numbers at once only the last one is sent.
        this.#reached = signal.seq
        this.#flushSoon()
        break
      case "closed":
        this.#sendRest()
        this.reply(signal)
        this.close()
        break
      default:
        this.reply(signal)
    }
  }

  #drop(event: RunEvent): void {
    this.#dropped ??= { first: event, lost: 0 }
    this.#dropped.lost += event.type === "live.gap" ? (event.lost ?? 1) : 1
  }

  #flushSoon(): void {
    this.#flush ??= setTimeout(() => {
      this.#flush = undefined
      this.#size = 0
      this.#sendRest()
    }, GO)
    this.#flush.unref()
  }

  /** The gap first, then how far the journal has come meanwhile. */
  #sendRest(): void {
    if (this.#isOver) return
    if (this.#dropped !== undefined) {
      const { first, lost } = this.#dropped
      const { runId, seq, at } = first
      this.#dropped = undefined
      this.reply({ type: "event", event: { runId, seq, at, path: [], type: "live.gap", lost } })
    }
    if (this.#reached === undefined) return
    this.reply({ type: "reached", seq: this.#reached })
    this.#reached = undefined
  }

  reply(signal: LiveSignal | undefined): void {
    const reply: LiveReply = signal === undefined ? { id: this.#id } : { id: this.#id, signal }
    this.#signals.send(this.#address, reply)
  }

  end(reason: "lost"): void {
    this.#send({ type: "closed", reason })
  }

  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#flush)
    this.#subscription?.leave()
    this.#onEnd()
  }
}

// The watcher's side of the live channel: asks the holder of a run for its signals, and reads what comes back.

/** Milliseconds between attempts to reach a holder that does not answer yet, and how many there are. */
const TRY_AGAIN = 100
const ATTEMPTS = 15

/** Where the replies to this process go. */
const ADDRESS: string = `watcher ${randomUUID()}`

export function subscribeLive(
  signals: Signals,
  holder: string,
  { runId, from }: LiveQuery,
  listener: LiveListener,
): LiveSubscription {
  const id = randomUUID()
  const to = holderAddress(holder)
  let isOver = false
  let isOpen = false
  let attempts = 0
  let heardAt = performance.now()

  const ask = (request: LiveRequest) => signals.send(to, request)
  const open = () =>
    ask({ type: "open", id, reply: ADDRESS, run: runId, ...(from !== undefined && { from }) })

  function stop(): void {
    isOver = true
    clearInterval(trying)
    clearInterval(living)
    stopListening()
  }

  /** The holder does not answer, or has stopped answering. */
  function lose(): void {
    if (isOver) return
    stop()
    ask({ type: "leave", id })
    listener({ type: "closed", reason: "lost" })
  }

  const stopListening = signals.listen(ADDRESS, (message) => {
    if (isOver) return
    // Messages are missing: of this subscription or of another one.
    if (message === null) return isOpen ? lose() : undefined
    const { id: of, signal } = message as LiveReply
    if (of !== id) return
    heardAt = performance.now()
    if (signal === undefined) return
    if (!isOpen) {
      isOpen = true
      clearInterval(trying)
    }
    if (signal.type === "closed") stop()
    listener(signal)
  })
  // Followers also poll the store, which keeps the process alive; this timer does not.
  const trying = setInterval(() => {
    attempts += 1
    if (attempts > ATTEMPTS) lose()
    else if (signals.isListening) open()
  }, TRY_AGAIN)
  trying.unref()
  const living = setInterval(() => {
    if (performance.now() - heardAt > GONE_AFTER) lose()
    else ask({ type: "alive", id })
  }, ALIVE_EVERY)
  living.unref()
  if (signals.isListening) open()

  return {
    leave() {
      if (isOver) return
      stop()
      ask({ type: "leave", id })
    },
  }
}
