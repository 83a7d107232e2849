/** A workflow as a tool: it runs inside the agent's task, with its own part of the journal, and its outputs are the result. */
import { type Json, SuperstepError } from "../core/index.ts"
import { type Callable, type CallOptions, jsonSchemaOf, type Schema, validate } from "../runtime/index.ts"
import type { ApprovalRules, ParsedArgs, Tool } from "../tools/index.ts"
import { toolNameOf } from "./fellow-agents.ts"

export interface WorkflowToolOptions<Args> extends CallOptions {
  /** What the model decides by. */
  readonly description: string
  readonly name?: string | undefined
  /** What the model is to give: an object. Absent: `{ input }`, a text that becomes the workflow's input. */
  readonly input?: Schema<Args> | undefined
  readonly approval?: "always" | "never" | ApprovalRules | undefined
  readonly fatal?: boolean | undefined
}

/** One output is the result as it is; several are a list. */
export function workflowTool<In, Out>(workflow: Callable<In, Out>, options: WorkflowToolOptions<In>): Tool {
  const { name = toolNameOf(workflow.name), description, input, approval, fatal, onRequest } = options
  const shape = input === undefined ? TEXT : jsonSchemaOf(input as Schema, "input")
  if (shape === undefined) {
    const text = `Tool "${name}": the schema of its input does not say what it takes as JSON Schema; use one that does.`
    throw new SuperstepError("TOOL_INVALID", text)
  }
  const run = async (args: unknown, { ctx }: { ctx: Parameters<Tool["run"]>[1]["ctx"] }) => {
    const given = input === undefined ? (args as { input: unknown }).input : args
    const outputs = await ctx.call(workflow, given as In, { onRequest })
    return outputs.length === 1 ? outputs[0] : outputs
  }
  const parse = async (args: unknown): Promise<ParsedArgs> => {
    if (input === undefined) {
      const { input: text } = (args ?? {}) as { input?: unknown }
      return typeof text === "string" ? { ok: true, args } : { ok: false, reason: "input must be a text" }
    }
    const checked = await validate(input as Schema, args)
    return checked.ok ? { ok: true, args: checked.value } : checked
  }
  return { name, description, parameters: shape, parse, approval, fatal, durable: true, run } as Tool
}

const TEXT: Json = {
  type: "object",
  properties: { input: { type: "string", description: "What the workflow starts with." } },
  required: ["input"],
  additionalProperties: false,
}
