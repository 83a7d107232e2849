/**
 * Collects everything in a query through which PostgreSQL can reach a function: calls, attributes (`row.name` calls
 * `name(row)`), operators, including those that syntax implies (LIKE, IN, CASE, USING), and types, whose casts and checks
 * are functions. Constructs that are not listed here are refused.
 */

import { optionalPackage } from "../errors.ts"
import { failed, refused } from "./queries.ts"
import type { SqlToken } from "./select-guard.ts"

interface Name {
  /** Undefined: resolved by the search path. */
  readonly schema?: string | undefined
  readonly name: string
}

/** `alias.name`, or `(expression).name` without an alias. */
interface Attribute {
  readonly alias?: string | undefined
  readonly name: string
  /** Whether the alias is a table everywhere in the query, so that its columns are known. */
  readonly isTable?: boolean | undefined
}

interface Operator extends Name {
  /** Whether the operand is a plain string or NULL, which takes whatever type the operator needs. */
  readonly left: boolean
  readonly right: boolean
}

export interface References {
  /** `args` is absent if any number of arguments is possible. */
  readonly functions: (Name & { readonly args?: number | undefined })[]
  readonly attributes: Attribute[]
  readonly operators: Operator[]
  readonly types: Name[]
  readonly relations: (Name & { readonly alias: string })[]
  /** Names that stand alone in an expression: columns, or whole rows. */
  readonly rows: string[]
  /** Whether there is a string without a type, which takes the type of the other operand. */
  hasLiterals: boolean
}

const ALLOWED = new Set(
  `SelectStmt ResTarget ColumnRef A_Star A_Const A_Expr A_Indices A_Indirection A_ArrayExpr FuncCall TypeCast TypeName
  CollateClause SortBy WindowDef RangeVar RangeSubselect RangeFunction RangeTableSample RangeTableFunc RangeTableFuncCol
  JoinExpr CommonTableExpr SubLink CaseExpr CaseWhen CoalesceExpr MinMaxExpr NullTest BooleanTest BoolExpr RowExpr
  GroupingSet GroupingFunc SQLValueFunction XmlExpr XmlSerialize NamedArgExpr ColumnDef List String Integer Float Boolean
  BitString JsonObjectConstructor JsonArrayConstructor JsonArrayQueryConstructor JsonObjectAgg JsonArrayAgg JsonKeyValue
  JsonValueExpr JsonIsPredicate JsonParseExpr JsonScalarExpr JsonSerializeExpr JsonFuncExpr JsonTable JsonTableColumn
  JsonTablePathSpec JsonArgument JsonBehavior JsonOutput`.split(/\s+/),
)

/** Syntax of newer servers is a call of a function with that name on older ones. */
const SYNTAX_FUNCTIONS: Record<string, readonly string[]> = {
  JsonObjectConstructor: ["json_object"],
  JsonArrayConstructor: ["json_array"],
  JsonArrayQueryConstructor: ["json_array"],
  JsonObjectAgg: ["json_objectagg"],
  JsonArrayAgg: ["json_arrayagg"],
  JsonParseExpr: ["json"],
  JsonScalarExpr: ["json_scalar"],
  JsonSerializeExpr: ["json_serialize"],
  JsonFuncExpr: ["json_value", "json_query", "json_exists"],
  JsonTable: ["json_table"],
}

const BETWEEN = [">=", "<=", "<", ">"]

export function referencesOf(select: SqlNode): References {
  const found: References = {
    functions: [],
    attributes: [],
    operators: [],
    types: [],
    relations: [],
    rows: [],
    hasLiterals: false,
  }
  /** Names of things that are not tables. The rules about a table's columns do not apply to them. */
  const others = new Set<string>()
  visitNode("SelectStmt", select, { found, others, expanded: new Set(), typed: new Set() })
  // Filling a row with values from JSON or hstore runs the checks of its columns' types.
  const fillsRows = found.functions.some(({ name }) => name.includes("populate_record"))
  if (fillsRows || found.operators.some(({ name }) => name === "#=")) found.types.push(...found.relations)
  const attributes = found.attributes.map((one) => ({ ...one, isTable: !others.has(one.alias ?? "") }))
  return {
    functions: distinct(found.functions),
    attributes: distinct(attributes),
    operators: distinct(found.operators),
    types: distinct(found.types),
    relations: distinct(found.relations),
    rows: distinct(found.rows),
    hasLiterals: found.hasLiterals,
  }
}

