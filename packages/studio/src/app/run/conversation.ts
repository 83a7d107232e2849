/** A run as a conversation: what people wrote, what agents answered, which tools they called, what was asked and answered. */
import type { RunEvent } from "@superstep/engine/protocol"
import { type ModelTurn, taskDetail } from "./inspector/task-detail.ts"
import { nodeKey, taskKey } from "./keys.ts"
import { NodeNames } from "./node-names.ts"

export interface ChatMessage {
  readonly id: string
  readonly seq: number
  readonly at: number
  readonly kind: "input" | "agent" | "question" | "answer" | "output" | "error"
  /** Who speaks: an agent or a node, or a person. */
  readonly who: string
  readonly value: unknown
  readonly turn?: ModelTurn
  /** `taskKey` of the task that it belongs to. */
  readonly task?: string
  readonly request?: string
}

const NO_NAMES = new NodeNames()

/** Answers of agents are shown as they were recorded; an output that repeats one is not shown again. */
export function conversationOf(
  events: readonly RunEvent[],
  at: number,
  names: NodeNames = NO_NAMES,
): readonly ChatMessage[] {
  const messages: ChatMessage[] = []
  const tasks = new Map<string, RunEvent[]>()
  for (const event of events) {
    if (event.seq > at) break
    if ("task" in event && typeof event.task === "number") {
      const key = taskKey(event.path, event.task)
      const list = tasks.get(key)
      if (list === undefined) tasks.set(key, [event])
      else list.push(event)
    }
    const { seq, at: time } = event
    const base = { id: `${seq}`, seq, at: time }
    if (event.type === "run.started" && event.path.length === 0) {
      messages.push({ ...base, kind: "input", who: "Input", value: event.input })
    } else if (event.type === "step.recorded") {
      const key = taskKey(event.path, event.task)
      if (isReply(event.value))
        messages.push({
          ...base,
          kind: "agent",
          who: names.ofEvent(event) ?? "",
          value: undefined,
          task: key,
        })
    } else if (event.type === "request.opened") {
      const { id, prompt, task } = event.request
      messages.push({
        ...base,
        kind: "question",
        who: names.ofEvent(event) ?? "",
        value: prompt,
        request: id,
        task: taskKey(event.path, task),
      })
    } else if (event.type === "request.answered") {
      messages.push({
        ...base,
        kind: "answer",
        who: event.by ?? "A person",
        value: event.value,
        request: event.request,
      })
    } else if (event.type === "output" && event.path.length === 0) {
      messages.push({ ...base, kind: "output", who: "Output", value: event.value })
    } else if (event.type === "run.finished" && event.path.length === 0 && event.error !== undefined) {
      const { node, message } = event.error
      const who = node === undefined ? "Run" : names.title(nodeKey("", node))
      messages.push({ ...base, kind: "error", who, value: message })
    }
  }
  const details = new Map([...tasks].map(([key, list]) => [key, taskDetail(list)]))
  const complete = messages.map((message) => {
    if (message.kind !== "agent" || message.task === undefined) return message
    const turn = details.get(message.task)?.turns.find(({ seq }) => seq === message.seq)
    return turn === undefined ? message : { ...message, value: turn.text, turn }
  })
  return complete.filter((message, i) => {
    if (message.kind !== "output") return true
    const before = complete.slice(0, i).findLast(({ kind }) => kind === "agent")
    return before === undefined || before.value !== message.value
  })
}

function isReply(value: unknown): boolean {
  return (
    typeof value === "object" && value !== null && "content" in value && "finish" in value && "model" in value
  )
}
