#!/usr/bin/env node
// The index of documents: does it find, how fast, at what cost in time and memory.
import { fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runBench, show } from "./src/bench.mjs"
import { measuredEnvironment } from "./src/environment.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { measureRecall } from "./src/retrieval/recall.mjs"
import { costText, shortNumber, textTable } from "./src/table.mjs"

const measures = ["recall", "fidelity", "speed", "memory"]
const whole = { chunks: 100_000, others: 600, answers: 40, vectors: 20_000, megabytes: 1_024 }
const small = { chunks: 1_000, others: 0, answers: 3, vectors: 200, megabytes: 1 }

const options = {
  only: { type: "string", help: `measures, by comma: ${measures.join(", ")}` },
  chunks: { type: "string", default: String(whole.chunks), help: "for speed" },
  megabytes: {
    type: "string",
    default: String(whole.megabytes),
    help: "of the file for memory, which is compared with a tenth of it",
  },
}

/** What the measure's own process sends. */
function inProcess(measure, folder, size) {
  const script = fileURLToPath(new URL("./src/retrieval/process.mjs", import.meta.url))
  return new Promise((resolve, reject) => {
    const child = fork(script, [measure, folder, String(size)], { env: measuredEnvironment })
    let result
    child.on("message", (message) => {
      result = message
    })
    child.once("error", reject)
    child.once("exit", (code) =>
      code === 0 ? resolve(result) : reject(new Error(`${measure} ended with ${code}`)),
    )
  })
}

const percent = (share) => `${Math.round(share * 100)} %`

const printed = {
  recall({ passages, embedMs, rows }) {
    const cells = rows.map(({ mode, questions, recallAt10, recallAt1 }) => [
      mode,
      questions,
      percent(recallAt10),
      percent(recallAt1),
    ])
    return [
      `Found among ${passages} passages (offline model, ${costText(embedMs, "ms")} a passage)`,
      textTable(["search", "questions", "recall@10", "recall@1"], cells),
    ]
  },
  fidelity: ({ chunks, share }) => [
    `Of the ten nearest of ${chunks} vectors the index finds ${percent(share)}`,
  ],
  speed({ chunks, perChunkUs, searchMs, fileMb, peakMb }) {
    const rows = Object.entries(searchMs).map(([mode, { median, p95, cpuMedian }]) => [
      mode,
      costText(median, "ms"),
      costText(p95, "ms"),
      costText(cpuMedian, "ms"),
    ])
    return [
      `Search in ${chunks.toLocaleString("en-US")} chunks of 512 dimensions, the query's own embedding not counted`,
      textTable(["search", "median", "95 %", "median CPU time"], rows),
      `Adding: ${perChunkUs.map((cost) => costText(cost, "µs")).join(", ")} a chunk, tenth by tenth, the making of vectors not counted`,
      `File ${shortNumber(fileMb)} MB, process at most ${shortNumber(peakMb)} MB`,
    ]
  },
  memory: (sizes) => [
    textTable(
      ["file", "chunks", "time", "before", "at most"],
      sizes.map(({ megabytes, chunks, seconds, beforeMb, peakMb }) => [
        `${shortNumber(megabytes)} MB`,
        chunks.toLocaleString("en-US"),
        costText(seconds, "s"),
        `${shortNumber(beforeMb)} MB`,
        `${shortNumber(peakMb)} MB`,
      ]),
    ),
  ],
}

const recallOf = ({ recall }, mode) => {
  const rows = recall?.rows.filter((row) => row.mode === mode)
  return rows && rows.reduce((sum, { recallAt10 }) => sum + recallAt10, 0) / rows.length
}

const targets = [
  {
    name: "search in 100,000 chunks, merged, median ms",
    atMost: 50,
    measure: ({ speed }) => speed?.searchMs.merged.median,
  },
  {
    name: "adding: the last tenth of the chunks against the first",
    atMost: 2,
    measure: ({ speed }) => speed && speed.perChunkUs.at(-1) / speed.perChunkUs[0],
  },
  {
    name: "memory: the large file against a tenth of it",
    atMost: 1.5,
    measure: ({ memory }) => memory && memory[1].peakMb / memory[0].peakMb,
  },
  {
    name: "recall@10, merged against the better of the two",
    atLeast: 1,
    measure: (found) =>
      found.recall &&
      recallOf(found, "merged") / Math.max(recallOf(found, "text"), recallOf(found, "vector")),
  },
  { name: "of the ten nearest vectors, found", atLeast: 0.95, measure: ({ fidelity }) => fidelity?.share },
]

async function measure(values) {
  const only = listOption(values.only, measures, "measure")
  const sizes = values.smoke
    ? small
    : {
        ...whole,
        chunks: positiveOption(values.chunks, "--chunks"),
        megabytes: positiveOption(values.megabytes, "--megabytes"),
      }
  const isWhole = sizes.chunks >= whole.chunks && sizes.megabytes >= whole.megabytes
  const folder = mkdtempSync(join(tmpdir(), "superstep-retrieval-"))
  const sections = {}
  const ways = {
    recall: () => measureRecall(folder, sizes),
    fidelity: () => inProcess("fidelity", folder, sizes.vectors),
    speed: () => inProcess("speed", folder, sizes.chunks),
    memory: async () => [
      await inProcess("memory", folder, sizes.megabytes / 10),
      await inProcess("memory", folder, sizes.megabytes),
    ],
  }
  try {
    for (const name of only) {
      sections[name] = await ways[name]()
      show(...printed[name](sections[name]))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return { partial: only.length < measures.length || !isWhole, sections }
}

await runBench({ name: "retrieval", options, packages: ["libsql"], measure, targets })
