/**
 * Hooks around the steps of an agent. Middleware is a list of hooks; the hooks in an agent's own options come first.
 *
 * W1 the combined decision of the hooks of one kind is one record: a resumed run makes the same request, byte for byte,
 *    and does not call the hooks again for a recorded step.
 * W2 without a hook of a kind there is no record.
 * W3 a hook that throws fails the task, like a handler.
 */
import { type Json, SuperstepError, type Usage } from "../core/index.ts"
import type { Message, ModelReply } from "../models/index.ts"
import type { AgentStep, Context } from "../runtime/index.ts"
import type { Tool } from "../tools/index.ts"
import { contentParts, maskArgs, type ToolOutcome, toJson } from "../tools/internal.ts"
import { inputMessages, readObject, type ToolCall, textOf, toolCallsOf } from "./conversation.ts"
import { asPlan, planProblem, type StepPlan } from "./step-plan.ts"

// biome-ignore lint/suspicious/noConfusingVoidType: a hook without a return statement decides nothing.
type Decided<T> = T | undefined | void | Promise<T | undefined | void>

/** What every hook receives. */
export interface HookInfo {
  readonly agent: string
  /** The number of this model call in the conversation, from 1. */
  readonly step: number
  /** The input of the task. */
  readonly input: unknown
  /** The previous steps. */
  readonly steps: readonly AgentStep[]
  readonly ctx: Context
}

export interface PrepareInfo extends HookInfo {
  /** The conversation so far. */
  readonly messages: readonly Message[]
  /** The names of the agent's tools. */
  readonly tools: readonly string[]
}

export interface RequestInfo extends HookInfo {
  /** The messages for the model, including its instructions. */
  readonly messages: readonly Message[]
}

/** Messages to send instead; or the text of a reply, without calling the model. */
export type BeforeModel = { readonly messages: readonly Message[] } | { readonly reply: string }

export interface ReplyInfo extends HookInfo {
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[]
  readonly finishReason: ModelReply["finish"]
  readonly model: string
  readonly usage: Usage
}

/** Text that replaces the model's; or a message for the model, which is called again. */
export type AfterModel = { readonly text: string } | { readonly retry: string }

export interface ToolCallInfo extends HookInfo {
  readonly tool: string
  readonly id: string
  /** The arguments as the model wrote them, with secrets masked. */
  readonly args: unknown
}

/**
 * Denies the call, makes it with other arguments, asks a person first, or answers it with this result without making it.
 */
export type OnToolCall =
  | { readonly deny: string }
  | { readonly args: object; readonly ask?: boolean | undefined }
  | { readonly ask: boolean }
  | { readonly result: unknown }

export interface ToolResultInfo extends ToolCallInfo {
  /** What the model would see: the result, or the message of a failure. */
  readonly result: Json
  readonly ok: boolean
}

/** A result that replaces the tool's; or text that is added to it. */
export type AfterToolCall = { readonly result: unknown } | { readonly note: string }

/** Instructions that follow the agent's own, for the whole task. */
export interface BeforeAgent {
  readonly instructions: string
}

/** How the agent's task ended. */
export type AgentEnd = { readonly answer: unknown } | { readonly error: unknown }

export interface Middleware {
  /** Called when the agent begins its task, or takes over a conversation. */
  readonly beforeAgent?: ((info: HookInfo) => Decided<BeforeAgent>) | undefined
  /**
   * Called when the task has an answer; that is recorded. Also called when it fails, unless the run is stopped: then nothing
   * is recorded, and an attempt that fails again calls it again.
   */
  readonly afterAgent?: ((info: HookInfo & { readonly end: AgentEnd }) => Decided<never>) | undefined
  /** Chooses the model, the tools and the instructions of a model call. */
  readonly prepareStep?: ((info: PrepareInfo) => Decided<StepPlan>) | undefined
  /** Called with the final request; may change its messages or answer it. */
  readonly beforeModel?: ((info: RequestInfo) => Decided<BeforeModel>) | undefined
  /** Called with the reply before anything else uses it; may change its text or call the model again. */
  readonly afterModel?: ((info: ReplyInfo) => Decided<AfterModel>) | undefined
  /** Decides on a tool call, before the approval rules. If it returns nothing, the call continues. */
  readonly onToolCall?: ((info: ToolCallInfo) => Decided<OnToolCall>) | undefined
  /** Called before a person is asked to approve a tool call. */
  readonly onAsk?: ((info: ToolCallInfo) => Decided<never>) | undefined
  /** Called with the result of a tool call; may change it. Hand-offs have none. */
  readonly afterToolCall?: ((info: ToolResultInfo) => Decided<AfterToolCall>) | undefined
}

