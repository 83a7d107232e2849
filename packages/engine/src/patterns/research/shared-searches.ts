/**
 * Searches that the sections of a deep research share. Sections have separate states, so equal searches are found here:
 * each runs once in a run, and every section that requests it receives the same evidence.
 *
 * Q1 A search is identified by its tool, its words and its page (`searchKey`). A failed search runs again for a section
 *    that it failed for, and then for all such sections.
 * Q2 A result is recorded, as a step of a section that waits for it, before any section receives it. After a restart the
 *    records of all sections are replayed before anything is searched; those of finished sections are in the state.
 * Q3 The end of a section does not end a search that another one waits for.
 */
import { type Channel, type Context, channel, merge } from "../../runtime/index.ts"
import { untilAborted } from "../../tools/index.ts"
import {
  type MakeSearch,
  recordedSearch,
  runTool,
  type Search,
  searchFailed,
  type TaskResult,
} from "./run-tasks.ts"
import { searchKey } from "./search-key.ts"

/** The searches of finished sections, by key. */
export const SEARCHES: Channel<Readonly<Record<string, TaskResult>>, Record<string, TaskResult>> = channel(
  "searches",
  merge<Record<string, TaskResult>>({}),
)

/** Maximum characters of results that a section leaves to the others in the state. */
const MAX_LEFT = 2_000_000

interface Found {
  readonly key: string
  readonly result: TaskResult
}

/** One per workflow. The sections of one run share a room. */
export class SharedSearches {
  readonly #rooms = new Map<string, Room>()
  readonly #members = new Map<string, Member>()

