/**
 * A question of a server (elicitation) as a request to a person. The answer has the fields of the server's form, or refuses
 * to answer with `decline`.
 */
import type { ElicitRequest } from "@modelcontextprotocol/client"
import { type Json, SuperstepError } from "@superstep/engine"
import { cutText } from "@superstep/engine/text"
import { jsonSchema, type ToolCallContext } from "@superstep/engine/tools"
import type { McpServer } from "./mcp-server.ts"

type Params = ElicitRequest["params"]
type Fields = Readonly<Record<string, Json>>

/** The data of the request, for user interfaces. */
interface ElicitationData {
  readonly kind: "mcp-elicitation"
  readonly server: string
  readonly tool: string
  /** A page that the server wants the person to open. */
  readonly url?: string
}

const MAX_MESSAGE = 4_000
const MAX_FIELDS = 50

export async function elicited(server: McpServer, params: Params, call: ToolCallContext): Promise<Json> {
  const { message } = params
  const prompt = `The MCP server "${server.name}" asks: ${cutText(message, MAX_MESSAGE)}`
  const about = { kind: "mcp-elicitation", server: server.name, tool: call.tool } as const
  const { data, schema, decline } =
    params.mode === "url" ? pageQuestion(server, params.url, about) : formQuestion(server, params, about)
  const answer = await call.ctx.ask<Fields>({
    prompt,
    data: data as unknown as Json,
    schema: jsonSchema(schema),
  })
  const { [decline]: isDeclined, ...content } = answer
  if (isDeclined === true) return { action: "decline" }
  return params.mode === "url" ? { action: "accept" } : { action: "accept", content }
}

interface PersonQuestion {
  readonly data: ElicitationData
  readonly schema: Json
  /** The field that refuses to answer. */
  readonly decline: string
}

const DECLINE = { type: "boolean", title: "Decline", description: "Refuse to answer." }

/** The server learns only whether the person agrees to open the page. */
function pageQuestion(server: McpServer, url: string, about: ElicitationData): PersonQuestion {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    throw invalid(server, "wants a person to open an address that is not a web page")
  }
  const schema = { type: "object", properties: { decline: DECLINE }, additionalProperties: false }
  return { data: { ...about, url: cutText(url, MAX_MESSAGE) }, schema, decline: "decline" }
}

function formQuestion(
  server: McpServer,
  params: Exclude<Params, { mode: "url" }>,
  about: ElicitationData,
): PersonQuestion {
  const { properties, required = [] } = params.requestedSchema as {
    readonly properties: Fields
    readonly required?: readonly string[]
  }
  const names = Object.keys(properties)
  if (names.length > MAX_FIELDS) throw invalid(server, `asks for ${names.length} values at once`)
  const fields = Object.fromEntries(names.map((name) => [name, fieldOf(properties[name] as Fields)]))
  let decline = "decline"
  while (names.includes(decline)) decline += "_"
  const needed = required.filter((name) => names.includes(name))
  const schema: Json = {
    type: "object",
    properties: { ...fields, [decline]: DECLINE },
    additionalProperties: false,
    ...(needed.length > 0 && {
      anyOf: [{ required: needed }, { required: [decline], properties: { [decline]: { const: true } } }],
    }),
  }
  return { data: about, schema, decline }
}

/** What the protocol allows in the schema of a field: texts, numbers, booleans and choices. */
const KEYWORDS = [
  "type",
  "title",
  "description",
  "default",
  "enum",
  "enumNames",
  "oneOf",
  "items",
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "format",
]

function fieldOf(field: Fields): Json {
  return Object.fromEntries(
    KEYWORDS.flatMap((name) => (field[name] === undefined ? [] : [[name, field[name]]])),
  ) as Json
}

function invalid({ name }: McpServer, what: string): SuperstepError {
  return new SuperstepError("MCP_ANSWER_INVALID", `The MCP server "${name}" ${what}.`, { retryable: false })
}
