/**
 * An agent that speaks A2A. Its task is followed by its stream or by polling until it ends; a person answers its
 * questions.
 */
import type { Context } from "../../runtime/index.ts"
import { type A2aAgentOptions, A2aClient, findCard } from "./a2a-client.ts"
import { isEnded, isSame, type TaskView } from "./a2a-wire.ts"
import {
  type Asked,
  cancelOnAbandon,
  checkedUrl,
  fault,
  poll,
  type RemoteAgent,
  remoteAgent,
} from "./remote-agent.ts"

export function a2aAgent(options: A2aAgentOptions): RemoteAgent {
  const { url } = options
  const { hostname } = checkedUrl(options.name ?? "a2a", "url", url)
  const { name = hostname } = options
  if (options.endpoint !== undefined) checkedUrl(name, "endpoint", options.endpoint)
  const remote = { provider: "a2a", url: options.endpoint ?? url }
  return remoteAgent(name, options, remote, async (asked, ctx) => {
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
    let answered: TaskView | undefined
    let text = questionText(asked)
    for (let turn = 1; ; turn++) {
      let isFirst = false
      const began = await ctx.step("began", () => {
        isFirst = true
        return ctx.clock.now()
      })
      // The id stays the same on a retry, so that the agent recognizes the message.
      const message = { text, messageId: `${ctx.idempotencyKey}:${turn}`, ...ids(answered) }
      const sent = await ctx.step("send", async () => {
        if (answered?.state === "auth-required" && (text === "" || (await hasProceeded(client, answered)))) {
          return { id: answered.id }
        }
        return (isFirst ? undefined : await client.find(message)) ?? (await client.send(message, answered))
      })
      if ("answer" in sent) return sent.answer
      const seen = await followed(client, sent.id, { began, answered, name, options, ctx })
      if ("answer" in seen) return seen.answer
      answered = seen.view
      text = seen.reply
    }
  })
}

interface Turn {
  readonly began: number
  /** The status of the task that this turn answered. */
  readonly answered: TaskView | undefined
  readonly name: string
  readonly options: A2aAgentOptions
  readonly ctx: Context
}

/** Follows a task until it completes, or until it needs a person, who replies. */
async function followed(
  client: A2aClient,
  id: string,
  { began, answered, name, options, ctx }: Turn,
): Promise<{ readonly answer: string } | { readonly view: TaskView; readonly reply: string }> {
  const { pollEvery = 1_000, timeout = 600_000, to } = options
  const until = began + timeout
  const what = `The task ${id} of agent "${name}"`
  return await cancelOnAbandon(
    ctx,
    (signal) => client.cancel(id, signal),
    async () => {
      const last = await ctx.step("task", async () => {
        const streamed = await client.follow(id, { until, what, answered })
        if (streamed !== undefined) return streamed
        return await poll(ctx, { every: pollEvery, until, what }, async () => {
          const looked = await client.task(id)
          return isEnded(looked, answered) ? looked : undefined
        })
      })
      const { state, note } = last
      if (state === "completed") return { answer: last.answer }
      if (state === "input-required" || state === "auth-required") {
        return { view: last, reply: await askPerson(ctx, last, name, to) }
      }
      const why = note === "" ? "" : `: ${note}`
      throw fault("REMOTE_FAILED", `${what} ended with status ${state}${why}.`, false)
    },
  )
}

/** A person who signed in where the agent asked for it need not confirm that to the agent. */
async function hasProceeded(client: A2aClient, answered: TaskView): Promise<boolean> {
  return !isSame(await client.task(answered.id), answered)
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
  { state, note }: TaskView,
  agent: string,
  to: string | undefined,
): Promise<string> {
  const isAuth = state === "auth-required"
  const asks = isAuth ? `"${agent}" needs you to sign in or to grant access.` : `"${agent}" needs more input.`
  const answer = await ctx.ask<unknown>({ prompt: note === "" ? asks : note, data: { agent, state }, to })
  if (typeof answer === "string") return answer
  // The person confirmed the sign-in, so there is nothing to send.
  return isAuth && (answer === true || answer === null) ? "" : JSON.stringify(answer)
}
