/** Toolsets as a definition file writes them. */
import { z } from "zod"

const text = z.string()
const texts = z.record(text, text)
const seconds = z.number().positive()
const schemas = z.record(text, z.json())

const common = {
  instruction: text
    .optional()
    .describe("Told about the tools instead; {ORIGINAL_INSTRUCTIONS} stands for their own."),
  tools: z.array(text).optional().describe("The tools that are kept, by name; * fits anything."),
  name: text.optional(),
  toon: text.optional(),
  defer: z.json().optional(),
}

const scriptTool = z.strictObject({
  cmd: text,
  description: text.optional(),
  args: schemas.optional(),
  required: z.array(text).optional(),
  env: texts.optional(),
  working_dir: text.optional(),
})

export const toolsetShape = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("think"), ...common, shared: z.boolean().optional() }),
  z.strictObject({ type: z.literal("todo"), ...common, shared: z.boolean().optional() }),
  z.strictObject({ type: z.literal("memory"), ...common, path: text.optional() }),
  z.strictObject({
    type: z.literal("filesystem"),
    ...common,
    root: text.optional().describe("The folder it is confined to. Default: the working directory."),
    readonly: z.boolean().optional(),
    ignore_vcs: z.boolean().optional(),
    deny_list: z.array(text).optional(),
    allow_list: z.array(text).optional(),
    post_edit: z.json().optional(),
  }),
  z.strictObject({
    type: z.literal("shell"),
    ...common,
    env: texts.optional(),
    allow: z
      .array(text)
      .optional()
      .describe("Presets (preset:git-read) and patterns of commands; without it any may run, after asking."),
    deny: z.array(text).optional(),
    secrets: z
      .array(text)
      .optional()
      .describe("Environment variables that commands get beside PATH and HOME."),
    timeout: seconds.optional(),
    sandbox: z.json().optional(),
    /** The old spelling of a script toolset. */
    shell: z.record(text, scriptTool).optional(),
  }),
  z.strictObject({
    type: z.literal("script"),
    ...common,
    shell: z.record(text, scriptTool),
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
      output_schema: z.json().optional(),
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
            "Private addresses that it may be at: a list of addresses or networks, or true. Default: the one in its url.",
          ),
        oauth: z.json().optional(),
      })
      .optional(),
    ref: text.optional(),
    config: z.json().optional(),
  }),
  // Known to others, and not to us: left out, with a warning.
  z.looseObject({ type: z.enum(["a2a", "lsp", "tasks", "user_prompt", "commands", "switch_model", "rag"]) }),
])

export type ToolsetData = z.infer<typeof toolsetShape>
export type ToolsetOf<T extends ToolsetData["type"]> = Extract<ToolsetData, { type: T }>
