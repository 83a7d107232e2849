/** `tool(…)`: creates a tool for agents from a function and a schema of its arguments. */
import { type Json, jsonProblem, printJsonProblem, type RetryPolicy, SuperstepError } from "../core/index.ts"
import { type Context, jsonSchemaOf, type Schema } from "../runtime/index.ts"
import { type Validated, validate } from "../runtime/internal.ts"
import { type Approval, type ApprovalRules, type ApprovalVerdict, checkApproval } from "./approval.ts"
import type { FilePart } from "./file-part.ts"
import { matchesWord } from "./glob.ts"
import { jsonSchema } from "./json-schema.ts"
import { schemaProblems } from "./schema-limits.ts"

/** A tool of an agent. Its arguments are checked before it runs. */
declare const needs: unique symbol

/** `Needs` is the type of the run's `context` that the tool reads; `unknown` if it reads none. */
export interface Tool<in Needs = unknown> {
  /** For the compiler alone. */
  readonly [needs]?: (context: Needs) => void
  readonly name: string
  readonly description: string
  /** JSON Schema of its arguments, as the model sees it. */
  readonly parameters: Json
  /** Parses the arguments that the model wrote, or returns why they are invalid. */
  parse(args: unknown): ParsedArgs | Promise<ParsedArgs>
  readonly approval?: Approval | undefined
  /** The maximum number of milliseconds per attempt; waiting for a person, a timer or a workflow does not count. */
  readonly timeout?: number | undefined
  readonly retry?: RetryPolicy | undefined
  /** Whether running it twice is harmless: a call that a crash interrupted is made again without approval. */
  readonly idempotent?: boolean | undefined
  /**
   * Whether it records its own operations through `ctx` (`ask`, `step`, `call`). Such a tool is not a single step: after
   * a restart it runs again, and its operations are answered from the record. The run can be unloaded while it waits.
   */
  readonly durable?: boolean | undefined
  /** The definition of a provider tool, which replaces the description and the parameters. */
  readonly provider?:
    | { readonly id: `${string}.${string}`; readonly args: { readonly [key: string]: Json } }
    | undefined
  /** Whether its result is the agent's answer; the model does not see it. */
  readonly returnDirect?: boolean | undefined
  /** Whether the model sees it only after it has searched and added it, with `search_tool` and `add_tool`. */
  readonly deferred?: boolean | undefined
  /** The model that reads its results: a name from the agent's `models`, or `provider/model`. Default: the agent's own. */
  readonly model?: string | undefined
  /** Whether its failure fails the task. The failure of any other tool is a result for the model. */
  readonly fatal?: boolean | undefined
  /** Names of arguments, at any depth, that must not be journaled, logged or shown. */
  readonly secret?: readonly string[] | undefined
  run(args: never, call: ToolCallContext): unknown
}

export type ParsedArgs =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly reason: string }

export interface ToolCallContext<Needs = unknown> {
  /** The id that the model chose for the call. */
  readonly id: string
  readonly agent: string
  readonly tool: string
  /** Aborted when the task is stopped or the tool's time is up. */
  readonly signal: AbortSignal
  /** The same when the call is made again after a crash or a retry. */
  readonly idempotencyKey: string
  /** Sends a `tool.progress` event to watchers. Not recorded. */
  progress(data: unknown): void
  /** What was passed as `context` to `run` or `resume`. Throws CONTEXT_MISSING without one. */
  readonly context: Needs
  /** The context of the agent's node: `ask`, `sleep`, `step`, `call`, `state`, `emit`, `log`, … */
  readonly ctx: Context
  /**
   * Calls the agent's model, without its conversation: for a `durable` tool. The call is recorded, and counts against the
   * budget of the run and the limits of the agent. Absent outside of an agent.
   */
  generate?(request: GenerateRequest): Promise<Generated>
}

