/** What a node reads from the state, and what it writes there. */
import type { Json } from "../../../core/index.ts"
import { isRecord } from "../../../core/internal.ts"
import { template, textOf } from "../../../expressions/index.ts"
import { parseIfJson } from "../../json-values.ts"
import { VALUES } from "./graph-info.ts"
import { readPath, type StatePath, writePath } from "./state-paths.ts"
import type { Visit } from "./visit.ts"

export interface GraphInputOptions {
  /** Names, and the paths of their values. */
  readonly inputs?: Readonly<Record<string, string>> | undefined
  /** The prompt, as a template. */
  readonly prompt?: string | undefined
}

/** The prompt, else the mapped inputs, else the output of the node before, as text. */
export function readInput({ inputs, prompt }: GraphInputOptions): (visit: Visit) => string {
  const mapped = Object.entries(inputs ?? {}).map(([name, path]) => [name, pathOf(path)] as const)
  const named = (visit: Visit) => mapped.map(([name, path]) => [name, visit.at(path) ?? null] as const)
  if (prompt !== undefined) {
    const read = template(prompt, "graph")
    return (visit) => {
      const names = Object.fromEntries(named(visit))
      return read.render(visit.scope(read.references, { names: { input: visit.input, ...names } }))
    }
  }
  return (visit) => {
    const values = named(visit)
    const [only] = values
    if (only === undefined) return textOf(visit.input)
    if (values.length === 1) return textOf(only[1])
    return values.map(([name, value]) => `${name}:\n${textOf(value)}`).join("\n\n")
  }
}

/** Writes the part of an output with that name, else all of it. */
export function readOutputs(
  outputs: Readonly<Record<string, string>> = {},
): (visit: Visit, output: Json) => Record<string, Json> {
  const mapped = Object.entries(outputs).map(([name, path]) => [name, pathOf(path)] as const)
  return (visit, output) => {
    if (mapped.length === 0) return {}
    const data = parseIfJson(output)
    let values = visit.ctx.state.get(VALUES)
    const writes: Record<string, Json> = {}
    for (const [name, path] of mapped) {
      const part = isRecord(data) && Object.hasOwn(data, name) ? (data[name] as Json) : output
      Object.assign(writes, writePath(values, path, part))
      values = { ...values, ...writes }
    }
    return writes
  }
}

/** A path of the state may start with `state.` */
export function pathOf(text: string): StatePath {
  const path = readPath(text) ?? [text]
  return path.length > 1 && path[0] === "state" ? path.slice(1) : path
}
