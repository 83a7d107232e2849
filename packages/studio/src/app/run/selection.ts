/** What is selected in a run, as the address has it: one selection drives graph, timeline, events and inspector. */

export type Selection =
  | { readonly kind: "task" /** `taskKey` of the task. */; readonly key: string }
  | { readonly kind: "node" /** As the graph has it: "review/draft". */; readonly key: string }
  | { readonly kind: "edge" /** As `edgeKey` of the history has it. */; readonly key: string }
  | { readonly kind: "request"; readonly key: string }

const KINDS: ReadonlySet<string> = new Set(["task", "node", "edge", "request"])

export function parseSelection(text: string | null): Selection | undefined {
  const at = text?.indexOf(":") ?? -1
  if (text === null || at < 1) return undefined
  const kind = text.slice(0, at)
  const key = text.slice(at + 1)
  return KINDS.has(kind) && key !== "" ? ({ kind, key } as Selection) : undefined
}

export function printSelection({ kind, key }: Selection): string {
  return `${kind}:${key}`
}

/** The point in time of the address: an event number; undefined: now. */
export function parseAt(text: string | null): number | undefined {
  return text !== null && /^\d{1,12}$/.test(text) ? Number(text) : undefined
}