  /**
   * Call it at the beginning of a section's task, before anything is awaited. `room` is the same for all its sections.
   */
  join(room: string, ctx: Context): Member {
    const open = this.#rooms.get(room)
    // If a section starts again, its run was stopped: results that were not recorded there are not known here.
    const joined = open === undefined || open.joined.has(ctx.idempotencyKey) ? new Room() : open
    joined.joined.add(ctx.idempotencyKey)
    this.#rooms.set(room, joined)
    for (const [key, result] of Object.entries(ctx.state.get(SEARCHES))) joined.known.set(key, result)
    const member = new Member(joined, ctx, () => {
      if (this.#members.get(member.id) === member) this.#members.delete(member.id)
      if (joined.members.size === 0 && this.#rooms.get(room) === joined) this.#rooms.delete(room)
    })
    this.#members.set(member.id, member)
    return member
  }

  /** For the loop of a section, which knows the id of its member. */
  searchOf(id: string | undefined): MakeSearch {
    const member = id === undefined ? undefined : this.#members.get(id)
    return member === undefined ? recordedSearch : (search, ctx) => member.search(search, ctx)
  }
}

const ENDED = Symbol("ended")

/** A section: it requests searches, and records results. */
class Member {
  readonly id: string
  readonly #room: Room
  readonly #ctx: Context
  readonly #onClose: () => void
  readonly #recording: Promise<void>
  readonly #queue: Found[] = []
  readonly #left: Record<string, TaskResult> = {}
  #size = 0
  #isClosed = false
  #wake: () => void = () => undefined
  #caughtUp: () => void = () => undefined
  /** Resolves when the records of an earlier process are replayed. */
  readonly ready: Promise<void>

  constructor(room: Room, ctx: Context, onClose: () => void) {
    this.id = ctx.idempotencyKey
    this.#room = room
    this.#ctx = ctx.scope("searches")
    this.#onClose = onClose
    this.ready = new Promise((resolve) => {
      this.#caughtUp = resolve
    })
    room.members.add(this)
    this.#recording = this.#record()
  }

  async search({ tool, task, failures, signal }: Search, ctx: Context): Promise<TaskResult> {
    const key = `${failures} ${searchKey(task)}`
    try {
      return await this.#room.search(key, this, signal, (own) =>
        runTool(tool, task, { signal: own, clock: ctx.clock }, own),
      )
    } catch (error) {
      if (ctx.signal.aborted) throw error
      return searchFailed(tool, error)
    }
  }

  /** Whether the member will record the result. */
  take(found: Found): boolean {
    if (this.#isClosed) return false
    this.#queue.push(found)
    this.#wake()
    return true
  }

  /** Records one result after the other, in an order that a replay repeats. */
  async #record(): Promise<void> {
    try {
      for (;;) {
        const usage = () => ({ toolCalls: 1 })
        const { key, result } = await this.#ctx.step("search", () => this.#next(), { usage })
        this.#size += key.length + result.output.length
        for (const { text, title } of result.evidence) this.#size += text.length + title.length
        if (this.#size <= MAX_LEFT) this.#left[key] = result
        this.#room.publish(key, result)
      }
    } catch (error) {
      this.#close()
      if (error !== ENDED) this.#room.fail(error)
    } finally {
      this.#caughtUp()
    }
  }

  /** Called when all records are replayed. */
  async #next(): Promise<Found> {
    this.#caughtUp()
    for (;;) {
      const found = this.#queue.shift()
      if (found !== undefined) return found
      if (this.#isClosed) throw ENDED
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #close(): void {
    this.#isClosed = true
    this.#room.members.delete(this)
    this.#wake()
  }

  /** The results for sections that start later. */
  async leave(): Promise<Record<string, TaskResult>> {
    this.#close()
    await this.#recording
    this.#onClose()
    return this.#left
  }
}

interface UnderWay {
  readonly stop: AbortController
  readonly result: Promise<TaskResult>
  readonly settle: (result: TaskResult) => void
  readonly fail: (error: unknown) => void
  /** One entry per waiting member. */
  readonly waiting: Set<{ readonly member: Member }>
}

class Room {
  /** Ids of all members, including those that have left. */
  readonly joined = new Set<string>()
  readonly members = new Set<Member>()
  readonly known = new Map<string, TaskResult>()
  readonly #underWay = new Map<string, UnderWay>()

  async search(
    key: string,
    member: Member,
    signal: AbortSignal,
    run: (signal: AbortSignal) => Promise<TaskResult>,
  ): Promise<TaskResult> {
    await untilAborted(Promise.all([...this.members].map(({ ready }) => ready)), signal)
    const known = this.known.get(key)
    if (known !== undefined) return known
    const search = this.#underWay.get(key) ?? this.#start(key, run)
    const waiter = { member }
    search.waiting.add(waiter)
    try {
      return await untilAborted(search.result, signal)
    } finally {
      search.waiting.delete(waiter)
      if (search.waiting.size === 0) this.#abandon(key, search)
    }
  }

  #start(key: string, run: (signal: AbortSignal) => Promise<TaskResult>): UnderWay {
    const { promise, resolve, reject } = withResolvers<TaskResult>()
    const waiting: UnderWay["waiting"] = new Set()
    const search = { stop: new AbortController(), result: promise, settle: resolve, fail: reject, waiting }
    this.#underWay.set(key, search)
    run(search.stop.signal).then((result) => {
      // A waiting member records the result. If there is none, nobody needs it.
      for (const { member } of search.waiting) if (member.take({ key, result })) return
      this.#abandon(key, search)
    }, reject)
    return search
  }

  #abandon(key: string, search: UnderWay): void {
    if (this.#underWay.get(key) === search) this.#underWay.delete(key)
    search.stop.abort()
  }

  publish(key: string, result: TaskResult): void {
    this.known.set(key, result)
    this.#underWay.get(key)?.settle(result)
    this.#underWay.delete(key)
  }

  fail(error: unknown): void {
    for (const { fail } of this.#underWay.values()) fail(error)
    this.#underWay.clear()
  }
}

function withResolvers<T>() {
  let [resolve, reject]: [(value: T) => void, (error: unknown) => void] = [() => undefined, () => undefined]
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}
