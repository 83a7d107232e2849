/** Every example, replayed against itself: a recorded run is a test that passes as long as nothing changes. */
import { expectReplay, manualClock, settled } from "@superstep/engine/testing"
import { memoryStore, type OpenRequest, type RunOptions, toFixture, type Workflow } from "superstep"
import { expect, test } from "vitest"
import { shout } from "./01-first-workflow.ts"
import { tickets } from "./02-conditional-edges.ts"
import { orders } from "./03-fan-out.ts"
import { best, every, first, twoOfThree } from "./04-fan-in.ts"
import { invoices } from "./05-switch.ts"
import { contract, wordCount } from "./06-map.ts"
import { notes, summary } from "./07-loop.ts"
import { payment } from "./08-retry.ts"
import { checkout } from "./09-error-edge.ts"
import { bookings, conversion, file } from "./10-settle.ts"
import { cart, order } from "./11-state.ts"
import { deliveries, goodsIn } from "./12-local-state.ts"
import { day, stock } from "./13-several-handlers.ts"
import { expenses } from "./14-ask-a-person.ts"
import { contracts } from "./15-request-and-answer.ts"
import { indexing } from "./16-sub-workflow.ts"
import { invoiceTotal } from "./17-call.ts"
import { confirmation, sent } from "./18-steps.ts"
import { translation } from "./19-streaming.ts"
import { impatientExport, patientExport } from "./20-cancel-and-timeout.ts"
import { research } from "./21-budget.ts"
import { processing } from "./22-flow-schedule.ts"
import { refunds } from "./24-resume.ts"
import { shipping } from "./25-telemetry.ts"
import { delivery } from "./26-runtime.ts"
import { table } from "./28-threads.ts"

interface Driving extends RunOptions {
  readonly answer?: (request: OpenRequest) => unknown
}

/** Runs it to its end, with people who answer and a clock that advances when nothing else does; returns its fixture. */
async function recorded<In>(built: Workflow<In, unknown>, input: In, { answer, ...options }: Driving = {}) {
  const store = memoryStore()
  const clock = manualClock(1_000)
  const run = built.run(input, { ...options, store, clock, runId: "r" })
  const answered = new Set<string>()
  for (let going = true; going; ) {
    await settled()
    const open = (await store.requests({ runId: "r" })).find(({ id }) => !answered.has(id))
    if (open !== undefined && answer !== undefined) {
      answered.add(open.id)
      await run.respond(open.id, answer(open))
    } else going = await clock.advanceToNext()
  }
  return JSON.parse(JSON.stringify(await toFixture(store, "r"), null, 1))
}

// biome-ignore lint/suspicious/noExplicitAny: each takes an input of its own.
const cases: [name: string, built: Workflow<any, unknown>, input: unknown, driving?: Driving][] = [
  ["01", shout, "hello"],
  ["02", tickets, { id: 7, severity: 2, plan: "paid" }],
  ["03", orders, { id: "B", total: 2_999, gift: true }],
  ["04 all", best, 80],
  ["04 all, failing", best, 49],
  ["04 any", first, 80],
  ["04 quorum", twoOfThree, 80],
  ["04 settle", every, 20],
  ["05", invoices, { number: "N", amount: 499, supplier: "known" }],
  ["06", wordCount, contract],
  ["07", summary, { sentences: notes, passes: 0 }],
  ["08", payment, 10],
  ["09", checkout, { id: "B", card: "expired" }],
  ["10 node", conversion, "CHF"],
  ["10 map", bookings, file],
  ["11", order, cart],
  ["12", goodsIn, deliveries],
  ["13", stock, day],
  ["14", expenses, { purpose: "desks", amount: 600 }, { answer: () => ({ approved: false }) }],
  ["14, waiting", expenses, { purpose: "desks", amount: 600 }],
  [
    "15",
    contracts,
    "hosting",
    { answer: ({ data }) => ({ ...(data as { department: string }), accepts: true }) },
  ],
  ["16", indexing, "audit"],
  ["17", invoiceTotal, { currency: "EUR", amounts: [10, 20, 30] }],
  ["18", confirmation, "B"],
  ["19", translation, "x"],
  ["20 node", impatientExport, "x"],
  ["20 run", patientExport, "x", { timeout: 31 }],
  ["20 cancelled", patientExport, "x", { signal: AbortSignal.abort(new Error("no more")) }],
  ["21", research, "heat pumps", { budget: { tokens: 1_200 } }],
  ["22 flow", processing("flow", settled), "talk"],
  ["22 superstep", processing("superstep", settled), "talk"],
  ["24", refunds, "B", { answer: () => true }],
  ["25", shipping, "B"],
  ["26", delivery, "B"],
  ["28", table, "two, please", { thread: "t" }],
]

test.each(cases)("example %s", async (_, built, input, driving) => {
  await expectReplay(built, await recorded(built, input, driving))
})

test("a replay does not repeat recorded steps", async () => {
  const fixture = await recorded(confirmation, "B")
  sent.length = 0
  await expectReplay(confirmation, fixture)
  expect(sent).toEqual([])
})