/** What a tool asks the agent's model. */
export interface GenerateRequest {
  readonly messages: readonly {
    readonly role: "user" | "assistant"
    readonly content: readonly (FilePart | { readonly type: "text"; readonly text: string })[]
  }[]
  readonly instructions?: string | undefined
  readonly maxOutputTokens?: number | undefined
  readonly temperature?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
}

export interface Generated {
  readonly text: string
  /** The name of the model that answered. */
  readonly model: string
  /** `stop`, `length`, `content-filter`, … */
  readonly finish: string
}

/** Several tools with shared instructions and resources. */
export interface Toolset {
  readonly name: string
  /** Called once per task of an agent, before its first model call. */
  tools(ctx: Context): readonly Tool[] | Promise<readonly Tool[]>
  /** Added to the agent's own instructions. */
  readonly instructions?: string | undefined
  /** Called when a task of an agent ends, with the context that `tools` received. */
  taskEnded?(ctx: Context): Promise<void> | void
  close?(): Promise<void> | void
}

type SharedOptions =
  | "timeout"
  | "retry"
  | "idempotent"
  | "durable"
  | "fatal"
  | "secret"
  | "returnDirect"
  | "deferred"
  | "model"

export interface ToolOptions<Args, Needs = unknown> extends Pick<Tool, SharedOptions> {
  /** Letters, digits, `_` and `-`, at most 64: what every provider accepts. */
  readonly name: string
  /** What the tool does and when to use it: the model uses it to decide. */
  readonly description: string
  /** A Standard Schema of its arguments, or a JSON Schema. Default: no arguments. */
  readonly input?: Schema<Args> | { readonly jsonSchema: Json } | undefined
  /** The JSON Schema for the model, if the library of `input` cannot produce one. */
  readonly parameters?: Json | undefined
  /**
   * An async generator yields its progress and returns its result.
   *
   * A tool that reads the run's context declares it in the type of its call: `(args, { context }:
   * ToolCallContext<Deps>)`.
   */
  readonly run: (args: Args, call: ToolCallContext<Needs>) => unknown
  readonly approval?: "always" | "never" | ApprovalRules | ApprovalFunction<Args>["verdict"] | undefined
}

interface ApprovalFunction<Args> {
  // A method, so that a toolset can pass on an `Approval` independent of its tools' arguments.
  verdict(
    args: Args,
    call: { readonly tool: string; readonly agent: string },
  ): ApprovalVerdict | Promise<ApprovalVerdict>
}

// biome-ignore lint/suspicious/noExplicitAny: a function without a parameter type takes anything, as in plain TypeScript.
export function tool<Args = any, Needs = unknown>(options: ToolOptions<Args, Needs>): Tool<Needs> {
  const { name, description, input, parameters, run, ...policies } = options
  const unusable = toolNameProblem(name)
  if (unusable !== undefined) throw new SuperstepError("TOOL_INVALID", unusable)
  const refuse = (reason: string) => new SuperstepError("TOOL_INVALID", `Tool "${name}": ${reason}`)
  if (typeof description !== "string" || description.trim() === "") {
    throw refuse("set a description; the model uses it to decide when to call the tool.")
  }
  if (typeof run !== "function") throw refuse("set run(args, call), the function to execute.")
  checkPolicies(policies, refuse)
  const schema = schemaOf(input, refuse)
  const made = {
    name,
    description,
    parameters: objectSchema(parameters ?? jsonSchemaOf(schema, "input"), refuse),
    ...policies,
    parse: (args: unknown) => parse(schema, args),
    run,
  }
  return Object.freeze(made) as unknown as Tool<Needs>
}

