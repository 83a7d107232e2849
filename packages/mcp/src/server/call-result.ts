/** What became of a run, as the result of a tool: words for the model, data for programs. */
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { isSuperstepError, type Json, type OpenRequest, type RunResult } from "@superstep/engine"

/** Of `structuredContent`, for every tool that runs something. */
export const RESULT_SCHEMA = {
  type: "object" as const,
  properties: {
    runId: { type: "string" },
    status: { enum: ["completed", "waiting", "failed", "cancelled", "limit"] },
    outputs: { type: "array", description: "What the run has put out so far." },
    requests: {
      type: "array",
      description: "What a person is asked, while the status is waiting: answer with answer_run.",
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
    ...(status === "waiting" ? { requests: requests.map(asked) } : {}),
    ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
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

/** A call that came to no run: bad input, an answer that does not fit. */
export function callRefused(error: unknown): CallToolResult {
  const text = error instanceof Error ? error.message : String(error)
  const code = isSuperstepError(error) ? ` (${error.code})` : ""
  return { content: [{ type: "text", text: `${text}${code}` }], isError: true }
}

function asked({ id, prompt, data, schema, to }: OpenRequest): { readonly [key: string]: Json } {
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
      schema === undefined ? "" : `\n  The answer follows this JSON Schema: ${JSON.stringify(schema)}`
    return `- request "${id}": ${prompt}${about}${form}`
  })
  const how = `Ask the person, then call answer_run with { "run": "${runId}", "request": …, "answer": … }.`
  return [`The run "${runId}" is not done: it waits for a person.`, ...questions, how].join("\n")
}
