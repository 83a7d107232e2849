/** The text that a model is writing, assembled from its deltas. A delta may take back what came after its offset. */
import type { RunEvent } from "@superstep/engine/protocol"
import { taskKey } from "./keys.ts"

export type DeltaEvent = Extract<RunEvent, { type: "model.delta" }>

export interface LiveText {
  readonly task: string
  readonly node: string
  readonly agent: string | undefined
  readonly startedAt: number
  readonly text: string
  readonly reasoning: string
  /** The tool call that it is writing. */
  readonly tool: string | undefined
}

export function addDelta(texts: Map<string, LiveText>, event: DeltaEvent): void {
  const { path, task, node, call, agent, kind, text, offset, tool, at } = event
  const owner = taskKey(path, task)
  const key = `${owner} ${call}`
  const known = texts.get(key) ?? {
    task: owner,
    node,
    agent,
    startedAt: at,
    text: "",
    reasoning: "",
    tool: undefined,
  }
  if (kind === "tool") texts.set(key, { ...known, tool: tool?.name })
  else {
    const field = kind === "text" ? "text" : "reasoning"
    texts.set(key, { ...known, [field]: known[field].slice(0, offset) + text })
  }
}
