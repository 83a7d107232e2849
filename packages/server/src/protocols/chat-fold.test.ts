/** What a chat client sees of a run, whatever part of the live text it sees as it is written. */
import { memoryStore, node, pastEvents, type RunEvent, Runtime, workflow } from "@superstep/engine"
import { agent } from "@superstep/engine/agents"
import { scriptedModel } from "@superstep/engine/models"
import { isLive } from "@superstep/engine/protocol"
import fc from "fast-check"
import { afterEach, expect, test } from "vitest"
import { z } from "zod"
import { clerk, desk, REFUND, stock } from "./chat.test-support.ts"
import { type ChatEvent, ChatFold, speakersOf } from "./chat-fold.ts"

const open: Runtime[] = []
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close()
})

type Workflow = Parameters<Runtime["start"]>[0]

/** The events of a run, live ones included. */
async function eventsOf(flow: Workflow, input: unknown): Promise<RunEvent[]> {
  const runtime = new Runtime({ store: memoryStore(), workflows: [flow as never] })
  open.push(runtime)
  const run = runtime.stream(flow, input as never)
  const events: RunEvent[] = []
  for await (const event of run) {
    events.push(event)
    if (event.type === "run.waiting") break
  }
  expect((await pastEvents(runtime.store, run.id)).length).toBe(events.filter((one) => !isLive(one)).length)
  return events
}

function fold(flow: Workflow, events: readonly RunEvent[]): ChatEvent[] {
  const chat = new ChatFold(speakersOf(flow))
  return events.flatMap((event) => chat.add(event))
}

/** What a client has in the end: text by item, without the text that was replaced. */
function seen(events: readonly ChatEvent[]): unknown[] {
  const texts = new Map<string, string>()
  const items: unknown[] = []
  for (const event of events) {
    const key = `${event.item}.${event.edition}`
    if (event.type === "delta") {
      const before = texts.get(key) ?? ""
      expect(event.offset).toBe(before.length)
      texts.set(key, before + event.text)
    } else if (event.type === "done") {
      expect(texts.get(key) ?? "").toBe(event.text)
      if (!event.isVoid) items.push([event.item, event.kind, event.text])
    } else items.push([event.item, event.type, "call" in event ? event.call : undefined])
  }
  return items
}

const talk = () =>
  clerk([
    {
      reasoning: "First I look.",
      text: "I look it up.",
      tool_calls: [{ name: "stock", args: { item: "lamp" } }],
    },
    { reasoning: "Three are left.", text: "There are three lamps left." },
  ])

test("live text changes nothing but the time at which it comes (F1)", async () => {
  const flow = talk()
  const events = await eventsOf(flow, "How many?")
  const journaled = seen(
    fold(
      flow,
      events.filter((event) => !isLive(event)),
    ),
  )
  expect(journaled.map((item) => (item as unknown[])[1])).toEqual([
    "reasoning",
    "text",
    "call",
    "result",
    "reasoning",
    "text",
    "end",
  ])
  expect(seen(fold(flow, events))).toEqual(journaled)
  const live = events.filter(isLive).length
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: live, maxLength: live }), (kept) => {
      let at = 0
      const some = events.map((event): RunEvent => {
        if (!isLive(event) || kept[at++]) return event
        const { runId, seq, at: time, path } = event
        return { runId, seq, at: time, path, type: "live.gap" }
      })
      expect(seen(fold(flow, some))).toEqual(journaled)
    }),
    { numRuns: 50 },
  )
})

/** A delta of the first call, at this offset. */
function delta(like: RunEvent, text: string, offset: number): RunEvent {
  return { ...like, text, offset } as RunEvent
}

