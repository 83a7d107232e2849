/** Decides whether a tool may run: by rules, by a function, or by asking a person, who may edit the arguments. */
import type { Json } from "../core/index.ts"
import { restoreValue } from "../models/internal.ts"
import { type Context, KEEPS, type KeptAnswer, keptAnswer, type Schema } from "../runtime/index.ts"
import { andThen, type MaybePromise } from "../runtime/internal.ts"
import { MASK } from "../text/index.ts"
import type { ApprovalRules, ApprovalVerdict, Tool } from "../tools/index.ts"
import { approvalVerdict, maskArgs, restoredArgs, type ToolOutcome } from "../tools/internal.ts"
import type { ActiveAgent } from "./agent-core.ts"
import { readObject, type ToolCall } from "./conversation.ts"
import { fillMasks, isMasked } from "./secrets.ts"

/** A person's answer. */
export interface ApprovalAnswer {
  readonly approve: boolean
  /** Edited arguments, which replace the model's. */
  readonly args?: { readonly [name: string]: Json } | undefined
  /** Shown to the model when the call is denied. */
  readonly reason?: string | undefined
  /** With `approve`: no call of the tool in this run needs approval any more, whichever agent calls it. */
  readonly always?: boolean | undefined
}

const SHAPE: Json = {
  type: "object",
  properties: {
    approve: { type: "boolean", description: "Whether the tool may run." },
    args: { type: "object", description: "Arguments to use instead of the model's." },
    reason: { type: "string", description: "Shown to the model when the call is denied." },
    always: { type: "boolean", description: "Also allow later calls of this tool in this run." },
  },
  required: ["approve"],
  additionalProperties: false,
}

/** The schema of an answer; forms are generated from its JSON Schema. */
export const approvalAnswer: Schema<ApprovalAnswer> = answerSchema(answerProblem)

function answerSchema(problemOf: (value: unknown) => string | undefined): Schema<ApprovalAnswer> {
  const validate = (value: unknown) => {
    const problem = problemOf(value)
    return problem === undefined ? { value: value as ApprovalAnswer } : { issues: [{ message: problem }] }
  }
  const standard = { version: 1 as const, vendor: "superstep", validate }
  return { "~standard": Object.assign(standard, { jsonSchema: { input: () => SHAPE, output: () => SHAPE } }) }
}

/** Answers are recorded, so they must not contain secrets. */
function answerWithout(secret: readonly string[]): Schema<ApprovalAnswer> {
  return answerSchema((value) => {
    const problem = answerProblem(value)
    if (problem !== undefined) return problem
    const { args = {} } = value as ApprovalAnswer
    if (JSON.stringify(maskArgs(args, secret)) === JSON.stringify(args)) return undefined
    return `${secret.map((name) => `"${name}"`).join(", ")} must stay ${JSON.stringify(MASK)}: answers are stored, secrets are not`
  })
}

function answerProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null)
    return "an answer must be { approve, args?, reason?, always? }"
  const { approve, args, reason, always, ...others } = value as Record<string, unknown>
  if (typeof approve !== "boolean") return "approve must be true or false"
  if (args !== undefined && (typeof args !== "object" || args === null || Array.isArray(args))) {
    return "args must be an object"
  }
  if (reason !== undefined && typeof reason !== "string") return "reason must be a string"
  if (always !== undefined && typeof always !== "boolean") return "always must be true or false"
  if (always && !approve) return "always goes with approve: true"
  const [other] = Object.keys(others)
  return other === undefined ? undefined : `"${other}" is not part of an answer`
}

/** The data of the request, for user interfaces. */
export interface ApprovalRequest {
  readonly kind: "tool-approval"
  readonly agent: string
  readonly tool: string
  /** The call's id. */
  readonly call: string
  readonly args: Json
  /** A hook has a person decide on this very call, also if the tool is always allowed. */
  readonly mustAsk?: true
}

export type FailedOutcome = Extract<ToolOutcome, { ok: false }>

export interface AllowedArgs {
  readonly ok: true
  readonly args: unknown
  /** Whether a restart lost the secrets in the arguments. */
  readonly isLost: boolean
}

export function failure(code: string, message: string): FailedOutcome {
  return { ok: false, error: { code, message } }
}

interface CallsToAllow {
  readonly active: ActiveAgent
  /** Receives arguments that a person edited, by the call's id. */
  readonly edited: Map<string, unknown>
}

/**
 * Parses the arguments of a call, and checks that rules or a person allow it. A denial is an outcome of the call.
 * Arguments that a person edited are added to `edited`, by the call's id. With `mustBeAsked`, a person decides whatever the
 * rules say.
 */
export function allowedArgs(
  calls: CallsToAllow,
  tool: Tool,
  call: ToolCall,
  mustBeAsked: boolean,
  onAsk: () => void,
): MaybePromise<AllowedArgs | FailedOutcome> {
  const { core, secrets } = calls.active
  const inMemory = secrets.argsOf(call.id)
  const isLost = isMasked(tool, call.args) && inMemory === undefined
  // Lost secrets are reported last: questions and answers from before the crash are replayed first.
  const reading = isLost
    ? { ok: true as const, args: readObject(call.args) }
    : restoredArgs(tool, inMemory ?? call.args, (args) => restoreValue(tool.parameters, args))
  const { approval: rules } = core.options
  const hasRules = rules !== undefined || (tool.approval !== undefined && tool.approval !== "never")
  return andThen(reading, (read) => {
    if (!read.ok) {
      const text = `The arguments of "${tool.name}" are invalid: ${read.reason}. Call it again with valid arguments.`
      return failure("TOOL_ARGS", text)
    }
    const parsed: AllowedArgs = { ok: true, args: read.args, isLost }
    return hasRules || mustBeAsked ? approvedArgs(calls, tool, call, parsed, mustBeAsked, onAsk) : parsed
  })
}

