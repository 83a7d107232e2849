/** Images, documents and audio in the form that an interface takes. */
import type {
  LanguageModelV3FilePart,
  LanguageModelV3TextPart,
  LanguageModelV3ToolResultOutput,
} from "@ai-sdk/provider"
import { SuperstepError } from "../../core/index.ts"
import { type Model, modelName } from "../model.ts"
import type { ModelInterface } from "./model-interface.ts"

type FilePart = LanguageModelV3FilePart
type TextPart = LanguageModelV3TextPart
type ContentPart = Extract<LanguageModelV3ToolResultOutput, { type: "content" }>["value"][number]

const IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/*"]
const PDF = "application/pdf"
const AUDIO = ["audio/wav", "audio/mp3", "audio/mpeg"]

type Types = readonly string[]

/** What an interface takes inline, what it fetches from an address, and what it knows by the id of a file at OpenAI. */
const TAKEN: Readonly<Record<Exclude<ModelInterface, "other">, { inline: Types; urls: Types; ids: Types }>> =
  {
    responses: { inline: [...IMAGES, PDF], urls: [...IMAGES, PDF], ids: [...IMAGES, PDF] },
    chat: { inline: [...IMAGES, PDF, ...AUDIO], urls: IMAGES, ids: [PDF] },
    messages: { inline: [...IMAGES, PDF], urls: [...IMAGES, PDF], ids: [] },
  }

const FILE_ID = /^file-[A-Za-z0-9_-]+$/

/** Text reaches every model; what else it is given must be of a type that its interface takes. */
export function fileFor(model: Model, via: ModelInterface, part: FilePart): FilePart | TextPart {
  const file = { ...part, data: dataOf(part.data) }
  const isUrl = file.data instanceof URL
  if (via === "other") {
    if (!isUrl || fetches(model, file)) return file
    throw unsupported(model, `${nameOf(file)} by its address`, "Give its bytes.")
  }
  const isId = typeof file.data === "string" && FILE_ID.test(file.data)
  if (!isUrl && !isId && isText(file.mediaType)) return { type: "text", text: textOf(file) }
  const { inline, urls, ids } = TAKEN[via]
  const taken = isUrl ? urls : isId ? ids : inline
  if (taken.includes(file.mediaType)) return file
  if (isId) throw unsupported(model, `${nameOf(file)} by its id at OpenAI`, "Give its bytes.")
  const types = taken.filter((type) => !type.endsWith("*")).join(", ")
  throw unsupported(
    model,
    isUrl ? `${nameOf(file)} by its address` : nameOf(file),
    `It takes ${types}, and text.`,
  )
}

/** Addresses are strings in a conversation, which is plain data. */
function dataOf(data: FilePart["data"]): FilePart["data"] {
  if (typeof data !== "string") return data
  if (/^https?:\/\//i.test(data)) return new URL(data)
  return data
}

function fetches({ supportedUrls }: Model, { data, mediaType }: FilePart): boolean {
  // Not a promise in the packages that are known; where it is one, the package decides.
  if ("then" in supportedUrls) return true
  return Object.entries(supportedUrls as Record<string, RegExp[]>).some(([type, patterns]) => {
    const isType =
      type === "*" || type === "*/*" || type === mediaType || type === `${mediaType.split("/")[0]}/*`
    return isType && patterns.some((pattern) => pattern.test(String(data)))
  })
}

function isText(mediaType: string): boolean {
  return (
    /^text\/|^application\/(?:json|xml|yaml|x-yaml|javascript|csv)$|\+(?:json|xml)$/.test(mediaType) &&
    mediaType !== "image/svg+xml"
  )
}

function textOf({ data, filename }: FilePart): string {
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : (data as Uint8Array)
  const text = new TextDecoder().decode(bytes)
  return filename === undefined ? text : `${filename}:\n\n${text}`
}

function nameOf({
  filename,
  mediaType,
}: {
  readonly filename?: string | undefined
  readonly mediaType: string
}): string {
  return filename === undefined ? `a file of type ${mediaType}` : `the file "${filename}" (${mediaType})`
}

function unsupported(model: Model, what: string, advice: string): SuperstepError {
  const text = `${modelName(model)} cannot take ${what}. ${advice}`
  return new SuperstepError("MODEL_MEDIA_UNSUPPORTED", text, { retryable: false })
}

/** A tool's result, and the files that must follow it in a message of the user where results are text alone. */
export function resultFor(
  via: ModelInterface,
  output: LanguageModelV3ToolResultOutput,
): { readonly output: LanguageModelV3ToolResultOutput; readonly aside: readonly (FilePart | TextPart)[] } {
  if (output.type !== "content" || via === "other") return { output, aside: [] }
  if (via !== "chat")
    return { output: { type: "content", value: output.value.map((part) => readable(via, part)) }, aside: [] }
  const aside: FilePart[] = []
  const lines = output.value.map((part) => {
    const text = readable(via, part)
    if (text.type === "text") return text.text
    const file = fileOf(text)
    if (file === undefined) return "[a file that this model cannot read]"
    aside.push(file)
    return `[${nameOf(file)}: it follows below]`
  })
  return { output: { type: "text", value: lines.join("\n") }, aside }
}

/** A file that the interface does not take becomes text: its content, or that it is there. */
function readable(via: Exclude<ModelInterface, "other">, part: ContentPart): ContentPart {
  const file = fileOf(part)
  if (file === undefined) return part
  const isUrl = file.data instanceof URL
  if (!isUrl && isText(file.mediaType)) return { type: "text", text: textOf(file) }
  if (TAKEN[via][isUrl ? "urls" : "inline"].includes(file.mediaType)) return part
  return { type: "text", text: `[${nameOf(file)}, which this model cannot read]` }
}

function fileOf(part: ContentPart): FilePart | undefined {
  switch (part.type) {
    case "image-data":
    case "file-data": {
      const { data, mediaType } = part
      const filename = "filename" in part ? part.filename : undefined
      return { type: "file", data, mediaType, ...(filename !== undefined && { filename }) }
    }
    case "image-url":
      return { type: "file", data: new URL(part.url), mediaType: "image/*" }
    case "file-url":
      return { type: "file", data: new URL(part.url), mediaType: PDF }
    default:
      return undefined
  }
}
