/** The schemas of a call in the form that its provider accepts, and the restoring of values that a model wrote. */
import type { LanguageModelV3CallOptions, LanguageModelV3FunctionTool } from "@ai-sdk/provider"
import type { Json } from "../../core/index.ts"
import { interfaceOf, type Model, type ModelRef, providerOf } from "../model.ts"
import { rootedSchema, type StrictLimits, type StrictSchema, strictSchema } from "./strict-schema.ts"

type SchemaOptions = Pick<LanguageModelV3CallOptions, "responseFormat" | "tools" | "providerOptions">
type Options = { readonly [Key in keyof SchemaOptions]: SchemaOptions[Key] | undefined }
type JsonSchema = LanguageModelV3FunctionTool["inputSchema"]

/** OpenAI's own limits. Azure and compatible servers have OpenAI's earlier limits. */
const OPENAI: StrictLimits = { levels: 10, properties: 5_000 }
const OTHERS: StrictLimits = { levels: 5, properties: 100 }

/**
 * OpenAI's and compatible APIs enforce answers; only OpenAI's own enforce tools, because a server must support the
 * option.
 */
export function wireSchemas(model: Pick<Model, "provider">, options: Options): SchemaOptions {
  const provider = providerOf(model)
  const isOpenAi = isOpenAiLike(model)
  const limits = provider === "openai" ? OPENAI : OTHERS
  const { responseFormat, tools, providerOptions } = options
  const isJson = responseFormat?.type === "json" && responseFormat.schema !== undefined
  const answer = isJson ? wireSchema(responseFormat.schema as Json, isOpenAi ? limits : undefined) : undefined
  const enforcesTools = isOpenAi && ENFORCES_TOOLS.has(provider)
  return {
    ...(responseFormat !== undefined && { responseFormat }),
    ...(isJson && { responseFormat: { ...responseFormat, schema: answer?.schema as JsonSchema } }),
    ...(tools !== undefined && {
      tools: tools.map((tool) =>
        tool.type === "function" ? wireTool(tool, enforcesTools ? limits : undefined) : tool,
      ),
    }),
    ...(isOpenAi && answer?.problem !== undefined
      ? { providerOptions: notStrict(provider, providerOptions) }
      : providerOptions !== undefined && { providerOptions }),
  }
}

function isOpenAiLike(model: Pick<Model, "provider">): boolean {
  const via = interfaceOf(model)
  return via === "responses" || via === "chat"
}

const ENFORCES_TOOLS = new Set(["openai", "azure"])
const ENFORCES_ANSWERS = new Set(["openai", "azure", "openai-compatible"])

/**
 * Whether one of the models enforces the schemas of answers, and of tools. Works for names of models that are not loaded
 * yet.
 */
export function enforcementOf(models: readonly ModelRef[]): {
  readonly answers: boolean
  readonly tools: boolean
} {
  const enforcing = models.flatMap((model) => {
    if (typeof model === "string") return [model.split("/", 1)[0] ?? ""]
    if (!("doGenerate" in model)) return [model.provider]
    // A model object may be any compatible server.
    return isOpenAiLike(model) ? [providerOf(model), "openai-compatible"] : []
  })
  return {
    answers: enforcing.some((provider) => ENFORCES_ANSWERS.has(provider)),
    tools: enforcing.some((provider) => ENFORCES_TOOLS.has(provider)),
  }
}

function wireTool(
  tool: LanguageModelV3FunctionTool,
  limits: StrictLimits | undefined,
): LanguageModelV3FunctionTool {
  const { schema, problem } = wireSchema(tool.inputSchema as Json, limits)
  const inputSchema = schema as JsonSchema
  // Without the option, the Responses API makes optional properties required.
  return limits === undefined
    ? { ...tool, inputSchema }
    : { ...tool, inputSchema, strict: problem === undefined }
}

/** The options that the packages of OpenAI and of compatible servers read. */
function notStrict(
  provider: string,
  options: Options["providerOptions"],
): NonNullable<Options["providerOptions"]> {
  const all = { ...options }
  for (const name of new Set(["openai", "azure", "openaiCompatible", provider])) {
    all[name] = { strictJsonSchema: false, ...all[name] }
  }
  return all
}

interface WireSchema {
  readonly schema: Json
  /** Why a provider cannot enforce the schema. */
  readonly problem?: string | undefined
}

const known = new Map<StrictLimits | undefined, WeakMap<object, WireSchema>>()

/** Schemas do not change, so each is rewritten once. Without limits, no provider enforces it. */
function wireSchema(schema: Json, limits: StrictLimits | undefined): WireSchema {
  if (typeof schema !== "object" || schema === null) return { schema }
  const made = known.get(limits) ?? new WeakMap<object, WireSchema>()
  known.set(limits, made)
  let found = made.get(schema)
  if (found === undefined) {
    const strict = limits === undefined ? { problem: "" } : strictSchema(schema, limits)
    found =
      "schema" in strict
        ? { schema: strict.schema as Json }
        : { schema: rootedSchema(schema).schema as Json, problem: strict.problem }
    made.set(schema, found)
  }
  return found
}

/** Why OpenAI cannot enforce a schema, or undefined. */
export function strictProblem(schema: Json): string | undefined {
  return wireSchema(schema, OPENAI).problem
}

const restorers = new WeakMap<object, StrictSchema["restore"]>()

/**
 * Restores a value that a model wrote for a schema, in whichever form the schema was sent: removes nulls of absent
 * properties, converts entries to a map, and unwraps the root.
 */
export function restoreValue(schema: Json | undefined, value: Json): Json {
  if (typeof schema !== "object" || schema === null) return value
  let restore = restorers.get(schema)
  if (restore === undefined) {
    const strict = strictSchema(schema, OPENAI)
    restore = "restore" in strict ? strict.restore : rootedSchema(schema).restore
    restorers.set(schema, restore)
  }
  return restore(value)
}
