/** Prints a plan as TypeScript: a module with the same calls, which exports the workflow. */
import {
  type Arg,
  Call,
  callWith,
  Later,
  type Plan,
  type PlanFunctions,
  type PlannedCall,
  type PlannedImport,
  type PlannedValue,
  type PlannedWorkflow,
  type PlanType,
  Ref,
} from "./plan.ts"

export interface EjectOptions {
  /** A comment at the top. */
  readonly note?: string | undefined
}

export function eject(plan: Plan, functions: PlanFunctions, options: EjectOptions = {}): string {
  const imports = new Map<string, Set<string>>()
  const add = (name: string, from: string) => imports.set(from, (imports.get(from) ?? new Set()).add(name))
  for (const value of plan.values) {
    for (const used of usedBy(argsOf(value))) {
      if (typeof used === "string") add(used, functions[used]?.from ?? "superstep")
      else add(`type ${used.name}`, used.from)
    }
  }
  const isImport = (value: PlannedValue): value is PlannedImport => "exported" in value
  for (const { name, exported, specifier } of plan.values.filter(isImport)) {
    add(name === exported ? name : `${exported} as ${name}`, specifier)
  }
  const lines = [...imports]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([from, names]) => joined("import {", [...names].sort(), `} from ${quote(from)}`, TOP))
  const body = plan.values.flatMap((value) =>
    isImport(value) ? [] : [`${printValue(value, value.name === plan.main)}\n`],
  )
  const note = options.note === undefined ? [] : [`// ${options.note.replace(/[\r\n\u2028\u2029]+/g, " ")}`]
  return `${[...note, ...lines, "", ...body, `export default ${plan.main}`].join("\n")}\n`
}

function printValue(value: PlannedCall | PlannedWorkflow, isMain: boolean): string {
  const { name } = value
  const head = `${isMain && "wires" in value ? "export " : ""}const ${name} = `
  const { make, args } = "call" in value ? value.call : workflowCall(value)
  const statement = head + printCall(make, args, { ...TOP, column: head.length })
  if ("call" in value) return statement
  const methods = [...value.wires, { method: "build", args: [] }].map(({ method, args: own }) =>
    printCall(`  .${method}`, withoutEnd(own), { ...TOP, depth: 1 }),
  )
  return [statement, ...methods].join("\n")
}

function workflowCall({ title, options }: PlannedWorkflow): Call {
  return callWith("workflow", [title], options)
}

/** Drops undefined arguments at the end. */
function withoutEnd(args: readonly Arg[]): readonly Arg[] {
  return args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1)
}

function argsOf(value: PlannedValue): readonly Arg[] {
  if ("exported" in value) return []
  return "call" in value ? [value.call] : [workflowCall(value), ...value.wires.flatMap(({ args }) => args)]
}

/** The functions and types that an argument uses. */
function* usedBy(arg: Arg): Generator<string | PlanType> {
  if (typeof arg !== "object" || arg === null || arg instanceof Ref) return
  if (arg instanceof Call) {
    yield arg.make
    yield* usedBy(arg.args)
  } else if (arg instanceof Later) {
    if (arg.of !== undefined) yield arg.of
    yield* usedBy(arg.arg)
  } else for (const one of Object.values(arg)) yield* usedBy(one as Arg)
}

const WIDTH = 100

/** Where printed code begins. */
interface Position {
  /** The indentation, in units of two spaces. */
  readonly depth: number
  /** Characters before it on its line. */
  readonly column: number
  /** Characters after it. */
  readonly tail: number
}

const TOP: Position = { depth: 0, column: 0, tail: 0 }

function printCall(make: string, args: readonly Arg[], at: Position): string {
  const parts = args.map((arg) => printArg(arg, below(at)))
  const whole = joined(`${make}(`, parts, ")", at)
  const last = args.at(-1)
  if (!whole.includes("\n") || !opens(last)) return whole
  // The last argument may start on the line of the call.
  const head = `${make}(${parts
    .slice(0, -1)
    .map((part) => `${part}, `)
    .join("")}`
  if (head.includes("\n")) return whole
  const text = `${head}${printArg(last, { ...at, column: at.column + head.length, tail: at.tail + 1 })})`
  return at.column + text.indexOf("\n") <= WIDTH ? text : whole
}

function opens(arg: Arg): boolean {
  if (typeof arg === "string") return arg.includes("\n")
  return typeof arg === "object" && arg !== null && !(arg instanceof Ref)
}

function printArg(arg: Arg, at: Position): string {
  if (arg instanceof Ref) return arg.name
  if (arg instanceof Call) return printCall(arg.make, arg.args, at)
  if (arg instanceof Later) {
    const head = arg.of === undefined ? "() => " : `(): ${arg.of.name}[] => `
    const [open, close] = isPlainObject(arg.arg) ? [`${head}(`, ")"] : [head, ""]
    const inside = { ...at, column: at.column + open.length, tail: at.tail + close.length }
    return open + printArg(arg.arg, inside) + close
  }
  if (typeof arg === "string") return arg.includes("\n") ? block(arg) : quote(arg)
  if (typeof arg !== "object" || arg === null) return String(arg)
  if (Array.isArray(arg)) {
    const items = arg.map((one: Arg) => printArg(one, below(at)))
    return joined("[", items, "]", at)
  }
  const properties = Object.entries(arg).flatMap(([key, value]) =>
    value === undefined ? [] : [printProperty(key, value, below(at))],
  )
  return joined("{", properties, "}", at)
}

function isPlainObject(arg: Arg): boolean {
  if (typeof arg !== "object" || arg === null || Array.isArray(arg)) return false
  return !(arg instanceof Ref || arg instanceof Call || arg instanceof Later)
}

function printProperty(key: string, value: Arg, at: Position): string {
  // A plain `__proto__` would set the prototype instead of a property.
  const name = key === "__proto__" ? '["__proto__"]' : /^[A-Za-z_$][\w$]*$/.test(key) ? key : quote(key)
  const text = printArg(value, { ...at, column: at.column + name.length + 2 })
  return value instanceof Ref && name === text ? name : `${name}: ${text}`
}

function below({ depth }: Position): Position {
  return { depth: depth + 1, column: (depth + 1) * 2, tail: 1 }
}

function joined(open: string, parts: readonly string[], close: string, at: Position): string {
  if (parts.length === 0) return open + close
  const pad = open.endsWith("{") ? " " : ""
  const flat = `${open}${pad}${parts.join(", ")}${pad}${close}`
  if (!flat.includes("\n") && at.column + flat.length + at.tail <= WIDTH) return flat
  const indent = "  ".repeat(at.depth)
  return `${open}\n${parts.map((part) => `${indent}  ${part},\n`).join("")}${indent}${close}`
}

/** Line separators that JSON does not escape, and characters that change the text direction. */
const UNSEEN = /[\u200e\u200f\u2028-\u202e\u2066-\u2069]/

function quote(text: string): string {
  const isUnseen = new RegExp(UNSEEN, "g")
  return JSON.stringify(text).replace(isUnseen, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
}

/** A template literal for a string of several lines, unless it has control characters or lone surrogates. */
function block(text: string): string {
  if (UNSEEN.test(text) || /[^\P{Cc}\n\t]|\p{Cs}/u.test(text)) return quote(text)
  return `\`${text.replace(/[\\`]|\$\{/g, (character) => `\\${character}`)}\``
}
