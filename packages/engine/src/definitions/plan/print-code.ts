/** Calls and their arguments as TypeScript: on one line where they fit, else one below the other. */
import { type Arg, Call, Later, Ref } from "./plan.ts"

const WIDTH = 100

/** Where a text begins. */
interface Position {
  /** Of its line, in steps of two spaces. */
  readonly depth: number
  /** How much of the line is taken. */
  readonly column: number
  /** How much comes after it. */
  readonly tail: number
}

export function printStatement(head: string, make: string, args: readonly Arg[]): string {
  return head + printCall(make, args, { depth: 0, column: head.length, tail: 0 })
}

/** A method of the value in the lines above. */
export function printMethod(name: string, args: readonly Arg[]): string {
  return printCall(`  .${name}`, args, { depth: 1, column: 0, tail: 0 })
}

export function printImport(names: readonly string[], from: string): string {
  return joined("import {", names, `} from ${quote(from)}`, { depth: 0, column: 0, tail: 0 })
}

function printCall(make: string, args: readonly Arg[], at: Position): string {
  const parts = args.map((arg) => printArg(arg, below(at)))
  const whole = joined(`${make}(`, parts, ")", at)
  const last = args.at(-1)
  if (!whole.includes("\n") || !opens(last)) return whole
  // Its last argument may open on the line of the call, as it reads best.
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
    const [open, close] = isObject(arg.arg) ? [`${head}(`, ")"] : [head, ""]
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

function isObject(arg: Arg): boolean {
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

/** Line ends that JSON leaves as they are, and signs that turn the direction of what comes after them. */
const UNSEEN = /[\u200e\u200f\u2028-\u202e\u2066-\u2069]/

function quote(text: string): string {
  const isUnseen = new RegExp(UNSEEN, "g")
  return JSON.stringify(text).replace(isUnseen, (sign) => `\\u${sign.charCodeAt(0).toString(16)}`)
}

/** A text of several lines, as it reads, where a file can hold it: without other control characters, and well formed. */
function block(text: string): string {
  if (UNSEEN.test(text) || /[^\P{Cc}\n\t]|\p{Cs}/u.test(text)) return quote(text)
  return `\`${text.replace(/[\\`]|\$\{/g, (sign) => `\\${sign}`)}\``
}
