// A process that measures one system, as src/worker.mjs does. Every pass has a file of its own; making it and closing
// it are not in the time.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { expectAnswer } from "../answers.mjs"
import { answerRequests } from "../requests.mjs"
import { folderBytes, makeFolder, removeFolder } from "./folder.mjs"
import { timedMeasures } from "./measures.mjs"
import { loadSystem } from "./systems/index.mjs"

const systemName = process.argv[2]
const system = await loadSystem(systemName)
/** By measure and size: how many passes fill a sample's time. */
const counts = new Map()
/** By measure and size: the bytes of the last pass. */
const bytes = new Map()

/** The bytes that this process has passed to the operating system to write. Linux reports them. */
function writtenBytes() {
  if (process.platform !== "linux") return undefined
  return Number(/wchar: (\d+)/.exec(readFileSync("/proc/self/io", "utf8"))[1])
}

/** The milliseconds of one pass. */
async function passMs(measure, size) {
  const folder = makeFolder()
  const path = join(folder, "bench.db")
  const session = await system.open(path, { full: measure.full ?? false })
  try {
    const before = writtenBytes()
    const pass = measure.prepare(session, size)
    const start = performance.now()
    const answer = await pass()
    const elapsed = performance.now() - start
    expectAnswer(systemName, answer, measure.expected(size))
    await session.close()
    const written = before === undefined ? undefined : writtenBytes() - before
    bytes.set(`${measure.id} ${size}`, { onDisk: folderBytes(folder), written })
    return elapsed
  } finally {
    removeFolder(folder)
  }
}

async function meanPassMs(measure, size, count) {
  let sum = 0
  for (let index = 0; index < count; index++) sum += await passMs(measure, size)
  return sum / count
}

function measureOf(id) {
  return timedMeasures.find((candidate) => candidate.id === id)
}

answerRequests({
  functions: () => Object.keys(system),

  /** Warms up; answers with the milliseconds that a warm pass takes. */
  async prepare({ measure: id, size, warmUpMs, sampleMs }) {
    const measure = measureOf(id)
    let spent = 0
    let ms = 0
    while (spent < warmUpMs) {
      ms = await passMs(measure, size)
      spent += ms
    }
    counts.set(`${id} ${size}`, Math.max(1, Math.ceil(sampleMs / ms)))
    return ms
  },

  /** One sample. A pass that fills the sample's time alone needs no others before it, to be warm again. */
  async sample({ measure: id, size }) {
    const count = counts.get(`${id} ${size}`)
    globalThis.gc()
    if (count > 1) await meanPassMs(measureOf(id), size, Math.ceil(count / 3))
    return meanPassMs(measureOf(id), size, count)
  },

  forget: () => counts.clear(),

  /** Of the last pass: bytes on disk, and bytes written on the way. */
  bytes: ({ measure, size }) => bytes.get(`${measure} ${size}`),
})
