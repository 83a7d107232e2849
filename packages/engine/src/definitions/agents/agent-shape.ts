/** The schema of agents, models and toolsets. Files of Docker's cagent run unchanged. */
import { z } from "zod"
import { jsonShape } from "../json-shape.ts"
import { hooksShape } from "./command-hooks.ts"
import { ragFields, ragSourceShape } from "./rag.ts"

const text = z.string()
const names = z.array(text)
const texts = z.record(text, text)
const seconds = z.number().positive()
const schemas = z.record(text, jsonShape)

const common = {
  instruction: text
    .optional()
    .describe("Replaces the instructions of the tools; {ORIGINAL_INSTRUCTIONS} inserts them."),
  tools: z.array(text).optional().describe("The tools to keep, by name; * matches any characters."),
  name: text.optional(),
  model: text
    .optional()
    .describe("The model that reads the results of its tools: a name from `models`, or provider/model."),
  defer: z
    .union([z.boolean(), z.array(text)])
    .optional()
    .describe("Tools that the model sees only after it has searched them: true for all, or their names."),
  // They have no effect here, and are reported with a warning.
  toon: text.optional(),
  lifecycle: jsonShape.optional(),
}

const toolName = text.regex(/^[A-Za-z0-9_-]{1,64}$/, {
  error: ({ input }) =>
    `${JSON.stringify(input)} cannot be the name of a tool: use at most 64 letters, digits, "_" and "-".`,
})

const scriptTool = z.strictObject({
  cmd: text,
  description: text.optional(),
  args: schemas.optional(),
  required: z.array(text).optional(),
  env: texts.optional(),
  working_dir: text.optional(),
})

const oauthShape = z.strictObject({
  grant: z.enum(["authorization_code", "client_credentials"]).optional(),
  clientId: text.optional(),
  clientSecret: text.optional(),
  issuer: text.optional().describe("The authorization server that gets the clientSecret, and no other."),
  scopes: z.array(text).optional(),
  callbackPort: z.int().min(1).max(65_535).optional(),
  // It has no effect here, and is reported with a warning.
  callbackRedirectURL: text.optional(),
})

