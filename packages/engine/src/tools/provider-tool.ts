/**
 * Tools that a provider defines: web search, code execution, computer use. Most run at the provider, and their results come
 * with the model's reply. Others, such as a computer, are described by the provider and run here.
 */
import { type Json, jsonProblem, printJsonProblem, SuperstepError } from "../core/index.ts"
import { type Tool, type ToolCallContext, type ToolOptions, toolNameProblem } from "./tool.ts"

/** As the packages of providers make it: `openai.tools.webSearch()`, `anthropic.tools.computer_20250124({ … })`. */
export interface ProviderDefinition {
  /** Always `provider`; the packages' own type says less. */
  readonly type?: string | undefined
  readonly id?: string | undefined
  readonly args?: unknown
}

export interface ProviderToolOptions
  extends Pick<ToolOptions<unknown>, "timeout" | "retry" | "idempotent" | "fatal"> {
  /** Default: by its id, such as `web_search`. Models call tools that run here by this name. */
  readonly name?: string | undefined
  readonly approval?: Tool["approval"]
  /** What it does here. Absent: it runs at the provider. */
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

/** The name by which a provider's models know the tool: that of its id, without the date of its version. */
function nameOf(id: string): string {
  const name = (id.split(".").at(-1) ?? "").replace(/_\d{8}$/, "")
  if (name !== "text_editor") return name
  return /_(?:20241022|20250124)$/.test(id) ? "str_replace_editor" : "str_replace_based_edit_tool"
}

function runAtProvider(): never {
  const text = "The tool runs at the provider, but the model called it as a local tool. Add a run function."
  throw new SuperstepError("TOOL_AT_PROVIDER", text, { retryable: false })
}
