/** All that is wrong with a definition, as one text. */
import type { Loaded } from "./definition.ts"
import { type PrintOptions, printDiagnostics } from "./document/index.ts"

const GRAPH_REFUSED = "Graph validation failed:"

/** With the source of each, and, where a graph is refused, a head that says so. */
export function printProblems(loaded: Omit<Loaded, "definition">, options: PrintOptions): string {
  const { diagnostics, sources } = loaded
  const text = printDiagnostics(diagnostics, (file) => sources.get(file), options)
  return isRefusedGraph(loaded) ? `${GRAPH_REFUSED}\n${text}` : text
}

/** For an error: one line each. */
export function listErrors(loaded: Omit<Loaded, "definition">): string {
  const errors = loaded.diagnostics.filter(({ severity }) => severity === "error")
  const messages = errors.map(({ message }) => message)
  return (isRefusedGraph(loaded) ? [GRAPH_REFUSED, ...messages] : messages).join("\n")
}

function isRefusedGraph({ dialect, diagnostics }: Omit<Loaded, "definition">): boolean {
  return dialect === "graph" && diagnostics.some(({ severity }) => severity === "error")
}
