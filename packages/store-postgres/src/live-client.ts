/** The watcher's side of the live channel: asks the holder of a run for its signals, and reads what comes back. */
import { randomUUID } from "node:crypto"
import type { LiveListener, LiveQuery, LiveSubscription } from "@superstep/engine"
import { ALIVE_EVERY, GONE_AFTER, holderAddress, type LiveReply, type LiveRequest } from "./live-server.ts"
import type { Signals } from "./signals.ts"

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
