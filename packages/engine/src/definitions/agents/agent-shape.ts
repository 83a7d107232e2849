/** Agents and models as a definition file writes them: the spelling of docker's cagent, whose files run as they are. */
import { z } from "zod"
import { toolsetShape } from "./toolset-shape.ts"

const text = z.string()
const names = z.array(text)

/** Patterns of tool names, `deny` before `allow` before `ask`. */
export const permissionsShape = z.strictObject({
  allow: names.optional().describe("Tools that may run without asking."),
  ask: names.optional().describe("Tools that a person is asked about first."),
  deny: names.optional().describe("Tools that never run."),
})

const commandShape = z.union([
  text,
  z.strictObject({ description: text.optional(), instruction: text.optional() }),
])

export const agentShape = z.strictObject({
  model: text
    .optional()
    .describe("A name from `models`, or provider/model such as openai/gpt-5, or offline."),
  name: text.optional(),
  description: text.optional().describe("What it is good for: other agents choose by it."),
  instruction: text.optional().describe("What it is told to do. May have {{ }} in it."),
  toolsets: z.array(toolsetShape).optional(),
  sub_agents: names.optional().describe("Agents it can give a task to, with the tool transfer_task."),
  handoffs: names.optional().describe("Agents that can take over the conversation, with the tool handoff."),
  fallback: z
    .strictObject({
      models: names.optional(),
      retries: z.int().min(-1).optional(),
      cooldown: text.optional(),
      no_fallback_status_codes: z.array(z.int()).optional(),
    })
    .optional()
    .describe("Models to ask when the first does not answer."),
  max_iterations: z
    .int()
    .min(0)
    .optional()
    .describe("Turns of model and tools for one task; 0: the default."),
  num_history_items: z
    .int()
    .min(0)
    .optional()
    .describe("How much of the conversation the model sees; 0: all."),
  structured_output: z
    .strictObject({
      name: text,
      description: text.optional(),
      schema: z.record(text, z.json()),
      strict: z.boolean().optional(),
    })
    .optional()
    .describe("The JSON Schema of its answer."),
  add_date: z.boolean().optional(),
  add_environment_info: z.boolean().optional(),
  add_prompt_files: names.optional(),
  commands: z
    .union([z.record(text, commandShape), z.array(z.record(text, commandShape))])
    .optional()
    .describe("Prompts that are given by name in a chat: /name."),
  welcome_message: text.optional(),
  permissions: permissionsShape.optional(),
  // Known to others, and not to us: a warning each.
  code_mode_tools: z.boolean().optional(),
  rag: names.optional(),
  add_description_parameter: z.boolean().optional(),
  hooks: z.json().optional(),
  skills: z.json().optional(),
  cache: z.json().optional(),
  session_compaction: z.boolean().optional(),
  max_consecutive_tool_calls: z.int().optional(),
  max_old_tool_call_tokens: z.int().optional(),
  redact_secrets: z.boolean().optional(),
  readonly: z.boolean().optional(),
  use_commands: names.optional(),
  use_mcps: names.optional(),
})

export const modelShape = z.strictObject({
  provider: text.describe(
    "openai, anthropic, azure, ollama, openai-compatible, offline, or one of `providers`.",
  ),
  model: text,
  temperature: z.number().optional(),
  max_tokens: z.int().optional(),
  top_p: z.number().optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  base_url: text.optional().describe("Of the server; for openai-compatible it is needed."),
  token_key: text.optional().describe("The environment variable that has the key."),
  provider_opts: z.record(text, z.json()).optional(),
  // Known to others, and not to us: a warning each.
  parallel_tool_calls: z.boolean().optional(),
  track_usage: z.boolean().optional(),
  thinking_budget: z.json().optional(),
  routing: z.json().optional(),
  name: text.optional(),
})

export const providerShape = z.strictObject({
  base_url: text.optional(),
  token_key: text.optional(),
  api_type: text.optional(),
  provider: text.optional(),
})

export type AgentData = z.infer<typeof agentShape>
export type ModelData = z.infer<typeof modelShape>
export type ProviderData = z.infer<typeof providerShape>
export type PermissionsData = z.infer<typeof permissionsShape>

/** Fields that are read and do nothing here. */
export const UNSUPPORTED_AGENT_FIELDS: readonly (keyof AgentData)[] = [
  "code_mode_tools",
  "rag",
  "add_description_parameter",
  "hooks",
  "skills",
  "cache",
  "session_compaction",
  "max_consecutive_tool_calls",
  "max_old_tool_call_tokens",
  "redact_secrets",
  "readonly",
  "use_commands",
  "use_mcps",
]

export const UNSUPPORTED_MODEL_FIELDS: readonly (keyof ModelData)[] = [
  "parallel_tool_calls",
  "track_usage",
  "thinking_budget",
  "routing",
  "name",
]
