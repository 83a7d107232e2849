#!/usr/bin/env node
// Which source is chosen for a question: databases, files and documents with odd names, in domains that nothing was tuned on.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { resultsFile, writeResult } from "./src/results.mjs"
import { textTable } from "./src/table.mjs"

const help = `Usage: node sources.mjs [options]

  --development   the domain that the ranking is tuned on, instead of the others; writes nothing
  --wrong         also print the questions for which the wrong source is chosen
  --out <file>    where to write the JSON (default results/sources.json)
  --help          this text
`

const { values } = parseArgs({
  options: {
    development: { type: "boolean", default: false },
    wrong: { type: "boolean", default: false },
    out: { type: "string" },
    help: { type: "boolean", default: false },
  },
})

// It measures answers and not time: what runs is the sources.
const isFromSource = process.execArgv.some((one) => one.includes("@superstep/source"))
if (values.help) process.stdout.write(help)
else if (isFromSource) await measure()
else {
  const flags = ["--conditions=@superstep/source", "--import", import.meta.resolve("tsx")]
  const script = fileURLToPath(import.meta.url)
  const { status } = spawnSync(process.execPath, [...flags, script, ...process.argv.slice(2)], {
    stdio: "inherit",
  })
  process.exitCode = status ?? 1
}

async function measure() {
  const { offlineEmbeddings } = await import("@superstep/retrieval")
  const { startPostgres } = await import("../examples/goal-over-data/start-postgres.ts")
  const { openDomain } = await import("./src/sources/open.mjs")
  const { methods } = await import("./src/sources/methods.mjs")
  const { domains } = await import("./src/sources/domains/index.mjs")
  const folder = mkdtempSync(join(tmpdir(), "superstep-sources-"))
  const server = await startPostgres()
  const embeddings = offlineEmbeddings()
  const rows = []
  try {
    await server.run("CREATE ROLE reader LOGIN PASSWORD 'reader'")
    for (const domain of domains.filter(
      ({ isDevelopment = false }) => isDevelopment === values.development,
    )) {
      const opened = await openDomain(server, domain, folder, embeddings)
      for (const [method, run] of Object.entries(methods)) {
        // The questions of the development have no known queries.
        if (values.development && method === "end to end") continue
        const wrong = []
        for (const question of domain.questions) {
          const chosen = await run(question, opened, embeddings)
          const { text, source } = question
          if (chosen !== source) wrong.push({ question: text, right: source, chosen })
        }
        const questions = domain.questions.length
        rows.push({ domain: domain.name, method, questions, right: questions - wrong.length, wrong })
      }
      await opened.close()
    }
  } finally {
    await embeddings.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  print(rows)
  if (!values.development) writeResult(values.out ?? resultsFile("sources"), { targets: targets(rows), rows })
}

function print(rows) {
  const names = [...new Set(rows.map(({ method }) => method))]
  const domains = [...new Set(rows.map(({ domain }) => domain))]
  const cell = (some) => {
    const [good, all] = sums(some)
    return `${good} of ${all} (${Math.round((100 * good) / all)} %)`
  }
  const of = (method, domain) =>
    rows.filter((row) => row.method === method && (domain ?? row.domain) === row.domain)
  console.log(
    textTable(
      ["", ...domains, "all"],
      names.map((method) => [method, ...domains.map((domain) => cell(of(method, domain))), cell(of(method))]),
    ),
  )
  for (const { domain, method, wrong } of values.wrong ? rows : []) {
    for (const { question, right: wanted, chosen } of wrong) {
      console.log(`${domain}, ${method}: "${question}" has ${chosen} instead of ${wanted}`)
    }
  }
}

function sums(rows) {
  return [rows.reduce((sum, row) => sum + row.right, 0), rows.reduce((sum, row) => sum + row.questions, 0)]
}

function targets(rows) {
  const wanted = { "words and values": 0.75, "with offline embeddings": 0.9, "end to end": 0.9 }
  return Object.entries(wanted).flatMap(([method, target]) => {
    const [good, all] = sums(rows.filter((row) => row.method === method))
    return all === 0 ? [] : [{ method, target, share: good / all, isMet: good / all >= target }]
  })
}