const anyToolset = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("think"), ...common, shared: z.boolean().optional() }),
  z.strictObject({ type: z.literal("todo"), ...common, shared: z.boolean().optional() }),
  z.strictObject({
    type: z.literal("memory"),
    ...common,
    path: text.optional().describe("A file; with `scope`, a folder."),
    scope: z
      .union([text.min(1), z.array(text.min(1)).min(1)])
      .optional()
      .describe("Labels of the run that say whose memory it is: each owner has their own, found by meaning."),
    embeddings: z
      .union([text.min(1), z.literal(false)])
      .optional()
      .describe("With `scope`: offline, provider/model, or false. Default: offline, if it is installed."),
  }),
  z.strictObject({
    type: z.literal("filesystem"),
    ...common,
    root: text.optional().describe("The folder that it is confined to. Default: the working directory."),
    readonly: z.boolean().optional(),
    ignore_vcs: z.boolean().optional(),
    deny_list: z.array(text).optional(),
    allow_list: z.array(text).optional(),
    post_edit: z
      .array(z.strictObject({ path: text, cmd: text }))
      .optional()
      .describe("Commands after a file that matches `path` was written; $file is its path."),
  }),
  z.strictObject({
    type: z.literal("shell"),
    ...common,
    env: texts.optional(),
    allow: z
      .array(text)
      .optional()
      .describe("Presets (preset:git-read) and command patterns. Default: any command, after approval."),
    deny: z.array(text).optional(),
    secrets: z
      .array(text)
      .optional()
      .describe("Environment variables that commands get besides PATH and HOME."),
    timeout: seconds.optional(),
    sandbox: jsonShape.optional(),
    /** The old spelling of a script toolset. */
    shell: z.record(toolName, scriptTool).optional(),
  }),
  z.strictObject({
    type: z.literal("script"),
    ...common,
    shell: z.record(toolName, scriptTool),
    env: texts.optional(),
    inherit: z.boolean().optional(),
  }),
  z.strictObject({
    type: z.literal("fetch"),
    ...common,
    timeout: seconds.optional(),
    headers: texts.optional(),
    allowed_domains: z.array(text).optional(),
    blocked_domains: z.array(text).optional(),
    allow_private_ips: z.boolean().optional(),
  }),
  z.strictObject({
    type: z.literal("api"),
    ...common,
    api_config: z.strictObject({
      name: text,
      instruction: text.optional(),
      endpoint: text,
      method: text.optional(),
      headers: texts.optional(),
      args: schemas.optional(),
      required: z.array(text).optional(),
      output_schema: z
        .record(text, jsonShape)
        .optional()
        .describe("The JSON Schema of the answer, for the model. An answer that does not match has a note."),
    }),
  }),
  z.strictObject({
    type: z.literal("openapi"),
    ...common,
    url: text,
    headers: texts.optional(),
    timeout: seconds.optional(),
    server: text.optional(),
  }),
  z.strictObject({
    type: z.literal("provider"),
    ...common,
    id: text
      .regex(/^[^.]+\..+$/)
      .describe("A tool that runs at the model's provider, such as openai.web_search."),
    args: z
      .record(text, jsonShape)
      .optional()
      .describe("Its settings, as the provider's package names them."),
  }),
  z.strictObject({
    type: z.literal("mcp"),
    ...common,
    command: text.optional(),
    args: z.array(text).optional(),
    env: texts.optional(),
    working_dir: text.optional(),
    version: text.optional(),
    remote: z
      .strictObject({
        url: text,
        transport_type: z.enum(["streamable", "streamable-http", "http", "sse"]).optional(),
        headers: texts.optional(),
        allow_private: z
          .union([z.boolean(), z.array(text)])
          .optional()
          .describe(
            "Private addresses it may connect to: a list of addresses or networks, or true. Default: the one in its url.",
          ),
        oauth: oauthShape.optional().describe("Logs in at the server: see `superstep mcp login`."),
      })
      .optional(),
    ref: text.optional(),
    config: jsonShape.optional(),
    elicitation: z
      .boolean()
      .optional()
      .describe("Whether the server may ask a person during a call. Default: true."),
    sampling: z
      .union([
        z.boolean(),
        z.strictObject({
          approval: z
            .enum(["always", "never"])
            .optional()
            .describe("Whether a person approves each use. Default: always."),
          max_tokens: z.int().positive().optional().describe("Maximum tokens of one reply. Default: 1000."),
        }),
      ])
      .optional()
      .describe(
        "Whether the server may use the agent's model, within the budget of the run. Default: false.",
      ),
    roots: z
      .union([z.boolean(), z.array(text)])
      .optional()
      .describe("Folders that the server may know about: true is the working directory. Default: none."),
    revision: z
      .enum(["auto", "2025-11-25", "2026-07-28"])
      .optional()
      .describe("The revision of the protocol. Default: the server is asked."),
  }),
  z.strictObject({
    type: z.literal("tasks"),
    ...common,
    path: text.optional().describe("The file of the list. Default: .superstep/tasks.jsonl."),
  }),
  z.strictObject({
    type: z.literal("user_prompt"),
    ...common,
    to: text.optional().describe("Who is asked, as the inbox knows them."),
  }),
  z.strictObject({
    type: z.literal("model_picker"),
    ...common,
    models: z.array(text).min(1).describe("The models that the agent may change to."),
  }),
  z.strictObject({ type: z.literal("background_agents"), ...common }),
  z.strictObject({
    type: z.literal("a2a"),
    ...common,
    url: text.describe("The address of the agent, or of its card."),
    headers: texts.optional(),
    description: text.optional().describe("What the remote agent does; the model decides by it."),
    timeout: seconds.optional(),
  }),
  z.strictObject({
    type: z.literal("lsp"),
    ...common,
    command: text.describe("The language server, which speaks over its standard input and output."),
    args: z.array(text).optional(),
    env: texts.optional(),
    file_types: z.array(text).optional().describe("Endings of its files, such as .go. Default: all."),
    working_dir: text.optional().describe("The folder of the project. Default: the working directory."),
    version: text.optional(),
  }),
  z.strictObject({ type: z.literal("rag"), ...common, ...ragFields }),
  // Toolsets that do not exist here: each is left out with a warning.
  z.looseObject({ type: z.enum(["commands", "switch_model", "mcp_catalog", "open_url"]) }),
])

export const toolsetShape = anyToolset.meta({ id: "toolset" })
export type ToolsetData = z.infer<typeof toolsetShape>
export type ToolsetOf<T extends ToolsetData["type"]> = Extract<ToolsetData, { type: T }>

/** Patterns of tool names, `deny` before `allow` before `ask`. */
export const permissionsShape = z.strictObject({
  allow: names.optional().describe("Tools that run without approval."),
  ask: names.optional().describe("Tools that need a person's approval."),
  deny: names.optional().describe("Tools that never run."),
})

