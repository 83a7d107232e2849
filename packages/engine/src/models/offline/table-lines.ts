/** Tables as a prompt lists them for a query: `orders (id integer, "unit price" numeric(10,2)) -- what it has`. */
import { rootsOf, spaced } from "./words.ts"

export interface ListedTable {
  /** As a query writes it. */
  readonly name: string
  readonly columns: readonly ListedColumn[]
  readonly roots: ReadonlySet<string>
  /** Of its description. */
  readonly aboutRoots: ReadonlySet<string>
}

export interface ListedColumn {
  readonly name: string
  readonly kind: "number" | "date" | "text" | "other"
  readonly roots: ReadonlySet<string>
}

const NAME = String.raw`(?:"(?:[^"]|"")*"|[^\s"(),.]+)`
const LINE = new RegExp(String.raw`^(${NAME}(?:\.${NAME})*) \((.+?)\)(?: -- (.*))?$`)
/** A name, and a type that may have commas in brackets. */
const COLUMN = new RegExp(String.raw`(${NAME}) ((?:[^,()]|\([^()]*\))+)(?:, |$)`, "g")

export function listedTables(text: string): ListedTable[] {
  const [, list = ""] = text.split(/^Tables:[ \t]*\n/m)
  const [lines = ""] = list.split("\n\n")
  return lines.split("\n").flatMap((line) => {
    const [, name, columns = "", about = ""] = LINE.exec(line.trim()) ?? []
    if (name === undefined) return []
    const listed = [...columns.matchAll(COLUMN)].map(([, column = "", type = ""]) => ({
      name: column,
      kind: kindOf(type),
      roots: rootsIn(column),
    }))
    return [{ name, columns: listed, roots: rootsIn(name), aboutRoots: new Set(rootsOf(about)) }]
  })
}

function kindOf(type: string): ListedColumn["kind"] {
  if (/^(?:small|big|huge|tiny|u)*int|numeric|decimal|real|double|float|money/i.test(type)) return "number"
  if (/^(?:date|timestamp)/i.test(type)) return "date"
  return /char|text|string|enum|uuid/i.test(type) ? "text" : "other"
}

function rootsIn(name: string): ReadonlySet<string> {
  return new Set(rootsOf(spaced(name)))
}