type HookName = keyof Middleware

/** The options with hooks. */
export interface HookOptions extends Middleware {
  readonly middleware?: readonly Middleware[] | undefined
}

export function hooksOf(options: HookOptions & { readonly name: string }): Hooks | undefined {
  const all: readonly Middleware[] = [options, ...(options.middleware ?? [])]
  const used = all.filter((one) => HOOKS.some((name) => one[name] !== undefined))
  return used.length === 0 ? undefined : new Hooks(options.name, used)
}

const HOOKS: readonly HookName[] = [
  "beforeAgent",
  "prepareStep",
  "beforeModel",
  "afterModel",
  "onToolCall",
  "onAsk",
  "afterToolCall",
  "afterAgent",
]

/** The problem with an agent's hooks, or undefined. */
export function hooksProblem(options: HookOptions): string | undefined {
  const { middleware = [] } = options
  if (!Array.isArray(middleware)) return `middleware must be a list of { ${HOOKS.join(", ")} }`
  for (const one of [options, ...middleware] as readonly Middleware[]) {
    for (const name of HOOKS) {
      if (one[name] !== undefined && typeof one[name] !== "function") return `${name} must be a function`
    }
    if (one === options) continue
    const other = Object.keys(one).find((name) => !HOOKS.includes(name as HookName) && name !== "name")
    if (other !== undefined) return `middleware has no hook "${other}"; its hooks are ${HOOKS.join(", ")}`
  }
  return undefined
}

export class Hooks {
  readonly #agent: string
  readonly #all: readonly Middleware[]

  constructor(agent: string, all: readonly Middleware[]) {
    this.#agent = agent
    this.#all = all
  }

