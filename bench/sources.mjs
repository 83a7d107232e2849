#!/usr/bin/env node
// Which source is chosen for a question: databases, files and documents with odd names, in domains that nothing was tuned on.
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runBench } from "./src/bench.mjs"
import { textTable } from "./src/table.mjs"

const options = {
  development: {
    type: "boolean",
    default: false,
    help: "the domain that the ranking is tuned on, instead of the others; writes nothing",
  },
  wrong: {
    type: "boolean",
    default: false,
    help: "also print the questions for which the wrong source is chosen",
  },
}

const wanted = { "words and values": 0.75, "with offline embeddings": 0.9, "end to end": 0.9 }
const targets = Object.entries(wanted).map(([method, atLeast]) => ({
  name: `right source, ${method}, share`,
  atLeast,
  measure: ({ rows }) => shareOf(rows.filter((row) => row.method === method)),
}))

// It measures answers and not time: what runs is the sources.
const isFromSource = process.execArgv.some((one) => one.includes("@superstep/source"))
if (isFromSource) await runBench({ name: "sources", options, packages: [], measure, targets })
else {
  const flags = ["--conditions=@superstep/source", "--import", import.meta.resolve("tsx")]
  const script = fileURLToPath(import.meta.url)
  const { status } = spawnSync(process.execPath, [...flags, script, ...process.argv.slice(2)], {
    stdio: "inherit",
  })
  process.exitCode = status ?? 1
}

async function measure(values) {
  const { offlineEmbeddings } = await import("@superstep/retrieval")
  const { startPostgres } = await import("../tests/postgres/start-postgres.ts")
  const { openDomain } = await import("./src/sources/open.mjs")
  const { methods } = await import("./src/sources/methods.mjs")
  const { domains } = await import("./src/sources/domains/index.mjs")
  const folder = mkdtempSync(join(tmpdir(), "superstep-sources-"))
  const server = await startPostgres()
  const embeddings = offlineEmbeddings()
  const rows = []
  try {
    await server.run("CREATE ROLE reader LOGIN PASSWORD 'reader'")
    const all = domains.filter(({ isDevelopment = false }) => isDevelopment === values.development)
    for (const domain of values.smoke ? all.slice(0, 1) : all) {
      const opened = await openDomain(server, domain, folder, embeddings)
      for (const [method, run] of Object.entries(methods)) {
        // The questions of the development have no known queries.
        if (values.development && method === "end to end") continue
        const wrong = []
        const asked = values.smoke ? domain.questions.slice(0, 2) : domain.questions
        for (const question of asked) {
          const chosen = await run(question, opened, embeddings)
          const { text, source } = question
          if (chosen !== source) wrong.push({ question: text, right: source, chosen })
        }
        const questions = asked.length
        rows.push({ domain: domain.name, method, questions, right: questions - wrong.length, wrong })
      }
      await opened.close()
    }
  } finally {
    await embeddings.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  print(rows, values)
  return { partial: values.development, sections: { rows } }
}

function print(rows, values) {
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

function shareOf(rows) {
  const [good, all] = sums(rows)
  return all === 0 ? undefined : good / all
}
