/**
 * Names for parts of a run that fit into an address. Ids of nodes are arbitrary text, so `/` and `%` inside of them are escaped:
 * a slash always separates levels of workflows.
 */

function escaped(id: string): string {
  return id.replace(/[%/]/g, encodeURIComponent)
}

/** A task: the calls that lead to its workflow, and its number. "review#3/7". */
export function taskKey(path: readonly string[], task: number): string {
  return [...path.map(escaped), String(task)].join("/")
}

export function parseTaskKey(key: string): { readonly path: readonly string[]; readonly task: number } {
  const parts = key.split("/").map(unescaped)
  return { path: parts.slice(0, -1), task: Number(parts.at(-1)) }
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The nodes that lead to a workflow, without the numbers of their tasks: all its calls share them. */
export function nodePath(path: readonly string[]): string {
  return path.map((part) => escaped(part.slice(0, part.lastIndexOf("#")))).join("/")
}

/** A node of the workflow at a path. */
export function nodeKey(path: string, id: string): string {
  return path === "" ? escaped(id) : `${path}/${escaped(id)}`
}

/** The name of a node, from its key. */
export function nodeName(key: string): string {
  return unescaped(key.slice(key.lastIndexOf("/") + 1))
}

export const START = "\u0000start"
export const OUTPUT = "\u0000output"

/** From undefined: the start. To undefined: the output. */
export function edgeKey(path: string, from: string | undefined, to: string | undefined): string {
  return `${path}|${escaped(from ?? START)}|${escaped(to ?? OUTPUT)}`
}