async function approvedArgs(
  { active, edited }: CallsToAllow,
  tool: Tool,
  call: ToolCall,
  parsed: AllowedArgs,
  mustBeAsked: boolean,
  onAsk: () => void,
): Promise<AllowedArgs | FailedOutcome> {
  const { core, scope, secrets, about: hookInfo } = active
  const { ctx } = scope
  const { args, isLost } = parsed
  const about = { id: call.id, agent: core.name, args }
  const verdict = await verdictFor(tool, about, core.options.approval, ctx)
  if (verdict === "deny") return failure("TOOL_DENIED", denied(tool.name, undefined))
  if (verdict === "allow" && !mustBeAsked) return parsed
  const asking = ctx.scope(`approval:${tool.name}:${call.id}`)
  const isAlwaysAllowed = keptAnswer(asking, alwaysName(tool.name)) !== undefined
  const isAllowed = isAlwaysAllowed || wasAllowedAtNode(ctx, core.name, tool.name)
  if (isAllowed && !mustBeAsked) return parsed
  onAsk()
  await core.hooks?.onAsk(hookInfo(0), tool, call)
  const answer = await askApproval(tool, about, mustBeAsked, asking)
  if (!answer.approve) return failure("TOOL_DENIED", denied(tool.name, answer.reason))
  if (answer.args === undefined) return parsed
  edited.set(call.id, maskArgs(answer.args as Json, tool.secret))
  if (isLost) return parsed
  const inMemory = secrets.argsOf(call.id)
  const checked = await tool.parse(fillMasks(answer.args, readObject(inMemory ?? call.args)))
  if (checked.ok) return { ok: true, args: checked.args, isLost }
  const text = `The call of "${tool.name}" was approved with edited arguments, but these are invalid: ${checked.reason}. Nothing was done.`
  return failure("TOOL_ARGS", text)
}

function alwaysName(tool: string): string {
  return `tool-approval: ${tool}`
}

/** Earlier versions kept the answer in the state of the node, for its agent: journals of theirs continue with it. */
function wasAllowedAtNode(ctx: Context, agent: string, tool: string): boolean {
  return ctx.local.get<boolean>(`always allowed: ${JSON.stringify([agent, tool])}`) === true
}

/** `always` allows the other calls of the tool, also those that wait for a person already. */
function keepsFor(tool: string): KeptAnswer {
  return {
    name: alwaysName(tool),
    of(answer) {
      const { approve, always } = answer as unknown as ApprovalAnswer
      return approve && always ? { approve } : undefined
    },
    covers({ data }) {
      const asked = data as unknown as Partial<ApprovalRequest> | null | undefined
      return asked?.kind === "tool-approval" && asked.tool === tool && !asked.mustAsk
    },
  }
}

interface Call {
  readonly id: string
  readonly agent: string
  readonly args: unknown
}

/**
 * A matching rule of the agent decides, `deny` rules first; otherwise the tool's approval does. A function's verdict is
 * recorded.
 */
async function verdictFor(
  tool: Tool,
  { id, agent, args }: Call,
  rules: ApprovalRules | undefined,
  ctx: Context,
): Promise<ApprovalVerdict> {
  const call = { tool: tool.name, agent, args }
  if (rules !== undefined && (await approvalVerdict({ deny: rules.deny }, call)) === "deny") return "deny"
  const { approval } = tool
  const own =
    typeof approval === "function"
      ? await ctx.step(`approval:${tool.name}:${id}`, () => approvalVerdict(approval, call))
      : await approvalVerdict(approval, call)
  if (rules === undefined || own === "deny") return own
  if ((await approvalVerdict({ allow: rules.allow }, call)) === "allow") return "allow"
  // `ask` rules match in the same way as `deny` rules.
  if ((await approvalVerdict({ deny: rules.ask }, call)) === "deny") return "ask"
  return own
}

async function askApproval(
  tool: Tool,
  { id, agent, args }: Call,
  mustAsk: boolean,
  ctx: Context,
): Promise<ApprovalAnswer> {
  const data: ApprovalRequest = {
    kind: "tool-approval",
    agent,
    tool: tool.name,
    call: id,
    args: maskArgs(args as Json, tool.secret),
    ...(mustAsk && { mustAsk }),
  }
  const question = {
    prompt: `Allow "${agent}" to call "${tool.name}"?`,
    data,
    schema: tool.secret === undefined ? approvalAnswer : answerWithout(tool.secret),
    [KEEPS]: keepsFor(tool.name),
  }
  return await ctx.ask<ApprovalAnswer>(question)
}

export function denied(tool: string, reason: string | undefined): string {
  const why = reason === undefined || reason === "" ? "" : ` The reason: ${reason}`
  return `The call of "${tool}" was not allowed, and nothing was done.${why}`
}
