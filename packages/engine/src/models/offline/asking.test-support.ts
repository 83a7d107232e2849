/** Shortcuts for calling the offline model in tests. */
import type { LanguageModelV3CallOptions, LanguageModelV3Message } from "@ai-sdk/provider"
import { offlineModel } from "./offline-model.ts"

export const system = (content: string): LanguageModelV3Message => ({ role: "system", content })
export const user = (text: string): LanguageModelV3Message => ({
  role: "user",
  content: [{ type: "text", text }],
})
export const assistant = (text: string): LanguageModelV3Message => ({
  role: "assistant",
  content: [{ type: "text", text }],
})

/** The messages of a tool call and its result. */
export function used(
  toolName: string,
  input: unknown,
  value: string | object,
  id = "c1",
): LanguageModelV3Message[] {
  const output =
    typeof value === "string"
      ? ({ type: "text", value } as const)
      : ({ type: "json", value: value as never } as const)
  return [
    { role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName, input }] },
    { role: "tool", content: [{ type: "tool-result", toolCallId: id, toolName, output }] },
  ]
}

export function offer(
  name: string,
  description: string,
  properties: object = {},
  required = Object.keys(properties),
) {
  return {
    type: "function" as const,
    name,
    description,
    inputSchema: { type: "object", properties, required } as never,
  }
}

export const text = { type: "string" }

type Ask = string | readonly LanguageModelV3Message[]

export async function generate(ask: Ask, options: Omit<LanguageModelV3CallOptions, "prompt"> = {}) {
  const prompt = typeof ask === "string" ? [user(ask)] : [...ask]
  return await offlineModel().doGenerate({ ...options, prompt })
}

export async function say(
  ask: Ask,
  options: Omit<LanguageModelV3CallOptions, "prompt"> = {},
): Promise<string> {
  const { content } = await generate(ask, options)
  return content.map((part) => (part.type === "text" ? part.text : "")).join("")
}

export async function fillIn(ask: Ask, schema: unknown): Promise<unknown> {
  return JSON.parse(await say(ask, { responseFormat: { type: "json", schema: schema as never } }))
}

/** The calls it makes: name and arguments. */
export async function calls(
  ask: Ask,
  tools: ReturnType<typeof offer>[],
  toolChoice?: LanguageModelV3CallOptions["toolChoice"],
) {
  const { content } = await generate(ask, { tools, ...(toolChoice === undefined ? {} : { toolChoice }) })
  return content.flatMap((part) =>
    part.type === "tool-call" ? [[part.toolName, JSON.parse(part.input)]] : [],
  )
}
