/**
 * One SELECT over the tables that a prompt lists, when it asks for one: of the table that has most words of the question,
 * the rows that have the values it names; of these, those with most of its other words. Not what a language model would
 * write: no joins, one table. Where no table has anything of the question, NONE.
 */
import { conceptsOf } from "./concepts.ts"
import type { Reading } from "./reading.ts"
import { type Sought, soughtIn } from "./sought.ts"
import { type ListedColumn, type ListedTable, listedTables } from "./table-lines.ts"

const WANTS_SELECT = /\bwrite (?:one|a|a single) SELECT\b/i
const MOST_ROWS = 20
const MOST_WORDS = 12

export function writeSelect({ request, passages, instructions }: Reading): string | undefined {
  const texts = [...passages.map(({ text }) => text), instructions]
  if (!texts.some((text) => WANTS_SELECT.test(text))) return undefined
  const tables = texts.flatMap(listedTables)
  if (tables.length === 0) return undefined
  const sought = soughtIn(request)
  const fits = tables.map((table) => sought.roots.reduce((sum, root) => sum + voice(table, root), 0))
  const best = Math.max(...fits)
  const table = tables[fits.indexOf(best)]
  return table === undefined || best === 0 ? "NONE" : selectOf(table, sought)
}

/** How loudly a table answers to a root: by its own name, a column's, its description, or a word of like meaning. */
function voice({ roots, columns, aboutRoots }: ListedTable, root: string): number {
  if (roots.has(root)) return 3
  if (columns.some((column) => column.roots.has(root))) return 2
  if (aboutRoots.has(root)) return 1
  return columns.some((column) => isLike(column, root)) ? 0.5 : 0
}

function isLike({ roots }: ListedColumn, root: string): boolean {
  const concepts = conceptsOf(root)
  return [...roots].some((own) => conceptsOf(own).some((concept) => concepts.includes(concept)))
}

function selectOf(table: ListedTable, sought: Sought): string {
  const { values, roots } = sought
  const { name, columns } = table
  const row = `concat_ws(' ', ${columns.map((column) => column.name).join(", ")})`
  const has = (pattern: string) => `${row} ILIKE ${literal(pattern)}`
  // Words that are in the rows, if they are anywhere.
  const words = roots.filter((root) => voice(table, root) === 0).slice(0, MOST_WORDS)
  const hits = words.map((root) => `CASE WHEN ${has(`%${root}%`)} THEN 1 ELSE 0 END`).join(" + ")
  const must = values.map(has)
  const where = must.length === 0 ? "" : ` WHERE ${must.join(" AND ")}`
  if (words.length === 0) return measured(table, sought, `${name}${where}`, must.length > 0)
  const best = `hits = (SELECT max(hits) FROM scored)${must.length === 0 ? " AND hits > 0" : ""}`
  const scored = `WITH scored AS (SELECT *, ${hits} AS hits FROM ${name}${where})`
  return `${scored} ${measured(table, sought, `scored WHERE ${best}`, true)}`
}

function measured(
  { name, columns }: ListedTable,
  { values, spoken, measure }: Sought,
  from: string,
  isFiltered: boolean,
): string {
  const all = columns.map((column) => column.name).join(", ")
  const plain = [name.replaceAll('"', ""), ...values.map((value) => value.replaceAll("%", " ").trim())]
  const of = `${literal(plain.join(" "))} AS what`
  // Of nothing there is no sum, rather than none.
  const any = isFiltered ? " HAVING count(*) > 0" : ""
  const numbers = columns.filter(({ kind }) => kind === "number")
  const named = numbers.find(({ roots }) => spoken.some((root) => roots.has(root)))
  const number = named ?? numbers.find((column) => spoken.some((root) => isLike(column, root)))
  switch (measure) {
    case "number":
      if (named === undefined) return `SELECT ${of}, count(*) AS number FROM ${from}${any}`
      return `SELECT ${of}, sum(${named.name}) AS ${named.name} FROM ${from}${any}`
    case "sum":
    case "average":
      if (number === undefined) break
      return `SELECT ${of}, ${measure === "sum" ? "sum" : "avg"}(${number.name}) AS ${number.name} FROM ${from}${any}`
    case "greatest":
    case "least": {
      const date = columns.find(
        ({ kind, roots }) => kind === "date" && spoken.some((root) => roots.has(root)),
      )
      const by = named ?? date ?? number ?? numbers[0]
      if (by === undefined) break
      return `SELECT ${all} FROM ${from} ORDER BY ${by.name} ${measure === "least" ? "ASC" : "DESC"} LIMIT 1`
    }
  }
  return `SELECT ${all} FROM ${from} LIMIT ${MOST_ROWS}`
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
