/** An open question as the API sends it. Its parts were written by a workflow, and its arguments by a model: all are checked. */

export interface OpenRequest {
  readonly id: string
  readonly prompt: string
  readonly to?: string | undefined
  readonly data?: unknown
  readonly schema?: unknown
  readonly default?: unknown
  /** Until when it can be answered: milliseconds since 1970. */
  readonly deadline?: number | undefined
}

/** A conversation that a person takes over: its last messages, and where it can go from here. */
export interface HandOff {
  readonly messages: readonly { readonly role: string; readonly text: string }[]
  /** What the nodes before produced, where it is no conversation. */
  readonly latest: unknown
  readonly routes: readonly string[]
}

export function handOffOf({ data }: Pick<OpenRequest, "data">): HandOff | undefined {
  if (!isRecord(data) || !Array.isArray(data.routes)) return undefined
  if (!Array.isArray(data.messages) && !("latest" in data)) return undefined
  const messages = Array.isArray(data.messages) ? data.messages : []
  return {
    messages: messages.flatMap((one: unknown) =>
      isRecord(one) && typeof one.role === "string" && typeof one.text === "string"
        ? [{ role: one.role, text: one.text }]
        : [],
    ),
    latest: data.latest,
    routes: data.routes.filter((one): one is string => typeof one === "string"),
  }
}

export interface Approval {
  readonly agent: string
  readonly tool: string
  readonly args: unknown
  /** Of the arguments, or one that fits them. */
  readonly schema: unknown
  /** Whether an answer may allow the tool in the whole run. */
  readonly canAlways: boolean
}

type Data = { readonly [name: string]: unknown }

function isRecord(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The call of a tool that waits for permission. */
export function approvalOf({ data, schema }: Pick<OpenRequest, "data" | "schema">): Approval | undefined {
  if (!isRecord(data) || data.kind !== "tool-approval" || typeof data.tool !== "string") return undefined
  const properties = isRecord(schema) && isRecord(schema.properties) ? schema.properties : {}
  const declared =
    isRecord(properties.args) && isRecord(properties.args.properties) ? properties.args : undefined
  return {
    agent: typeof data.agent === "string" ? data.agent : "An agent",
    tool: data.tool,
    args: data.args,
    schema: declared ?? schemaLike(data.args),
    canAlways: properties.always !== undefined,
  }
}

/** A schema whose form shows a value of this shape. */
function schemaLike(value: unknown): unknown {
  if (isRecord(value)) {
    const properties = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, schemaLike(one)]))
    return { type: "object", properties, required: Object.keys(value) }
  }
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
    return { type: typeof value }
  return {}
}

const MAX_BUTTONS = 6

/** The possible answers, if a button each is the best form. */
export function choicesOf({ schema }: Pick<OpenRequest, "schema">): readonly unknown[] | undefined {
  if (!isRecord(schema)) return undefined
  if (schema.type === "boolean") return [true, false]
  const { enum: values } = schema
  const isShort = Array.isArray(values) && values.length > 0 && values.length <= MAX_BUTTONS
  return isShort && values.every((one) => typeof one !== "object" || one === null) ? values : undefined
}

/** What the list of questions shares of one. */
export function requestOf(id: string, request: unknown): OpenRequest {
  const data = isRecord(request) ? request : {}
  return {
    id,
    prompt: typeof data.prompt === "string" ? data.prompt : "",
    to: typeof data.to === "string" ? data.to : undefined,
    data: data.data,
    schema: data.schema,
    default: data.default,
    deadline: typeof data.deadline === "number" ? data.deadline : undefined,
  }
}
