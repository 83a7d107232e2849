// A process that measures one system. It does what its parent asks, one request at a time, so that systems
// share neither a heap nor compiled code, and still take turns in time.
import { performance } from "node:perf_hooks"
import { expectAnswer } from "./answers.mjs"
import { settledHeap } from "./heap.mjs"
import { memoryMeasures, timedMeasures } from "./measures.mjs"
import { answerRequests } from "./requests.mjs"
import { loadSystem } from "./systems/index.mjs"

const systemName = process.argv[2]
const system = await loadSystem(systemName)
const prepared = new Map()

async function timed(pass, count, expected) {
  const start = performance.now()
  for (let index = 0; index < count; index++) expectAnswer(systemName, await pass(), expected)
  return (performance.now() - start) / count
}

const requests = {
  /** Which of the functions in systems/index.mjs this system has. */
  functions: () => Object.keys(system),

  /** Builds and warms up; answers with the milliseconds that a warm pass takes. */
  async prepare({ measure: id, size, warmUpMs, sampleMs }) {
    const measure = timedMeasures.find((candidate) => candidate.id === id)
    const expected = measure.expected(size)
    const pass = await measure.prepare(system, size)
    const start = performance.now()
    let passMs = await timed(pass, 1, expected)
    while (performance.now() - start < warmUpMs) {
      passMs = await timed(pass, Math.max(1, Math.floor(warmUpMs / 10 / passMs)), expected)
    }
    prepared.set(`${id} ${size}`, { pass, expected, count: Math.max(1, Math.ceil(sampleMs / passMs)) })
    return passMs
  },

  /**
   * One sample: as many passes as fill the sample's time, after a garbage collection. A full collection makes V8
   * throw away compiled code, so some passes go before the clock starts.
   */
  async sample({ measure, size }) {
    const { pass, count, expected } = prepared.get(`${measure} ${size}`)
    globalThis.gc()
    await timed(pass, Math.ceil(count / 3), expected)
    return timed(pass, count, expected)
  },

  forget: () => prepared.clear(),

  /** Bytes of heap per task or run, with all of them alive. */
  async memory({ measure: id, size }) {
    const { expected } = memoryMeasures.find((candidate) => candidate.id === id)
    // A small one first, so that code compiled and tables made on first use are not counted.
    const rehearsal = await system[id](100)
    expectAnswer(systemName, await rehearsal.finish(), expected(100))
    const before = await settledHeap()
    const held = await system[id](size)
    const bytes = ((await settledHeap()) - before) / size
    expectAnswer(systemName, await held.finish(), expected(size))
    return bytes
  },
}

answerRequests(requests)
