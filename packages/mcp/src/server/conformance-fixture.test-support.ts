/** The tools that the protocol's conformance suite calls, as workflows: wherever a workflow can be what it expects. */
import { type Context, type Json, node, type Schema, type Workflow, workflow } from "@superstep/engine"
import { filePart, jsonSchema } from "@superstep/engine/tools"

const NOTHING = jsonSchema<object>({ type: "object", properties: {}, additionalProperties: false })

function tool(
  name: string,
  run: (input: { readonly message?: string }, ctx: Context) => unknown,
  input: Schema<object> = NOTHING,
): Workflow {
  return workflow(name)
    .chain(node({ id: name, input, run: run as never }))
    .build() as unknown as Workflow
}

/** A tool that asks, one node after the other, and answers with the last node's text. */
function asking(
  name: string,
  ...questions: readonly (readonly [key: string, prompt: string, properties: Json])[]
): Workflow {
  const nodes = questions.map(([id, prompt, properties], i) =>
    node({
      id,
      ...(i === 0 && { input: NOTHING }),
      run: async (_: unknown, ctx) => {
        const required = Object.keys(properties as object)
        const schema = jsonSchema<object>({ type: "object", properties, required })
        const answer = await ctx.ask<{ name?: string }>({ prompt, schema: schema as never })
        return `Hello, ${answer.name ?? "state-ok"}!`
      },
    }),
  )
  return workflow(name)
    .chain(...(nodes as [never]))
    .build() as unknown as Workflow
}

const PIXEL = filePart(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
  { mediaType: "image/png" },
)
const SOUND = filePart("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=", {
  mediaType: "audio/wav",
})
const resource = (uri: string, mimeType: string, text: string) => ({ type: "resource", uri, mimeType, text })

const choices = (...values: readonly string[]) =>
  values.map((value) => ({ const: value, title: `Option ${value}` }))

const ADDRESS = {
  $anchor: "addressDef",
  type: "object",
  properties: { street: { type: "string" }, city: { type: "string" } },
}

/** Every keyword of the suite's schema; what it means is checked by the validator's own tests. */
const FULL_SCHEMA: Json = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  $defs: { address: ADDRESS },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
}

const text = { type: "string" }

export const conformanceWorkflows: readonly Workflow[] = [
  tool("test_simple_text", () => "This is a simple text response for testing."),
  tool("test_image_content", () => PIXEL),
  tool("test_audio_content", () => SOUND),
  tool("test_embedded_resource", () =>
    resource("test://embedded-resource", "text/plain", "An embedded resource."),
  ),
  tool("test_multiple_content_types", () => [
    "Multiple content types test:",
    PIXEL,
    resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  ]),
  tool("test_error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing")
  }),
  tool("test_tool_with_progress", (_, ctx) => {
    ctx.log("info", "half of it")
    return "done"
  }),
  tool("test_tool_with_logging", (_, ctx) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      ctx.log("info", line)
    }
    return "done"
  }),
  tool(
    "test_elicitation",
    async ({ message }, ctx) => {
      const schema = jsonSchema<object>({
        type: "object",
        properties: { username: text, email: text },
        required: ["username", "email"],
      })
      return JSON.stringify(await ctx.ask({ prompt: message ?? "", schema: schema as never }))
    },
    jsonSchema({ type: "object", properties: { message: text }, required: ["message"] }),
  ),
  asking("test_elicitation_sep1034_defaults", [
    "ask",
    "Who are you?",
    {
      name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
  ]),
  asking("test_elicitation_sep1330_enums", [
    "ask",
    "Choose.",
    {
      untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
      titledSingle: { type: "string", oneOf: choices("value1", "value2", "value3") },
      legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["One", "Two", "Three"] },
      untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
      titledMulti: { type: "array", items: { anyOf: choices("value1", "value2", "value3") } },
    },
  ]),
  tool("json_schema_2020_12_tool", () => "ok", jsonSchema(FULL_SCHEMA)),
  tool("test_logging_tool", (_, ctx) => {
    ctx.log("info", "not for clients that did not ask for logs")
    return "done"
  }),
  asking("test_streaming_elicitation", ["ask", "Continue?", { ok: { type: "boolean" } }]),
  asking("test_input_required_result_elicitation", ["user_name", "What is your name?", { name: text }]),
  asking("test_input_required_result_request_state", [
    "confirm",
    "Please confirm",
    { ok: { type: "boolean" } },
  ]),
  asking("test_input_required_result_tampered_state", [
    "confirm",
    "Please confirm",
    { ok: { type: "boolean" } },
  ]),
  asking(
    "test_input_required_result_multi_round",
    ["step1", "Step 1: What is your name?", { name: text }],
    ["step2", "Step 2: What is your favorite color?", { color: text }],
  ),
]
