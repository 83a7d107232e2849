/**
 * Forms from JSON Schemas. A schema becomes fields, what people type is kept as text by path, and `readForm` turns it into the
 * value or says what is missing. What a form cannot show well (unions, lists of objects) is a field of JSON. The server
 * validates the value: a form only helps to write it.
 */

export type FormField =
  | (FieldBase & { readonly kind: "text"; readonly isLong: boolean })
  | (FieldBase & { readonly kind: "number"; readonly isInteger: boolean })
  | (FieldBase & { readonly kind: "boolean" })
  | (FieldBase & { readonly kind: "choice"; readonly choices: readonly unknown[] })
  | (FieldBase & { readonly kind: "json" })
  | (FieldBase & { readonly kind: "object"; readonly fields: readonly FormField[] })

interface FieldBase {
  /** Where the value is, such as "/address/city"; empty for the whole. */
  readonly path: string
  readonly label: string
  readonly hint: string | undefined
  readonly isRequired: boolean
  readonly initial: unknown
}

/** What people typed, by path. A field that nobody touched is absent. */
export type FormInput = ReadonlyMap<string, string>

export interface FormResult {
  /** Undefined while there are problems, or when everything was left out. */
  readonly value: unknown
  readonly problems: ReadonlyMap<string, string>
}

type Schema = { readonly [name: string]: unknown }
const MAX_DEPTH = 4

/** `initial`: a value to start from, such as the arguments of a tool call. Any schema works: an unknown one is JSON. */
export function formOf(schema: unknown, label: string, initial?: unknown): FormField {
  return fieldOf(schema, { path: "", label, isRequired: true, initial }, 0)
}

interface FieldOrigin {
  readonly path: string
  readonly label: string
  readonly isRequired: boolean
  readonly initial: unknown
}

function fieldOf(schema: unknown, origin: FieldOrigin, depth: number): FormField {
  const { path, label, isRequired } = origin
  const written = isSchema(schema) ? schema : {}
  const initial = origin.initial ?? written.default
  const hint = typeof written.description === "string" ? written.description : undefined
  const base = {
    path,
    label: typeof written.title === "string" ? written.title : label,
    hint,
    isRequired,
    initial,
  }
  const choices = choicesOf(written)
  if (choices !== undefined) return { ...base, kind: "choice", choices }
  switch (typeOf(written, initial)) {
    case "string":
      return { ...base, kind: "text", isLong: isLong(written, path, initial) }
    case "number":
      return { ...base, kind: "number", isInteger: false }
    case "integer":
      return { ...base, kind: "number", isInteger: true }
    case "boolean":
      return { ...base, kind: "boolean" }
    case "object": {
      const properties = isSchema(written.properties) ? written.properties : undefined
      if (properties === undefined || depth >= MAX_DEPTH || Object.keys(properties).length === 0) break
      const required = Array.isArray(written.required) ? written.required : []
      const values = isSchema(initial) ? initial : {}
      const fields = Object.entries(properties).map(([name, one]) =>
        fieldOf(
          one,
          {
            path: `${path}/${name.replace(/~/g, "~0").replace(/\//g, "~1")}`,
            label: name,
            isRequired: required.includes(name),
            initial: values[name],
          },
          depth + 1,
        ),
      )
      return { ...base, kind: "object", fields }
    }
  }
  return { ...base, kind: "json" }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function choicesOf({ enum: values, const: only, anyOf, oneOf }: Schema): readonly unknown[] | undefined {
  if (Array.isArray(values) && values.length > 0) return values
  if (only !== undefined) return [only]
  const options = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []
  const constants = options.flatMap((one) => (isSchema(one) && one.const !== undefined ? [one.const] : []))
  return constants.length > 0 && constants.length === options.length ? constants : undefined
}

/** Of a union with null, the other type. A schema without a type may still say what it is by a value. */
function typeOf({ type, properties }: Schema, initial: unknown): unknown {
  if (Array.isArray(type)) {
    const others = type.filter((one) => one !== "null")
    return others.length === 1 ? others[0] : undefined
  }
  if (type === undefined && properties !== undefined) return "object"
  if (type === undefined && typeof initial === "string") return "string"
  return type
}

function isLong({ maxLength, format }: Schema, path: string, initial: unknown): boolean {
  if (typeof format === "string") return false
  if (typeof maxLength === "number") return maxLength > 120
  if (typeof initial === "string") return initial.length > 60 || initial.includes("\n")
  return path === "" || /(?:text|body|message|prompt|content|reason|comment|description)$/i.test(path)
}

/** What an input shows before anybody types. */
export function initialText({ kind, initial }: FormField): string {
  if (initial === undefined) return ""
  if (kind === "json") return JSON.stringify(initial, undefined, 2)
  if (kind === "choice") return JSON.stringify(initial)
  return String(initial)
}

export function readForm(field: FormField, input: FormInput): FormResult {
  const problems = new Map<string, string>()
  const value = readField(field, input, problems)
  return { value: problems.size > 0 ? undefined : value, problems }
}

function readField(field: FormField, input: FormInput, problems: Map<string, string>): unknown {
  const { path, isRequired } = field
  if (field.kind === "object") return readObject(field, input, problems)
  const text = input.get(path) ?? initialText(field)
  if (field.kind === "boolean")
    return text === "true" ? true : text === "false" || isRequired ? false : undefined
  if (text.trim() === "") {
    if (field.kind === "text") return isRequired || input.has(path) ? text : undefined
    if (isRequired) problems.set(path, "Fill this in.")
    return undefined
  }
  if (field.kind === "text") return text
  if (field.kind === "number") {
    const number = Number(text)
    if (!Number.isFinite(number)) problems.set(path, "Write a number.")
    else if (field.isInteger && !Number.isInteger(number)) problems.set(path, "Write a whole number.")
    return number
  }
  try {
    return JSON.parse(text)
  } catch {
    problems.set(path, 'This is no JSON. Text needs quotation marks: "like this".')
    return undefined
  }
}

/** An optional object of which nothing is filled in is left out. */
function readObject(
  field: Extract<FormField, { kind: "object" }>,
  input: FormInput,
  problems: Map<string, string>,
): unknown {
  const isTouched =
    field.isRequired ||
    field.initial !== undefined ||
    [...input].some(([path, text]) => path.startsWith(`${field.path}/`) && text !== "")
  if (!isTouched) return undefined
  const entries = field.fields.flatMap((one): [string, unknown][] => {
    const value = readField(one, input, problems)
    const name = one.path
      .slice(one.path.lastIndexOf("/") + 1)
      .replace(/~1/g, "/")
      .replace(/~0/g, "~")
    return value === undefined ? [] : [[name, value]]
  })
  // Properties that the schema does not name stay as they were.
  const known = new Set(field.fields.map(({ path }) => path.slice(field.path.length + 1)))
  const rest = isSchema(field.initial)
    ? Object.entries(field.initial).filter(
        ([name]) => !known.has(name.replace(/~/g, "~0").replace(/\//g, "~1")),
      )
    : []
  return Object.fromEntries([...rest, ...entries])
}
