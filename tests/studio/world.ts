/** Workflows that together show what the studio shows, and a server for them. The models are stand-ins; nothing else is. */
import { setTimeout as sleep } from "node:timers/promises"
import { append, channel, node, replace, workflow } from "superstep"
import { agent } from "superstep/agents"
import { type Model, registerPrices } from "superstep/models"
import { tool } from "superstep/tools"
import { z } from "zod"

registerPrices({ "demo/*": { input: 2.5, output: 10 } })

type Part = Awaited<ReturnType<Model["doStream"]>>["stream"] extends ReadableStream<infer P> ? P : never

interface Reply {
  readonly text?: string
  readonly call?: { readonly name: string; readonly args: unknown }
}

/** A model that writes word by word. Its reply depends on the prompt only; `pause` is called after each word. */
function wordModel(
  reply: (prompt: string, turn: number) => Reply,
  pause: (word: number) => Promise<unknown> | undefined = () => undefined,
): Model {
  async function* parts(prompt: readonly { readonly role: string }[]): AsyncGenerator<Part> {
    const turn = prompt.filter(({ role }) => role === "assistant").length
    const { text = "", call } = reply(JSON.stringify(prompt.at(-1)), turn)
    yield { type: "stream-start", warnings: [] }
    if (text !== "") {
      yield { type: "text-start", id: "t" }
      for (const [i, delta] of (text.match(/\S+\s*/g) ?? []).entries()) {
        yield { type: "text-delta", id: "t", delta }
        await pause(i)
      }
      yield { type: "text-end", id: "t" }
    }
    if (call !== undefined) {
      const input = JSON.stringify(call.args)
      yield { type: "tool-call", toolCallId: `call-${turn}`, toolName: call.name, input }
    }
    yield {
      type: "finish",
      finishReason: { unified: call === undefined ? "stop" : "tool-calls", raw: undefined },
      usage: {
        inputTokens: { total: 420, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 20 + Math.round(text.length / 4), text: undefined, reasoning: undefined },
      },
    } as Part
  }
  return {
    specificationVersion: "v3",
    provider: "demo",
    modelId: "writer",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("This model only streams.")),
    doStream: ({ prompt }) => {
      const source = parts(prompt)
      const stream = new ReadableStream<Part>({
        async pull(controller) {
          const { done, value } = await source.next()
          if (done) controller.close()
          else controller.enqueue(value)
        },
      })
      return Promise.resolve({ stream })
    },
  }
}

const DRAFT =
  "White storks eat frogs, mice, insects and small fish. They follow mowers and ploughs, because a freshly cut meadow is a laid table. In winter they move to landfills in southern Spain, where food is easy and the journey short."

/** `pause` is called after each word of the draft. */
export function workflowsOf(pause?: (word: number) => Promise<unknown> | undefined) {
  // An article: a draft, two reviews at the same time, and a question to a person.
  const notes = channel("notes", append<string>())
  const status = channel("status", replace("new"))
  const plan = node({
    id: "plan",
    description: "Turns the topic into an order for the writer.",
    input: z.object({ topic: z.string(), length: z.enum(["short", "long"]).default("short") }),
    run: ({ topic }, ctx) => {
      ctx.state.write(status, "planned")
      ctx.log("info", "Planning", { topic })
      return `Write about ${topic}.`
    },
  })
  const draft = agent({
    name: "draft",
    model: wordModel(() => ({ text: DRAFT }), pause),
    instructions: "Write a short article.",
  })
  const facts = node("facts", async (text: string, ctx) => {
    await sleep(40)
    ctx.state.write(notes, ["Landfills: name a source."])
    return `${text.split(" ").length} words checked`
  })
  const style = node("style", async (_: string, ctx) => {
    await sleep(25)
    ctx.state.write(notes, ["Shorten the last sentence."])
    return "reads well"
  })
  const publish = node("publish", async (reviews: readonly string[], ctx) => {
    ctx.state.write(status, "reviewed")
    const answer = await ctx.ask({
      prompt: "Publish the article about storks?",
      to: "editor",
      schema: z.enum(["publish", "discard"]),
      data: { reviews },
    })
    ctx.state.write(status, answer)
    return answer === "publish" ? "The article was published." : "The article was discarded."
  })
  const article = workflow("article", { state: [notes, status] })
    .chain(plan, draft)
    .fanOut(draft, [facts, style])
    .fanIn([facts, style], publish)
    .build()

  // Support: an agent whose refunds a person must allow.
  const lookup = tool({
    name: "lookup_order",
    description: "Finds an order.",
    input: z.object({ order: z.string() }),
    run: ({ order }) => ({ order, total: 48.5, state: "delivered", items: ["lamp", "bulb"] }),
  })
  const refund = tool({
    name: "refund",
    description: "Refunds an order.",
    input: z.object({ order: z.string(), amount: z.number(), reason: z.string() }),
    approval: "always",
    run: ({ order, amount }) => `Refunded ${amount} EUR for ${order}.`,
  })
  const helper = agent({
    name: "helper",
    instructions: "Help customers of a lamp shop.",
    tools: [lookup, refund],
    model: wordModel((_, turn) => {
      if (turn === 0)
        return {
          text: "I look at your order first.",
          call: { name: "lookup_order", args: { order: "A-17" } },
        }
      const args = { order: "A-17", amount: 48.5, reason: "The lamp arrived broken." }
      if (turn === 1)
        return { text: "The lamp was delivered, so you get your money back.", call: { name: "refund", args } }
      return { text: "Your refund of 48.50 EUR is on its way." }
    }),
  })
  const support = workflow("support").start(helper).build()

  // A digest: one task for each page, of which some fail and are settled.
  const pages = node("pages", (count: number) => Array.from({ length: count }, (_, i) => `page ${i + 1}`))
  const read = node("read", async (page: string) => {
    await sleep(4)
    if (/7$/.test(page)) throw new Error(`${page} has no text layer`)
    return `${page}: ${page.length * 40} words`
  })
  const report = node("report", (results: readonly unknown[]) => ({ pages: results.length, results }))
  const digest = workflow("digest")
    .start(pages)
    .map(pages, read, report as never, { concurrency: 8, settle: true } as never)
    .build()

  // A payment that is retried and fails in the end.
  const charge = node({
    id: "charge",
    retry: { attempts: 3, delay: 15 },
    run: ({ card }: { card: string }) => {
      throw new Error(`The card ${card} was declined by the bank`)
    },
  })
  const receipt = node("receipt", (text: string) => text)
  const payment = workflow("payment")
    .chain(charge as never, receipt)
    .build()

  // Three drafts at most: a loop, and a workflow as a node.
  const shorten = node("shorten", async ({ text, passes }: { text: string; passes: number }) => {
    await sleep(8)
    return { text: text.slice(0, Math.ceil(text.length * 0.7)), passes: passes + 1 }
  })
  const judge = node("judge", (one: { text: string; passes: number }) => one)
  const keep = node("keep", ({ text }: { text: string }) => text)
  const shortening = workflow("shortening")
    .chain(shorten, judge)
    .loop(judge, shorten, { while: ({ text }) => text.length > 60, max: 4, exit: keep })
    .output(keep)
    .build()
  const load = node("load", (title: string) => ({ text: `${title}: ${DRAFT}`, passes: 0 }))
  const index = node("index", (text: string) => `${text.length} characters indexed`)
  const indexing = workflow("indexing").chain(load, shortening.asNode(), index).build()

  return [article, support, digest, payment, indexing]
}
