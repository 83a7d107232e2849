/** A query as PostgreSQL's own parser reads it (libpg-query): the guard decides on this tree, and not on the text. */
import { optionalPackage } from "../packages.ts"
import { failed, refused } from "./queries.ts"
import type { SqlToken } from "./select-guard.ts"

/** A node of the tree. A field that may hold nodes of several kinds holds `{ Kind: node }`. */
export type SqlNode = { readonly [field: string]: unknown }

export type SqlParser = (sql: string, tokens: readonly SqlToken[]) => SqlNode

const MAX_LENGTH = 100_000
/** The parser recurses, and WebAssembly does not recover from a stack overflow: the depth is bounded before it runs. */
const MAX_DEPTH = 400

export async function loadSqlParser(): Promise<SqlParser> {
  const { loadModule, parseSync } = await optionalPackage<typeof import("libpg-query")>(
    "libpg-query",
    "A PostgreSQL database",
  )
  await loadModule()
  return (sql, tokens) => {
    if (sql.length > MAX_LENGTH)
      throw refused(`it has more than ${MAX_LENGTH.toLocaleString("en")} characters`)
    if (depthOf(tokens) > MAX_DEPTH) throw refused(`it is nested more than ${MAX_DEPTH} levels deep`)
    return selectOf(parsed(() => parseSync(sql)))
  }
}

function parsed(parse: () => unknown): SqlNode {
  try {
    return parse() as SqlNode
  } catch (error) {
    const { message, sqlDetails } = error as Error & { sqlDetails?: { cursorPosition: number } }
    const place = sqlDetails === undefined ? "" : ` (at character ${sqlDetails.cursorPosition + 1})`
    throw failed(`${message}${place}.`, error)
  }
}

function selectOf(result: SqlNode): SqlNode {
  const statements = (result.stmts ?? []) as readonly { readonly stmt?: SqlNode }[]
  const [only] = statements
  const select = statements.length === 1 ? only?.stmt?.SelectStmt : undefined
  if (select === undefined) throw refused("only one SELECT can be run")
  return select as SqlNode
}

const FLAT = new Set([",", ".", ";"])
const OPENING = new Set(["(", "[", "case"])
const CLOSING = new Set([")", "]", "end"])
/** Words between which the parser keeps a list instead of nesting. */
const SEPARATORS = new Set([",", "and", "or", "when", "then", "else", "where", "from"])
const NESTING = new Set(
  "not is isnull notnull like ilike similar between in collate at join union intersect except".split(" "),
)

/** An upper bound of how deep the tree is, within a small factor: brackets, operators and joins nest; lists do not. */
function depthOf(tokens: readonly SqlToken[]): number {
  const open: number[] = []
  let outer = 0
  let here = 0
  let joins = 0
  let deepest = 0
  for (const { kind, text } of tokens) {
    if (kind === "text" || kind === "quoted name") continue
    if (OPENING.has(text)) {
      open.push(here)
      outer += here + 1
      here = 0
    } else if (CLOSING.has(text)) {
      here = open.pop() ?? 0
      outer = Math.max(0, outer - here - 1)
    } else if (SEPARATORS.has(text)) here = 0
    else if (kind === "symbol" && !FLAT.has(text)) here += 1
    else if (NESTING.has(text)) {
      here += 1
      // A chain of joins or unions nests across the conditions between them.
      joins += 1
    }
    deepest = Math.max(deepest, outer + here, joins)
  }
  return deepest
}
