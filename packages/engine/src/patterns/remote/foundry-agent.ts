/** An agent of Azure AI Foundry, by its id: a thread, a message, a run that is looked at until it is over, its messages. */
import { z } from "zod"
import type { Json, Usage } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import {
  bearer,
  beginOnce,
  checkedUrl,
  poll,
  type RemoteAgent,
  type RemoteOptions,
  remoteAgent,
  type Token,
  whileUnderWay,
} from "./remote-agent.ts"
import { fault, requestJson } from "./remote-request.ts"

export interface FoundryAgentOptions extends RemoteOptions {
  /** Of the project: `https://<resource>.services.ai.azure.com/api/projects/<project>`. */
  readonly endpoint: string
  readonly agentId: string
  /** An access token for `https://ai.azure.com/.default`; better a function that gets a fresh one. */
  readonly token: Token
  /** Default `v1`. */
  readonly apiVersion?: string | undefined
  /** Told to the agent after its own instructions. */
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

/** A thread can begin with so many messages. */
const MOST_FIRST = 32
/** By which a message is found again, whose answer was lost. */
const MARK = "superstep_message"

export function foundryAgent(options: FoundryAgentOptions): RemoteAgent {
  const { agentId, name = agentId, instructions, pollEvery = 1_000, timeout = 600_000 } = options
  checkedUrl(name, "endpoint", options.endpoint)
  return remoteAgent(name, options, async ({ before, question }, ctx) => {
    const call = caller(options, ctx)
    const began = await ctx.step("began", () => ctx.clock.now())
    const thread = await ctx.step("thread", async () => {
      const earlier = before.slice(0, MOST_FIRST).map(({ role, text }) => ({ role, content: text }))
      return (await call(created, "/threads", { body: earlier.length === 0 ? {} : { messages: earlier } })).id
    })
    const at = `/threads/${encodeURIComponent(thread)}`
    const later = [...before.slice(MOST_FIRST), { role: "user", text: question }]
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
    const { text } = await whileUnderWay(ctx, cancel, () =>
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
  const { endpoint, token, apiVersion = "v1", requestTimeout = 30_000, maxBytes = 2_000_000 } = options
  return async (shape, path, { body, query = {}, signal = ctx.signal } = {}) => {
    const search = new URLSearchParams({ "api-version": apiVersion, ...query })
    const answer = await requestJson({
      method: body === undefined ? "GET" : "POST",
      url: `${endpoint.replace(/(?<!\/)\/+$/, "")}${path}?${search}`,
      headers: await bearer(token),
      body,
      timeout: requestTimeout,
      maxBytes,
      clock: ctx.clock,
      signal,
    })
    const read = shape.safeParse(answer)
    if (read.success) return read.data
    const reason = z.prettifyError(read.error).replace(/\s+/g, " ")
    throw fault("REMOTE_INVALID", `Azure AI Foundry answered something else than expected: ${reason}`, false)
  }
}

const MOST_PAGES = 50

/** What the run said, page by page. */
async function allMessages(call: Call, path: string, run_id: string): Promise<readonly StoredMessage[]> {
  const found: StoredMessage[] = []
  let after: { after?: string } = {}
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { run_id, order: "asc", limit: "100", ...after }
    const { data, has_more, last_id } = await call(messages, path, { query })
    found.push(...data)
    if (!has_more || !last_id || data.length === 0) break
    after = { after: last_id }
  }
  return found
}

const UNDER_WAY = new Set(["queued", "in_progress", "cancelling"])

/** Undefined while it is under way. */
function finished(found: Run, what: string): Run | undefined {
  const { status, last_error, incomplete_details } = found
  if (UNDER_WAY.has(status)) return undefined
  if (status === "completed") return found
  if (status === "requires_action") {
    const text = `${what} asks for the result of a function or for an approval, which can only be given where it lives. Take such tools from the agent.`
    throw fault("REMOTE_NEEDS_ACTION", text, false)
  }
  const why = last_error?.message ?? incomplete_details?.reason
  throw fault("REMOTE_FAILED", `${what} ended as ${status}${why === undefined ? "" : `: ${why}`}.`, false)
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
