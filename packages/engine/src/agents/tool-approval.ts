/** Whether a tool may run: by rules, by a function, or because a person said so. A person may change the arguments. */
import type { Json } from "../core/index.ts"
import type { Context, Schema } from "../runtime/index.ts"
import { MASK } from "../text/index.ts"
import { approvalVerdict } from "../tools/approval.ts"
import type { ApprovalRules, ApprovalVerdict, Tool } from "../tools/index.ts"
import { maskArgs } from "../tools/secrets.ts"

/** What a person answers. */
export interface ApprovalAnswer {
  readonly approve: boolean
  /** Arguments to use instead of those that the model gave: edit and approve. */
  readonly args?: { readonly [name: string]: Json } | undefined
  /** Told to the model when it may not. */
  readonly reason?: string | undefined
}

const SHAPE: Json = {
  type: "object",
  properties: {
    approve: { type: "boolean", description: "Whether the tool may run." },
    args: { type: "object", description: "Arguments to use instead of those that the model gave." },
    reason: { type: "string", description: "Told to the model when it may not." },
  },
  required: ["approve"],
  additionalProperties: false,
}

/** What an answer is checked against; forms are made from its JSON Schema. */
export const approvalAnswer: Schema<ApprovalAnswer> = answerSchema(answerProblem)

function answerSchema(problemOf: (value: unknown) => string | undefined): Schema<ApprovalAnswer> {
  const validate = (value: unknown) => {
    const problem = problemOf(value)
    return problem === undefined ? { value: value as ApprovalAnswer } : { issues: [{ message: problem }] }
  }
  const standard = { version: 1 as const, vendor: "superstep", validate }
  return { "~standard": Object.assign(standard, { jsonSchema: { input: () => SHAPE, output: () => SHAPE } }) }
}

/** What a person answers is kept, so that it cannot say anything secret. */
function answerWithout(secret: readonly string[]): Schema<ApprovalAnswer> {
  return answerSchema((value) => {
    const problem = answerProblem(value)
    if (problem !== undefined) return problem
    const { args = {} } = value as ApprovalAnswer
    if (JSON.stringify(maskArgs(args, secret)) === JSON.stringify(args)) return undefined
    return `${secret.map((name) => `"${name}"`).join(", ")} must stay ${JSON.stringify(MASK)}: answers are kept, and secrets are not`
  })
}

function answerProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return "an answer is { approve, args?, reason? }"
  const { approve, args, reason, ...others } = value as Record<string, unknown>
  if (typeof approve !== "boolean") return "approve must be true or false"
  if (args !== undefined && (typeof args !== "object" || args === null || Array.isArray(args))) {
    return "args must be an object"
  }
  if (reason !== undefined && typeof reason !== "string") return "reason must be a text"
  const [other] = Object.keys(others)
  return other === undefined ? undefined : `"${other}" is not part of an answer`
}

/** What the request says about itself, for those who show it. */
export interface ApprovalRequest {
  readonly kind: "tool-approval"
  readonly agent: string
  readonly tool: string
  /** The call's id. */
  readonly call: string
  readonly args: Json
}

interface Call {
  readonly id: string
  readonly agent: string
  readonly args: unknown
}

/** The agent's rules decide where one fits, after any `deny`; else the tool does. What a function says is recorded. */
export async function verdictFor(
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
  // Rules that ask hold back, as those that deny do: they fit in the same way.
  if ((await approvalVerdict({ deny: rules.ask }, call)) === "deny") return "ask"
  return own
}

export async function askApproval(
  tool: Tool,
  { id, agent, args }: Call,
  ctx: Context,
): Promise<ApprovalAnswer> {
  const data: ApprovalRequest = {
    kind: "tool-approval",
    agent,
    tool: tool.name,
    call: id,
    args: maskArgs(args as Json, tool.secret),
  }
  return await ctx.ask<ApprovalAnswer>({
    prompt: `Agent "${agent}" wants to use the tool "${tool.name}". May it?`,
    data,
    schema: tool.secret === undefined ? approvalAnswer : answerWithout(tool.secret),
  })
}

export function denied(tool: string, reason: string | undefined): string {
  const why = reason === undefined || reason === "" ? "" : ` The reason: ${reason}`
  return `The call of "${tool}" was not allowed, and nothing was done.${why}`
}