const guardrailShape = z.strictObject({
  name: text.min(1).describe("Its name in records, events and errors."),
  on: z.enum(["input", "output", "tool"]).describe("What it checks."),
  pattern: text.optional().describe("A regular expression; it trips when the text matches."),
  expression: text
    .optional()
    .describe("A condition over $text, $value, $agent and $tool; it trips when this is false."),
  agent: text.optional().describe("An agent that judges; its instructions define what trips."),
  reason: text.optional().describe("Why it trips, with `pattern` and `expression`."),
  parallel: z.boolean().optional().describe("Checks an input beside the first model call, not before it."),
  tools: names
    .optional()
    .describe("With on: tool, the tools whose calls it checks; * matches any characters."),
  on_trip: z
    .union([z.literal("fail"), z.strictObject({ answer: jsonShape })])
    .optional()
    .describe("fail, the default, fails the step with GUARDRAIL_TRIPPED; answer replaces the result."),
})

export type GuardrailData = z.infer<typeof guardrailShape>

const commandShape = z.union([
  text,
  z.strictObject({
    description: text.optional(),
    instruction: text.optional(),
    // They have no effect here, and are reported with a warning.
    agent: text.optional(),
    url: text.optional(),
  }),
])

const inlineSkillShape = z.strictObject({
  name: text.regex(/^[\w.-]{1,64}$/),
  description: text.min(1),
  instructions: text.min(1),
  // Fields that have no effect here: each is reported with a warning.
  context: text.optional(),
  model: text.optional(),
  allowed_tools: jsonShape.optional(),
})

/** cagent's fields that have no effect here: each is reported with a warning. */
const unsupportedAgentFields = {
  add_description_parameter: z.boolean().optional(),
  cache: jsonShape.optional(),
  session_compaction: z.boolean().optional(),
  compaction_model: text.optional(),
  compaction_threshold: z.number().optional(),
  max_consecutive_tool_calls: z.int().optional(),
  max_old_tool_call_tokens: z.int().optional(),
  redact_secrets: z.boolean().optional(),
  readonly: z.boolean().optional(),
  use_commands: names.optional(),
}

const unsupportedModelFields = {
  track_usage: z.boolean().optional(),
  name: text.optional(),
  task_budget: jsonShape.optional(),
  title_model: text.optional(),
  compaction_model: text.optional(),
  compaction_threshold: z.number().optional(),
  cost: jsonShape.optional(),
  bypass_models_gateway: z.boolean().optional(),
}

const limitsShape = z
  .strictObject({
    concurrency: z.int().min(1).optional().describe("Requests at the same time."),
    per_minute: z.int().min(1).optional().describe("Requests in a minute."),
    tokens_per_minute: z.int().min(1).optional().describe("Tokens in a minute, input and output."),
    pool: text
      .min(1)
      .optional()
      .describe("Limits with the same pool count together. Default: the model, or the provider."),
  })
  .optional()
  .describe("Limits its requests, from all processes on the same store.")

const EFFORTS = ["minimal", "low", "medium", "high", "xhigh", "max"] as const

/** The settings of a model, or of all models of a provider. */
const modelSettings = {
  temperature: z.number().optional(),
  max_tokens: z.int().optional(),
  top_p: z.number().optional(),
  frequency_penalty: z.number().optional(),
  presence_penalty: z.number().optional(),
  provider_opts: z.record(text, jsonShape).optional(),
  thinking_budget: z
    .union([
      z.int().min(-1),
      z.enum([
        "none",
        ...EFFORTS,
        "adaptive",
        "adaptive/low",
        "adaptive/medium",
        "adaptive/high",
        "adaptive/max",
      ]),
    ])
    .optional()
    .describe("How much the model thinks before it answers: tokens, or an effort. 0 or none: not at all."),
  parallel_tool_calls: z.boolean().optional().describe("Whether a reply may have several tool calls."),
}

export const modelShape = z.strictObject({
  provider: text.describe(
    "A provider such as openai, anthropic, google or openai-compatible, or one of `providers`.",
  ),
  model: text,
  description: text.optional().describe("What it is good at, for people who read the file."),
  base_url: text.optional().describe("The server's address; required for openai-compatible."),
  token_key: text.optional().describe("The environment variable with the key."),
  ...modelSettings,
  routing: z
    .array(z.strictObject({ model: text, examples: z.array(text).min(1) }))
    .optional()
    .describe("Other models for messages that are like these examples."),
  limits: limitsShape,
  ...unsupportedModelFields,
})

