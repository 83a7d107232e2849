/**
 * The loop of an agent: it calls the model, then tools, then the model again, until the model answers.
 *
 * L1 every finished model call and tool call is recorded, and is not made again after a crash or a retry.
 * L2 limits and budgets are checked before a call is made, not before one that is answered from the record.
 * L3 the conversation is derived from the input and the records: no part of it is recorded twice.
 * L4 a provider receives a valid history, even after a history policy or a hand-off.
 */
import { isSuperstepError, type Json, type NodeId, SuperstepError } from "../core/index.ts"
import type { Message } from "../models/index.ts"
import type { Deadline } from "../models/internal.ts"
import {
  type AgentReport,
  type AgentStep,
  type Channel,
  type Context,
  type LeftWork,
  leaveAtLimit,
  reportAgent,
} from "../runtime/index.ts"
import { andThen, isPromise, type MaybePromise } from "../runtime/internal.ts"
import type { ToolCallContext } from "../tools/index.ts"
import type { ToolOutcome } from "../tools/internal.ts"
import { type ActiveAgent, type Agent, type AgentCore, coreOf, type HandedOver } from "./agent-core.ts"
import { Guard, isLimit, limitReached, shouldStop } from "./agent-limits.ts"
import {
  checkFiles,
  lastSpeaker,
  reachableAgent,
  summaryOf,
  systemPrompt,
  withSpeaker,
} from "./agent-prompt.ts"
import { agentStep, fittingStep, reportOf, type StepReply, stepOf } from "./agent-step.ts"
import { changedCore } from "./changed-agent.ts"
import {
  callsOf,
  inputMessages,
  type PendingTurn,
  pendingMessages,
  replyMessage,
  resultsMessage,
  type ToolCall,
  textOf,
  toolCallsOf,
  userText,
  validHistory,
  visibleArgs,
} from "./conversation.ts"
import { checkAll, type GuardrailTrip, guardrailsOn, inParallel, inputText, Tripped } from "./guardrails.ts"
import type { TakeOver } from "./hand-off.ts"
import { HookedVisits } from "./middleware.ts"
import { FINAL_TOKENS } from "./model-step.ts"
import { Secrets, UnknownOutcomes } from "./secrets.ts"
import { type AgentScope, pathOf, type ToolTable, taskScope } from "./step-plan.ts"
import { AnswerReader } from "./structured-output.ts"
import { toolTurn } from "./tool-turn.ts"
import { traceAgent, tracedTakeOver } from "./traced-calls.ts"

const MAX_DEPTH = 16

/**
 * Runs the agent as a node. Continues its stored conversation, if it has one. The answer is undefined if a guardrail sent
 * its trip to another node.
 */
export function runAgent(core: AgentCore, input: unknown, ctx: Context): Promise<unknown> {
  return traceAgent(core, ctx, async (inside) => {
    const { messages: channel } = core.options
    const before = channel === undefined ? [] : validHistory(inside.state.get(channel))
    const conversation = new AgentConversation(core, input, taskScope(inside), before)
    const writes = (): LeftWork["writes"] =>
      channel === undefined ? [] : [[channel.key, newMessages(core, conversation, before)]]
    const send = (trip: GuardrailTrip, to: NodeId) => inside.send(trip, { to })
    const answer = await withReport(conversation, inside, writes, send)
    if (channel !== undefined) inside.state.write(channel, newMessages(core, conversation, before))
    return answer
  })
}

/** Returns the answer, and adds the agent's report to the result of the run, even if there is no answer. */
async function withReport(
  conversation: AgentConversation,
  ctx: Context,
  writes: (unfinished: Unfinished) => LeftWork["writes"],
  send?: (trip: GuardrailTrip, to: NodeId) => void,
): Promise<unknown> {
  leaveAtLimit(ctx, (error) => {
    const notice = conversation.unfinished(error)
    return { notice, writes: writes(notice) }
  })
  try {
    return await conversation.answer(send)
  } finally {
    reportAgent(ctx, conversation.report())
  }
}

