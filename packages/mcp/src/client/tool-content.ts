/** Results of a server as data that a model can read: text, data, and files that models see or hear. */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client"
import type { Json } from "@superstep/engine"

/**
 * Structured content unchanged, text as text, several blocks as a list. Servers repeat structured content as text for older
 * clients: that copy is dropped. Images, audio and embedded files are files, which a model that takes their type gets as they
 * are; any other gets a line of text that names them. Links are described, not followed.
 */
export function toolValue({ content, structuredContent }: CallToolResult): Json {
  const shown = (content ?? []).map(blockOf)
  if (structuredContent === undefined) return together(shown)
  const structured = structuredContent as Json
  const others = shown.filter((block) => !repeats(block, structured))
  if (others.length === 0) return structured
  return others.some(isFile) ? together([structured, ...others]) : { structured, content: together(others) }
}

/** Why a call failed. */
export function failureText(result: CallToolResult): string {
  const value = toolValue(result)
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text.trim() === "" ? "The tool failed without a reason." : text
}

function together(blocks: readonly Json[]): Json {
  if (blocks.every((block) => typeof block === "string")) return blocks.join("\n")
  if (blocks.length === 1) return blocks[0] as Json
  // A model gets files only from a list of files and texts.
  if (!blocks.some(isFile)) return blocks
  return blocks.map((block) => (typeof block === "string" || isFile(block) ? block : JSON.stringify(block)))
}

function isFile(block: Json): boolean {
  return typeof block === "object" && block !== null && "type" in block && block.type === "file"
}

function blockOf(block: ContentBlock): Json {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return (
        fileOf(block.data, block.mimeType) ??
        compact({ type: block.type, mimeType: block.mimeType, bytes: 0 })
      )
    case "resource":
      return resourceOf(block.resource)
    case "resource_link": {
      const { type, uri, name, description, mimeType } = block
      return compact({ type, uri, name, description, mimeType })
    }
  }
}

export function resourceOf(
  resource: { uri: string; mimeType?: string | undefined } & Partial<Contents>,
): Json {
  const { uri, mimeType, text, blob = "" } = resource
  if (text !== undefined) return compact({ type: "resource", uri, mimeType, text })
  const file = fileOf(blob, mimeType ?? "application/octet-stream", nameIn(uri))
  return file ?? compact({ type: "resource", uri, mimeType, bytes: 0 })
}

const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/i

/** Undefined if the server sent no file: neither a type nor base64. */
function fileOf(data: string, type: string, filename?: string): Json | undefined {
  const mediaType = type.split(";")[0]?.trim().toLowerCase() ?? ""
  // Not a single pattern: that would be slow for a large file.
  const isBase64 =
    data !== "" && data.length % 4 !== 1 && !/[^A-Za-z0-9+/=]/.test(data) && !/=[^=]/.test(data)
  if (!isBase64 || !MEDIA_TYPE.test(mediaType)) return undefined
  return { type: "file", mediaType, data, ...(filename !== undefined && { filename }) }
}

/** The last part of a URI, as the name of a file. */
function nameIn(uri: string): string | undefined {
  const [path = ""] = uri.split(/[?#]/)
  const name = path
    .split("/")
    .at(-1)
    ?.replace(/[^\w.-]+/g, "_")
    .slice(0, 100)
  return name === "" ? undefined : name
}

interface Contents {
  readonly text: string
  readonly blob: string
}

/** Whether the block is the structured content as JSON, or one of its strings. */
function repeats(block: Json, structured: Json): boolean {
  if (typeof block !== "string") return false
  if (hasText(structured, block)) return true
  try {
    return JSON.stringify(JSON.parse(block)) === JSON.stringify(structured)
  } catch {
    return false
  }
}

function hasText(value: Json, text: string): boolean {
  if (typeof value !== "object" || value === null) return value === text
  return Object.values(value).some((item) => item !== undefined && hasText(item, text))
}

function compact(value: { readonly [key: string]: Json | undefined }): Json {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Json
}