/** A condition with a thousand values refers to the same few things. */
function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]
}

interface Walk {
  readonly found: References
  readonly others: Set<string>
  /** `alias.*` in a list of results: columns, not a row. */
  readonly expanded: Set<unknown>
  /** Constants with an explicit type. */
  readonly typed: Set<unknown>
}

function visit(value: unknown, walk: Walk): void {
  if (Array.isArray(value)) {
    for (const item of value) visit(item, walk)
    return
  }
  if (typeof value !== "object" || value === null) return
  for (const [field, inner] of Object.entries(value)) {
    // Kinds begin with a capital letter, fields do not.
    if (/^[A-Z]/.test(field)) visitNode(field, inner as SqlNode, walk)
    else visitField(field, inner, walk)
  }
}

function visitField(field: string, inner: unknown, walk: Walk): void {
  if (field === "intoClause") throw refused("SELECT INTO makes a table")
  if (field === "lockingClause") throw refused("it locks rows (FOR UPDATE, FOR SHARE)")
  // A field that holds only one kind omits the kind.
  if (field === "typeName") visitNode("TypeName", inner as SqlNode, walk)
  else visit(inner, walk)
}

function visitNode(kind: string, node: SqlNode, walk: Walk): void {
  if (!ALLOWED.has(kind))
    throw refused(`${kind.replace(/Stmt$/, "").toUpperCase()} is not allowed in a query`)
  const { found } = walk
  for (const name of SYNTAX_FUNCTIONS[kind] ?? []) found.functions.push({ name })
  collect[kind]?.(node, walk)
  visit(node, walk)
}

const collect: Record<string, (node: SqlNode, walk: Walk) => void> = {
  FuncCall(node, { found }) {
    const ordered = node.agg_within_group === true ? lengthOf(node.agg_order) : 0
    const args = lengthOf(node.args) + ordered
    const called = qualifiedName(node.funcname)
    found.functions.push({ ...called, args })
    // type(value) is a cast.
    if (args === 1) found.types.push(called)
  },
  TypeName(node, { found }) {
    found.types.push(qualifiedName(node.names))
  },
  ResTarget(node, { expanded }) {
    expanded.add((node.val as { ColumnRef?: SqlNode } | undefined)?.ColumnRef)
  },
  ColumnRef(node, { found, expanded }) {
    const names = namesIn(node.fields)
    const isStar = lengthOf(node.fields) > names.length
    const last = names.at(-1)
    if (last === undefined) return
    if (isStar && expanded.has(node)) return
    if (isStar || names.length === 1) found.rows.push(last)
    else found.attributes.push({ alias: names.at(-2), name: last })
  },
  A_Indirection(node, { found }) {
    for (const name of namesIn(node.indirection)) found.attributes.push({ name })
  },
  A_Const(node, { found, typed }) {
    if (node.sval !== undefined && !typed.has(node)) found.hasLiterals = true
  },
  TypeCast(node, { typed }) {
    typed.add((node.arg as { A_Const?: SqlNode } | undefined)?.A_Const)
  },
  A_Expr(node, { found }) {
    const operands = { left: isLiteral(node.lexpr), right: isLiteral(node.rexpr) }
    const isBetween = String(node.kind).includes("BETWEEN")
    const names = isBetween ? BETWEEN.map((name) => ({ name })) : [qualifiedName(node.name)]
    found.operators.push(...names.map((name) => ({ ...name, ...operands })))
  },
  SubLink(node, { found }) {
    const name = node.operName === undefined ? { name: "=" } : qualifiedName(node.operName)
    found.operators.push({ ...name, left: isLiteral(node.testexpr), right: false })
  },
  SortBy(node, { found }) {
    if (node.useOp !== undefined)
      found.operators.push({ ...qualifiedName(node.useOp), left: false, right: false })
  },
  CaseExpr(node, { found }) {
    const branches = (node.args ?? []) as readonly { CaseWhen?: { expr?: unknown } }[]
    const right = branches.some(({ CaseWhen: branch }) => isLiteral(branch?.expr))
    if (node.arg !== undefined) found.operators.push({ name: "=", left: isLiteral(node.arg), right })
  },
  JoinExpr(node, walk) {
    if (node.usingClause !== undefined || node.isNatural === true) {
      walk.found.operators.push({ name: "=", left: false, right: false })
    }
    addOther(node, walk)
  },
  RangeVar(node, { found }) {
    const { schemaname: schema, relname, alias } = node as Record<string, string | undefined>
    const aliasname = (alias as unknown as SqlNode | undefined)?.aliasname as string | undefined
    found.relations.push({ schema, name: relname ?? "", alias: aliasname ?? relname ?? "" })
  },
  RangeSubselect: addOther,
  RangeTableFunc: addOther,
  JsonTable: addOther,
  RangeFunction(node, walk) {
    addOther(node, walk)
    // Without an alias, the function's name is the alias.
    for (const item of (node.functions ?? []) as readonly { List?: { items?: unknown[] } }[]) {
      const [first] = (item.List?.items ?? []) as readonly { FuncCall?: SqlNode }[]
      if (first?.FuncCall !== undefined) walk.others.add(qualifiedName(first.FuncCall.funcname).name)
    }
  },
  CommonTableExpr(node, { others }) {
    others.add(String(node.ctename))
  },
}

