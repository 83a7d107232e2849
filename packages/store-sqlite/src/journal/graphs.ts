/** The graphs of runs, each once, by hash. A graph is deleted with the last run that stored or names it. */
import type { Json } from "@superstep/engine"
import { check, checksum } from "../file/checksum.ts"
import { EACH_RUN, type JsonBytes, jsonBytes, parseJson, type RunNumbers, toText } from "../file/columns.ts"
import type { Database } from "../file/driver.ts"

/** As the file has it. */
export interface GraphText {
  readonly hash: string
  readonly body: string
  readonly sum: number
}

export interface GraphTable {
  /** A transaction begins: other processes may have deleted graphs. */
  begin(): void
  /** Whether this process has stored the graph before. Another one may have deleted it since. */
  wasStored(hash: string): boolean
  /** Says that the graph is in the file, in this transaction. */
  confirm(hash: string): void
  /** Stores a graph for the run. The graph that its row names, `own`, needs no use besides. */
  add(run: number, graph: GraphText, own?: string): void
  /** The row of the run is about to name another graph. */
  use(run: number): void
  /** Deletes the uses of removed runs. */
  release(runs: RunNumbers): void
  /** Deletes graphs that no run stored or names. */
  removeUnused(): void
  find(hash: string): Json | undefined
}

/** Hashes that a process remembers. */
const MAX_STORED = 1_000

/** Every run stores its graphs, and most have the same ones. */
const texts = new WeakMap<object, GraphText>()

export function toGraphText(hash: string, graph: Json): GraphText {
  const key = typeof graph === "object" && graph !== null ? graph : undefined
  const known = key && texts.get(key)
  const name = toText(hash)
  if (known?.hash === name) return known
  const body = JSON.stringify(graph)
  const text = { hash: name, body, sum: checksum([name], body) }
  if (key !== undefined) texts.set(key, text)
  return text
}

export function graphTable(database: Database): GraphTable {
  const add = database.prepare(
    "INSERT INTO graphs (hash, body, sum, counted) VALUES (?, ?, ?, 1) ON CONFLICT DO NOTHING",
  )
  const columns = `${jsonBytes("body")} AS body, CAST(sum AS INTEGER) AS sum`
  const find = database.prepare(`SELECT ${columns} FROM graphs WHERE hash = ?`)
  // There are few graphs: one that is not found is looked for without the index, which may be damaged.
  const findAgain = database.prepare(`SELECT ${columns} FROM graphs NOT INDEXED WHERE hash = ?`)
  const addUse = database.prepare("INSERT OR IGNORE INTO graph_uses (hash, run) VALUES (?, ?)")
  const useOwn = database.prepare(
    "INSERT OR IGNORE INTO graph_uses (hash, run) SELECT graph, id FROM runs WHERE id = ?",
  )
  const removeUses = database.prepare(`DELETE FROM graph_uses WHERE run IN ${EACH_RUN}`)
  // The uses of a graph without `counted` are unknown: it is older than `graph_uses`, or was salvaged.
  const removeUnused = database.prepare(
    `DELETE FROM graphs WHERE counted = 1
       AND NOT EXISTS (SELECT 1 FROM graph_uses WHERE graph_uses.hash = graphs.hash)
       AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.graph = graphs.hash)`,
  )
  /** Of this transaction. */
  const added = new Set<string>()
  const stored = new Set<string>()
  return {
    begin: () => added.clear(),
    wasStored: (hash) => stored.has(toText(hash)),
    confirm: (hash) => void added.add(toText(hash)),
    add(run, { hash, body, sum }, own) {
      if (!added.has(hash)) {
        add.run(hash, body, sum)
        added.add(hash)
        if (stored.size >= MAX_STORED) stored.clear()
        stored.add(hash)
      }
      if (own === undefined || toText(own) !== hash) addUse.run(hash, run)
    },
    use: (run) => void useOwn.run(run),
    release: (runs) => void removeUses.run(runs),
    removeUnused() {
      added.clear()
      removeUnused.run()
    },
    find(hash) {
      const name = toText(hash)
      const found = find.all(name)
      const [row] = (found.length > 0 ? found : findAgain.all(name)) as {
        body: JsonBytes
        sum: number | null
      }[]
      if (row === undefined) return undefined
      const subject = () => `Graph "${hash}" is damaged`
      const graph = parseJson(row.body, subject) as Json
      check(row.sum, () => checksum([name], row.body), subject)
      return graph
    },
  }
}
