/** Workflows of every kind end on Restate as they end in memory: the cases that the crash suites kill on other stores. */
import { memoryStore } from "superstep"
import { beforeAll, describe, expect, test } from "vitest"
import { comeToEnd } from "../crash/come-to-end.ts"
import { type ScenarioName, scenarios } from "../crash/scenarios/index.ts"
import { type Application, application } from "./workers.test-support.ts"

const all = (Object.keys(scenarios) as ScenarioName[]).map((name) => ({
  name,
  scenario: scenarios[name](() => undefined),
}))
const flows = all.map(({ scenario }) => scenario.workflow)

describe("on Restate", () => {
  let app: Application

  beforeAll(async () => {
    app = application(flows, "file")
    await app.fleet(flows, 2)
  })

  test.concurrent.each(all)("$name ends as it does in memory", async ({ scenario }) => {
    const { workflow, input, run } = scenario
    const expected = await comeToEnd(scenario, workflow.run(input as never, { ...run, store: memoryStore() }))
    const outcome = await comeToEnd(scenario, app.runtime.start(workflow, input as never, run))
    expect(JSON.parse(JSON.stringify(outcome))).toEqual(JSON.parse(JSON.stringify(expected)))
  })
})
