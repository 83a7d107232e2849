/**
 * Images, documents and audio as plain data: parts of messages, and results of tools. Read from the shapes in which people
 * and libraries write them: bytes, base64, addresses, data URLs, and the parts of the AI SDK, OpenAI, Anthropic and MCP.
 */
import { type Json, SuperstepError } from "../core/index.ts"

/** A file in a message or in a tool's result. */
export interface FilePart {
  readonly type: "file"
  /** Such as `image/png`; `image/*` for an image by URL whose type is unknown. */
  readonly mediaType: string
  /** Base64, an http URL, or the id of a file at OpenAI. */
  readonly data: string
  readonly filename?: string | undefined
  readonly providerOptions?:
    | { readonly [provider: string]: { readonly [key: string]: Json | undefined } }
    | undefined
}

export interface FilePartOptions {
  /** Default: detected from the first bytes, or from the extension of the URL or the file name. */
  readonly mediaType?: string | undefined
  readonly filename?: string | undefined
}

/** Creates a file from bytes, a URL, a data URL, or base64. */
export function filePart(
  data: Uint8Array | ArrayBuffer | URL | string,
  options: FilePartOptions = {},
): FilePart {
  const made = partOf(data, options.mediaType, options.filename)
  if (typeof made !== "string") return made
  throw new SuperstepError("FILE_INVALID", `The file cannot be used: ${made}.`, { retryable: false })
}

/** The part, or the problem with it. */
function partOf(data: unknown, mediaType: unknown, filename: unknown): FilePart | string {
  const name = typeof filename === "string" && filename !== "" ? { filename } : {}
  const type = typeof mediaType === "string" && mediaType !== "" ? mediaType.toLowerCase() : undefined
  const bytes = bytesOf(data)
  const text = bytes !== undefined ? bytes.toString("base64") : data instanceof URL ? data.href : data
  if (typeof text !== "string" || text === "") return "it has no bytes, no base64 and no URL"
  if (/^https?:\/\//i.test(text)) {
    if (!URL.canParse(text)) return `"${text.slice(0, 80)}" is not a URL`
    const found = type ?? typeOfName(new URL(text).pathname) ?? typeOfName(String(filename))
    if (found === undefined) return "its URL does not reveal its type; set mediaType, such as image/png"
    return { type: "file", mediaType: found, data: text, ...name }
  }
  // The id of a file at OpenAI, which OpenAI's package accepts.
  if (type !== undefined && FILE_ID.test(text)) return { type: "file", mediaType: type, data: text, ...name }
  const inline = /^data:([^;,]*)((?:;[^;,]*)*),(.*)$/s.exec(text)
  const [, written = "", flags = "", content = ""] = inline ?? []
  if (inline === null && /^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    return "its URL must begin with http:// or https://"
  const base64 =
    inline === null
      ? text
      : flags.includes(";base64")
        ? content
        : Buffer.from(decodeURIComponent(content)).toString("base64")
  if (!isBase64(base64)) return "it is neither base64 nor an http URL"
  const found =
    type ?? (written === "" ? undefined : written) ?? typeOfBytes(base64) ?? typeOfName(String(filename))
  if (found === undefined) return "its bytes do not reveal its type; set mediaType, such as image/png"
  // If the bytes and the type of an image disagree, the bytes are right.
  const sniffed = found.startsWith("image/") ? typeOfBytes(base64) : undefined
  return { type: "file", mediaType: sniffed ?? found, data: base64, ...name }
}

function bytesOf(data: unknown): Buffer | undefined {
  if (data instanceof Uint8Array) return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  if (data instanceof ArrayBuffer) return Buffer.from(data)
  // A Buffer that was turned into JSON.
  const { type, data: list } = Object(data) as { type?: unknown; data?: unknown }
  return type === "Buffer" && Array.isArray(list) ? Buffer.from(list as number[]) : undefined
}

const FILE_ID = /^file-[A-Za-z0-9_-]+$/

/** Not a single pattern: that would be slow for a large file. */
function isBase64(text: string): boolean {
  return text.length % 4 !== 1 && !/[^A-Za-z0-9+/=]/.test(text) && !/=[^=]/.test(text)
}

const BEGINNINGS: readonly (readonly [string, string])[] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
  ["JVBERi", "application/pdf"],
]

function typeOfBytes(base64: string): string | undefined {
  return BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1]
}

const ENDINGS: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  json: "application/json",
  mp3: "audio/mpeg",
  wav: "audio/wav",
}

