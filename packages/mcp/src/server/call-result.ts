/** The outcome of a run as the result of a tool: text for the model, data for programs. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { isSuperstepError, type Json, type OpenRequest, type RunResult } from "@superstep/engine"

/** The schema of `structuredContent`, for every tool that executes a run. */
export const RESULT_SCHEMA = {
  type: "object" as const,
  properties: {
    runId: { type: "string" },
    status: { enum: ["completed", "waiting", "failed", "cancelled", "limit"] },
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
    error: {
      type: "object",
      properties: { code: { type: "string" }, message: { type: "string" } },
      required: ["code", "message"],
    },
  },
  required: ["runId", "status", "outputs"],
}

export function runResult({ runId, status, outputs, requests, error }: RunResult): CallToolResult {
  const structuredContent = {
    runId,
    status,
    outputs,
    ...(status === "waiting" && { requests: requests.map(requestData) }),
    ...(error !== undefined && { error: { code: error.code, message: error.message } }),
  }
  const text =
    status === "waiting"
      ? waitingText(runId, requests)
      : status === "completed"
        ? outputText(outputs)
        : undefined
  const ended = `Run ${runId} ended with status "${status}"${error === undefined ? "." : `: ${error.message} (${error.code})`}`
  return {
    content: [{ type: "text", text: text ?? ended }],
    structuredContent,
    ...(text === undefined ? { isError: true } : {}),
  }
}

/** A call without a run: invalid input, or an invalid answer. */
export function callRefused(error: unknown): CallToolResult {
  const text = error instanceof Error ? error.message : String(error)
  const code = isSuperstepError(error) ? ` (${error.code})` : ""
  return { content: [{ type: "text", text: `${text}${code}` }], isError: true }
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

function waitingText(runId: string, requests: readonly OpenRequest[]): string {
  const questions = requests.map(({ id, prompt, data, schema }) => {
    const about = data === undefined ? "" : `\n  About: ${JSON.stringify(data)}`
    const form =
      schema === undefined ? "" : `\n  The answer must match this JSON Schema: ${JSON.stringify(schema)}`
    return `- request "${id}": ${prompt}${about}${form}`
  })
  const how = `Ask the person, then call answer_run with { "run": "${runId}", "request": …, "answer": … }.`
  return [`The run "${runId}" is not finished: it waits for a person.`, ...questions, how].join("\n")
}