test("text that a retry replaces is void, and its item begins again (F3)", async () => {
  const flow = clerk(["Storks nest on roofs."])
  const events = await eventsOf(flow, "Where?")
  const first = events.findIndex(({ type }) => type === "model.delta")
  const like = events[first] as RunEvent
  const journaled = events.filter((event) => !isLive(event))
  const recorded = journaled.findIndex(({ type }) => type === "step.recorded")
  const withLive = (...live: RunEvent[]) => [
    ...journaled.slice(0, recorded),
    ...live,
    ...journaled.slice(recorded),
  ]
  const plain = seen(fold(flow, journaled))
  // The same text again, as far as it came.
  const same = fold(
    flow,
    withLive(delta(like, "Storks nest", 0), delta(like, "Storks", 0), delta(like, " nest on", 6)),
  )
  expect(seen(same)).toEqual(plain)
  expect(same.some((event) => event.type === "done" && event.isVoid)).toBe(false)
  // Another text.
  const other = fold(flow, withLive(delta(like, "Cranes", 0), delta(like, "Storks", 0)))
  expect(
    other.flatMap((event) => (event.type === "done" ? [[event.text, event.isVoid, event.edition]] : [])),
  ).toEqual([
    ["Cranes", true, 0],
    ["Storks nest on roofs.", false, 1],
  ])
  expect(seen(other)).toEqual(plain)
  // A piece that is missing: the record has it.
  expect(seen(fold(flow, withLive(delta(like, "Stor", 0), delta(like, "nest", 7))))).toEqual(plain)
})

test("agents that speak at the same time do not mix (F2), and the joined output follows", async () => {
  const speak = (name: string) => agent({ name, model: scriptedModel([`I am ${name} and speak.`]) })
  const [a, b] = [speak("a"), speak("b")]
  const start = node("start", (text: string) => text)
  const join = node("join", (texts: readonly string[]) => `${texts.length} spoke`)
  const flow = workflow("both").start(start).fanOut(start, [a, b]).fanIn([a, b], join).build()
  const items = seen(fold(flow as Workflow, await eventsOf(flow as Workflow, "go")))
  expect(items.map((item) => (item as unknown[]).slice(1, 3))).toEqual([
    ["text", "I am a and speak."],
    ["text", "I am b and speak."],
    ["text", "2 spoke"],
    ["end", undefined],
  ])
})

test("an agent that another one follows does not speak, and data appears once, as the output", async () => {
  const plan = agent({ name: "plan", model: scriptedModel(["A plan."]) })
  const write = agent({
    name: "write",
    model: scriptedModel(['{ "title": "Storks", "tone": null }']),
    output: z.object({ title: z.string(), tone: z.string().default("kind") }),
  })
  const flow = workflow("article").start(plan).edge(plan, write).build() as unknown as Workflow
  const items = seen(fold(flow, await eventsOf(flow, "Storks")))
  expect(items).toEqual([
    [1, "text", '{"title":"Storks","tone":"kind"}'],
    [2, "end", undefined],
  ])
})

test("the answer of an agent that runs as a tool is the result of the call", async () => {
  const helper = agent({ name: "helper", model: scriptedModel(["Forty-two."]), description: "Knows." })
  const boss = agent({
    name: "boss",
    model: scriptedModel([{ tool_calls: [{ name: "helper", args: { input: "?" } }] }, "It is 42."]),
    tools: [helper.asTool(), stock],
  })
  const flow = boss as unknown as Workflow
  const events = fold(flow, await eventsOf(flow, "What?"))
  expect(events.flatMap((event) => (event.type === "result" ? [event.outcome] : []))).toEqual([
    { ok: true, value: "Forty-two." },
  ])
  expect(seen(events).at(-2)).toEqual([3, "text", "It is 42."])
})

test("a question ends a turn, and what follows it is the next one", async () => {
  const flow = desk(REFUND) as unknown as Workflow
  const runtime = new Runtime({ store: memoryStore(), workflows: [flow as never] })
  open.push(runtime)
  const { runId, requests } = await runtime.start(flow, "Refund A7." as never)
  const id = requests[0]?.id as never
  await runtime.respond(runId, id, { approve: true })
  await runtime.get(runId)
  const chat = new ChatFold(speakersOf(flow))
  const turns = (await pastEvents(runtime.store, runId)).flatMap((event) => chat.add(event))
  expect(turns.filter(({ turn }) => turn === 0).map(({ type }) => type)).toEqual([
    "delta",
    "done",
    "call",
    "request",
    "end",
  ])
  expect(turns.filter(({ turn }) => turn === 1).map(({ type }) => type)).toEqual([
    "answered",
    "result",
    "delta",
    "done",
    "end",
  ])
  const ends = turns.flatMap((event) =>
    event.type === "end" ? [[event.status, event.usage.modelCalls]] : [],
  )
  expect(ends).toEqual([
    ["waiting", 1],
    ["completed", 1],
  ])
  expect([chat.turn, chat.rests]).toEqual([1, true])
})
