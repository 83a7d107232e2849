/** The graphs that runs were made of, by their hash, each once. They stay: a run may have had several. */
import type { Json } from "@superstep/engine"
import type { Database } from "./driver.ts"
import { type JsonBytes, jsonBytes, parseJson } from "./json-column.ts"
import { toText } from "./text.ts"

export interface GraphTable {
  add(hash: string, graph: Json): void
  find(hash: string): Json | undefined
}

export function graphTable(database: Database): GraphTable {
  const add = database.prepare("INSERT INTO graphs (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING")
  const find = database.prepare(`SELECT ${jsonBytes("body")} AS body FROM graphs WHERE hash = ?`)
  return {
    add(hash, graph) {
      add.run(toText(hash), JSON.stringify(graph))
    },
    find(hash) {
      const [row] = find.all(toText(hash)) as { body: JsonBytes }[]
      return row && (parseJson(row.body, () => `Graph "${hash}" is damaged`) as Json)
    },
  }
}