/** What a task adds to its stored conversation; marked with the last speaker, if another agent took over. */
function newMessages(
  { name, options }: AgentCore,
  { added, lastAgent }: AgentConversation,
  before: readonly Message[],
) {
  if (options.continueWith !== "last") return added
  const isAsBefore = lastAgent === (lastSpeaker(before) ?? name)
  return isAsBefore ? added : withSpeaker(added, lastAgent)
}

/** The progress of an agent when a limit ended its work. */
export interface Unfinished {
  readonly agent: string
  readonly messages: readonly Message[]
  /** Its last text. */
  readonly answer?: string
  readonly limit?: string
}

/** The result of an agent's turn in a conversation that its caller keeps. */
export interface Part {
  /** Its answer, or its text if it handed over. */
  readonly answer: unknown
  /** The agent that continues. */
  readonly to: Agent | undefined
}

/**
 * Runs the agent as one of several in a conversation that the caller keeps, until it answers or hands over to one of
 * `others`. At a limit, `unfinished` receives its progress.
 */
export function runPart(
  core: AgentCore,
  input: unknown,
  ctx: Context,
  others: ReadonlySet<Agent>,
  unfinished: Channel<unknown, readonly Unfinished[]>,
): Promise<Part> {
  return traceAgent(core, ctx, async (inside) => {
    const conversation = new AgentConversation(core, input, taskScope(inside), [], others)
    const answer = await withReport(conversation, inside, ({ limit: _, ...part }) => [
      [unfinished.key, [part]],
    ])
    return { answer, to: conversation.handedTo }
  })
}

/** Runs the agent as a tool, in a conversation of its own. */
export async function runNested(core: AgentCore, input: unknown, call: ToolCallContext): Promise<unknown> {
  const { ctx, signal } = call
  const path = pathOf(call)
  if (path.split("/").length > MAX_DEPTH) {
    const text = `Agents that delegate tasks: "${core.name}" would be nested ${MAX_DEPTH} levels deep. Do the task here.`
    throw new SuperstepError("AGENT_DEPTH", text, { retryable: false })
  }
  return await traceAgent(core, ctx, async (inside) => {
    const conversation = new AgentConversation(core, input, { ctx: inside, signal, path, isNested: true }, [])
    const end = leaveAtLimit(inside, (error) => ({ notice: conversation.unfinished(error) }))
    try {
      const answer = await conversation.answer()
      end()
      return answer
    } catch (error) {
      // The agent's own limit is a result for its caller. Any other limit ends the task, which then reports all its
      // unfinished work.
      const isOwn = isSuperstepError(error, "AGENT_LIMIT") && !signal.aborted
      if (isOwn || !isLimit(error)) end()
      throw isOwn ? withLastText(error, conversation) : error
    }
  })
}

/** Adds the agent's last text to the error of its own limit, for the agent that called it. */
function withLastText(error: SuperstepError, conversation: AgentConversation): SuperstepError {
  const { answer } = conversation.unfinished(error)
  if (answer === undefined || conversation.isGuarded) return error
  const text = `${error.message} Its last text: ${answer}`
  return new SuperstepError(error.code, text, { limit: true, retryable: false })
}

interface Speaker extends ActiveAgent {
  readonly system: readonly Message[]
}