export const providerShape = z.strictObject({
  base_url: text.optional(),
  token_key: text.optional(),
  api_type: z
    .enum(["openai_chatcompletions", "openai_responses"])
    .optional()
    .describe("The API of the server. Default: openai_chatcompletions."),
  provider: text.optional(),
  ...modelSettings,
  track_usage: unsupportedModelFields.track_usage,
  limits: limitsShape,
})

const modelsShape = z.record(text, modelShape).optional()
const providersShape = z.record(text, providerShape).optional()

const agentFields = z.strictObject({
  model: text
    .optional()
    .describe(
      "A name from `models`, provider/model such as openai/gpt-5, several of them separated by commas that take turns, auto, or offline.",
    ),
  name: text.optional(),
  description: text.optional().describe("What it is good at; other agents choose by it."),
  instruction: text.optional().describe("Its instructions. May contain {{ }}."),
  toolsets: z.array(toolsetShape).optional(),
  sub_agents: names.optional().describe("Agents it can delegate a task to, with the tool transfer_task."),
  handoffs: names.optional().describe("Agents that can take over the conversation, with the tool handoff."),
  fallback: z
    .strictObject({
      models: names.optional(),
      retries: z.int().min(-1).optional(),
      cooldown: text.optional(),
      no_fallback_status_codes: z.array(z.int()).optional(),
    })
    .optional()
    .describe("Models to try if the first does not answer."),
  max_iterations: z
    .int()
    .min(0)
    .optional()
    .describe("Maximum turns of model and tools per task; 0: the default."),
  on_limit: z
    .enum(["fail", "answer"])
    .optional()
    .describe("At a limit: fail, the default, or answer once more with what is known, without tools."),
  num_history_items: z
    .int()
    .min(0)
    .optional()
    .describe("How many items of the conversation the model sees; 0: all."),
  on_truncated: z
    .enum(["fail", "continue", "accept"])
    .optional()
    .describe("What to do with an answer that reached the limit of output tokens. Default: accept."),
  structured_output: z
    .strictObject({
      name: text,
      description: text.optional(),
      schema: z.record(text, jsonShape),
      strict: z.boolean().optional(),
      mode: text.optional(),
    })
    .optional()
    .describe("The JSON Schema of its answer."),
  add_date: z.boolean().optional(),
  add_environment_info: z.boolean().optional(),
  add_prompt_files: names.optional(),
  commands: z
    .union([z.record(text, commandShape), z.array(z.record(text, commandShape))])
    .optional()
    .describe("Prompts by name, for a chat: /name."),
  welcome_message: text.optional(),
  permissions: permissionsShape.optional(),
  guardrails: z
    .array(guardrailShape)
    .optional()
    .describe("Checks of its input, its answers and its tool calls, in order."),
  models: modelsShape.describe("Models by name that only this agent uses, such as an agent of a store."),
  providers: providersShape.describe("Providers by name that only this agent uses."),
  hooks: hooksShape.optional(),
  skills: z
    .union([z.boolean(), z.array(z.union([text, inlineSkillShape]))])
    .optional()
    .describe(
      "Skills that it reads when a task needs them: true for those in `skills`, `.agents/skills` and `.claude/skills`, or folders of skills and skills written here.",
    ),
  rag: names.optional().describe("Sources from `rag` that it can search."),
  code_mode_tools: z.boolean().optional(),
  use_mcps: names.optional().describe("Servers from `mcps` whose tools it has."),
  ...unsupportedAgentFields,
})

export const agentShape = agentFields.meta({ id: "agent" })
export type AgentData = z.infer<typeof agentShape>
export type ModelData = z.infer<typeof modelShape>
export type ProviderData = z.infer<typeof providerShape>
export type PermissionsData = z.infer<typeof permissionsShape>

export const UNSUPPORTED_AGENT_FIELDS = keysOf(unsupportedAgentFields)
export const UNSUPPORTED_MODEL_FIELDS = keysOf(unsupportedModelFields)

function keysOf<T extends object>(fields: T): readonly (keyof T)[] {
  return Object.keys(fields) as (keyof T)[]
}

/** Fields that apply to all agents of a file. */
export const agentsFileFields = {
  models: modelsShape,
  providers: providersShape,
  permissions: permissionsShape.optional(),
  mcps: z.record(text, jsonShape).optional().describe("MCP servers by name, for toolsets with `ref`."),
  rag: z.record(text, ragSourceShape).optional().describe("Documents by name, for toolsets with `ref`."),
}

export type AgentsFileData = z.infer<z.ZodObject<typeof agentsFileFields>>
