/**
 * A store whose file is still being opened: every call waits for that. Only for a file that another process has locked
 * while it must be made or brought up to date here; any other is opened at once.
 */
import type { KeepAlive, KeepAliveOptions } from "@superstep/engine"
import { backOff, isBusy, SAY_AFTER } from "./busy.ts"
import type { SqliteStore } from "./sqlite-store.ts"

export interface Opening {
  open(): SqliteStore
  /** Milliseconds for which it is tried again. */
  readonly busyTimeout: number
  /** Called once, when opening takes long. */
  onWait(): void
  /** What to say when the time is over. */
  giveUp(error: unknown): unknown
}

const later = setTimeout

export function openLater(opening: Opening): SqliteStore {
  const opened = open(opening)
  // Each call reports it; a store that nobody calls has nothing to report.
  opened.catch(() => undefined)
  return deferred(opened)
}

async function open({ open, busyTimeout, onWait, giveUp }: Opening): Promise<SqliteStore> {
  const since = performance.now()
  let hasSaid = false
  for (let attempt = 0; ; attempt++) {
    const waited = performance.now() - since
    if (waited >= SAY_AFTER && !hasSaid) {
      hasSaid = true
      onWait()
    }
    await new Promise((resume) => later(resume, backOff(attempt)))
    try {
      return open()
    } catch (error) {
      if (!isBusy(error)) throw error
      if (performance.now() - since >= busyTimeout) throw giveUp(error)
    }
  }
}

/** Calls are made in the order in which they came: promises of one promise resolve in order. */
function deferred<T extends object>(target: Promise<T>): T {
  return new Proxy({} as T, {
    get(_, name) {
      // Nothing waits for the store itself.
      if (name === "then" || typeof name === "symbol") return undefined
      if (name === "registry") return deferred(target.then((store) => (store as SqliteStore).registry))
      if (name === "keepAlive") {
        return (options: KeepAliveOptions): KeepAlive => {
          const thread = target.then((store) => (store as SqliteStore).keepAlive(options))
          thread.catch(() => undefined)
          return {
            stop: () =>
              void thread.then(
                (one) => one.stop(),
                () => undefined,
              ),
          }
        }
      }
      return (...given: unknown[]) =>
        target.then((store) => (store as Record<string, (...given: unknown[]) => unknown>)[name]?.(...given))
    },
  })
}
