/**
 * An Azure AI Foundry agent, by its id: creates a thread, a message and a run, polls the run until it ends, and reads its
 * messages.
 */
import { z } from "zod"
import type { Json, Usage } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  beginOnce,
  cancelOnAbandon,
  checkedUrl,
  fault,
  poll,
  type RemoteAgent,
  type RemoteOptions,
  type RemoteToken,
  remoteAgent,
  requestJson,
  requestTo,
} from "./remote-agent.ts"

export interface FoundryAgentOptions extends RemoteOptions {
  /** The project's endpoint: `https://<resource>.services.ai.azure.com/api/projects/<project>`. */
  readonly endpoint: string
  readonly agentId: string
  /** An access token for `https://ai.azure.com/.default`, or, better, a function that returns a fresh one. */
  readonly token: RemoteToken
  /** Default `v1`. */
  readonly apiVersion?: string | undefined
  /** Appended to the agent's own instructions. */
  readonly instructions?: string | undefined
}

const created = z.object({ id: z.string() })
const runs = z.object({ data: z.array(created) })
const run = z.object({
  status: z.string(),
  model: z.string().nullish(),
  last_error: z.object({ message: z.string() }).nullish(),
  incomplete_details: z.object({ reason: z.string() }).nullish(),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
})
const messages = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      role: z.string(),
      content: z.array(z.object({ type: z.string(), text: z.object({ value: z.string() }).optional() })),
      metadata: z.record(z.string(), z.unknown()).nullish(),
    }),
  ),
  has_more: z.boolean().nullish(),
  last_id: z.string().nullish(),
})

type Run = z.infer<typeof run>
type StoredMessage = z.infer<typeof messages>["data"][number]

/** Maximum messages that a thread can be created with. */
const MAX_FIRST = 32
/** Identifies a message whose creation response was lost. */
const MARK = "superstep_message"

export function foundryAgent(options: FoundryAgentOptions): RemoteAgent {
  const { agentId, name = agentId, instructions, pollEvery = 1_000, timeout = 600_000 } = options
  checkedUrl(name, "endpoint", options.endpoint)
  const remote = { provider: "azure.ai.foundry", url: options.endpoint }
  return remoteAgent(name, options, remote, async ({ before, question }, ctx) => {
    const call = caller(options, ctx)
    const began = await ctx.step("began", () => ctx.clock.now())
    const thread = await ctx.step("thread", async () => {
      const earlier = before.slice(0, MAX_FIRST).map(({ role, text }) => ({ role, content: text }))
      return (await call(created, "/threads", { body: earlier.length === 0 ? {} : { messages: earlier } })).id
    })
    const at = `/threads/${encodeURIComponent(thread)}`
    const later = [...before.slice(MAX_FIRST), { role: "user", text: question }]
    for (const [i, { role, text: content }] of later.entries()) {
      const metadata = { [MARK]: String(i) }
      await beginOnce(
        ctx,
        "message",
        async () => (await call(created, `${at}/messages`, { body: { role, content, metadata } })).id,
        async () =>
          (await call(messages, `${at}/messages`, { query: { order: "desc" } })).data.find(
            (one) => one.metadata?.[MARK] === metadata[MARK],
          )?.id,
      )
    }
    const more = instructions === undefined ? {} : { additional_instructions: instructions }
    const runId = await beginOnce(
      ctx,
      "run",
      async () => (await call(created, `${at}/runs`, { body: { assistant_id: agentId, ...more } })).id,
      async () => (await call(runs, `${at}/runs`)).data[0]?.id,
    )
    const runAt = `${at}/runs/${encodeURIComponent(runId)}`
    const cancel = (signal: AbortSignal) => call(z.unknown(), `${runAt}/cancel`, { body: {}, signal })
    const read = async () => {
      const what = `The run ${runId} of agent "${name}"`
      const found = await poll(ctx, { every: pollEvery, until: began + timeout, what }, async () =>
        finished(await call(run, runAt), what),
      )
      const said = await allMessages(call, `${at}/messages`, runId)
      return { text: textOf(said), usage: usageOf(found), model: found.model ?? null }
    }
    const { text } = await cancelOnAbandon(ctx, cancel, () =>
      ctx.step("answer", read, {
        usage: ({ usage }) => usage,
        source: ({ model }) => (model === null ? { agent: name } : { agent: name, model }),
      }),
    )
    return text
  })
}

interface CallOptions {
  readonly body?: Json | undefined
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
}

type Call = <T>(shape: z.ZodType<T>, path: string, options?: CallOptions) => Promise<T>

function caller(options: FoundryAgentOptions, ctx: Context): Call {
  const { endpoint, apiVersion = "v1" } = options
  return async (shape, path, { body, query = {}, signal = ctx.signal } = {}) => {
    const search = new URLSearchParams({ "api-version": apiVersion, ...query })
    const url = `${endpoint.replace(/(?<!\/)\/+$/, "")}${path}?${search}`
    const request = await requestTo(url, options, ctx)
    const method = body === undefined ? "GET" : "POST"
    const answer = await requestJson({ ...request, method, body, signal })
    const read = shape.safeParse(answer)
    if (read.success) return read.data
    const reason = z.prettifyError(read.error).replace(/\s+/g, " ")
    throw fault("REMOTE_INVALID", `Azure AI Foundry returned an unexpected answer: ${reason}`, false)
  }
}

const MAX_PAGES = 50

/** The messages of the run, page by page. */
async function allMessages(call: Call, path: string, run_id: string): Promise<readonly StoredMessage[]> {
  const found: StoredMessage[] = []
  let after: { after?: string } = {}
  for (let page = 0; page < MAX_PAGES; page++) {
    const query = { run_id, order: "asc", limit: "100", ...after }
    const { data, has_more, last_id } = await call(messages, path, { query })
    found.push(...data)
    if (!has_more || !last_id || data.length === 0) break
    after = { after: last_id }
  }
  return found
}

const UNDER_WAY = new Set(["queued", "in_progress", "cancelling"])

/** Undefined while the run is in progress. */
function finished(found: Run, what: string): Run | undefined {
  const { status, last_error, incomplete_details } = found
  if (UNDER_WAY.has(status)) return undefined
  if (status === "completed") return found
  if (status === "requires_action") {
    const text = `${what} requires a function result or an approval, which can only be provided in Azure AI Foundry. Remove such tools from the agent.`
    throw fault("REMOTE_NEEDS_ACTION", text, false)
  }
  const why = last_error?.message ?? incomplete_details?.reason
  throw fault(
    "REMOTE_FAILED",
    `${what} ended with status ${status}${why === undefined ? "" : `: ${why}`}.`,
    false,
  )
}

function textOf(data: readonly StoredMessage[]): string {
  return data
    .filter(({ role }) => role === "assistant")
    .map(({ content }) => content.flatMap(({ text }) => text?.value ?? []).join(""))
    .filter((text) => text !== "")
    .join("\n\n")
}

function usageOf({ usage }: Run): Usage {
  const call = { modelCalls: 1, unpricedCalls: 1 }
  if (usage === null || usage === undefined) return call
  return { ...call, inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens }
}
