/**
 * Who spoke last in a conversation that was handed over. A stored conversation has it as a mark on a message: the thread
 * needs nothing else, and the mark is removed before a provider sees it.
 */
import type { Message } from "../models/index.ts"
import { type AgentCore, coreOf } from "./agent-core.ts"

/** The messages of a task, with the name of the agent that answered on the last one. */
export function withSpeaker(messages: readonly Message[], agent: string): readonly Message[] {
  const last = messages.at(-1)
  if (last === undefined) return messages
  const superstep = { ...last.providerOptions?.superstep, speaker: agent }
  return [...messages.slice(0, -1), { ...last, providerOptions: { ...last.providerOptions, superstep } }]
}

/** The name of the agent that spoke last; undefined where nobody took over. */
export function lastSpeaker(messages: readonly Message[]): string | undefined {
  return messages.map(speakerOf).findLast((name) => name !== undefined)
}

function speakerOf({ providerOptions }: Message): string | undefined {
  const speaker = providerOptions?.superstep?.speaker
  return typeof speaker === "string" ? speaker : undefined
}

export function withoutSpeakers(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => speakerOf(message) !== undefined)) return messages
  return messages.map((message): Message => {
    if (speakerOf(message) === undefined) return message
    const { providerOptions: { superstep: { speaker: _, ...marks } = {}, ...providers } = {}, ...plain } =
      message
    const own = Object.keys(marks).length === 0 ? {} : { superstep: marks }
    const options = { ...providers, ...own }
    return (Object.keys(options).length === 0 ? plain : { ...plain, providerOptions: options }) as Message
  })
}

/** The agent of this name among those that the conversation can reach by hand-offs. */
export function reachableAgent(from: AgentCore, name: string): AgentCore | undefined {
  const seen = new Set<string>()
  const queue = [from]
  for (let core = queue.shift(); core !== undefined; core = queue.shift()) {
    if (core.name === name) return core
    if (seen.has(core.name)) continue
    seen.add(core.name)
    queue.push(...core.handoffs().map(coreOf))
  }
  return undefined
}
