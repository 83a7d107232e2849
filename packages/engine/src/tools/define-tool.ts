/** `tool(…)`: something that an agent can do, from a function and a schema of its arguments. */
import { type Json, jsonProblem, printJsonProblem, type RetryPolicy, SuperstepError } from "../core/index.ts"
import { jsonSchemaOf, type Schema } from "../runtime/index.ts"
import { type Validated, validate } from "../runtime/schema.ts"
import { checkApproval } from "./approval.ts"
import { jsonSchema } from "./json-schema.ts"
import { schemaProblems } from "./schema-limits.ts"
import type { ApprovalRules, ApprovalVerdict, ParsedArgs, Tool, ToolCallContext } from "./tool.ts"

export interface ToolOptions<Args> {
  /** Letters, digits, `_` and `-`, at most 64: what every provider takes. */
  readonly name: string
  /** What it does and when to use it: this is what the model decides by. */
  readonly description: string
  /** What it takes: a Standard Schema, or a JSON Schema as it is. Absent: nothing. */
  readonly input?: Schema<Args> | { readonly jsonSchema: Json } | undefined
  /** What the model gets to see of `input`, for a schema whose library does not tell. */
  readonly parameters?: Json | undefined
  readonly run: (args: Args, call: ToolCallContext) => unknown
  readonly approval?: "always" | "never" | ApprovalRules | ApprovalFunction<Args>["verdict"] | undefined
  /** Milliseconds one attempt may take; waiting for a person, a timer or a workflow does not count. */
  readonly timeout?: number | undefined
  readonly retry?: RetryPolicy | undefined
  readonly idempotent?: boolean | undefined
  readonly durable?: boolean | undefined
  readonly fatal?: boolean | undefined
  /** Names of arguments, at any depth, that must not be journaled, logged or shown. */
  readonly secret?: readonly string[] | undefined
}

interface ApprovalFunction<Args> {
  // A method, so that a toolset can hand on an `Approval` whatever its tools take.
  verdict(
    args: Args,
    call: { readonly tool: string; readonly agent: string },
  ): ApprovalVerdict | Promise<ApprovalVerdict>
}

// biome-ignore lint/suspicious/noExplicitAny: a function without a parameter type takes anything, as in plain TypeScript.
export function tool<Args = any>(options: ToolOptions<Args>): Tool {
  const { name, description, input, parameters: given, run, ...policies } = options
  checkName(name)
  const refuse = (reason: string) => new SuperstepError("TOOL_INVALID", `Tool "${name}": ${reason}`)
  if (typeof description !== "string" || description.trim() === "") {
    throw refuse("give a description; the model decides by it when to use the tool.")
  }
  if (typeof run !== "function") throw refuse("give run(args, call), the function that does it.")
  checkPolicies(policies, refuse)
  const schema = schemaOf(input, refuse)
  const parameters = objectSchema(given ?? jsonSchemaOf(schema, "input"), refuse)
  const made = {
    name,
    description,
    parameters,
    ...policies,
    parse: (args: unknown) => parse(schema, args),
    run,
  }
  return Object.freeze(made) as unknown as Tool
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/

function checkName(name: unknown): void {
  if (typeof name === "string" && NAME.test(name)) return
  const text = `A tool cannot be called ${JSON.stringify(name) ?? "undefined"}: use letters, digits, "_" and "-", at most 64.`
  throw new SuperstepError("TOOL_INVALID", text)
}

function checkPolicies(
  { timeout, retry, secret, approval }: Partial<Tool>,
  refuse: (reason: string) => Error,
): void {
  if (timeout !== undefined && !(Number.isFinite(timeout) && timeout > 0)) {
    throw refuse(`timeout is milliseconds above 0, not ${timeout}.`)
  }
  if (retry !== undefined && !(Number.isInteger(retry.attempts) && retry.attempts >= 1)) {
    throw refuse(`retry.attempts is a whole number of at least 1, not ${retry.attempts}.`)
  }
  if (secret !== undefined && !(Array.isArray(secret) && secret.every((one) => typeof one === "string"))) {
    throw refuse("secret is a list of argument names.")
  }
  const problem = approval === undefined ? undefined : checkApproval(approval)
  if (problem !== undefined) throw refuse(problem)
}

const NOTHING: Json = { type: "object", properties: {}, additionalProperties: false }

function schemaOf(input: ToolOptions<unknown>["input"], refuse: (reason: string) => Error): Schema {
  if (input === undefined) return jsonSchema(NOTHING)
  if ("~standard" in input) return input
  if ("jsonSchema" in input) {
    const problem = jsonProblem(input.jsonSchema)
    if (problem !== undefined) {
      throw refuse(`input.jsonSchema is not plain JSON: ${printJsonProblem(problem)}.`)
    }
    const [refused] = schemaProblems(input.jsonSchema)
    if (refused === undefined) return jsonSchema(input.jsonSchema)
    throw refuse(`${["input.jsonSchema", ...refused.path].join(".")}: ${refused.message}.`)
  }
  throw refuse("input is a Standard Schema (zod, valibot, arktype, …) or { jsonSchema }.")
}

/** Providers take objects alone as arguments. */
function objectSchema(schema: Json | undefined, refuse: (reason: string) => Error): Json {
  if (schema === undefined) {
    throw refuse("the library of its input schema gives no JSON Schema; give one as `parameters`.")
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw refuse("its arguments must be described by an object schema.")
  }
  const { $schema: _, ...rest } = schema as { readonly [key: string]: Json | undefined }
  if (rest.type !== undefined && rest.type !== "object") {
    throw refuse(
      `its arguments must be an object, not ${JSON.stringify(rest.type)}; put the value under a name.`,
    )
  }
  return { ...rest, type: "object" }
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

/** A schema that throws is told to the model like one that refuses: the tool is not run, and the agent goes on. */
function uncheckable(error: unknown): ParsedArgs {
  return {
    ok: false,
    reason: `they could not be checked: ${error instanceof Error ? error.message : String(error)}`,
  }
}
