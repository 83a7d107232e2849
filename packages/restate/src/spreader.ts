/**
 * Carries tasks of nodes with placement `spread` to workers, as calls under an idempotency key. A process that takes over a run makes
 * the same calls again, and gets the same outcomes: tasks that ended are not executed again.
 *
 * Items of a large map travel in chunks. Which chunk an item belongs to follows from its number and the length of the list alone,
 * so that another process finds the same chunk. An item that started later than its chunk is called by itself.
 */
import {
  type SpreadOutcome,
  type SpreadState,
  type SpreadTask,
  SuperstepError,
  VERSION_LABEL,
} from "@superstep/engine"
import { type Ingress, MAX_MESSAGE } from "./ingress.ts"

export interface Chunk {
  readonly state: SpreadState
  readonly tasks: readonly SpreadTask[]
}

/** By `attemptOf`. */
export type ChunkOutcome = { readonly [attempt: string]: SpreadOutcome }

/** A map is divided into about this many chunks, of at most `MAX_CHUNK` items. */
const CHUNKS = 64
const MAX_CHUNK = 50

/** The name of an attempt within its run. */
export function attemptOf({ task, attempt }: SpreadTask): string {
  return `${task}/${attempt}`
}

/** The outcome, or a failure if it is too large to be carried. */
export function bounded(task: SpreadTask, outcome: SpreadOutcome): SpreadOutcome {
  const size = Buffer.byteLength(JSON.stringify(outcome))
  if (size <= MAX_MESSAGE) return outcome
  const { code, message } = tooLarge(`The outcome of "${task.node}"`, size)
  return {
    error: { code, name: "SuperstepError", message, retryable: false } as SpreadOutcome["error"] & object,
  }
}

interface Collected {
  readonly state: () => SpreadState
  readonly tasks: SpreadTask[]
  readonly outcomes: Promise<ChunkOutcome>
}

export class Spreader {
  readonly #ingress: Ingress
  /** Chunks that are about to be sent. */
  readonly #chunks = new Map<string, Collected>()

  constructor(ingress: Ingress) {
    this.#ingress = ingress
  }

  async perform(task: SpreadTask, state: () => SpreadState): Promise<SpreadOutcome> {
    const name = attemptOf(task)
    const chunk = chunkOf(task)
    if (chunk !== undefined) {
      const found = (await this.#collect(chunk, task, state))[name]
      if (found !== undefined) return found
    }
    const text = JSON.stringify({ state: state(), tasks: [task] } satisfies Chunk)
    const size = Buffer.byteLength(text)
    if (size > MAX_MESSAGE) throw tooLarge(`The message to "${task.node}", with the state of its run,`, size)
    const key = `${task.runId}/${name}`
    const outcomes = (await this.#ingress.call("perform", key, text, graphOf(task))) as ChunkOutcome
    const outcome = outcomes[name]
    if (outcome === undefined) throw new Error(`Restate has no outcome of task ${name} of run ${task.runId}.`)
    return outcome
  }

  /** Sends the tasks of a chunk that start in the same turn together. */
  #collect(key: string, task: SpreadTask, state: () => SpreadState): Promise<ChunkOutcome> {
    const known = this.#chunks.get(key)
    if (known !== undefined) {
      known.tasks.push(task)
      return known.outcomes
    }
    const tasks = [task]
    const outcomes = new Promise<ChunkOutcome>((resolve, reject) => {
      setImmediate(() => {
        this.#chunks.delete(key)
        const text = JSON.stringify({ state: state(), tasks } satisfies Chunk)
        // Too much for one message: each goes by itself.
        if (Buffer.byteLength(text) > MAX_MESSAGE) return resolve({})
        const sent = this.#ingress.call("perform", key, text, graphOf(task))
        sent.then((found) => resolve(found as ChunkOutcome), reject)
      })
    })
    this.#chunks.set(key, { state, tasks, outcomes })
    return outcomes
  }
}

/** Undefined: the task travels by itself. */
function chunkOf({ runId, attempt, item }: SpreadTask): string | undefined {
  if (item === undefined || attempt > 1) return undefined
  const size = Math.min(MAX_CHUNK, Math.ceil(item.of / CHUNKS))
  return size === 1 ? undefined : `${runId}/map ${item.map}/${Math.floor(item.index / size)} of ${size}`
}

/** Undefined: every worker has every version of the workflow. */
function graphOf({ graph, labels }: SpreadTask): string | undefined {
  return labels[VERSION_LABEL] === undefined ? graph : undefined
}

function tooLarge(what: string, size: number): SuperstepError {
  const text = `${what} has ${size} bytes, and Restate carries ${MAX_MESSAGE}. Write it to your own storage and pass a reference, or set placement: "inline".`
  return new SuperstepError("SPREAD_TOO_LARGE", text, { retryable: false })
}
