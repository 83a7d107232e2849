/**
 * An agent that speaks A2A: found by its card, sent a message, and followed until its task is over, by its stream or by
 * looking. When it asks back, a person answers.
 */
import type { Context } from "../../runtime/index.ts"
import { findCard } from "./a2a-card.ts"
import { A2aClient, type TaskView } from "./a2a-client.ts"
import { type A2aVersion, isUnderWay } from "./a2a-wire.ts"
import {
  type Asked,
  checkedUrl,
  poll,
  type RemoteAgent,
  type RemoteOptions,
  remoteAgent,
  type Token,
  whileUnderWay,
} from "./remote-agent.ts"
import { fault } from "./remote-request.ts"

export interface A2aAgentOptions extends RemoteOptions {
  /** Of the agent, or of its card. */
  readonly url: string
  /** Where it is spoken to, without asking its card. */
  readonly endpoint?: string | undefined
  /** The protocol's version at `endpoint`: `1` for 1.x, `0` for 0.2 and 0.3. Default `1`. */
  readonly version?: A2aVersion | undefined
  readonly token?: Token | undefined
  /** Sent with every request: keys of other kinds. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** False: it is looked at now and then, though it could stream. */
  readonly stream?: boolean | undefined
  /** Whom its questions are for, as your inbox knows people. */
  readonly to?: string | undefined
}

export function a2aAgent(options: A2aAgentOptions): RemoteAgent {
  const { url, pollEvery = 1_000, timeout = 600_000, to } = options
  const { hostname } = checkedUrl(options.name ?? "a2a", "url", url)
  const { name = hostname } = options
  if (options.endpoint !== undefined) checkedUrl(name, "endpoint", options.endpoint)
  return remoteAgent(name, options, async (asked, ctx) => {
    const place = await ctx.step("card", async () => {
      const { endpoint, version = "1", stream } = options
      if (endpoint !== undefined) return { endpoint, version, streams: stream === true }
      return await findCard(url, (address) => A2aClient.get(address, options, ctx))
    })
    const client = new A2aClient(
      { ...place, streams: place.streams && options.stream !== false },
      options,
      ctx,
    )
    let view: TaskView | undefined
    let said = questionText(asked)
    for (let turn = 1; ; turn++) {
      const began = await ctx.step("began", () => ctx.clock.now())
      // The same when it has to be sent again, so that the agent can tell.
      const message = { text: said, messageId: `${ctx.idempotencyKey}:${turn}`, ...ids(view) }
      const sent = await ctx.step("send", () => client.send(message))
      if ("answer" in sent) return sent.answer
      const { id } = sent
      const until = began + timeout
      const what = `The task ${id} of agent "${name}"`
      const cancel = (signal: AbortSignal) => client.cancel(id, signal)
      const seen = await whileUnderWay(ctx, cancel, async () => {
        const last = await ctx.step("task", async () => {
          const streamed = await client.follow(id, { until, what })
          if (streamed !== undefined) return streamed
          return await poll(ctx, { every: pollEvery, until, what }, async () => {
            const looked = await client.task(id)
            return isUnderWay(looked.state) ? undefined : looked
          })
        })
        if (last.state === "completed") return { answer: last.answer }
        if (last.state !== "input-required") throw ended(last, what)
        return { view: last, said: await askPerson(ctx, last, name, to) }
      })
      if ("answer" in seen) return seen.answer
      view = seen.view
      said = seen.said
    }
  })
}

function questionText({ before, question }: Asked): string {
  if (before.length === 0) return question
  return [...before, { role: "user", text: question }]
    .map(({ role, text }) => `${role}: ${text}`)
    .join("\n\n")
}

function ids(view: TaskView | undefined) {
  return view === undefined ? {} : { taskId: view.id, contextId: view.contextId }
}

async function askPerson(
  ctx: Context,
  view: TaskView,
  agent: string,
  to: string | undefined,
): Promise<string> {
  const prompt = view.note === "" ? `"${agent}" asks for more.` : view.note
  const answer = await ctx.ask<unknown>({ prompt, data: { agent }, to })
  return typeof answer === "string" ? answer : JSON.stringify(answer)
}

function ended({ state, note }: TaskView, what: string) {
  const why = note === "" ? "" : `: ${note}`
  if (state === "auth-required") {
    return fault(
      "REMOTE_AUTH",
      `${what} wants other credentials${why}. Give them as token or headers.`,
      false,
    )
  }
  return fault("REMOTE_FAILED", `${what} ended as ${state}${why}.`, false)
}
