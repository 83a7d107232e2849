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
import { type Context, telemetryOf } from "../runtime/index.ts"
import type { ToolCallContext } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import { type AgentCore, coreOf } from "./agent-core.ts"
import { Guard } from "./agent-limits.ts"
import type { ToolTable } from "./agent-tools.ts"
import {
  callsOf,
  inputMessages,
  readObject,
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
import { Secrets } from "./secrets.ts"
import { outputInvalid, REPAIRS, repairRequest } from "./structured-output.ts"
import { summaryOf } from "./summary.ts"
import { toldAsText } from "./told-as-text.ts"
import { toolTurn } from "./tool-turn.ts"
import { tracedAgent } from "./traced-calls.ts"
import { UnknownOutcomes } from "./unknown-outcomes.ts"
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

/** As a node: with the conversation that lasts, where the agent has one. */
export async function runAgent(core: AgentCore, input: unknown, ctx: Context): Promise<unknown> {
  const above = telemetryOf(ctx)
  if (above === undefined) return await answerNode(core, input, ctx)
  return await tracedAgent(above, core, ctx, (inside) => answerNode(core, input, inside))
}

async function answerNode(core: AgentCore, input: unknown, ctx: Context): Promise<unknown> {
  const { messages: lasting } = core.options
  const place = { ctx, signal: ctx.signal, path: "", isNested: false }
  const before = lasting === undefined ? [] : validHistory(ctx.state.get(lasting))
  const talk = new Talk(core, input, place, before)
  const answer = await talk.answer()
  if (lasting !== undefined) ctx.state.write(lasting, talk.added)
  return answer
}

/** What became of an agent's part in a conversation that others keep. */
export interface Part {
  /** Its answer, or what it said when it handed over. */
  readonly answer: unknown
  /** Who is to go on. */
  readonly to: Agent | undefined
}

/** As one of several in a conversation that others keep: until it answers, or hands over to one of `others`. */
export async function runPart(
  core: AgentCore,
  input: unknown,
  ctx: Context,
  others: ReadonlySet<Agent>,
): Promise<Part> {
  const part = async (inside: Context) => {
    const place = { ctx: inside, signal: inside.signal, path: "", isNested: false }
    const talk = new Talk(core, input, place, [], others)
    return { answer: await talk.answer(), to: talk.leftTo }
  }
  const above = telemetryOf(ctx)
  return await (above === undefined ? part(ctx) : tracedAgent(above, core, ctx, part))
}

/** As a tool: in a conversation of its own. */
export async function runNested(core: AgentCore, input: unknown, call: ToolCallContext): Promise<unknown> {
  const path = pathOf(call)
  if (path.split("/").length > DEEPEST) {
    const text = `Agents that give tasks to agents: "${core.name}" would be the ${DEEPEST}th one inside another. Do the task here.`
    throw new SuperstepError("AGENT_DEPTH", text, { retryable: false })
  }
  const { ctx, signal } = call
  const place = { ctx, signal, path, isNested: true }
  const above = telemetryOf(ctx)
  if (above === undefined) return await new Talk(core, input, place, []).answer()
  return await tracedAgent(above, core, ctx, (inside) =>
    new Talk(core, input, { ...place, ctx: inside }, []).answer(),
  )
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
  readonly #guards: Guard[] = []
  readonly #deadlines: Deadline[] = []
  readonly #ids = new Set<string>()
  readonly #secrets = new Secrets()
  readonly #unknown = new UnknownOutcomes()
  readonly #messages: Message[]
  #signal: AbortSignal
  #modelCalls = 0
  readonly #others: ReadonlySet<Agent> | undefined
  /** What this task adds to the conversation. */
  readonly added: Message[] = []
  /** Who goes on with the conversation outside of this task. */
  leftTo: Agent | undefined

  constructor(
    core: AgentCore,
    input: unknown,
    place: Place,
    before: readonly Message[],
    others?: ReadonlySet<Agent>,
  ) {
    this.#core = core
    this.#others = others
    this.#input = input
    this.#place = place
    this.#signal = place.signal
    this.#messages = [...before]
    for (const message of inputMessages(input)) this.#add(message)
    for (const message of this.#messages) for (const id of callsOf(message)) this.#ids.add(id)
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
      for (const guard of this.#guards) guard.turn()
      const reply = await this.#ask(speaker)
      const calls = toolCallsOf(reply)
      if (calls.length > 0) {
        const { outcomes, edited, next } = await this.#callTools(speaker, calls)
        this.#add(replyMessage(reply, argsSeen(calls, edited)))
        this.#add(resultsMessage(calls, outcomes))
        if (next !== undefined && this.#others?.has(next)) {
          this.leftTo = next
          return textOf(reply)
        }
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
    if (!this.#guards.some(({ agent }) => agent === core.name)) {
      const guard = new Guard(core.name, core.options.limits)
      this.#guards.push(guard)
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
    if (typeof history === "object" && history.kind === "summarise") {
      const caller = { core, guards: this.#guards, place: this.#place, signal: this.#signal }
      this.#add(await summaryOf(history, this.#messages, caller))
    }
    const chosen = chooseMessages(history, this.#messages)
    const reply = await modelTurn({
      core,
      guards: this.#guards,
      place: this.#place,
      signal: this.#signal,
      tools,
      prompt: system.concat(tools.offered === undefined ? toldAsText(chosen) : chosen),
      responseFormat: this.#core.output.responseFormat,
      number: ++this.#modelCalls,
      ids: this.#ids,
      secrets: this.#secrets,
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
        guards: this.#guards,
        secrets: this.#secrets,
        ctx,
        signal: this.#signal,
        path,
      },
      calls,
      this.#unknown,
    )
    this.#secrets.endCalls()
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
