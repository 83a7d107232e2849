/**
 * Writes a SELECT for the rows of one table that contain words of a goal. A pipeline whose SQL agent is the offline model
 * uses it, because that model writes no SQL. Rows are listed, never counted or summed: a wrong number is worse than none.
 */

import { isAgent } from "../../../agents/index.ts"
import { coreOf } from "../../../agents/internal.ts"
import { spaced, tellingWords } from "../../../text/internal.ts"
import type { Database, Table } from "../../ports.ts"
import type { GoalAgent } from "../goal-config.ts"

/** Whether the agent uses the offline model. A model that cannot be loaded is reported when it is called. */
export async function isOffline(agent: GoalAgent): Promise<boolean> {
  if (!isAgent(agent)) return false
  try {
    return (await coreOf(agent).models())[0]?.provider === "offline"
  } catch {
    return false
  }
}

const MAX_WORDS = 12
/** Words that describe an operation on rows, and do not occur in them. */
const ASKING = new Set(
  tellingWords(
    "show list find name count number total sum average mean altogether overall least fewest lowest smallest cheapest " +
      "earliest oldest shortest lightest first highest largest biggest greatest latest newest longest heaviest last maximum",
  ),
)

/** Undefined if no table has a word of the goal in its name, columns or description. */
export function selectMatching(
  tables: readonly Table[],
  goal: string,
  limit: number,
  kind: Database["kind"] = "postgresql",
): string | undefined {
  const asked = tellingWords(goal)
  const fits = tables.map((table) => asked.reduce((sum, word) => sum + fitOf(table, word), 0))
  const best = Math.max(0, ...fits)
  const table = tables[fits.indexOf(best)]
  if (table === undefined || best === 0) return undefined
  const columns = table.columns.map(({ name }) => name).join(", ")
  // In these databases LIKE ignores case, and ILIKE does not exist.
  const like = kind === "sqlite" || kind === "mysql" ? "LIKE" : "ILIKE"
  const has = (text: string) => `concat_ws(' ', ${columns}) ${like} ${literal(text)}`
  const names = namesIn(goal)
  const named = new Set(tellingWords(names.join(" ")))
  const others = asked.filter(
    (word) => word.length > 2 && !named.has(word) && !ASKING.has(word) && fitOf(table, word) === 0,
  )
  const words = others.slice(0, MAX_WORDS).map(has)
  const some = names.length > 0 ? names.map(has).join(" AND ") : words.join(" OR ")
  const hits = words.map((condition) => `CASE WHEN ${condition} THEN 1 ELSE 0 END`).join(" + ")
  return [
    `SELECT ${columns} FROM ${table.name}`,
    ...(some === "" ? [] : [`WHERE ${some}`]),
    ...(hits === "" ? [] : [`ORDER BY ${hits} DESC`]),
    `LIMIT ${limit}`,
  ].join(" ")
}

function fitOf({ name, columns, description = "" }: Table, word: string): number {
  if (wordsIn(name).includes(word)) return 3
  if (columns.some((column) => wordsIn(column.name).includes(word))) return 2
  if (columns.some(({ values = [] }) => values.some((value) => tellingWords(value).includes(word)))) return 2
  return wordsIn(description).includes(word) ? 1 : 0
}

function wordsIn(name: string): string[] {
  return tellingWords(spaced(name))
}

const QUOTED = /"[^"]{1,80}"|“[^”]{1,80}”/gu
const NAME = /(?<=[\p{L}\p{N},] )\p{Lu}[\p{L}\p{N}'’&.-]*(?: (?:\p{Lu}[\p{L}\p{N}'’&.-]*|\p{N}+))*/gu
const CODE = /(?<![\p{L}\p{N}-])\p{L}+[-_]?\p{N}[\p{L}\p{N}_-]*/gu
const MONTH = /^(?:january|february|march|april|may|june|july|august|september|october|november|december)\b/i

/**
 * Terms that a row must contain: names, codes, text in quotes. The capital of the goal's first word does not make it a
 * name.
 */
function namesIn(goal: string): string[] {
  const found = [QUOTED, NAME, CODE].flatMap((pattern) => goal.match(pattern) ?? [])
  const plain = found.map((name) => name.replace(/^["“]|["”'’?.!,]{1,3}$/gu, ""))
  return [...new Set(plain)].filter((name) => !MONTH.test(name) && tellingWords(name).length > 0)
}

/** A pattern for LIKE. Special characters are replaced with the wildcard for one character. */
function literal(text: string): string {
  const pattern = text.replace(/[\\%_]/g, "_").replace(/\s+/g, "%")
  return `'%${pattern.replaceAll("'", "''")}%'`
}
