/**
 * The guard for SQLite. The SQLite build in `libsql` has functions and tables that read and write files (`writefile`,
 * `fsdir`). Only listed functions may be called, and tables of unlisted modules must not be named.
 */
import { checkStrictSelect, SelectRefused, type StrictDialect } from "./strict-select.ts"

const FUNCTIONS: ReadonlySet<string> = new Set(
  (
    "abs acos acosh asin asinh atan atan2 atanh avg bm25 cast ceil ceiling char coalesce concat concat_ws cos cosh count " +
    "cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor " +
    "format glob group_concat hex highlight ifnull iif instr json json_array json_array_length json_each json_extract " +
    "json_group_array json_group_object json_insert json_object json_patch json_quote json_remove json_replace " +
    "json_set json_tree json_type json_valid julianday lag last_value lead length like likelihood likely ln log log10 " +
    "log2 lower ltrim max median min mod nth_value ntile nullif octet_length percent_rank pi pow power printf quote " +
    "radians random rank replace round row_number rtrim sign sin sinh snippet soundex sqrt strftime string_agg substr " +
    "substring sum tan tanh time timediff total trim trunc typeof unhex unicode unixepoch unlikely upper generate_series"
  ).split(" "),
)

/** Modules whose tables only compute, or read tables of the same file. */
const MODULES: ReadonlySet<string> = new Set(
  "json_each json_tree generate_series fts3 fts4 fts5 rtree rtree_i32 geopoly".split(" "),
)

const DIALECT: StrictDialect = {
  strings: "'",
  names: { '"': '"', "`": "`", "[": "]" },
  hasEscapes: false,
  refusedSymbols: "?:@#$\\{}",
  functions: FUNCTIONS,
  refusedWords: new Set(["pragma", "attach", "detach", "vacuum", "into"]),
}

/** `modules` are those of this SQLite, `tables` are the names of the file's own tables. */
export function checkSqliteSelect(
  sql: string,
  modules: Iterable<string> = [],
  tables: ReadonlySet<string> = new Set(),
): void {
  const tokens = checkStrictSelect(sql, DIALECT)
  const barred = new Set(
    [...modules].map((name) => name.toLowerCase()).filter((name) => !MODULES.has(name) && !tables.has(name)),
  )
  for (const { text } of tokens) {
    const name = text.toLowerCase()
    // A string may be the name of a table.
    if (
      barred.has(name) ||
      (/^(?:pragma|sqlite_(?!schema$|master$|sequence$))/.test(name) && !tables.has(name))
    ) {
      throw new SelectRefused(`the name ${name} is not allowed: it is not a table in the database`)
    }
  }
}

/** Checks a compiled query, as EXPLAIN shows it: the functions that it calls, as `name(arguments)`. */
export function checkProgram(rows: readonly { readonly opcode: unknown; readonly p4: unknown }[]): void {
  for (const { opcode, p4 } of rows) {
    if (!/^(?:Function|PureFunc|Agg)/.test(String(opcode)) || typeof p4 !== "string") continue
    const name = p4.replace(/\(.*$/s, "").toLowerCase()
    if (/^\w+$/.test(name) && !FUNCTIONS.has(name) && !OPERATORS.has(name)) {
      throw new SelectRefused(`the function ${name} is not allowed: only functions known to be harmless are`)
    }
  }
}

/** Functions that operators call. */
const OPERATORS: ReadonlySet<string> = new Set(["like", "glob", "regexp", "match"])
