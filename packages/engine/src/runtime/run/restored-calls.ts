/**
 * Sub-workflows that were loaded with their run, until the handlers that wait for them call them again. A handler of
 * another version may call another version of them, something else, or nothing.
 */
import type { Machine, RunId, Task } from "../../core/index.ts"
import { childKey, type FrameStart } from "../journal/journal-fold.ts"
import { waitedFor } from "../journal/load-run.ts"
import { Signal } from "../ports/maybe-promise.ts"
import type { Program } from "../ports/program.ts"
import { type Adopted, adopt, callRemoved, type GraphChangePolicy, removedCall } from "./graph-change.ts"

export interface RestoredCall extends Adopted {
  readonly started: FrameStart
}

export interface CallProbe {
  /** The sub-workflow with this key is called again, as this program. */
  onCall(key: string, program: Program): void
}

interface RestoredCallsOptions {
  readonly runId: RunId
  readonly onGraphChange?: GraphChangePolicy | undefined
  readonly probe?: CallProbe | undefined
}

interface RestoredCallsOwner {
  /** Releases the run unchanged, since the policy rejects the change: it does not fail, and no handler sees the error. */
  release(error: unknown): void
}

export class RestoredCalls {
  readonly #options: RestoredCallsOptions
  readonly #owner: RestoredCallsOwner
  readonly #calls = new Map<string, RestoredCall>()
  /** One of them is called again, or the run has ended. */
  readonly #change = new Signal()

  constructor(options: RestoredCallsOptions, owner: RestoredCallsOwner) {
    this.#options = options
    this.#owner = owner
  }

  get size(): number {
    return this.#calls.size
  }
  /** A handler must make the calls again that its task waits for, or the run is released. */
  get areRequired(): boolean {
    return this.#calls.size > 0 && (this.#options.onGraphChange ?? "fail") === "fail"
  }
  [Symbol.iterator](): Iterator<[string, RestoredCall]> {
    return this.#calls[Symbol.iterator]()
  }

  add(key: string, call: RestoredCall): void {
    this.#calls.set(key, call)
  }

  get(key: string): RestoredCall | undefined {
    return this.#calls.get(key)
  }

  take(key: string): RestoredCall | undefined {
    const call = this.#calls.get(key)
    if (call !== undefined) this.#calls.delete(key)
    return call
  }

  /** The sub-workflow continues as the program that is called now. Throws, and releases the run, where it cannot. */
  prepare(key: string, program: Program): void {
    const found = this.#calls.get(key)
    if (found === undefined || found.changed !== undefined) return
    this.#options.probe?.onCall(key, program)
    try {
      this.#calls.set(key, { ...found, ...adopt(found.machine, program.graph, this.#options.onGraphChange) })
    } catch (error) {
      this.#owner.release(error)
      throw error
    }
  }

  /** The handler of the task does not make the call again, or makes another one `instead`. */
  refuseRemoved(
    { key, program }: { readonly key: string; readonly program: Program },
    { id, attempt, node }: Task,
    call: string,
    instead?: string,
  ): void {
    const found = this.#calls.get(childKey(key, id, attempt, call))
    if (found === undefined) return
    const { runId } = this.#options
    const lines = removedCall(node.id, found.machine.graph.name, instead)
    this.#owner.release(callRemoved({ runId, workflow: program.graph.name, lines }))
  }

  /** Removes, and returns, those that no task waits for any more. */
  dropUnawaited(frames: Iterable<[string, { readonly machine: Machine }]>): [string, RestoredCall][] {
    const waited = waitedFor(new Map<string, { readonly machine: Machine }>([...this.#calls, ...frames]))
    const dropped = [...this.#calls].filter(([key]) => !waited.has(key))
    for (const [key] of dropped) this.#calls.delete(key)
    this.noteChange()
    return dropped
  }

  noteChange(): void {
    this.#change.notify()
  }

  /** Resolves when the sub-workflow is called again, or the run has stopped. */
  async called(key: string, isStopped: () => boolean): Promise<void> {
    while (this.#calls.has(key) && !isStopped()) await this.#change.wait()
  }
}

export function waitsForCall({ waits }: Task): boolean {
  for (const { kind } of waits?.values() ?? []) if (kind === "call") return true
  return false
}
