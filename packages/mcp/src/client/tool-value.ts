/** The result of a server's tool as data that a model can read. */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/sdk/types.js"
import type { Json } from "@superstep/engine"

/**
 * Structured content unchanged, text as text, several blocks as a list. Servers repeat structured content as text for older
 * clients: that copy is dropped. Images are files that a model sees; audio and other files are described, not included.
 */
export function toolValue({ content, structuredContent }: CallToolResult): Json {
  const shown = (content ?? []).map(blockOf)
  if (structuredContent === undefined) return together(shown)
  const structured = structuredContent as Json
  const others = shown.filter((block) => !repeats(block, structured))
  return others.length === 0 ? structured : { structured, content: together(others) }
}

/** Why a call failed. */
export function failureText(result: CallToolResult): string {
  const value = toolValue(result)
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text.trim() === "" ? "The tool failed without a reason." : text
}

function together(blocks: readonly Json[]): Json {
  if (blocks.every((block) => typeof block === "string")) return blocks.join("\n")
  return blocks.length === 1 ? (blocks[0] as Json) : blocks
}

function blockOf(block: ContentBlock): Json {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
      return { type: "file", mediaType: block.mimeType, data: block.data }
    case "audio":
      return { type: block.type, mimeType: block.mimeType, bytes: bytesOf(block.data) }
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
  const { uri, mimeType, text, blob } = resource
  if (text !== undefined) return compact({ type: "resource", uri, mimeType, text })
  return compact({ type: "resource", uri, mimeType, bytes: bytesOf(blob ?? "") })
}

interface Contents {
  readonly text: string
  readonly blob: string
}

/** As JSON, or as one of its strings. */
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

/** The size of base64 data, without decoding it. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/(?<!=)=+$/, "").length * 3) / 4)
}

function compact(value: { readonly [key: string]: Json | undefined }): Json {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Json
}