/** One conversation, from an input to its answer. */
class AgentConversation {
  readonly #core: AgentCore
  readonly #input: unknown
  readonly #scope: AgentScope
  readonly #others: ReadonlySet<Agent> | undefined
  readonly #guards: Guard[] = []
  readonly #deadlines: Deadline[] = []
  readonly #ids = new Set<string>()
  readonly #secrets = new Secrets()
  readonly #unknown = new UnknownOutcomes()
  readonly #reader: AnswerReader
  readonly #messages: Message[]
  readonly #steps: AgentStep[] = []
  /** Agents that have called a tool: their `toolChoice` no longer applies. */
  readonly #hasCalled = new Set<string>()
  #modelCalls = 0
  /** Input guardrails that have passed: `false` for those before the first model call, `true` for the parallel ones. */
  readonly #cleared: boolean[] = []
  readonly #visits = new HookedVisits()
  /** Tools that end with the conversation. */
  readonly #opened: ToolTable[] = []
  /** The agent whose turn it is. */
  #speaker: Speaker | undefined
  /** The context of the first agent, and the span of the one that took over. */
  readonly #ctx: Context
  #takenOver: ReturnType<typeof tracedTakeOver>
  /** The maximum number of tokens of the conversation, after the model has rejected a longer one. */
  #tokens: number | undefined
  readonly #added: Message[] = []
  #pending: PendingTurn | undefined
  /** The agent that continues the conversation outside this task. */
  handedTo: Agent | undefined
  /** The current or last speaker. */
  lastAgent: string