function addOther(node: SqlNode, { others }: Walk): void {
  for (const field of ["alias", "join_using_alias"]) {
    const alias = node[field] as { aliasname?: string } | undefined
    if (alias?.aliasname !== undefined) others.add(alias.aliasname)
  }
}

/** Includes rows and lists, whose members are compared one by one. */
function isLiteral(operand: unknown): boolean {
  if (Array.isArray(operand)) return operand.some(isLiteral)
  const { A_Const, RowExpr, List } = (operand ?? {}) as Record<string, SqlNode | undefined>
  if (A_Const !== undefined) return A_Const.sval !== undefined || A_Const.isnull === true
  return isLiteral(RowExpr?.args ?? []) || isLiteral(List?.items ?? [])
}

function lengthOf(list: unknown): number {
  return Array.isArray(list) ? list.length : 0
}

function namesIn(list: unknown): string[] {
  const items = (list ?? []) as readonly { String?: { sval?: string } }[]
  return items.flatMap(({ String: text }) => (text === undefined ? [] : [text.sval ?? ""]))
}

function qualifiedName(list: unknown): Name {
  const names = namesIn(list)
  return { schema: names.at(-2), name: names.at(-1) ?? "" }
}

/** Parses a query with PostgreSQL's own parser (libpg-query). The guard decides on this tree, not on the text. */

/** A node of the tree. A field that may hold nodes of several kinds holds `{ Kind: node }`. */
export type SqlNode = { readonly [field: string]: unknown }

export type SqlParser = (sql: string, tokens: readonly SqlToken[]) => SqlNode

const MAX_LENGTH = 100_000
/** The parser recurses, and WebAssembly does not recover from a stack overflow, so the depth is checked first. */
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
/** Words between which the parser builds a list instead of nesting. */
const SEPARATORS = new Set([",", "and", "or", "when", "then", "else", "where", "from"])
const NESTING = new Set(
  "not is isnull notnull like ilike similar between in collate at join union intersect except".split(" "),
)

/** An upper bound of the tree's depth, within a small factor: brackets, operators and joins nest; lists do not. */
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
