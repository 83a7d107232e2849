// The figures in Markdown: tables and rows made of the result files, and sentences that the result files must bear out.
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { measuredCell, ratioTo } from "./report.mjs"
import { pairedRatio } from "./statistics.mjs"
import { costText, ratioText, shortNumber } from "./table.mjs"

const folder = new URL("../results/", import.meta.url)

/** All committed results by name. */
export function readResults() {
  const names = readdirSync(fileURLToPath(folder)).filter((file) => file.endsWith(".json"))
  return Object.fromEntries(
    names.map((file) => [file.slice(0, -5), JSON.parse(readFileSync(new URL(file, folder), "utf8"))]),
  )
}

function markdownTable(header, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`
  return [line(header), line(header.map(() => "---")), ...rows.map(line)].join("\n")
}

const benches = [
  "engine",
  "memory",
  "soak",
  "durable",
  "store",
  "postgres",
  "scaling",
  "restate",
  "agents",
  "definitions",
  "command",
  "server",
  "studio",
  "growth",
  "retrieval",
  "sources",
]

/** Every target of every benchmark. */
function targets(results) {
  const rows = benches.flatMap((bench) =>
    (results[bench]?.targets ?? []).map(({ name, atMost, atLeast, value, plain, reached }) => [
      bench,
      name,
      atMost === undefined ? `≥ ${shortNumber(atLeast)}` : `≤ ${shortNumber(atMost)}`,
      value === undefined ? "not measured" : reached ? shortNumber(value) : `**${shortNumber(value)}**`,
      plain === undefined ? "" : shortNumber(plain),
    ]),
  )
  return markdownTable(["bench", "target", "is", "measured", "the limit's own"], rows)
}

/** Where and when each result was measured. */
function runs(results) {
  const rows = Object.entries(results).map(([name, { date, commit, environment }]) => [
    `[${name}.json](results/${name}.json)`,
    commit === undefined ? "" : `\`${commit}\``,
    date.slice(0, 10),
    environment?.node ?? "",
    environment === undefined ? "" : `${environment.cpu}, ${environment.cores} cores`,
    environment?.loadBefore === undefined ? "" : String(environment.loadBefore),
  ])
  return markdownTable(["result", "commit", "date", "Node", "machine", "load before"], rows)
}

/** What is compared with peers: bench, section, size, and what the row is called. */
const compared = [
  ["engine", "chain", 1_000, "step of a chain of 1,000"],
  ["engine", "loop", 1_000, "step of a loop"],
  ["engine", "fan-out", 10_000, "task of a fan-out of 10,000"],
  ["engine", "concurrent", 1_000, "step of 1,000 concurrent runs"],
  ["engine", "stream", 1_000, "streamed step"],
  ["engine", "cold", 10_000, "first fan-out of 10,000 in a process"],
  ["engine", "start-up", 1, "process with import and hello world"],
  ["memory", "pending", undefined, "memory of a pending task"],
  ["memory", "idle", undefined, "memory of an idle run"],
  ["durable", "steps", 1_000, "durable step, 1,000 steps"],
  ["durable", "concurrent", 1_000, "durable step of 1,000 concurrent runs"],
  ["durable", "onDisk", 1_000, "file of 1,000 durable steps"],
  ["durable", "resume", 1_000, "resume after 1,000 steps"],
  ["durable", "resume-growing", 1_000, "resume with 1 KB of state per step"],
]
const peers = ["superstep", "langgraph", "langgraph functional", "langgraph delta", "mastra", "xstate"]

function costCell(section, system, size, baseline) {
  const cell = section.cells.find((one) => one.system === system && (size === undefined || one.size === size))
  if (cell === undefined) return ""
  if (cell.skipped !== undefined) return skippedText(cell)
  const ratio =
    baseline === undefined || size === undefined ? undefined : ratioTo(section, system, baseline, size)
  return costText(cell.cost, section.unit) + (ratio === undefined ? "" : ` (${ratioText(ratio)})`)
}

function skippedText({ skipped }) {
  const cap = /> (\d+) s/.exec(skipped)
  return cap === null ? "" : `over ${cap[1]} s in total`
}

function comparison(results) {
  const rows = compared.flatMap(([bench, id, size, name]) => {
    const section = results[bench]?.sections[id]
    if (section === undefined) return []
    const limit = bench === "durable" ? "raw" : "plain"
    const of = (system) => costCell(section, system, size, limit)
    return [[name, costCell(section, limit, size), ...peers.map(of)]]
  })
  return markdownTable(["", "plain or raw", ...peers], rows)
}

function growth({ growth: { sections } }) {
  const count = (number) => number.toLocaleString("en-US")
  const rows = sections.growth.map(({ name, points, exponent }) => [
    name,
    `${count(points[0].size)} to ${count(points.at(-1).size)}`,
    exponent === undefined ? "" : exponent.toFixed(2),
  ])
  return markdownTable(["what grows", "sizes", "exponent"], rows)
}

const percent = (share) => `${Math.round(share * 100)} %`