  /** Merges the plans; for each field, the last hook wins. */
  async prepareStep(info: PrepareInfo): Promise<StepPlan> {
    const decided = await this.#recorded("prepareStep", info, async () => {
      let plan: StepPlan = {}
      for (const hook of this.#hooks("prepareStep")) {
        const own = await hook(info)
        if (own === undefined || own === null) continue
        this.#check("prepareStep", planProblem(own))
        plan = { ...plan, ...own }
      }
      return plan
    })
    return asPlan(decided as Json)
  }

  /** Each hook receives the result of the previous one. The first that answers ends the chain. */
  async beforeModel(info: RequestInfo): Promise<BeforeModel | undefined> {
    return (await this.#recorded("beforeModel", info, async () => {
      let messages: readonly Message[] | undefined
      for (const hook of this.#hooks("beforeModel")) {
        const own = this.#object("beforeModel", await hook({ ...info, messages: messages ?? info.messages }))
        if (own === undefined) continue
        if ("reply" in own && typeof own.reply === "string") return own
        const isValid = "messages" in own && Array.isArray(own.messages)
        this.#check("beforeModel", isValid ? undefined : "it returns { messages } or { reply }, or nothing")
        messages = inputMessages(own)
      }
      return messages === undefined ? undefined : { messages }
    })) as BeforeModel | undefined
  }

  /** Each hook receives the result of the previous one. The first that retries ends the chain. */
  async afterModel(info: HookInfo, reply: ModelReply): Promise<AfterModel | undefined> {
    return (await this.#recorded("afterModel", info, async () => {
      const calls = toolCallsOf(reply).map(({ id, name, args }) => ({ id, name, args: readObject(args) }))
      let text: string | undefined
      for (const hook of this.#hooks("afterModel")) {
        const { finish: finishReason, model, usage } = reply
        const about = { ...info, text: text ?? textOf(reply), calls, finishReason, model, usage }
        const own = this.#object("afterModel", await hook(about))
        if (own === undefined) continue
        if ("retry" in own && typeof own.retry === "string") return own
        const isValid = "text" in own && typeof own.text === "string"
        this.#check("afterModel", isValid ? undefined : "it returns { text } or { retry }, or nothing")
        text = (own as { text: string }).text
      }
      return text === undefined ? undefined : { text }
    })) as AfterModel | undefined
  }

  /** Each hook receives the arguments that the previous one returned. The first that denies or answers ends the chain. */
  async onToolCall(
    info: HookInfo,
    tool: Tool,
    { id, args: written }: ToolCall,
  ): Promise<OnToolCall | undefined> {
    if (this.#hooks("onToolCall").length === 0) return undefined
    // Recorded once per call, independent of the order of parallel calls.
    return (await info.ctx.step(`onToolCall:${tool.name}:${id}`, async () => {
      let args: object | undefined
      let ask = false
      for (const hook of this.#hooks("onToolCall")) {
        const shown = args ?? maskArgs(readObject(written) as Json, tool.secret)
        const own = this.#object("onToolCall", await hook({ ...info, tool: tool.name, id, args: shown }))
        if (own === undefined) continue
        if ("deny" in own && typeof own.deny === "string") return own
        if ("result" in own) return { result: own.result ?? null }
        if ("ask" in own && own.ask === true) {
          ask = true
          if (!("args" in own)) continue
        }
        const isValid = "args" in own && typeof own.args === "object" && own.args !== null
        this.#check(
          "onToolCall",
          isValid ? undefined : "it returns { deny }, { args }, { ask } or { result }, or nothing",
        )
        args = this.#withoutSecrets(tool, (own as { args: object }).args)
      }
      if (args === undefined) return ask ? { ask } : null
      return { args, ...(ask && { ask }) }
    })) as OnToolCall | undefined
  }

  /** Called once for a call that a person must approve. */
  async onAsk(info: HookInfo, tool: Tool, { id, args: written }: ToolCall): Promise<void> {
    const hooks = this.#hooks("onAsk")
    if (hooks.length === 0) return
    await info.ctx.step(`onAsk:${tool.name}:${id}`, async () => {
      const args = maskArgs(readObject(written) as Json, tool.secret)
      for (const hook of hooks) await hook({ ...info, tool: tool.name, id, args })
      return null
    })
  }

  /** Each hook receives the result of the previous one. */
  async afterToolCall(
    info: HookInfo,
    tool: Tool,
    { id, args: written }: ToolCall,
    outcome: ToolOutcome,
  ): Promise<ToolOutcome> {
    const hooks = this.#hooks("afterToolCall")
    if (hooks.length === 0) return outcome
    return await info.ctx.step(`afterToolCall:${tool.name}:${id}`, async () => {
      const args = maskArgs(readObject(written) as Json, tool.secret)
      let seen = outcome
      for (const hook of hooks) {
        const result = seen.ok ? seen.value : seen.error.message
        const own = this.#object(
          "afterToolCall",
          await hook({ ...info, tool: tool.name, id, args, result, ok: seen.ok }),
        )
        if (own === undefined) continue
        if ("note" in own && typeof own.note === "string") seen = withNote(seen, own.note)
        else if ("result" in own) seen = { ok: true, value: toJson(own.result ?? null, tool.name) }
        else this.#check("afterToolCall", "it returns { result } or { note }, or nothing")
      }
      return seen
    })
  }

  /** The instructions of all hooks, in order. */
  async beforeAgent(info: HookInfo): Promise<string> {
    const hooks = this.#hooks("beforeAgent")
    if (hooks.length === 0) return ""
    return await info.ctx.step(`beforeAgent:${this.#agent}`, async () => {
      const parts: string[] = []
      for (const hook of hooks) {
        const own = this.#object("beforeAgent", await hook(info))
        if (own === undefined) continue
        const isValid = typeof own.instructions === "string"
        this.#check("beforeAgent", isValid ? undefined : "it returns { instructions }, or nothing")
        parts.push(own.instructions)
      }
      return parts.join("\n\n")
    })
  }

  async afterAgent(info: HookInfo, end: AgentEnd): Promise<void> {
    const hooks = this.#hooks("afterAgent")
    if (hooks.length === 0) return
    const callAll = async () => {
      for (const hook of hooks) await hook({ ...info, end })
      return null
    }
    // A task that fails records nothing more.
    await ("error" in end ? callAll() : info.ctx.step(`afterAgent:${this.#agent}`, callAll))
  }

  /** Decisions are recorded, so a hook cannot set a secret. */
  #withoutSecrets(tool: Tool, args: object): object {
    const masked = maskArgs(args as Json, tool.secret)
    const isSame = JSON.stringify(masked) === JSON.stringify(args)
    const names = (tool.secret ?? []).join(", ")
    this.#check(
      "onToolCall",
      isSame ? undefined : `it cannot set the secret arguments of "${tool.name}" (${names})`,
    )
    return args
  }

  async #recorded(name: HookName, { ctx }: HookInfo, decide: () => Promise<unknown>): Promise<unknown> {
    if (this.#hooks(name).length === 0) return undefined
    return (await ctx.step(name, decide)) ?? undefined
  }

  #hooks<Name extends HookName>(name: Name): NonNullable<Middleware[Name]>[] {
    return this.#all.flatMap((one) => {
      const hook = one[name] as ((info: never) => unknown) | undefined
      return hook === undefined
        ? []
        : [((info: never) => hook.call(one, info)) as NonNullable<Middleware[Name]>]
    })
  }

  // biome-ignore lint/suspicious/noConfusingVoidType: as above.
  #object<T>(hook: HookName, decided: T | undefined | void): T | undefined {
    if (decided === undefined || decided === null) return undefined
    this.#check(hook, typeof decided === "object" ? undefined : "it must return an object, or nothing")
    return decided as T
  }

  #check(hook: HookName, problem: string | undefined): void {
    if (problem === undefined) return
    const text = `${hook} of agent "${this.#agent}": ${problem}${problem.endsWith("?") ? "" : "."}`
    throw new SuperstepError("HOOK_INVALID", text, { retryable: false })
  }
}

