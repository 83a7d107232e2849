/**
 * Follows a run: the server sends its outline and its view, then its stream continues both. The screen hears of it at most once
 * per frame, however many tokens arrive. What fails without a server
 * is done when the server is back.
 */
import { emptyView, type OutlineData, type RunEvent, type RunView } from "@superstep/engine/protocol"
import { useEffect, useMemo, useRef, useSyncExternalStore } from "react"
import { answering, isUnanswered } from "../api/connection.ts"
import { client } from "../api/session.ts"
import { RunHistory } from "./history.ts"

export interface Following {
  readonly history: RunHistory
  /** Changes with the history. */
  readonly version: number
  /** `loading`: before the first events. `ended`: no more will come. */
  readonly state: "loading" | "live" | "ended" | "failed"
  readonly error: unknown
}

/** Milliseconds in which events are taken before the page may draw again. */
const SLICE = 8
/** Views at points of the past that are kept. */
const MAX_VIEWS = 64

class RunFeed {
  readonly #run: string
  readonly #listeners = new Set<() => void>()
  readonly #views = new Map<number, RunView>()
  #wanted: number | undefined
  #isReading = false
  #aborter = new AbortController()
  #frame = 0
  #snapshot: Following

  constructor(run: string) {
    this.#run = run
    this.#snapshot = { history: new RunHistory(), version: 0, state: "loading", error: undefined }
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  readonly snapshot = () => this.#snapshot

  async follow(): Promise<void> {
    this.#aborter = new AbortController()
    const { signal } = this.#aborter
    try {
      if (this.#snapshot.history.length === 0) await this.#open(signal)
      const { history } = this.#snapshot
      if (history.now.finishedAt === undefined) await this.#stream(history, signal)
      this.#set({ state: "ended" })
    } catch (error) {
      if (!signal.aborted) this.#set({ state: "failed", error })
    }
  }

  async #open(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        const { data } = await client.request("GET /v1/runs/{run}/view", {
          path: { run: this.#run },
          query: { outline: "true" },
          signal,
        })
        const start = data as { outline: OutlineData; view: RunView }
        this.#set({ history: new RunHistory(start), state: "live" })
        return
      } catch (error) {
        if (isUnanswered(error)) {
          await answering(signal)
          continue
        }
        // A run that waits for a worker has no events yet.
        if ((error as { code?: string }).code !== "RUN_UNKNOWN") throw error
        if ((await client.get(this.#run).show({ signal })).status !== "queued") throw error
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
    }
  }

  async #stream(history: RunHistory, signal: AbortSignal): Promise<void> {
    let began = performance.now()
    for await (const event of client.get(this.#run).events({ after: history.length, signal })) {
      history.add(event as RunEvent)
      this.#announce()
      if (performance.now() - began < SLICE) continue
      await new Promise((resolve) => setTimeout(resolve))
      began = performance.now()
    }
  }

  /** The view at a point of the past. Until it has arrived, the one that was shown before: the screen stays as it is. */
  viewAt(at: number): RunView | undefined {
    return at === 0 ? emptyView() : this.#views.get(at)
  }

  /** Reads the view at a point; while another one is read, only the last point that was wanted is remembered. */
  want(at: number): void {
    if (this.viewAt(at) !== undefined) return
    this.#wanted = at
    if (!this.#isReading) void this.#read()
  }

  async #read(): Promise<void> {
    this.#isReading = true
    const { signal } = this.#aborter
    while (this.#wanted !== undefined && !signal.aborted) {
      const at = this.#wanted
      this.#wanted = undefined
      try {
        const view = await viewOf(this.#run, at, signal)
        this.#views.set(at, view)
        const [oldest] = this.#views.keys()
        if (this.#views.size > MAX_VIEWS && oldest !== undefined) this.#views.delete(oldest)
        this.#announce()
      } catch (error) {
        // The screen keeps what it shows. Without a server it says so, and the point is read when the server is back.
        if (signal.aborted || !isUnanswered(error)) continue
        this.#wanted ??= at
        await answering(signal).catch(() => undefined)
      }
    }
    this.#isReading = false
  }

  stop(): void {
    this.#aborter.abort()
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
  }

  #announce(): void {
    if (this.#frame !== 0) return
    // A page in the background draws no frames.
    if (document.hidden) this.#set({})
    else {
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0
        this.#set({})
      })
    }
  }

  #set(change: Partial<Following>): void {
    if (change.state !== undefined && change.state !== "live") {
      cancelAnimationFrame(this.#frame)
      this.#frame = 0
    }
    this.#snapshot = { ...this.#snapshot, ...change, version: this.#snapshot.version + 1 }
    for (const listener of this.#listeners) listener()
  }
}

/** The view of a run at an event, from the server. */
export async function viewOf(run: string, at: number, signal?: AbortSignal): Promise<RunView> {
  if (at <= 0) return emptyView()
  const { data } = await client.request("GET /v1/runs/{run}/view", {
    path: { run },
    query: { at },
    ...(signal !== undefined && { signal }),
  })
  return data.view as RunView
}

/** The run, and its view at a point; undefined: now. */
export function useRunAt(run: string, at: number | undefined): Following & { readonly view: RunView } {
  const feed = useMemo(() => new RunFeed(run), [run])
  const shown = useRef<RunView>(undefined)
  useEffect(() => {
    void feed.follow()
    return () => feed.stop()
  }, [feed])
  const following = useSyncExternalStore(feed.subscribe, feed.snapshot)
  const { history } = following
  const isPast = at !== undefined && at < history.length
  useEffect(() => {
    if (isPast) feed.want(at)
  }, [feed, isPast, at])
  const view = isPast ? (feed.viewAt(at) ?? shown.current ?? history.now) : history.now
  shown.current = view
  return { ...following, view }
}