/** The input of a tool that takes exactly these properties, for tools without a schema library. */
export function objectInput(
  properties: Readonly<Record<string, Json>>,
  required: readonly string[] = [],
): { readonly jsonSchema: Json } {
  return { jsonSchema: { type: "object", properties, required, additionalProperties: false } }
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/

/** The problem with the name of a tool, or undefined. */
function toolNameProblem(name: unknown): string | undefined {
  if (typeof name === "string" && NAME.test(name)) return undefined
  return `Invalid tool name ${JSON.stringify(name) ?? "undefined"}: use at most 64 letters, digits, "_" and "-".`
}

function checkPolicies(
  { timeout, retry, secret, approval }: Partial<Tool>,
  refuse: (reason: string) => Error,
): void {
  if (timeout !== undefined && !(Number.isFinite(timeout) && timeout > 0)) {
    throw refuse(`timeout must be a number of milliseconds above 0, not ${timeout}.`)
  }
  if (retry !== undefined && !(Number.isInteger(retry.attempts) && retry.attempts >= 1)) {
    throw refuse(`retry.attempts must be a whole number of at least 1, not ${retry.attempts}.`)
  }
  if (secret !== undefined && !(Array.isArray(secret) && secret.every((one) => typeof one === "string"))) {
    throw refuse("secret must be a list of argument names.")
  }
  const problem = approval === undefined ? undefined : checkApproval(approval)
  if (problem !== undefined) throw refuse(problem)
}

function schemaOf(input: ToolOptions<unknown>["input"], refuse: (reason: string) => Error): Schema {
  if (input === undefined) return jsonSchema(objectInput({}).jsonSchema)
  if ("~standard" in input) return input
  if (!("jsonSchema" in input)) {
    throw refuse("input must be a Standard Schema (zod, valibot, arktype, …) or { jsonSchema }.")
  }
  const problem = jsonProblem(input.jsonSchema)
  if (problem !== undefined) throw refuse(`input.jsonSchema is not plain JSON: ${printJsonProblem(problem)}.`)
  const [refused] = schemaProblems(input.jsonSchema)
  if (refused === undefined) return jsonSchema(input.jsonSchema)
  throw refuse(`${["input.jsonSchema", ...refused.path].join(".")}: ${refused.message}.`)
}

/** Providers accept only objects as arguments. */
function objectSchema(schema: Json | undefined, refuse: (reason: string) => Error): Json {
  if (schema === undefined) {
    throw refuse("the library of its input schema does not provide JSON Schema; pass it as `parameters`.")
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw refuse("its arguments must be described by an object schema.")
  }
  const { $schema: _, ...rest } = schema as { readonly [key: string]: Json | undefined }
  if (rest.type === undefined || rest.type === "object") return { ...rest, type: "object" }
  throw refuse(
    `its arguments must be an object, not ${JSON.stringify(rest.type)}; put the value under a name.`,
  )
}

function parse(schema: Schema, args: unknown): ParsedArgs | Promise<ParsedArgs> {
  const problem = jsonProblem(args)
  if (problem !== undefined) return { ok: false, reason: printJsonProblem(problem) }
  try {
    const checked = validate(schema, args)
    return checked instanceof Promise ? checked.then(toParsed, uncheckable) : toParsed(checked)
  } catch (error) {
    return uncheckable(error)
  }
}

function toParsed(checked: Validated): ParsedArgs {
  return checked.ok ? { ok: true, args: checked.value } : checked
}

/** A schema that throws is reported to the model like one that refuses: the tool is not run, and the agent continues. */
function uncheckable(error: unknown): ParsedArgs {
  const reason = error instanceof Error ? error.message : String(error)
  return { ok: false, reason: `they could not be checked: ${reason}` }
}

export interface ToolsetChanges {
  /** Names of the tools to keep, with `*`. Default: all. */
  readonly tools?: readonly string[] | undefined
  /** Instructions to use instead; `{ORIGINAL_INSTRUCTIONS}` is replaced by the toolset's own. */
  readonly instructions?: string | undefined
  /** The tools that the model sees only after it has searched and added them: true for all, or their names, with `*`. */
  readonly defer?: true | readonly string[] | undefined
  /** The model that reads the results of its tools. */
  readonly model?: string | undefined
}

const ORIGINAL = "{ORIGINAL_INSTRUCTIONS}"

/** A toolset with fewer tools, with other instructions, with deferred tools, or with a model for its results. */
export function toolsetWith(changed: Toolset | Tool, changes: ToolsetChanges): Toolset {
  const toolset: Toolset = "run" in changed ? { name: changed.name, tools: () => [changed] } : changed
  const { tools: names, instructions, defer = [], model } = changes
  const isDeferred = (name: string) => defer === true || defer.some((pattern) => matchesWord(pattern, name))
  const withChanges = (one: Tool): Tool => {
    const deferred = isDeferred(one.name)
    return deferred || model !== undefined
      ? { ...one, ...(deferred && { deferred }), ...(model && { model }) }
      : one
  }
  return {
    name: toolset.name,
    // A getter, because some toolsets load their instructions from a server.
    get instructions() {
      return instructions?.replaceAll(ORIGINAL, () => toolset.instructions ?? "") ?? toolset.instructions
    },
    async tools(ctx) {
      const all = (await toolset.tools(ctx)).map(withChanges)
      if (names === undefined) return all
      const unused = names.filter((pattern) => !all.some(({ name }) => matchesWord(pattern, name)))
      for (const pattern of unused) ctx.log("warn", `"${pattern}" matches no tool of "${toolset.name}".`)
      return all.filter(({ name }) => names.some((pattern) => matchesWord(pattern, name)))
    },
    ...(toolset.taskEnded && { taskEnded: (ctx: Context) => toolset.taskEnded?.(ctx) }),
    ...(toolset.close && { close: () => toolset.close?.() }),
  }
}

// Tools that a provider defines: web search, code execution, computer use. Most run at the provider, and their results
// are part of the model's reply. Others, such as computer use, are described by the provider and run here.

/** A tool from a provider's package: `openai.tools.webSearch()`, `anthropic.tools.computer_20250124({ … })`. */
export interface ProviderDefinition {
  /** Always `provider`; the type in the packages is less specific. */
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly args?: unknown
}

export interface ProviderToolOptions
  extends Pick<ToolOptions<unknown>, "timeout" | "retry" | "idempotent" | "fatal"> {
  /** Default: derived from its id, such as `web_search`. Models call tools that run here by this name. */
  readonly name?: string | undefined
  readonly approval?: Tool["approval"]
  /** Runs the tool in this process. Default: it runs at the provider. */
  readonly run?: ((args: never, call: ToolCallContext) => unknown) | undefined
}

export function providerTool(definition: ProviderDefinition, options: ProviderToolOptions = {}): Tool {
  const { id, args = {} } = definition
  const { name = nameOf(String(id)), run, ...policies } = options
  const refuse = (reason: string) => new SuperstepError("TOOL_INVALID", `Tool "${name}": ${reason}`)
  if (definition.type !== "provider" || typeof id !== "string" || !/^[^.]+\..+$/.test(id)) {
    throw refuse("pass a tool from a provider's package, such as openai.tools.webSearch().")
  }
  const problem = toolNameProblem(name)
  if (problem !== undefined) throw new SuperstepError("TOOL_INVALID", problem)
  const wrong = jsonProblem(args)
  if (wrong !== undefined) throw refuse(`its settings are not plain JSON: ${printJsonProblem(wrong)}.`)
  const tool: Tool = {
    name,
    description: `${id} of the provider.`,
    parameters: { type: "object" },
    provider: { id: id as `${string}.${string}`, args: args as { readonly [key: string]: Json } },
    ...policies,
    // The provider describes the arguments, and checks its own.
    parse: (given) => ({ ok: true, args: given }),
    run: run ?? runAtProvider,
  }
  return Object.freeze(tool)
}

/** The name that a provider's models use for the tool: its id without the date of its version. */
function nameOf(id: string): string {
  const name = (id.split(".").at(-1) ?? "").replace(/_\d{8}$/, "")
  if (name !== "text_editor") return name
  return /_(?:20241022|20250124)$/.test(id) ? "str_replace_editor" : "str_replace_based_edit_tool"
}

function runAtProvider(): never {
  const text = "The tool runs at the provider, but the model called it as a local tool. Add a run function."
  throw new SuperstepError("TOOL_AT_PROVIDER", text, { retryable: false })
}
