// A process of its own for what needs much memory or a clean one: sends what it measured.
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { documentIndex } from "@superstep/retrieval"
import { median } from "../statistics.mjs"
import {
  paragraph,
  randomNumbers,
  topicWords,
  vectorOf,
  wordEmbeddings,
  writeFiles,
  writeLargeFile,
} from "./corpus.mjs"

const [measure, folder, size] = process.argv.slice(2)
const megabytes = (bytes) => bytes / 1_048_576

/** The most that the process had, looked at again and again. */
function memoryPeak() {
  let most = process.memoryUsage.rss()
  return () => {
    most = Math.max(most, process.memoryUsage.rss())
    return most
  }
}

const slices = 10
const perFile = 100

async function speed(chunks) {
  const documents = join(folder, "documents")
  const index = documentIndex(join(folder, "speed.db"), { root: folder, embeddings: wordEmbeddings })
  const files = chunks / perFile
  const perChunkUs = []
  const peak = memoryPeak()
  for (let slice = 0; slice < slices; slice++) {
    const path = join(documents, String(slice))
    writeFiles(path, (slice * files) / slices, ((slice + 1) * files) / slices, perFile)
    const start = performance.now()
    const spent = wordEmbeddings.spentMs
    const added = await index.add([path], { onProgress: peak })
    const ownMs = performance.now() - start - (wordEmbeddings.spentMs - spent)
    perChunkUs.push((ownMs * 1_000) / added.chunks)
  }
  const report = await index.report()
  const random = randomNumbers(99)
  const queries = Array.from({ length: 60 }, () => topicWords(random, 3 + Math.floor(random() * 5)).join(" "))
  const searchMs = {}
  /** A change drops the sign bits held in memory: the next search takes as long as the first. */
  const changed = "merged, each after a change"
  for (const mode of ["text", "vector", "merged", changed]) {
    const times = []
    const cpu = []
    for (const query of queries) {
      if (mode === changed) await index.add([{ source: "change", text: query }])
      const [start, used] = [performance.now(), process.cpuUsage()]
      await index.search(query, { mode: mode === changed ? "merged" : mode })
      times.push(performance.now() - start)
      const { user, system } = process.cpuUsage(used)
      cpu.push((user + system) / 1_000)
    }
    times.sort((a, b) => a - b)
    const p95 = times[Math.floor(times.length * 0.95)]
    searchMs[mode] = { median: median(times), p95, cpuMedian: median(cpu) }
  }
  await index.close()
  return {
    chunks: report.chunks,
    perChunkUs,
    searchMs,
    fileMb: megabytes(report.bytes),
    peakMb: megabytes(peak()),
  }
}

/** Of the ten nearest, by every number of every vector: how many the index finds, which looks by bits first. */
async function fidelity(chunks) {
  const random = randomNumbers(5)
  const texts = Array.from({ length: chunks }, (_, i) => ({ source: `t${i}`, text: paragraph(random) }))
  const index = documentIndex(join(folder, "fidelity.db"), { embeddings: wordEmbeddings })
  await index.add(texts)
  const unit = (vector) => {
    const length = Math.hypot(...vector)
    return vector.map((value) => value / length)
  }
  const vectors = texts.map(({ text }) => unit(vectorOf(text)))
  let [hits, wanted] = [0, 0]
  for (let i = 0; i < 50; i++) {
    const query = topicWords(random, 8).join(" ")
    const q = unit(vectorOf(query))
    const scores = vectors.map((vector, at) => [vector.reduce((sum, value, k) => sum + value * q[k], 0), at])
    const nearest = scores
      .sort((a, b) => b[0] - a[0])
      .slice(0, 10)
      .map(([, at]) => `t${at}`)
    const found = new Set((await index.search(query, { mode: "vector" })).map(({ source }) => source))
    hits += nearest.filter((source) => found.has(source)).length
    wanted += nearest.length
  }
  await index.close()
  return { chunks, share: hits / wanted }
}

async function memory(size) {
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `large-${size}.txt`)
  const bytes = writeLargeFile(path, size)
  const index = documentIndex(join(folder, `memory-${size}.db`), { root: folder })
  const before = process.memoryUsage.rss()
  const peak = memoryPeak()
  const start = performance.now()
  const { chunks } = await index.add([path], { onProgress: peak })
  const seconds = (performance.now() - start) / 1_000
  await index.close()
  return {
    megabytes: megabytes(bytes),
    chunks,
    seconds,
    beforeMb: megabytes(before),
    peakMb: megabytes(peak()),
  }
}

process.send(await { speed, fidelity, memory }[measure](Number(size)))
