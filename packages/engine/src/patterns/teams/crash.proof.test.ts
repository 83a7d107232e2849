import { expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { pureModel, shown } from "../../agents/stand-ins.test-support.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import { magentic } from "./index.ts"
import { ledger } from "./team-play.test-support.ts"

test("magentic has the same result wherever processes crash, with a review, a stall and a reset, and nothing is paid for twice", async () => {
  const model = pureModel((last, turn, name) => {
    if (name !== "manager") return `${name} ${turn}`
    if (last.includes("Where does the work stand")) {
      const isAgain = shown(model, model.calls.length - 1).some((line) => line.includes("F2"))
      return JSON.stringify(ledger("a", { progress: isAgain, done: turn > 1 }).json)
    }
    if (last.includes("starts over")) return "F2"
    if (last.includes("Before the work starts")) return "F1"
    return last.includes("short plan") ? "P" : "the answer"
  })
  const member = (name: string) => agent({ name, model, stream: false })
  const workflow = magentic({
    manager: member("manager"),
    agents: [member("a"), member("b")],
    maxStalls: 1,
    planReview: true,
  })
  const { outcome, crashes, writes } = await crashTest(workflow, "hello", {
    answers: () => ({ approve: true }),
    stride: 3,
  })
  expect(outcome).toMatchObject({
    status: "completed",
    outputs: ["the answer"],
    state: { team: { round: 5, resets: 1, ended: "answered" } },
    // Facts, plan, two ledgers; facts, plan, three ledgers, an answer; and three turns of "a".
    usage: { modelCalls: 13 },
  })
  expect(crashes).toBeGreaterThanOrEqual(writes / 3)
})
