/**
 * `${NAME}` and `${NAME:-default}` in configuration files; `$$` is one `$`. The default also stands in for a value
 * that is empty. What does not look like a variable (`${env.KEY}`, `$5`) stays as it is, and so does what a value
 * contains. A default is on one line, so that looking for its end costs no more than the line.
 */
const VARIABLE = /\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}\n]{0,4096}))?\}/g

export interface Substituted {
  readonly text: string
  /** Variables that have neither a value nor a default. They stay in the text as they were written. */
  readonly missing: readonly { readonly name: string; readonly start: number; readonly end: number }[]
}

export function variables(source: string, lookup: (name: string) => string | undefined): Substituted {
  const missing: Substituted["missing"][number][] = []
  const substitute = (written: string, name: string, fallback: string | undefined, start: number) => {
    if (written === "$$") return "$"
    const value = lookup(name)
    if (value !== undefined && (value !== "" || fallback === undefined)) return value
    if (fallback === undefined) missing.push({ name, start, end: start + written.length })
    return fallback ?? written
  }
  return { text: source.replace(VARIABLE, substitute), missing }
}
