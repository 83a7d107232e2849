/** Workflows and agents as the tools of an MCP server: what clients see, and what a call does. */
import { ProtocolError, ProtocolErrorCode, type Tool } from "@modelcontextprotocol/server"
import { type Json, type Labels, type Schema, SuperstepError, type Workflow } from "@superstep/engine"
import { type RunAccess, RunCalls, type ToolCall, type ToolResult } from "./run-calls.ts"
import { RESULT_SCHEMA } from "./run-result.ts"

export interface ServedWorkflow {
  readonly workflow: Workflow
  /** The tool's name. Default: the workflow's, with invalid characters replaced. */
  readonly name?: string | undefined
  /** Tells a model when to call it. Default: the workflow's description. */
  readonly description?: string | undefined
  /** Its input, if the start node declares none. */
  readonly input?: Schema | undefined
  /** Labels of its runs. */
  readonly labels?: Labels | undefined
}

type Args = Readonly<Record<string, unknown>>

interface ServedTool {
  readonly listed: Tool
  readonly call: (args: Args, call: ToolCall) => Promise<ToolResult>
}

export interface ServedTools {
  readonly listed: readonly Tool[]
  call(name: string, args: Args, call: ToolCall): Promise<ToolResult>
}

export function servedTools(
  workflows: readonly (Workflow | ServedWorkflow)[],
  access: RunAccess,
): ServedTools {
  const calls = new RunCalls(access)
  const tools = new Map<string, ServedTool>()
  for (const tool of [
    ...workflows.map((served) => workflowTool(entryOf(served), calls)),
    answerTool(calls),
    cancelTool(calls),
  ]) {
    const { name } = tool.listed
    if (tools.has(name)) throw invalid(`two tools are named "${name}". Rename one of them.`)
    tools.set(name, tool)
  }
  return {
    listed: [...tools.values()].map(({ listed }) => listed),
    async call(name, args, call) {
      const tool = tools.get(name)
      if (tool === undefined) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool "${name}".`)
      }
      return await tool.call(args, call)
    },
  }
}

export function entryOf(served: Workflow | ServedWorkflow): ServedWorkflow {
  return "workflow" in served ? served : { workflow: served }
}

function workflowTool(served: ServedWorkflow, calls: RunCalls): ServedTool {
  const { workflow, name, description, input, labels } = served
  const shape = inputShape(workflow, input)
  return {
    listed: {
      name: checkedName(name ?? workflow.name.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, 64)),
      description: description ?? workflow.description ?? `Runs the workflow "${workflow.name}".`,
      inputSchema: shape.schema as Tool["inputSchema"],
      outputSchema: RESULT_SCHEMA,
    },
    call: (args, call) => calls.start(workflow, shape.inputOf(args), call, labels),
  }
}

const RUN = { type: "string", description: "The id of the run." }

function answerTool(calls: RunCalls): ServedTool {
  return {
    listed: {
      name: "answer_run",
      description:
        "Answers a question that a run asks a person, and continues the run. Send the person's own answer, never one of yours.",
      inputSchema: {
        type: "object",
        properties: {
          run: RUN,
          request: { type: "string", description: "The id of the question; optional if there is only one." },
          answer: { description: "The answer, in the form that the question requires." },
        },
        required: ["run", "answer"],
        additionalProperties: false,
      },
      outputSchema: RESULT_SCHEMA,
    },
    call: (args, call) => calls.answer(args, call),
  }
}

function cancelTool(calls: RunCalls): ServedTool {
  return {
    listed: {
      name: "cancel_run",
      description: "Cancels a run that waits for an answer which will not come.",
      inputSchema: {
        type: "object",
        properties: { run: RUN, reason: { type: "string" } },
        required: ["run"],
        additionalProperties: false,
      },
    },
    call: (args) => calls.cancel(args),
  }
}

function checkedName(name: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) return name
  throw invalid(`invalid tool name ${JSON.stringify(name)}. Use at most 64 letters, digits, "_" and "-".`)
}

export function invalid(reason: string): SuperstepError {
  return new SuperstepError("MCP_SERVE_INVALID", `serveMcp: ${reason}`, { retryable: false })
}

/** The input of a workflow as the arguments of a tool, which must be an object. */
interface InputShape {
  readonly schema: ObjectSchema
  /** The workflow's input, from the arguments that a client sent. */
  readonly inputOf: (args: Readonly<Record<string, unknown>>) => unknown
}

type ObjectSchema = { readonly type: "object"; readonly [key: string]: unknown }

/** An object schema of the start node unchanged; any other under `input`; text if none is declared. */
function inputShape({ program }: Workflow, declared: Schema | undefined): InputShape {
  const handlers = program.nodes[program.graph.start]?.handlers ?? []
  const schemas = declared === undefined ? handlers.map(({ schema }) => schema) : [declared]
  const known = schemas.map(jsonSchemaOf)
  const [first] = known
  if (known.length === 1 && isObjectSchema(first))
    return { schema: withoutHeaders(first), inputOf: (args) => args }
  const isKnown = known.length > 0 && known.every((schema) => schema !== undefined)
  const input = !isKnown ? TEXT : known.length === 1 ? (first as Json) : { anyOf: known as Json[] }
  return {
    schema: { type: "object", properties: { input }, required: ["input"], additionalProperties: false },
    inputOf: ({ input: value }) => value,
  }
}

const TEXT: Json = { type: "string", description: "The input of the run." }

function isObjectSchema(schema: Json | undefined): schema is ObjectSchema & Json {
  return typeof schema === "object" && schema !== null && "type" in schema && schema.type === "object"
}

/** Clients would send such arguments as headers too, and the server would have to compare them. */
function withoutHeaders(schema: ObjectSchema): ObjectSchema {
  const { properties } = schema
  if (typeof properties !== "object" || properties === null) return schema
  const plain = Object.entries(properties).map(([name, one]) => {
    if (typeof one !== "object" || one === null || !("x-mcp-header" in one)) return [name, one]
    const { "x-mcp-header": _, ...rest } = one as Readonly<Record<string, unknown>>
    return [name, rest]
  })
  return { ...schema, properties: Object.fromEntries(plain) }
}

interface StandardJsonSchema {
  readonly jsonSchema?: { input(options: { readonly target: string }): Json } | undefined
}

/** If its library supports Standard JSON Schema. */
function jsonSchemaOf(schema: Schema | undefined): Json | undefined {
  const standard = schema?.["~standard"] as StandardJsonSchema | undefined
  try {
    return standard?.jsonSchema?.input({ target: "draft-2020-12" })
  } catch {
    // A transform, a function: checked when the run starts.
    return undefined
  }
}
