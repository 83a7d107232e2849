/** Scripts out of YAML. Entries know the line they are written on, and so does every complaint. */
import { SuperstepError } from "../../core/index.ts"
import { readTextFile } from "../../files/index.ts"
import { AT, readScript, type Script, type ScriptEntry, type WrittenAt } from "./script.ts"

/** Up to 10 MB; a relative path starts from `cwd`. */
export async function scriptFromFile(file: string, cwd?: string): Promise<Script> {
  return await scriptFromYaml(readTextFile(file, { maxBytes: 10_000_000, cwd }), file)
}

/** Loads the YAML package when it is called, not before. `file` is for messages only: nothing is read from it. */
export async function scriptFromYaml(text: string, file = "script"): Promise<Script> {
  const { isNode, LineCounter, parseDocument } = await import("yaml")
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const [problem] = [...document.errors, ...document.warnings]
  if (problem !== undefined)
    throw unreadable(`${file}:${lines.linePos(problem.pos[0]).line}`, problem.message, problem)

  const writtenAt: WrittenAt = (path) => {
    // A missing value, such as a name, is reported at the line of what it is missing from.
    for (let length = path.length; length >= 0; length--) {
      const node = document.getIn(path.slice(0, length), true)
      if (isNode(node) && node.range) return `${file}:${lines.linePos(node.range[0]).line}`
    }
    return file
  }

  let data: unknown
  try {
    data = document.toJS({ maxAliasCount: 100 })
  } catch (error) {
    throw unreadable(file, error instanceof Error ? error.message : String(error), error)
  }
  readScript(data, writtenAt)
  const located = (entries: readonly ScriptEntry[], path: readonly (string | number)[]): ScriptEntry[] =>
    entries.map((entry, index) => {
      const at = writtenAt([...path, index])
      return Object.defineProperty(typeof entry === "string" ? { text: entry } : { ...entry }, AT, {
        value: at,
      })
    })
  // Checked by readScript.
  const script = data as Script
  if (isList(script)) return located(script, [])
  return Object.fromEntries(
    Object.entries(script).map(([agent, entries]) => [agent, located(entries, [agent])]),
  )
}

function isList(script: Script): script is readonly ScriptEntry[] {
  return Array.isArray(script)
}

function unreadable(where: string, why: string, cause: unknown): SuperstepError {
  return new SuperstepError("SCRIPT_INVALID", `The script cannot be read: ${why} (${where})`, {
    cause,
    retryable: false,
  })
}
