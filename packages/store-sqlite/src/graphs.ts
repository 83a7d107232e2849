/** The graphs that runs were made of, by their hash, each once. They stay: a run may have had several. */
import type { Json } from "@superstep/engine"
import { check, checksum } from "./checksum.ts"
import type { Database } from "./driver.ts"
import { type JsonBytes, jsonBytes, parseJson } from "./json-column.ts"
import { toText } from "./text.ts"

/** As the file has it. */
export interface GraphText {
  readonly hash: string
  readonly body: string
  readonly sum: number
}

export interface GraphTable {
  add(graph: GraphText): void
  find(hash: string): Json | undefined
}

export function toGraphText(hash: string, graph: Json): GraphText {
  const [name, body] = [toText(hash), JSON.stringify(graph)]
  return { hash: name, body, sum: checksum([name], body) }
}

export function graphTable(database: Database): GraphTable {
  const add = database.prepare("INSERT INTO graphs (hash, body, sum) VALUES (?, ?, ?) ON CONFLICT DO NOTHING")
  const columns = `${jsonBytes("body")} AS body, CAST(sum AS INTEGER) AS sum`
  const find = database.prepare(`SELECT ${columns} FROM graphs WHERE hash = ?`)
  // There are few graphs: one that is not found is looked for without the index, which may be damaged.
  const findAgain = database.prepare(`SELECT ${columns} FROM graphs NOT INDEXED WHERE hash = ?`)
  return {
    add({ hash, body, sum }) {
      add.run(hash, body, sum)
    },
    find(hash) {
      const name = toText(hash)
      const found = find.all(name)
      const [row] = (found.length > 0 ? found : findAgain.all(name)) as {
        body: JsonBytes
        sum: number | null
      }[]
      if (row === undefined) return undefined
      const place = () => `Graph "${hash}" is damaged`
      const graph = parseJson(row.body, place) as Json
      check(row.sum, () => checksum([name], row.body), place)
      return graph
    },
  }
}