/** A note at the end of a result, in a form that keeps files in it files. */
function withNote(outcome: ToolOutcome, note: string): ToolOutcome {
  if (!outcome.ok)
    return { ok: false, error: { ...outcome.error, message: `${outcome.error.message}\n${note}` } }
  const { value } = outcome
  if (typeof value === "string") return { ok: true, value: value === "" ? note : `${value}\n\n${note}` }
  if (contentParts(value) !== undefined) return { ok: true, value: [value, note].flat() as Json }
  return { ok: true, value: { result: value, note } }
}

/** The agents with hooks that take part in a conversation: each begins once, and all end with it. */
export class HookedVisits {
  readonly #all: { readonly hooks: Hooks; readonly info: HookInfo; readonly instructions: string }[] = []
  #hasEnded = false

  /** What the hooks add to the agent's instructions. */
  async begin(hooks: Hooks, info: HookInfo): Promise<string> {
    const before = this.#all.find((one) => one.hooks === hooks)
    if (before !== undefined) return before.instructions
    const instructions = await hooks.beforeAgent(info)
    this.#all.push({ hooks, info, instructions })
    return instructions
  }

  /** The first end counts: a hook that fails there is not called again. Undefined if there are no hooks to call. */
  end(end: AgentEnd): Promise<void> | undefined {
    if (this.#hasEnded) return undefined
    this.#hasEnded = true
    return this.#all.length === 0 ? undefined : this.#callAll(end)
  }

  async #callAll(end: AgentEnd): Promise<void> {
    for (const { hooks, info } of this.#all) {
      await hooks.afterAgent(info, end).catch((problem: unknown) => {
        if ("answer" in end) throw problem
        // The error of the task counts, not that of a hook.
        const reason = problem instanceof Error ? problem.message : String(problem)
        info.ctx.log("warn", `afterAgent of agent "${info.agent}" failed: ${reason}`)
      })
    }
  }
}