function typeOfName(name: string): string | undefined {
  const ending = /\.([A-Za-z0-9]{1,5})$/.exec(name)?.[1]?.toLowerCase()
  return ending === undefined || !Object.hasOwn(ENDINGS, ending) ? undefined : ENDINGS[ending]
}

type Fields = Readonly<Record<string, unknown>>

/** Reads a part of a message in any documented shape: text, a file, or the problem with it. */
export function readPart(raw: unknown): FilePart | { readonly type: "text"; readonly text: string } | string {
  if (typeof raw === "string") return { type: "text", text: raw }
  const part = Object(raw) as Fields
  const { type, text, mediaType = part.mimeType ?? part.mime_type, filename = part.name } = part
  switch (type) {
    case "text":
    case "input_text":
      if (typeof text !== "string") return "its text is not a string"
      return type === "text" ? (part as unknown as { type: "text"; text: string }) : { type: "text", text }
    case "image":
      if (part.source !== undefined) return fromSource(part, "image/*")
      return partOf(
        part.image ?? part.data ?? part.url,
        mediaType ?? addressType(part.image ?? part.url),
        filename,
      )
    case "image_url":
    case "input_image":
      return fromImageUrl(part)
    case "document":
      return fromSource(part, "application/pdf")
    case "file":
      return (
        kept(part) ??
        fromFile(part.file === undefined ? part : { ...part, ...Object(part.file) }, mediaType, filename)
      )
    case "input_file":
      return fromFile(part, mediaType, filename)
    case "audio":
    case "input_audio": {
      const { data, format } = Object(part.input_audio ?? part) as Fields
      return partOf(
        data,
        mediaType ?? (format === "wav" ? "audio/wav" : format === "mp3" ? "audio/mpeg" : undefined),
        filename,
      )
    }
    default:
      return `${JSON.stringify(type) ?? "nothing"} is not a part type; use text, image, image_url, file, document and audio`
  }
}

/** A part that `filePart` created stays the same object. */
function kept(part: Fields): FilePart | undefined {
  if (!isFilePart(part)) return undefined
  const again = partOf(part.data, part.mediaType, part.filename)
  return typeof again !== "string" && again.data === part.data && again.mediaType === part.mediaType
    ? part
    : undefined
}

function fromFile(part: Fields, mediaType: unknown, filename: unknown): FilePart | string {
  if (part.file_id !== undefined) return partOf(part.file_id, mediaType ?? "application/pdf", filename)
  return partOf(part.data ?? part.file_data ?? part.url ?? part.file_url, mediaType, filename)
}

function fromSource({ source, title }: Fields, unknown: string): FilePart | string {
  const { type, media_type, data, url } = Object(source) as Fields
  if (type === "text") return partOf(Buffer.from(String(data)), media_type ?? "text/plain", title)
  return partOf(
    type === "url" ? url : data,
    media_type ?? (type === "url" ? addressType(url, unknown) : undefined),
    title,
  )
}

function fromImageUrl(part: Fields): FilePart | string {
  const { image_url } = part
  const { url = image_url, detail = part.detail } = (
    image_url instanceof URL ? {} : Object(image_url)
  ) as Fields
  const made = partOf(url, addressType(url), undefined)
  if (typeof made === "string" || typeof detail !== "string") return made
  return { ...made, providerOptions: { openai: { imageDetail: detail } } }
}

/** An image whose URL does not reveal its type. */
function addressType(url: unknown, unknown = "image/*"): string | undefined {
  const text = String(url)
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined
  return typeOfName(new URL(text).pathname) ?? unknown
}

const FIELDS = new Set(["type", "mediaType", "data", "filename", "providerOptions"])

/** Whether a value has exactly the shape that `filePart` creates. */
function isFilePart(value: unknown): value is FilePart {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const { type, mediaType, data } = value as Fields
  return (
    type === "file" &&
    typeof mediaType === "string" &&
    typeof data === "string" &&
    Object.keys(value).every((key) => FIELDS.has(key))
  )
}

/** The parts of a tool's result that has files: one, or a list of files and text. Undefined for other results. */
export function contentParts(
  value: unknown,
): readonly (FilePart | { readonly type: "text"; readonly text: string })[] | undefined {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (!list.some(isFilePart)) return undefined
  const parts = list.map((one) => (isFilePart(one) ? one : textPart(one)))
  return parts.every((part) => part !== undefined) ? parts : undefined
}

function textPart(value: unknown): { readonly type: "text"; readonly text: string } | undefined {
  if (typeof value === "string") return { type: "text", text: value }
  const { type, text } = Object(value) as Fields
  return type === "text" && typeof text === "string" ? { type, text } : undefined
}