function recall({ retrieval: { sections } }) {
  const rows = sections.recall.rows.map(({ mode, questions, recallAt10, recallAt1 }) => [
    mode,
    questions,
    percent(recallAt10),
    percent(recallAt1),
  ])
  return markdownTable(["search", "questions", "among the first ten", "first"], rows)
}

function sources({ sources: { sections } }) {
  const methods = [...new Set(sections.rows.map(({ method }) => method))]
  const rows = methods.map((method) => {
    const own = sections.rows.filter((row) => row.method === method)
    const sum = (what) => own.reduce((total, row) => total + row[what], 0)
    return [
      `\`${method}\``,
      `${sum("right")} of ${sum("questions")}`,
      percent(sum("right") / sum("questions")),
    ]
  })
  return markdownTable(["method", "right", "share"], rows)
}

/** In the place of a table whose program has not been run yet. */
const notMeasured = (program) => `Not measured yet: \`node ${program}.mjs\` in \`bench/\` does.`

/** Durable steps on PostgreSQL, ours and those of peers. */
function postgres({ postgres: result }) {
  if (result === undefined) return notMeasured("postgres")
  const { alone, many } = result.sections
  const cell = (section, system) => {
    const found = section.cells.find((one) => one.system === system)
    return found === undefined ? "" : `${costText(found.cost, section.unit)} (${ratioText(found.ratio)})`
  }
  const rows = alone.cells.map(({ system }) => [system, cell(alone, system), cell(many, system)])
  return markdownTable(["system", "step of one run", "step of 1,000 concurrent runs"], rows)
}

function lists({ postgres: result }) {
  if (result === undefined) return notMeasured("postgres")
  const rows = result.sections.lists.queries.map(({ name, p50, p99 }) => [
    name,
    costText(p50, "ms"),
    costText(p99, "ms"),
  ])
  return markdownTable(["list", "median", "p99"], rows)
}

/** Workers whose tasks wait: how near to linear they scale. */
function scaling({ scaling: result }) {
  if (result === undefined) return notMeasured("scaling")
  const rows = result.sections.waiting.cells.map(({ store, workers, concurrency, perSecond, efficiency }) => [
    store,
    workers,
    concurrency,
    shortNumber(perSecond),
    percent(efficiency),
  ])
  return markdownTable(["store", "workers", "runs at a time, each", "runs/s", "of linear"], rows)
}

/** Where more work at a time does not mean more runs. */
function saturation({ scaling: result }) {
  if (result === undefined) return notMeasured("scaling")
  const rows = result.sections.saturation.cells.map(
    ({ store, workers, concurrency, perSecond, workerCpu, serverCpu }) => [
      store,
      workers,
      concurrency,
      shortNumber(perSecond),
      costText(workerCpu, "ms"),
      serverCpu === undefined ? "" : costText(serverCpu, "ms"),
    ],
  )
  const header = [
    "store",
    "workers",
    "runs at a time, each",
    "runs/s",
    "CPU per run, workers",
    "CPU per run, server",
  ]
  return markdownTable(header, rows)
}

/** What one process, one host and one server did. */
function sustained({ engine, durable, postgres: onPostgres, scaling: fleets }) {
  const perSecond = (section, system, size) => {
    const cell = section && measuredCell(section, system, size)
    return cell && shortNumber({ µs: 1e6, ms: 1e3 }[section.unit] / cell.cost)
  }
  const most = (store, isOne) => {
    const cells = fleets?.sections.saturation.cells.filter(
      (cell) => cell.store === store && (cell.workers === 1) === isOne,
    )
    return cells && shortNumber(Math.max(...cells.map((cell) => cell.perSecond)))
  }
  const many = onPostgres?.sections.many.cells.find(({ system }) => system === "superstep")
  const rows = [
    ["one process, no store", perSecond(engine.sections.chain, "superstep", 1_000), ""],
    ["one process, SQLite", perSecond(durable.sections.concurrent, "superstep", 1_000), most("SQLite", true)],
    ["one host, SQLite, several workers", "", most("SQLite", false)],
    ["one process, PostgreSQL", many && shortNumber(1_000 / many.cost), most("PostgreSQL", true)],
    ["one PostgreSQL, several workers", "", most("PostgreSQL", false)],
  ]
  const cells = rows.map((row) => row.map((cell) => cell ?? "not measured"))
  return markdownTable(["", "steps/s", "queued runs/s"], cells)
}

/** The same work on Restate, beside the stores alone and plain Restate code. */
function restate({ restate: result }) {
  if (result === undefined) return notMeasured("restate")
  const rows = Object.entries(RESTATE).flatMap(([id, { name, unit }]) => {
    const { cells = [] } = result.sections[id] ?? {}
    return cells.map(({ system, size, cost, samples }) => {
      const plain = cells.find((cell) => cell.system === `plain ${system}` && cell.size === size)
      const times = plain && ratioText(pairedRatio(samples, plain.samples))
      return [
        id === "answers" ? name : `${name}, ${shortNumber(size)}`,
        system,
        unit === undefined ? costText(cost, "ms") : `${shortNumber(1_000 / cost)} ${unit}/s`,
        times ?? "",
      ]
    })
  })
  return markdownTable(["", "system", "measured", "times plain Restate code"], rows)
}

