/**
 * The outcome of a run as the result of a tool: text for the model, data for programs. Outputs with files (`filePart`), alone or in
 * a list with texts and resources, are images, audio and embedded resources.
 */
import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/server"
import type { Json, OpenRequest, OpenWait, RunResult } from "@superstep/engine"

/** The schema of `structuredContent`, for every tool that executes a run. */
export const RESULT_SCHEMA = {
  type: "object" as const,
  properties: {
    runId: { type: "string" },
    status: { enum: ["completed", "waiting", "paused", "failed", "cancelled", "limit"] },
    outputs: { type: "array", description: "The outputs of the run so far." },
    requests: {
      type: "array",
      description: "Questions for a person, while the status is waiting: answer them with answer_run.",
      items: {
        type: "object",
        properties: {
          id: { type: "string" },
          prompt: { type: "string" },
          data: {},
          schema: { description: "JSON Schema of the answer." },
          to: { type: "string" },
        },
        required: ["id", "prompt"],
      },
    },
    signals: {
      type: "array",
      description: "Names of the signals that the run waits for. Other programs send them.",
      items: { type: "string" },
    },
    error: {
      type: "object",
      properties: { code: { type: "string" }, message: { type: "string" } },
      required: ["code", "message"],
    },
  },
  required: ["runId", "status", "outputs"],
}

export function runResult({ runId, status, outputs, requests, waits, error }: RunResult): CallToolResult {
  const structuredContent = {
    runId,
    status,
    outputs: outputs.map(withoutBytes),
    ...(status === "waiting" && { requests: requests.map(requestData) }),
    ...(waits.length > 0 && { signals: waits.map(({ name }) => name) }),
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
  }
  const text =
    status === "waiting"
      ? waitingText(runId, requests, waits)
      : status === "completed"
        ? outputText(outputs)
        : status === "paused"
          ? `Run ${runId} is paused. It continues when somebody resumes it.`
          : undefined
  const ended = `Run ${runId} ended with status "${status}"${error === undefined ? "." : `: ${error.message} (${error.code})`}`
  const files = status === "completed" ? contentOf(outputs) : undefined
  return {
    content: files ?? [{ type: "text", text: text ?? ended }],
    structuredContent,
    ...(text === undefined ? { isError: true } : {}),
  }
}

function requestData({ id, prompt, data, schema, to }: OpenRequest): { readonly [key: string]: Json } {
  const all = { id, prompt, data, schema, to }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as {
    readonly [key: string]: Json
  }
}

function outputText(outputs: readonly unknown[]): string {
  const value = outputs.length === 1 ? outputs[0] : outputs
  return typeof value === "string" ? value : JSON.stringify(value)
}

function waitingText(runId: string, requests: readonly OpenRequest[], waits: readonly OpenWait[]): string {
  const names = waits.map(({ name }) => `"${name}"`).join(", ")
  const signals = waits.length === 0 ? [] : [`It waits for signals that another program sends: ${names}.`]
  if (requests.length === 0) return [`The run "${runId}" is not finished.`, ...signals].join("\n")
  const questions = requests.map(({ id, prompt, data, schema }) => {
    const about = data === undefined ? "" : `\n  About: ${JSON.stringify(data)}`
    const form =
      schema === undefined ? "" : `\n  The answer must match this JSON Schema: ${JSON.stringify(schema)}`
    return `- request "${id}": ${prompt}${about}${form}`
  })
  const how = `Ask the person, then call answer_run with { "run": "${runId}", "request": …, "answer": … }.`
  return [
    `The run "${runId}" is not finished: it is waiting for a person.`,
    ...questions,
    how,
    ...signals,
  ].join("\n")
}

type Fields = Readonly<Record<string, unknown>>

/** Undefined if no output has a file or a resource. */
function contentOf(outputs: readonly unknown[]): ContentBlock[] | undefined {
  const parts = outputs.flatMap((output) =>
    Array.isArray(output) && output.some(isEmbedded) ? output : [output],
  )
  return parts.some(isEmbedded) ? parts.map(blockOf) : undefined
}

function isEmbedded(value: unknown): value is Fields {
  return isFile(value) || isResource(value)
}

function isFile(value: unknown): boolean {
  const { type, mediaType, data } = Object(value) as Fields
  return type === "file" && typeof mediaType === "string" && typeof data === "string"
}

function isResource(value: unknown): boolean {
  const { type, uri, text } = Object(value) as Fields
  return type === "resource" && typeof uri === "string" && typeof text === "string"
}

function blockOf(value: unknown): ContentBlock {
  if (!isEmbedded(value))
    return { type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }
  const { data, mediaType, filename, uri, text, mimeType } = value as Readonly<
    Record<string, string | undefined>
  >
  if (uri !== undefined && text !== undefined) {
    return { type: "resource", resource: { uri, text, ...(mimeType !== undefined && { mimeType }) } }
  }
  const bytes = { data: data ?? "", mimeType: mediaType ?? "" }
  if (/^https?:/i.test(bytes.data)) {
    return { type: "resource_link", uri: bytes.data, name: filename ?? bytes.data, mimeType: bytes.mimeType }
  }
  if (bytes.mimeType.startsWith("image/")) return { type: "image", ...bytes }
  if (bytes.mimeType.startsWith("audio/")) return { type: "audio", ...bytes }
  const name = encodeURIComponent(filename ?? "output")
  return {
    type: "resource",
    resource: { uri: `file:///${name}`, mimeType: bytes.mimeType, blob: bytes.data },
  }
}

/** The bytes of a file are in the content. */
function withoutBytes(output: unknown): unknown {
  if (Array.isArray(output)) return output.some(isFile) ? output.map(withoutBytes) : output
  if (!isFile(output)) return output
  const { data: _, ...rest } = output as Fields
  return rest
}
