#!/usr/bin/env node
// The index of documents: does it find, how fast, at what cost in time and memory.
import { fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { describeEnvironment, environmentText, measuredEnvironment } from "./src/environment.mjs"
import { judgeTargets, targetTable } from "./src/judging.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { resultsFile, writeResult } from "./src/results.mjs"
import { measureRecall } from "./src/retrieval/recall.mjs"
import { costText, shortNumber, textTable } from "./src/table.mjs"

const measures = ["recall", "fidelity", "speed", "memory"]
const whole = { chunks: 100_000, others: 600, megabytes: 1_024 }

const help = `Usage: node retrieval.mjs [options]

  --only <list>      measures, by comma: ${measures.join(", ")}
  --chunks <n>       for speed (default ${whole.chunks})
  --megabytes <n>    of the file for memory, which is compared with a tenth of it (default ${whole.megabytes})
  --out <file>       where to write the JSON (default results/retrieval.json, and only when nothing is left out)
  --help             this text
`

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    chunks: { type: "string", default: String(whole.chunks) },
    megabytes: { type: "string", default: String(whole.megabytes) },
    out: { type: "string" },
    help: { type: "boolean", default: false },
  },
})

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

const show = {
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

async function main() {
  if (values.help) return console.log(help)
  const only = listOption(values.only, measures, "measure")
  const [chunks, megabytes] = [
    positiveOption(values.chunks, "--chunks"),
    positiveOption(values.megabytes, "--megabytes"),
  ]
  const isWhole = only.length === measures.length && chunks >= whole.chunks && megabytes >= whole.megabytes
  const environment = describeEnvironment(["@superstep/retrieval", "libsql"])
  console.log(environmentText(environment))
  const folder = mkdtempSync(join(tmpdir(), "superstep-retrieval-"))
  const found = {}
  const ways = {
    recall: () => measureRecall(folder, whole.others),
    fidelity: () => inProcess("fidelity", folder, 20_000),
    speed: () => inProcess("speed", folder, chunks),
    memory: async () => [
      await inProcess("memory", folder, megabytes / 10),
      await inProcess("memory", folder, megabytes),
    ],
  }
  try {
    for (const measure of only) {
      found[measure] = await ways[measure]()
      console.log(`\n${show[measure](found[measure]).join("\n\n")}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const judged = judgeTargets(targets, found)
  console.log(`\n${targetTable(judged)}\n`)
  const out = values.out ?? (isWhole ? resultsFile("retrieval") : undefined)
  if (out !== undefined) writeResult(out, { environment, ...found, targets: judged })
}

await main()
