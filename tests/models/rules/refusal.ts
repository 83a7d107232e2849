/** A request that a provider refuses, and the checks that several of them share. */

export type Data = { readonly [key: string]: unknown }

/** What the provider answers with. */
export class Refusal extends Error {
  readonly status: number
  readonly param: string | null

  constructor(
    message: string,
    { status = 400, param = null }: { status?: number; param?: string | null } = {},
  ) {
    super(message)
    this.status = status
    this.param = param
  }
}

export function refuse(message: string, param?: string): never {
  throw new Refusal(message, { param: param ?? null })
}

export function isData(value: unknown): value is Data {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function listOf(value: unknown): readonly Data[] {
  return Array.isArray(value) ? value.filter(isData) : []
}

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
export const isName = (name: unknown): name is string => typeof name === "string" && NAME.test(name)

export function checkUnique(ids: readonly string[], problem: (id: string) => string): void {
  const seen = new Set<string>()
  for (const id of ids) {
    if (seen.has(id)) refuse(problem(id))
    seen.add(id)
  }
}

/** OpenAI and Anthropic refuse these at the root of a tool's parameters, strict or not. */
export function checkParameters(schema: unknown, problem: (why: string) => string): void {
  if (!isData(schema) || schema.type !== "object")
    refuse(problem("schema must be a JSON Schema of 'type: \"object\"'"))
  const found = ["oneOf", "anyOf", "allOf", "enum", "not"].find((key) => schema[key] !== undefined)
  if (found !== undefined)
    refuse(problem(`schema must have type 'object' and not have '${found}' at the top level`))
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
export const isBase64 = (text: unknown): text is string =>
  typeof text === "string" && text !== "" && BASE64.test(text)

export const isWebUrl = (text: unknown): boolean =>
  typeof text === "string" && /^https?:\/\/[^\s/]+/.test(text)

const IMAGES: Readonly<Record<string, string>> = {
  "image/png": "iVBORw0KGgo",
  "image/jpeg": "/9j/",
  "image/gif": "R0lGOD",
  "image/webp": "UklGR",
}

/** Why bytes are no image that vision models read: another type, or other bytes than the type says. */
export function imageProblem(mediaType: unknown, data: unknown): string | undefined {
  if (typeof mediaType !== "string" || !(mediaType in IMAGES))
    return `unsupported image type ${String(mediaType)}`
  if (!isBase64(data)) return "invalid base64 data"
  return data.startsWith(IMAGES[mediaType] as string)
    ? undefined
    : `the image does not match the type ${mediaType}`
}

/** `data:<type>;base64,<data>` in its parts. */
export function dataUrl(url: unknown): { readonly mediaType: string; readonly data: string } | undefined {
  const [, mediaType, data] = /^data:([\w.+-]+\/[\w.+-]+);base64,(.*)$/s.exec(String(url)) ?? []
  return mediaType === undefined || data === undefined ? undefined : { mediaType, data }
}
