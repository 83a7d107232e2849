/**
 * The loop of an agent: model, tools, model, until there is an answer.
 *
 * L1 every model call and every tool call that finished is on record, and is not made again after a crash or a retry.
 * L2 limits and budgets are looked at before a call that is really made, not before one that the record answers.
 * L3 the conversation follows from the input and the records: nothing of it is recorded twice.
 * L4 what a provider gets is a valid history, also after a policy or a hand-off.
 */
import { SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import type { Deadline } from "../models/stopping.ts"
import type { Context } from "../runtime/index.ts"
import type { ToolCallContext } from "../tools/index.ts"
import { type AgentCore, coreOf } from "./agent-core.ts"
import { Guard } from "./agent-limits.ts"
import type { ToolTable } from "./agent-tools.ts"
import {
  inputMessages,
  replyMessage,
  resultsMessage,
  type ToolCall,
  textOf,
  toolCallsOf,
  userText,
} from "./conversation.ts"
import { chooseMessages } from "./history-policy.ts"
import { filtered, modelTurn } from "./model-turn.ts"
import { pathOf } from "./scope-path.ts"
import type { LiveArgs } from "./secrets.ts"
import { outputInvalid, repairRequest } from "./structured-output.ts"
import { summarised } from "./summary.ts"
import { toldAsText } from "./told-as-text.ts"
import { toolTurn } from "./tool-turn.ts"
import { validHistory } from "./valid-history.ts"

/** Where in a run an agent is at work. */
export interface Place {
  readonly ctx: Context
  readonly signal: AbortSignal
  /** The names of the scopes that lead here. */
  readonly path: string
  /** As a tool of another agent. */
  readonly isNested: boolean
}

const DEEPEST = 16
const REPAIRS = 2

/** As a node: with the conversation that lasts, where the agent has one. */
export async function runAgent(core: AgentCore, input: unknown, ctx: Context): Promise<unknown> {
  const { messages: lasting } = core.options
  const place = { ctx, signal: ctx.signal, path: "", isNested: false }
  const before = lasting === undefined ? [] : validHistory(ctx.state.get(lasting))
  const talk = new Talk(core, input, place, before)
  const answer = await talk.answer()
  if (lasting !== undefined) ctx.state.write(lasting, talk.added)
  return answer
}

/** As a tool: in a conversation of its own. */
export async function runNested(core: AgentCore, input: unknown, call: ToolCallContext): Promise<unknown> {
  const path = pathOf(call)
  if (path.split("/").length > DEEPEST) {
    const text = `Agents that give tasks to agents: "${core.name}" would be the ${DEEPEST}th one inside another. Do the task here.`
    throw new SuperstepError("AGENT_DEPTH", text, { retryable: false })
  }
  return await new Talk(
    core,
    input,
    { ctx: call.ctx, signal: call.signal, path, isNested: true },
    [],
  ).answer()
}

/** The agent that has the word. */
interface Speaker {
  readonly core: AgentCore
  readonly tools: ToolTable
  readonly system: readonly Message[]
}

/** One conversation, from an input to its answer. */
class Talk {
  readonly #core: AgentCore
  readonly #input: unknown
  readonly #place: Place
  readonly #guards = new Map<string, Guard>()
  readonly #deadlines: Deadline[] = []
  readonly #ids = new Set<string>()
  readonly #live: LiveArgs = new Map()
  #signal: AbortSignal
  /** What there is of the conversation, or a summary of its beginning and the rest. */
  #messages: Message[]
  #modelCalls = 0
  /** What this task adds to the conversation. */
  readonly added: Message[] = []

  constructor(core: AgentCore, input: unknown, place: Place, before: readonly Message[]) {
    this.#core = core
    this.#input = input
    this.#place = place
    this.#signal = place.signal
    this.#messages = [...before]
    for (const message of inputMessages(input)) this.#add(message)
    for (const { role, content } of this.#messages) {
      if (role !== "assistant") continue
      for (const part of content) if (part.type === "tool-call") this.#ids.add(part.toolCallId)
    }
  }

  async answer(): Promise<unknown> {
    try {
      return await this.#loop()
    } finally {
      for (const deadline of this.#deadlines) deadline.close()
    }
  }

  async #loop(): Promise<unknown> {
    const { name, output, options } = this.#core
    const repairs = options.repairs ?? REPAIRS
    let repaired = 0
    let speaker = await this.#enter(this.#core)
    for (;;) {
      for (const guard of this.#guards.values()) guard.turn()
      const reply = await this.#ask(speaker)
      const calls = toolCallsOf(reply)
      if (calls.length > 0) {
        const { outcomes, edited, next } = await this.#callTools(speaker, calls)
        this.#add(replyMessage(reply, argsSeen(calls, edited)))
        this.#add(resultsMessage(calls, outcomes))
        if (next !== undefined) speaker = await this.#handOver(speaker, coreOf(next))
        continue
      }
      if (reply.finish === "content-filter" && textOf(reply) === "") throw filtered(speaker.core.name, reply)
      this.#add(replyMessage(reply, NO_ARGS))
      const answer = await output.read(reply)
      if (answer.ok) return answer.value
      if (repaired++ >= repairs) throw outputInvalid(name, answer.reason, repairs)
      this.#add(userText(repairRequest(answer.reason)))
    }
  }

  /** An agent begins to speak, with instructions and tools of its own, and under its own limits too. */
  async #enter(core: AgentCore): Promise<Speaker> {
    const { ctx } = this.#place
    if (!this.#guards.has(core.name)) {
      const guard = new Guard(core.name, core.options.limits)
      this.#guards.set(core.name, guard)
      await guard.begin(ctx)
      const deadline = guard.within(this.#signal, ctx.clock)
      if (deadline !== undefined) {
        this.#deadlines.push(deadline)
        this.#signal = deadline.signal
      }
    }
    const opened = core.tools(ctx)
    const tools = opened instanceof Promise ? await opened : opened
    const { instructions } = core.options
    const said =
      typeof instructions === "function" ? await instructions(this.#input as never, ctx) : instructions
    const parts = [said ?? "", ...tools.instructions].filter((part) => part !== "")
    return {
      core,
      tools,
      system: parts.length === 0 ? [] : [{ role: "system", content: parts.join("\n\n") }],
    }
  }

  async #handOver(from: Speaker, core: AgentCore): Promise<Speaker> {
    this.#place.ctx.emit("agent.handoff", { from: from.core.name, to: core.name })
    return await this.#enter(core)
  }

  async #ask({ core, tools, system }: Speaker) {
    const { history = "all" } = core.options
    const guards = this.#guards.values()
    if (typeof history === "object" && history.kind === "summarise") {
      this.#messages = await summarised(history, this.#messages, core, guards, this.#place, this.#signal)
    }
    const chosen = chooseMessages(history, this.#messages)
    const reply = await modelTurn({
      core,
      tools,
      guards: this.#guards.values(),
      place: this.#place,
      signal: this.#signal,
      prompt: [...system, ...(tools.offered === undefined ? toldAsText(chosen) : chosen)],
      responseFormat: this.#core.output.responseFormat,
      number: ++this.#modelCalls,
      ids: this.#ids,
      live: this.#live,
    })
    for (const { id } of toolCallsOf(reply)) this.#ids.add(id)
    return reply
  }

  async #callTools({ core, tools }: Speaker, calls: readonly ToolCall[]) {
    const { ctx, path } = this.#place
    const result = await toolTurn(
      {
        agent: core.name,
        options: core.options,
        tools: tools.byName,
        guards: [...this.#guards.values()],
        live: this.#live,
        ctx,
        signal: this.#signal,
        path,
      },
      calls,
    )
    this.#live.clear()
    return result
  }

  #add(message: Message | undefined): void {
    if (message === undefined) return
    this.#messages.push(message)
    if (message.role !== "system") this.added.push(message)
  }
}

const NO_ARGS: ReadonlyMap<string, unknown> = new Map()

/** The arguments as the model sees them again: what it wrote, or what a person put in its place. */
function argsSeen(calls: readonly ToolCall[], edited: ReadonlyMap<string, unknown>): Map<string, unknown> {
  const seen = new Map<string, unknown>()
  for (const { id, args } of calls) seen.set(id, edited.get(id) ?? readObject(args))
  return seen
}

/** Providers take an object; what is none is told to the model in the result. */
function readObject(args: string): unknown {
  try {
    const parsed: unknown = args.trim() === "" ? {} : JSON.parse(args)
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed) ? parsed : {}
  } catch {
    return {}
  }
}
