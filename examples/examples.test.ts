/** The workflows of the examples, with other inputs than those they print. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { manualClock, settled } from "@superstep/engine/testing"
import { memoryStore, Runtime } from "superstep"
import { describe, expect, it } from "vitest"
import { shout } from "./01-first-workflow.ts"
import { tickets } from "./02-conditional-edges.ts"
import { orders } from "./03-fan-out.ts"
import { best, every, first, twoOfThree } from "./04-fan-in.ts"
import { invoices } from "./05-switch.ts"
import { wordCount } from "./06-map.ts"
import { summary } from "./07-loop.ts"
import { payment } from "./08-retry.ts"
import { checkout } from "./09-error-edge.ts"
import { bookings, conversion } from "./10-settle.ts"
import { cart, order } from "./11-state.ts"
import { goodsIn } from "./12-local-state.ts"
import { stock } from "./13-several-handlers.ts"
import { expenses } from "./14-ask-a-person.ts"
import { contracts } from "./15-request-and-answer.ts"
import { indexing, prepare } from "./16-sub-workflow.ts"
import { invoiceTotal } from "./17-call.ts"
import { confirmation, sent } from "./18-steps.ts"
import { describe as describeEvent, translation } from "./19-streaming.ts"
import { impatientExport, patientExport } from "./20-cancel-and-timeout.ts"
import { research } from "./21-budget.ts"
import { processing } from "./22-flow-schedule.ts"
import { ran, refunds } from "./24-resume.ts"
import { exporter, shipping, traced } from "./25-telemetry.ts"
import { delivery, paid, processOn } from "./26-runtime.ts"
import { articles, newsroom } from "./27-inbox.ts"
import { messages, table } from "./28-threads.ts"
import { before, longer, rename, renamed } from "./29-new-version.ts"
import { dearer, looked, travel } from "./30-looking-back.ts"
import { guide } from "./31-agent.ts"
import { desk } from "./32-agent-in-a-workflow.ts"
import { clerk, paid as payments } from "./33-approval.ts"
import { desk as taxDesk } from "./34-hand-off.ts"
import { atTheDesk, lent, librarian, library } from "./35-mcp.ts"
import { secretary } from "./36-toolsets.ts"
import { inFolder, research as stork } from "./37-research.ts"
import { desk as helpDesk } from "./38-team-handoff.ts"
import { survey } from "./39-team-magentic.ts"
import { outing, withForecaster } from "./40-remote-agent.ts"

describe("edges", () => {
  it("01: a chain passes on what each node returns", async () => {
    expect(await shout.run("abc")).toMatchObject({ status: "completed", outputs: ["CBA"], supersteps: 2 })
  })

  it("02: only the edges whose condition holds are followed", async () => {
    const { outputs, undelivered } = await tickets.run({ id: 7, severity: 2, plan: "paid" })
    expect(outputs).toEqual(["#7: reply promised within an hour"])
    expect(undelivered).toEqual([])
  })

  it("03: only the selected targets get the message", async () => {
    const { outputs } = await orders.run({ id: "B", total: 999, gift: true })
    expect(outputs).toEqual(["receipt for B sent", "B is to be wrapped"])
  })

  it("04: each policy fires with what it waits for, and late messages are reported", async () => {
    expect((await best.run(50)).outputs).toEqual(["sea for 70, of 3"])
    const any = await first.run(50)
    expect(any.outputs).toEqual(["air for 450, of 1"])
    expect(any.undelivered.map(({ from }) => from)).toEqual(["road", "sea"])
    const two = await twoOfThree.run(50)
    expect(two.outputs).toEqual(["road for 130, of 2"])
    expect(two.undelivered.map(({ from }) => from)).toEqual(["sea"])
    expect((await every.run(50)).outputs).toEqual(["air for 450; road for 130; sea for 70"])
  })

  it("04: without settle a carrier that fails fails the run", async () => {
    const { status, error } = await best.run(49).result
    expect(status).toBe("failed")
    expect(error).toMatchObject({ node: "sea", message: "less than 50 kg is not shipped by sea" })
  })

  it("05: the first case that holds wins, else the default", async () => {
    const routed = async (amount: number, supplier: "known" | "new") =>
      (await invoices.run({ number: "N", amount, supplier })).outputs
    expect(await routed(499, "known")).toEqual(["N paid"])
    expect(await routed(500, "known")).toEqual(["N waits for approval"])
    expect(await routed(500, "new")).toEqual(["N waits for supplier verification"])
  })

  it("06: a map keeps the order of the items and runs two at a time", async () => {
    let active = 0
    let most = 0
    const run = wordCount.stream(["a", "b b", "c c c", "d d d d", "e"].join("\n---\n"))
    for await (const event of run) {
      if (!("node" in event) || event.node !== "count") continue
      if (event.type === "task.started") active++
      if (event.type === "task.finished") active--
      most = Math.max(most, active)
    }
    expect(most).toBe(2)
    expect((await run).outputs).toEqual([{ perPage: [1, 2, 3, 4, 1], total: 11 }])
  })

  it("06: a page without words counts as zero", async () => {
    expect((await wordCount.run("")).outputs).toEqual([{ perPage: [0], total: 0 }])
  })

  it("07: the loop ends at its limit even if its condition still holds", async () => {
    // 80 characters each: only removing all of them would make it short enough.
    const sentences = Array.from({ length: 9 }, (_, i) => String(i).repeat(80))
    const { outputs } = await summary.run({ sentences, passes: 0 })
    // Once on the way in, and three times back.
    expect(outputs).toEqual([{ text: sentences.slice(0, 5).join(" "), passes: 4 }])
  })
})

describe("failures", () => {
  it("08: the delays between attempts grow", async () => {
    const clock = manualClock()
    const run = payment.run(10, { runId: "p", clock })
    await clock.advance(19)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    // The second attempt has failed at 20; the third is due 40 later.
    await clock.advance(39)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect(clock.pending).toBe(0)
    expect((await run).outputs).toEqual(["charged 10, at attempt 3, under p:1"])
  })

  it("09: the error edge receives the failure and the message that caused it", async () => {
    const { status, outputs } = await checkout.run({ id: "B", card: "expired" })
    expect(status).toBe("completed")
    expect(outputs).toEqual(["B on hold (CARD_DECLINED): The card has expired."])
  })

  it("10: failures are values, at their positions", async () => {
    expect((await conversion.run("USD")).outputs).toEqual(["at last month's rate: No rate for USD today."])
    expect((await bookings.run("a;x\nb;2\nc")).outputs).toEqual([
      { total: 2, problems: ['No amount in "a;x".', 'No amount in "c".'] },
    ])
  })

  it("18: a recorded step is not repeated", async () => {
    sent.length = 0
    const clock = manualClock()
    const run = confirmation.run("B", { clock })
    await clock.advance(10)
    expect((await run).outputs).toEqual(["INV-B"])
    expect(sent).toEqual(["invoice for B", "mail with INV-B"])
  })
})

describe("state", () => {
  it("11: every channel combines its writes with its own reducer", async () => {
    const { state } = await order.run(cart.slice(1), { state: { flags: { fragile: false, oversize: true } } })
    expect(state).toEqual({
      total: 110,
      items: ["table", "chair"],
      warehouses: ["south", "north"],
      flags: { fragile: false, oversize: true },
      status: "checked",
      dearest: 80,
    })
  })

  it("12: a node keeps its state within a run, and not across runs", async () => {
    const once = [{ id: "x", parcel: "ink" }]
    expect((await goodsIn.run([...once, ...once])).outputs).toEqual(["1. ink"])
    expect((await goodsIn.run(once)).outputs).toEqual(["1. ink"])
  })

  it("13: the first handler that accepts a message processes it", async () => {
    const { outputs, undelivered } = await stock.run([
      { counted: 0 },
      { received: 2, sold: 1 },
      { counted: 1 },
    ])
    expect(outputs).toEqual([
      { counted: 0, missing: 0 },
      { counted: 1, missing: 1 },
    ])
    expect(undelivered).toEqual([])
  })
})

describe("people", () => {
  it("14: a small expense needs no approval; an invalid answer is refused and changes nothing", async () => {
    expect((await expenses.run({ purpose: "pens", amount: 49 })).outputs).toEqual(["pens: paid"])
    const run = expenses.run({ purpose: "desks", amount: 50 })
    const { requests } = await run
    expect(requests).toMatchObject([{ id: "r1", node: "approve", data: { purpose: "desks", amount: 50 } }])
    await expect(run.respond("r1", "yes")).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await run.respond("r1", { approved: false })
    expect((await run).outputs).toEqual(["desks: refused (no note)"])
    await expect(run.respond("r1", { approved: true })).rejects.toMatchObject({ code: "REQUEST_ANSWERED" })
  })

  it("15: answers arrive in any order, and the run waits for all of them", async () => {
    const run = contracts.run("cleaning")
    await run
    await run.respond("r3", { department: "security", accepts: true })
    expect(await run).toMatchObject({
      status: "waiting",
      outputs: [],
      requests: [{ id: "r1" }, { id: "r2" }],
    })
    await run.respond("r1", { department: "legal", accepts: true })
    await run.respond("r2", { department: "finance", accepts: true })
    expect(await run).toMatchObject({ status: "completed", outputs: ["accepted"], requests: [] })
  })

  it("24: a run continues from its journal, and finished work is not repeated", async () => {
    ran.length = 0
    const store = memoryStore()
    await refunds.run("B", { runId: "r", store })
    const run = refunds.resume("r", { store })
    expect((await run).requests).toMatchObject([{ id: "r1", prompt: "Refund 120 for B?" }])
    await run.respond("r1", false)
    expect((await run).outputs).toEqual(["no refund for B"])
    expect(ran).toEqual(["look up", "approve"])
  })

  it("26: one process continues the runs of another, and the same key starts once", async () => {
    paid.length = 0
    const store = memoryStore()
    const first = processOn(store)
    const { id } = first.start(delivery, "B", { key: "order B" })
    await first.close()
    const second = processOn(store)
    expect((await second.recover()).resumed).toEqual([id])
    expect((await second.get(id)).outputs).toEqual(["B delivered, R-B"])
    expect((await second.start(delivery, "B", { key: "order B" })).runId).toBe(id)
    expect(paid).toEqual(["B"])
    await second.close()
  })

  it("27: an invalid answer is refused, and the person who answered is recorded", async () => {
    const runtime = newsroom(memoryStore())
    const { runId } = await runtime.start(articles, "news")
    await expect(runtime.respond(runId, "r1", "yes")).rejects.toMatchObject({ code: "REQUEST_INVALID" })
    await runtime.respond(runId, "r1", { ok: true }, { by: "Grace" })
    expect((await runtime.get(runId)).outputs).toEqual(["published: news"])
    expect(await runtime.requests({ outcome: ["answered"] })).toMatchObject([{ by: "Grace", to: "editor" }])
    await runtime.close()
  })

  it("28: a thread has its earlier messages, and another thread does not", async () => {
    const store = memoryStore()
    await table.run("tea", { store, thread: "one" })
    const { state } = await table.run("cake", { store, thread: "one" })
    expect(state[messages.key]).toHaveLength(4)
    expect((await table.run("cake", { store, thread: "two" })).outputs).toEqual(["cake, gladly"])
  })

  it("29: a run of the old version is refused, accepted unchanged, or migrated", async () => {
    const store = memoryStore()
    const old = new Runtime({ store, workflows: [before] })
    await old.start(before, "it", { runId: "r" })
    await old.close()
    await expect(longer.resume("r", { store }).result).rejects.toMatchObject({ code: "GRAPH_CHANGED" })
    const run = renamed.resume("r", { store, onGraphChange: rename })
    await run
    await run.respond("r1", 9)
    expect((await run).outputs).toEqual(["it for 9"])
  })

  it("30: a fork and a replay reuse the recorded step, and a replay of unchanged code is equal", async () => {
    looked.length = 0
    const runtime = new Runtime({ store: memoryStore(), workflows: [travel] })
    await runtime.start(travel, "Oslo", { runId: "r" })
    await runtime.respond("r", "r1", true)
    const fork = await runtime.fork("r", { answers: { r1: false } })
    expect((await runtime.get(fork)).outputs).toEqual(["stayed at home instead of Oslo"])
    expect(await runtime.replay("r", travel)).toMatchObject({ same: true })
    expect(await runtime.replay("r", dearer)).toMatchObject({ same: false, divergence: { node: "add fee" } })
    expect(looked).toEqual(["Oslo"])
    await runtime.close()
  })
})

describe("composition and control", () => {
  it("16: a workflow runs alone and as a node", async () => {
    expect((await prepare.run({ title: "t", text: "\ta  b\nc " })).outputs).toEqual([
      { title: "t", text: "a b c", words: 3 },
    ])
    expect((await indexing.run("audit")).outputs).toEqual(["audit: 4 words indexed"])
  })

  it("17: a handler calls a workflow as often as it needs", async () => {
    expect((await invoiceTotal.run({ currency: "EUR", amounts: [] })).outputs).toEqual([0])
    // 10.8 is rounded to 11, three times.
    expect((await invoiceTotal.run({ currency: "EUR", amounts: [10, 10, 10] })).outputs).toEqual([33])
  })

  it("19: a stream shows the run from its first event to its last", async () => {
    const lines: string[] = []
    for await (const event of translation.stream("x")) lines.push(describeEvent(event) ?? event.type)
    expect(lines[0]).toBe("run.started")
    expect(lines.filter((line) => line.startsWith("  translate"))).toHaveLength(2)
    expect(lines.slice(-1)).toEqual(["completed"])
  })

  it("20: a run is cancelled from outside; a node and a run have time limits", async () => {
    const stop = new AbortController()
    const run = patientExport.run("x", { signal: stop.signal })
    stop.abort(new Error("window closed"))
    expect(await run.result).toMatchObject({ status: "cancelled", error: { message: "window closed" } })

    const clock = manualClock()
    const failing = impatientExport.run("x", { clock }).result
    const ending = patientExport.run("x", { clock, timeout: 31 }).result
    await clock.advance(30)
    expect(await failing).toMatchObject({ status: "failed", error: { code: "TIMEOUT", node: "export" } })
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    expect(await ending).toMatchObject({ status: "limit", error: { code: "RUN_TIMEOUT" } })
  })

  it("21: at the end of the budget the run concludes with its findings", async () => {
    const { status, outputs } = await research.run("q", { budget: { modelCalls: 2 } })
    expect(status).toBe("completed")
    expect(outputs).toEqual([
      { because: "Budget exceeded: modelCalls", basedOn: ["source 1 on q", "source 2 on q"] },
    ])
  })

  it.each([
    ["superstep", []],
    ["flow", ["v.png published"]],
  ] as const)(
    "22: while one task is slow, %s lets the other branch get to %j",
    async (schedule, published) => {
      let finish: (value?: unknown) => void = () => undefined
      const slow = new Promise((resolve) => {
        finish = resolve
      })
      const run = processing(schedule, () => slow).stream("v")
      const outputs: unknown[] = []
      const watching = (async () => {
        for await (const event of run) if (event.type === "output") outputs.push(event.value)
      })()
      await settled()
      expect(outputs).toEqual(published)
      finish()
      await watching
      expect(outputs.toSorted()).toEqual(["v transcoded", "v.png published"])
    },
  )

  it("25: every task has a span below its run's, and all belong to one trace", async () => {
    exporter.reset()
    await shipping.run("B", { runId: "b", telemetry: traced })
    const spans = exporter.getFinishedSpans()
    const run = spans.find((span) => span.name === "workflow.run")?.spanContext()
    const tasks = spans.filter((span) => span.name.startsWith("executor.process"))
    expect(tasks.map((span) => span.parentSpanContext?.spanId)).toEqual(Array(4).fill(run?.spanId))
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([run?.traceId]))
  })
})

describe("agents", () => {
  it("31: the tool calls of a turn run together, and the model answers from both results", async () => {
    const { outputs, usage, status } = await guide.run("Rome or Oslo?")
    expect([status, outputs]).toEqual(["completed", ["Both are clear, and both have 20 degrees."]])
    expect(usage).toMatchObject({ modelCalls: 2, toolCalls: 2 })
  })

  it("32: an answer that does not match the schema is sent back to the model, and the next node gets data", async () => {
    const { outputs, usage } = await desk.run("My money back!")
    expect(outputs).toEqual(["refund: today"])
    expect(usage.modelCalls).toBe(2)
  })

  it("33: a small payment needs no approval, and a refused one is not made", async () => {
    payments.length = 0
    const run = clerk.run("Pay both.")
    const { requests } = await run
    expect(requests).toMatchObject([{ data: { tool: "pay", args: { to: "Bob", amount: 500 } } }])
    expect(payments).toEqual(["50 to Ada"])
    await run.respond(requests[0]?.id ?? "", { approve: false })
    expect((await run).status).toBe("completed")
    expect(payments).toEqual(["50 to Ada"])
  })

  it("34: the agent that took over answers, with the result of the sub-agent", async () => {
    const { outputs, usage } = await taxDesk.run("What do I pay?")
    expect(outputs).toEqual(["You pay 48."])
    // Desk, taxes, sums, taxes again.
    expect(usage.modelCalls).toBe(4)
  })

  it("35: a program's tools and a workflow's tool are called for real", async () => {
    const finder = librarian(library())
    const found = await finder.run("Find the book Dracula.")
    await finder.close()
    expect(found.outputs).toEqual(["Dracula, by Bram Stoker, is on shelf 7."])
    lent.length = 0
    const { status, usage } = await atTheDesk(
      (atDesk) => librarian(atDesk).run('Lend the book "Dracula", reader: Mina.').result,
    )
    expect([status, usage.toolCalls, lent]).toEqual(["completed", 1, ["Dracula to Mina"]])
  })

  it("36: the allowed folder is written without approval, and refused writes do not happen", async () => {
    const folder = mkdtempSync(join(tmpdir(), "example-36-"))
    try {
      writeFileSync(join(folder, "notes.txt"), "Ada says yes.")
      const run = secretary(folder).run("Write the minutes.")
      const { requests } = await run
      expect(requests).toMatchObject([{ data: { tool: "write_file", args: { path: "minutes.md" } } }])
      await run.respond(requests[0]?.id ?? "", { approve: false })
      expect((await run).status).toBe("completed")
      expect(readdirSync(folder, { recursive: true }).sort()).toEqual(
        ["drafts", "drafts/minutes.md", "memories.jsonl", "notes.txt"].sort(),
      )
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe("patterns", () => {
  it("37: another question has another source, and the numbers in the text match the list", async () => {
    const report = await inFolder(async (documents) =>
      String((await stork(documents).run("Where do white storks winter?")).outputs[0]),
    )
    expect(report).toMatch(/south of the Sahara\..*\[1\]/)
    expect(report).toContain("1. Journeys (journeys.md:3)")
  })

  it("38: the user's answer reaches the agent that asked, and the team ends on its condition", async () => {
    const run = helpDesk.run("Money back, please.")
    const [request] = (await run).requests
    expect(request).toMatchObject({ prompt: "Which invoice is it about?", to: "customer" })
    await run.respond(request?.id ?? "", "17")
    const { outputs, state } = await run
    expect(outputs).toEqual(["Invoice 17 is refunded."])
    expect(state.team).toMatchObject({ speaker: "refunds", ended: "terminated" })
  })

  it("39: a person reviews every plan, and too many stalls cause another one", async () => {
    const run = survey.run("How many?")
    const [first] = (await run).requests
    expect(first).toMatchObject({ to: "ranger", data: { plan: "- reader: look in the almanac" } })
    await run.respond(first?.id ?? "", { approve: true })
    const [second] = (await run).requests
    await run.respond(second?.id ?? "", { approve: true, plan: "- counter: count twice" })
    const { outputs, state } = await run
    expect(outputs).toEqual(["There are 24 storks."])
    expect(state.ledger).toMatchObject({ plan: "- counter: count twice" })
    expect(state.team).toMatchObject({ resets: 1, ended: "answered" })
  })

  it("40: the next agent sees the remote agent's answer", async () => {
    const { outputs, state } = await withForecaster((url) => outing(url).run("Oslo").result)
    expect(outputs).toEqual(["Sunny, 24 degrees: go to the beach."])
    expect(state.said).toMatchObject([{ speaker: "forecaster", text: "Oslo: sunny, 24 degrees." }, {}])
  })
})