  constructor(
    core: AgentCore,
    input: unknown,
    scope: AgentScope,
    before: readonly Message[],
    others?: ReadonlySet<Agent>,
  ) {
    this.#core = core
    this.lastAgent = core.name
    this.#reader = new AnswerReader(core)
    this.#input = input
    this.#scope = scope
    this.#ctx = scope.ctx
    this.#others = others
    this.#messages = [...before]
    for (const message of inputMessages(input)) this.#add(message)
    for (const message of this.#messages) for (const id of callsOf(message)) this.#ids.add(id)
  }

  /** What this task adds to the conversation. */
  get added(): readonly Message[] {
    return [...this.#added, ...pendingMessages(this.#pending)]
  }

  report(): AgentReport {
    return reportOf(this.#core.name, this.lastAgent, this.#steps, this.added)
  }

  /** `send` sends the trip of a guardrail to another node, if that is possible. */
  answer(send?: (trip: GuardrailTrip, to: NodeId) => void): Promise<unknown> {
    return this.#answered(send).then(
      (answer) => andThen(this.#visits.end({ answer }), () => answer),
      async (error: unknown) => {
        if (!this.#ctx.signal.aborted) await this.#visits.end({ error })
        throw error
      },
    )
  }

  async #answered(send?: (trip: GuardrailTrip, to: NodeId) => void): Promise<unknown> {
    try {
      const answer = await this.#loop()
      this.#takenOver?.end()
      return answer
    } catch (error) {
      this.#takenOver?.end(error)
      if (!(error instanceof Tripped) || error.onTrip === "fail") throw error
      const { trip, onTrip } = error
      if ("answer" in onTrip) return await this.#answerWith(onTrip.answer, trip)
      if (send === undefined) throw error
      send(trip, onTrip.to)
      return undefined
    } finally {
      for (const deadline of this.#deadlines) deadline.close()
      for (const { end } of this.#opened) await end?.()
    }
  }

  /** The fixed answer of a guardrail that tripped. */
  async #answerWith(answer: Json, { guardrail }: GuardrailTrip): Promise<unknown> {
    const text = typeof answer === "string" ? answer : JSON.stringify(answer)
    this.#add({ role: "assistant", content: [{ type: "text", text }] })
    return await this.#reader.readFinal(answer, `guardrail "${guardrail}"`, this.#core)
  }

  /** Whether guardrails check the answers of its agents. */
  get isGuarded(): boolean {
    const cores = [this.#core, ...(this.#speaker === undefined ? [] : [this.#speaker.core])]
    return cores.some(({ options }) => guardrailsOn(options.guardrails, "output").length > 0)
  }

  /** The progress so far, for the node of a limit route. */
  unfinished(error: unknown): Unfinished {
    const messages = [...this.#messages, ...pendingMessages(this.#pending)]
    const said = messages.findLast(({ role }) => role === "assistant")
    const answer = said === undefined ? "" : textIn(said)
    const limit = limitReached(error)
    return {
      agent: this.lastAgent,
      messages,
      ...(answer === "" ? {} : { answer }),
      ...(limit === undefined ? {} : { limit }),
    }
  }

  #loop(): Promise<unknown> {
    const { signal } = this.#scope
    return this.#turns().catch((error: unknown) => {
      const speaker = this.#speaker
      const isWanted = speaker?.core.options.onLimit === "answer" && isLimit(error) && !signal.aborted
      if (!isWanted || speaker === undefined) throw error
      this.#scope.signal = signal
      return this.#finalAnswer(speaker, error)
    })
  }

  /** Asks the model for a final answer at a limit, without tools. If that is not possible, throws the limit error. */
  async #finalAnswer(speaker: Speaker, limit: SuperstepError): Promise<unknown> {
    const { core } = speaker
    for (const guard of this.#guards) {
      const deadline = guard.finalDeadline(this.#scope.ctx, this.#scope.signal)
      if (deadline === undefined) continue
      this.#deadlines.push(deadline)
      this.#scope.signal = deadline.signal
    }
    const { maxOutputTokens = FINAL_TOKENS } = core.options.settings ?? {}
    const tools = { ...speaker.tools, byName: new Map(), offered: undefined }
    try {
      // The limit was reached before the first reply, possibly before the verdicts on the input.
      for (const parallel of this.#steps.length === 0 ? [false, true] : [])
        if (!this.#cleared.includes(parallel)) await this.#checkInput(parallel)
      const { reply } = await agentStep(
        { ...speaker, tools },
        {
          system: speaker.system,
          messages: [...this.#messages, userText(FINAL)],
          responseFormat: this.#reader.formatOf(core).responseFormat,
          toolChoice: undefined,
          number: this.#steps.length + 1,
          asked: this.#modelCalls,
          ids: this.#ids,
          tokens: this.#tokens,
          final: { maxOutputTokens: Math.min(FINAL_TOKENS, maxOutputTokens) },
        },
      )
      this.#steps.push(stepOf(core.name, reply, [], []))
      this.#add(replyMessage(reply))
      const answer = await this.#reader.read(reply, core)
      if ("value" in answer) return await this.#checked(speaker, answer.value)
    } catch (error) {
      if (!isLimit(error)) throw error
    }
    throw limit
  }

  async #turns(): Promise<unknown> {
    const reader = this.#reader
    const checked = checkFiles(this.#core, this.#input)
    if (checked !== undefined) await checked
    const entered = this.#enter(this.#first())
    let speaker = isPromise(entered) ? await entered : entered
    if (this.#core.options.guardrails !== undefined) await this.#checkInput(false)
    for (;;) {
      for (const guard of this.#guards) guard.turn()
      const isGuarded = this.#steps.length === 0 && this.#core.options.guardrails !== undefined
      const asked = isGuarded ? this.#guarded(() => this.#ask(speaker)) : this.#ask(speaker)
      const { reply, active, retry } = await asked
      const calls = toolCallsOf(reply)
      if (retry !== undefined) {
        this.#secrets.endCalls()
        this.#steps.push(stepOf(speaker.core.name, reply, [], []))
        for (const message of retry) this.#add(message)
        continue
      }
      if (calls.length > 0) {
        const made: (ToolOutcome | undefined)[] = calls.map(() => undefined)
        this.#pending = { reply, outcomes: made }
        const { outcomes, edited, next, limit } = await toolTurn(active, calls, this.#unknown, made)
        this.#pending = undefined
        this.#hasCalled.add(speaker.core.name)
        this.#secrets.endCalls()
        this.#steps.push(stepOf(speaker.core.name, reply, calls, outcomes))
        this.#add(replyMessage(reply, visibleArgs(calls, edited)))
        this.#add(resultsMessage(calls, outcomes))
        if (limit !== undefined) throw limit
        if (next !== undefined && this.#others?.has(next.agent)) {
          // The other agents see its text from the hand-off.
          const said = textOf(reply)
          if (said !== "") await this.#checked(speaker, said)
          this.handedTo = next.agent
          return said
        }
        const direct = directResult(active, calls, outcomes)
        if (direct !== undefined) {
          const answer = await reader.readFinal(direct.value, `tool "${direct.tool}"`, speaker.core)
          return await this.#checked(speaker, answer)
        }
        const { stopWhen } = speaker.core.options
        if (next !== undefined) speaker = await this.#handOver(speaker, next)
        else if (stopWhen && (await shouldStop(stopWhen, speaker.about(this.#steps.length)))) {
          return await this.#checked(speaker, await reader.readFinal(textOf(reply), "stopWhen", speaker.core))
        }
        continue
      }
      this.#steps.push(stepOf(speaker.core.name, reply, [], []))
      this.#add(replyMessage(reply))
      const reading = reader.read(reply, speaker.core)
      const answer = isPromise(reading) ? await reading : reading
      if ("value" in answer) return this.#checked(speaker, answer.value)
      this.#add(answer.repair)
    }
  }

  /** Runs the input guardrails: those before the first model call, or the parallel ones. */
  async #checkInput(parallel: boolean): Promise<void> {
    const { name: agent, options } = this.#core
    const guardrails = guardrailsOn(options.guardrails, "input")
    const due = guardrails.filter((one) => (one.parallel ?? false) === parallel)
    if (due.length === 0) return
    const subject = { agent, text: inputText(inputMessages(this.#input)), value: this.#input }
    await checkAll(this.#scope, due, subject)
    this.#cleared.push(parallel)
  }

  /** Makes the first model call in parallel with its guardrails; later calls have none. */
  async #guarded<T>(ask: () => Promise<T>): Promise<T> {
    const { guardrails } = this.#core.options
    if (!guardrailsOn(guardrails, "input").some(({ parallel }) => parallel)) return await ask()
    const { signal } = this.#scope
    try {
      return await inParallel(
        () => this.#checkInput(true),
        signal,
        (either) => {
          this.#scope.signal = either
          return ask()
        },
      )
    } finally {
      this.#scope.signal = signal
    }
  }

  /** Returns the answer after it has passed the guardrails of the first agent and of the one that answered. */
  #checked({ core }: Speaker, value: unknown): unknown {
    return this.isGuarded ? this.#guardAnswer(core, value) : value
  }

  async #guardAnswer(core: AgentCore, value: unknown): Promise<unknown> {
    for (const { name: agent, options } of new Set([this.#core, core])) {
      const guardrails = guardrailsOn(options.guardrails, "output")
      if (guardrails.length === 0) continue
      const text = typeof value === "string" ? value : JSON.stringify(value)
      await checkAll(this.#scope, guardrails, { agent, text, value })
    }
    return value
  }

  /** Starts an agent's turn, with its own instructions and tools, and under its own limits too. */
  #enter(entered: AgentCore, handoff?: HandedOver): MaybePromise<Speaker> {
    const { ctx } = this.#scope
    const core = changedCore(entered, ctx)
    const opened = andThen(this.#limit(core), () => core.tools(ctx, this.#input))
    return andThen(opened, (tools) => this.#begin(core, tools, handoff))
  }

  /** Undefined if nothing has to be recorded for the agent's limits. */
  #limit(core: AgentCore): Promise<void> | undefined {
    if (this.#guards.some(({ agent }) => agent === core.name)) return undefined
    const { limits, budget, onLimit } = core.options
    const guard = new Guard(core.name, limits, budget, onLimit === "answer")
    this.#guards.push(guard)
    return guard.begin(this.#scope.ctx, this.#scope.signal)?.then((deadline) => {
      this.#deadlines.push(deadline)
      this.#scope.signal = deadline.signal
    })
  }

  #begin(core: AgentCore, tools: ToolTable, handoff: HandedOver | undefined): MaybePromise<Speaker> {
    const { ctx } = this.#scope
    if (tools.end !== undefined) this.#opened.push(tools)
    const about = (step: number) => ({ agent: core.name, step, input: this.#input, steps: this.#steps, ctx })
    const more = core.hooks === undefined ? "" : this.#visits.begin(core.hooks, about(0))
    const prompt = andThen(more, (text) => systemPrompt(core, tools, this.#input, ctx, text, handoff))
    return andThen(prompt, (system) => {
      const speaker: Speaker = {
        core,
        tools,
        system,
        scope: this.#scope,
        guards: this.#guards,
        secrets: this.#secrets,
        about,
      }
      this.#speaker = speaker
      return speaker
    })
  }

  /** The agent of this node; or, with `continueWith: "last"`, the one that spoke last in the thread. */
  #first(): AgentCore {
    const last = this.#core.options.continueWith === "last" ? lastSpeaker(this.#messages) : undefined
    const found = last === undefined ? this.#core : reachableAgent(this.#core, last)
    if (found !== undefined) {
      this.lastAgent = found.name
      return found
    }
    this.#ctx.log("warn", `"${last}" spoke last, and "${this.#core.name}" no longer has a hand-off to it.`)
    return this.#core
  }

  async #handOver({ core: { name: from } }: Speaker, { agent, filter, payload }: TakeOver): Promise<Speaker> {
    const core = coreOf(agent)
    const handoff: HandedOver = { from, payload }
    this.#scope.ctx.emit("agent.handoff", { from, to: core.name })
    this.lastAgent = core.name
    if (filter !== undefined) {
      const seen = validHistory(filter([...this.#messages], handoff))
      this.#messages.splice(0, this.#messages.length, ...seen)
    }
    this.#takenOver?.end()
    this.#takenOver = tracedTakeOver(core, this.#ctx)
    this.#scope.ctx = this.#takenOver?.ctx ?? this.#ctx
    return await this.#enter(core, handoff)
  }

  #ask(speaker: Speaker): Promise<StepReply> {
    const { history } = speaker.core.options
    if (typeof history !== "object" || history.kind !== "summarise") return this.#step(speaker)
    return summaryOf(history, this.#messages, speaker).then((summary) => {
      this.#add(summary)
      return this.#step(speaker)
    })
  }

  #step(speaker: Speaker): Promise<StepReply> {
    const { core, system } = speaker
    const { history, toolChoice } = core.options
    const isFollowed = this.#hasCalled.has(core.name) && toolChoice !== "none"
    const request = {
      system,
      messages: this.#messages,
      responseFormat: this.#reader.formatOf(core).responseFormat,
      toolChoice: isFollowed ? undefined : toolChoice,
      number: this.#steps.length + 1,
      asked: this.#modelCalls,
      ids: this.#ids,
      tokens: this.#tokens,
    }
    const compact = async () => {
      if (typeof history === "object" && history.kind === "summarise")
        this.#add(await summaryOf(history, this.#messages, speaker, true))
      return this.#messages
    }
    return fittingStep(speaker, request, compact).then((asked) => {
      this.#tokens = asked.tokens
      this.#modelCalls += asked.asked
      for (const { id } of toolCallsOf(asked.reply)) this.#ids.add(id)
      return asked
    })
  }

  #add(message: Message | undefined): void {
    if (message === undefined) return
    this.#messages.push(message)
    if (message.role !== "system") this.#added.push(message)
  }
}

/** The first result of the turn that is the agent's answer (`returnDirect`). */
function directResult(
  { tools }: ActiveAgent,
  calls: readonly ToolCall[],
  outcomes: readonly ToolOutcome[],
): { readonly value: Json; readonly tool: string } | undefined {
  for (const [i, { name: tool }] of calls.entries()) {
    const outcome = outcomes[i]
    if (outcome?.ok && tools.byName.get(tool)?.returnDirect === true) return { value: outcome.value, tool }
  }
  return undefined
}

const FINAL =
  "You have reached a limit, and cannot call tools any more. Answer now, with what you know. Say what is missing."

/** The text of a message, without reasoning and calls. */
function textIn({ content }: Message): string {
  if (typeof content === "string") return content
  return content.map((part) => (part.type === "text" ? part.text : "")).join("")
}