const RESTATE = {
  steps: { name: "steps of one run", unit: "steps" },
  runs: { name: "runs of one task, 64 at a time", unit: "runs" },
  fanOut: { name: "fan-out, tasks of 5 ms", unit: "tasks" },
  answers: { name: "from an answer to the end of its run, p50", unit: undefined },
}

/** The simulation of a large deployment. */
function restateModel({ "restate-model": result }) {
  if (result === undefined) return notMeasured("restate-model")
  const { cells, cores } = result.sections.model
  const rows = cells.map(({ shards, stations, stepsPerSecond, p50, p99 }) => [
    shards,
    ...stations.map(({ utilization }) => percent(utilization)),
    shortNumber(stepsPerSecond),
    p50 === undefined ? "" : `${costText(p50, "ms")} / ${costText(p99, "ms")}`,
  ])
  const header = [
    "PostgreSQL servers, 16 cores each",
    `Restate busy, ${cores.restate} cores`,
    `workers busy, ${cores.workers} cores`,
    "PostgreSQL busy",
    "steps/s",
    "a visit takes longer than its steps by, p50 / p99",
  ]
  return markdownTable(header, rows)
}

/** A workflow that does nothing, started and awaited over HTTP. */
function starts({ server: result }) {
  if (result === undefined) return notMeasured("server")
  const rows = result.sections.requests.map(({ system, wall, cpu, wallRatio, cpuRatio }) => [
    system,
    `${costText(wall, "µs")} (${ratioText(wallRatio)})`,
    `${costText(cpu, "µs")} (${ratioText(cpuRatio)})`,
  ])
  return markdownTable(["system", "time", "CPU of the server"], rows)
}

/** What else a server was asked to do. */
function serving({ server: result }) {
  if (result === undefined) return notMeasured("server")
  const { watchers, "first-byte": first, waiting } = result.sections
  const rows = [
    [`memory of a watcher, ${shortNumber(watchers.watchers)} of one run`, costText(watchers.bytes, "B")],
    [
      "a token reaches all of them, p50 / p99",
      `${costText(watchers.p50, "ms")} / ${costText(watchers.p99, "ms")}`,
    ],
    ["first byte of a stream, p50 / p99", `${costText(first.p50, "ms")} / ${costText(first.p99, "ms")}`],
    [`memory of a run that waits, ${shortNumber(waiting.runs)} of them`, costText(waiting.bytes, "B")],
    ["start of such a run, 16 at a time", costText(waiting.start, "ms")],
    ["a page of 50 of their questions", costText(waiting.list, "ms")],
  ]
  return markdownTable(["", ""], rows)
}

/** Between `<!-- table: NAME -->` and `<!-- /table -->`. */
const tables = {
  targets,
  runs,
  comparison,
  growth,
  recall,
  sources,
  postgres,
  lists,
  scaling,
  saturation,
  sustained,
  restate,
  restateModel,
  starts,
  serving,
}

/** Rows of the comparison in README.md, by their first cell. */
function readmeRows({ engine: { sections }, durable }) {
  const systems = ["superstep", "langgraph", "mastra"]
  const row = (section, size) => systems.map((system) => costCell(section, system, size))
  const written = measuredCell(durable.sections.written, "mastra", 1_000)
  const files = row(durable.sections.onDisk, 1_000)
  if (written !== undefined) files[2] += ` (${costText(written.cost, "B")} written)`
  return {
    "one step in memory, chain of 1,000": row(sections.chain, 1_000),
    "1,000 durable steps of 1 KB, file size": files,
    "fan-out of 10,000, per task": row(sections["fan-out"], 10_000),
  }
}

/** Sentences with a figure in them. */
const claims = [
  {
    file: "README.md",
    text: "under a microsecond per step in memory",
    holds: ({ engine }) => measuredCell(engine.sections.chain, "superstep", 1_000).cost < 1,
  },
]

/** The file's text with the figures of the results. Throws where a place for figures is missing. */
export function withFigures(file, text, results) {
  return file === "README.md" ? withRows(text, readmeRows(results)) : withTables(text, results)
}

/** Sentences that the results do not bear out, or that are no longer in their file. */
export function brokenClaims(texts, results) {
  return claims
    .filter(({ file, text, holds }) => !texts[file].includes(text) || !holds(results))
    .map(({ file, text }) => `${file}: "${text}" is not there, or not what was measured`)
}

function withTables(text, results) {
  return text.replace(/<!-- table: (\w+) -->\n[\s\S]*?<!-- \/table -->/g, (_, name) => {
    if (!(name in tables)) throw new Error(`There is no table "${name}"`)
    return `<!-- table: ${name} -->\n\n${tables[name](results)}\n\n<!-- /table -->`
  })
}

function withRows(text, rows) {
  const lines = text.split("\n")
  for (const [label, cells] of Object.entries(rows)) {
    const at = lines.findIndex((line) => line.startsWith(`| ${label} |`))
    if (at < 0) throw new Error(`README.md has no row "${label}"`)
    lines[at] = `| ${[label, ...cells, "–"].join(" | ")} |`
  }
  return lines.join("\n")
}
