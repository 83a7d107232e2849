/**
 * Delivers live events, which are not journaled, to watchers outside of the process that executes a run. A store offers a
 * channel besides its tables; a holder of runs serves it, and a follower of a run subscribes to its holder.
 *
 * Invariants:
 * L1 Signals of a subscription arrive in the order in which they were sent. A signal may be lost only if a `live.gap` event
 *    replaces it, or with the whole connection.
 * L2 `reached` is sent when the journaled events up to that number are durable, so a watcher finds them in the store. A
 *    live event has the number of the journaled event before it, and implies `reached` for that number.
 * L3 Sending never waits for a watcher. Events that a slow watcher cannot take are dropped and counted.
 * L4 Only what watchers in the executing process see is sent: secrets are masked first.
 */
import type { Json, RunId } from "../../core/index.ts"
import type { RunEvent } from "./events.ts"

export interface LiveChannel {
  /** Admits watchers to the runs of a holder until it is closed. Costs nothing noticeable without watchers. */
  serve(holder: string, watch: WatchLive): LiveService
  /** Watches a run that the holder executes. The last signal is `closed`, unless the watcher leaves first. */
  subscribe(holder: string, query: LiveQuery, listener: LiveListener): LiveSubscription
  /**
   * Calls back when there may be something to do for the holder: mail for its runs, or a run that is free. A hint, which may
   * be lost, and may be wrong: listeners also poll. Absent if the channel has no hints.
   */
  hints?(holder: string, onHint: () => void): LiveService
  /**
   * Calls back with what other processes send to the address. A message may be lost: nothing may depend on it. Absent, with `send`, if
   * the channel has no such messages.
   */
  listen?(address: string, onMessage: (message: Json) => void): LiveService
  /** Sends a message at once. */
  send?(address: string, message: Json): void
}

/** Opens a subscription in the process that executes the run. The listener is never called after `leave`. */
export type WatchLive = (query: LiveQuery, listener: LiveListener) => LiveSubscription

export interface LiveQuery {
  readonly runId: RunId
  /** Includes recent live events with this number or a higher one. Absent: only new ones. */
  readonly from?: number | undefined
}

export type LiveListener = (signal: LiveSignal) => void

export type LiveSignal =
  /** The subscription has begun. `missed` of the requested recent live events are gone. */
  | { readonly type: "opened"; readonly missed: number }
  | { readonly type: "event"; readonly event: RunEvent }
  | { readonly type: "reached"; readonly seq: number }
  /** `over`: the run has ended. `left`: it is not executed there. `lost`: the connection failed, or there was none. */
  | { readonly type: "closed"; readonly reason: "over" | "left" | "lost" }

export interface LiveSubscription {
  leave(): void
}

export interface LiveService {
  close(): void
}

/** A channel within one process. */
export function localChannel(): LiveChannel {
  const holders = new Map<string, WatchLive>()
  const listeners = new Map<string, (message: Json) => void>()
  return {
    serve(holder, watch) {
      holders.set(holder, watch)
      return {
        close() {
          if (holders.get(holder) === watch) holders.delete(holder)
        },
      }
    },
    subscribe(holder, query, listener) {
      const watch = holders.get(holder)
      if (watch !== undefined) return watch(query, listener)
      listener({ type: "closed", reason: "lost" })
      return { leave: () => undefined }
    },
    listen(address, onMessage) {
      listeners.set(address, onMessage)
      return { close: () => void listeners.delete(address) }
    },
    send: (address, message) => listeners.get(address)?.(message),
  }
}
