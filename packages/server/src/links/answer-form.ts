/**
 * The form of a question, from the JSON Schema of its answer: buttons for choices, fields for simple types. What the browser
 * sends is decoded by the same description, and then validated by the run.
 */
import type { Json } from "@superstep/engine"

interface Field {
  /** Undefined: the answer itself. */
  readonly name: string | undefined
  readonly label: string
  readonly kind: "text" | "number" | "integer" | "boolean" | "choice"
  readonly choices: readonly Json[]
  readonly isRequired: boolean
}

export type AnswerForm =
  | { readonly kind: "buttons"; readonly values: readonly Json[] }
  | { readonly kind: "fields"; readonly fields: readonly Field[] }

const MAX_CHOICES = 20
const MAX_FIELDS = 20

/** Undefined for a question whose answers have no simple form. */
export function answerForm(
  schema: Json | undefined,
  values: readonly Json[] | undefined,
): AnswerForm | undefined {
  if (values !== undefined) return { kind: "buttons", values }
  if (schema === undefined) return { kind: "fields", fields: [field(undefined, {}, true) as Field] }
  const data = toRecord(schema)
  const choices = data && choicesOf(data)
  if (choices !== undefined && choices.length <= MAX_CHOICES) return { kind: "buttons", values: choices }
  if (data?.type === "object") return objectForm(data)
  const single = data && field(undefined, data, true)
  return single && { kind: "fields", fields: [single] }
}

/** The answer that the browser sent. Undefined if it sent none that the form has. */
export function readAnswer(form: AnswerForm, sent: URLSearchParams): Json | undefined {
  if (form.kind === "buttons") {
    const choice = sent.get("choice") ?? ""
    return /^\d{1,3}$/.test(choice) ? form.values[Number(choice)] : undefined
  }
  const [first] = form.fields
  if (first !== undefined && first.name === undefined) return readField(first, sent.get("value"))
  const answer: [string, Json][] = []
  for (const one of form.fields) {
    const value = readField(one, sent.get(`value.${one.name}`))
    if (value !== undefined) answer.push([one.name as string, value])
  }
  return Object.fromEntries(answer)
}

function readField({ kind, choices, isRequired }: Field, text: string | null): Json | undefined {
  if (kind === "boolean") return text === "on"
  if (text === null || (text === "" && !isRequired)) return undefined
  if (kind === "choice") return /^\d{1,4}$/.test(text) ? choices[Number(text)] : undefined
  if (kind === "text") return text
  return text.trim() === "" || !Number.isFinite(Number(text)) ? text : Number(text)
}

type Data = Readonly<Record<string, Json | undefined>>

function toRecord(value: Json | undefined): Data | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Data) : undefined
}

function choicesOf(data: Data): readonly Json[] | undefined {
  if (Array.isArray(data.enum)) return data.enum as readonly Json[]
  if (data.const !== undefined) return [data.const]
  if (data.type === "boolean") return [true, false]
  const options = data.anyOf ?? data.oneOf
  if (!Array.isArray(options)) return undefined
  const each = options.map((one) => toRecord(one as Json))
  return each.every((one) => one?.const !== undefined) ? each.map((one) => one?.const as Json) : undefined
}

function objectForm(data: Data): AnswerForm | undefined {
  const properties = Object.entries(toRecord(data.properties) ?? {})
  const required = Array.isArray(data.required) ? data.required : []
  if (properties.length === 0 || properties.length > MAX_FIELDS) return undefined
  const fields = properties.map(([name, one]) => {
    const schema = toRecord(one)
    return schema && field(name, schema, required.includes(name))
  })
  return fields.every((one) => one !== undefined) ? { kind: "fields", fields: fields as Field[] } : undefined
}

function field(name: string | undefined, data: Data, isRequired: boolean): Field | undefined {
  const label = [data.title, data.description, name].find((one) => typeof one === "string") ?? "Answer"
  const more = { name, label: label as string, isRequired }
  if (data.type === "boolean") return { ...more, kind: "boolean", choices: [] }
  const choices = choicesOf(data)
  if (choices !== undefined) return { ...more, kind: "choice", choices }
  if (data.type === "number" || data.type === "integer") return { ...more, kind: data.type, choices: [] }
  if (data.type === "string" || Object.keys(data).length === 0) return { ...more, kind: "text", choices: [] }
  return undefined
}
