/**
 * `${NAME}` and `${NAME:-default}` in configuration files; `$$` is one `$`. The default also stands in for a value
 * that is empty. What does not look like a variable (`${env.KEY}`, `$5`) stays as it is, and so does what a value
 * contains.
 */
interface MissingVariable {
  readonly name: string
  readonly start: number
  readonly end: number
}

export interface Substituted {
  readonly text: string
  /** Variables that have neither a value nor a default. They stay in the text as they were written. */
  readonly missing: readonly MissingVariable[]
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y

export function variables(source: string, lookup: (name: string) => string | undefined): Substituted {
  const missing: MissingVariable[] = []
  let text = ""
  let at = 0
  for (;;) {
    const dollar = source.indexOf("$", at)
    if (dollar < 0) break
    text += source.slice(at, dollar)
    const variable = readVariable(source, dollar)
    at = variable?.end ?? dollar + (source[dollar + 1] === "$" ? 2 : 1)
    if (variable === undefined) {
      text += "$"
      continue
    }
    const value = lookup(variable.name)
    if (value !== undefined && (value !== "" || variable.fallback === undefined)) text += value
    else if (variable.fallback !== undefined) text += variable.fallback
    else {
      missing.push({ name: variable.name, start: dollar, end: at })
      text += source.slice(dollar, at)
    }
  }
  return { text: text + source.slice(at), missing }
}

interface Variable {
  readonly name: string
  readonly fallback: string | undefined
  readonly end: number
}

function readVariable(source: string, dollar: number): Variable | undefined {
  if (source[dollar + 1] !== "{") return undefined
  NAME.lastIndex = dollar + 2
  const name = NAME.exec(source)?.[0]
  if (name === undefined) return undefined
  const after = dollar + 2 + name.length
  if (source[after] === "}") return { name, fallback: undefined, end: after + 1 }
  if (!source.startsWith(":-", after)) return undefined
  const close = endOfDefault(source, after + 2)
  return close < 0 ? undefined : { name, fallback: source.slice(after + 2, close), end: close + 1 }
}

/** A default ends at the first brace and is on one line, so that looking for its end costs no more than the line. */
function endOfDefault(source: string, start: number): number {
  for (let at = start; at < source.length; at++) {
    if (source[at] === "}") return at
    if (source[at] === "\n" || at - start > 4_096) return -1
  }
  return -1
}
