import { describe, expect, test } from "vitest"
import { type FlowOptions, node, workflow } from "../index.ts"

const build = (flow: unknown) =>
  workflow("w", { flow: flow as FlowOptions })
    .start(node("a", (n: number) => n))
    .build()

describe("the flow options of a workflow", () => {
  test.each<[unknown, string]>([
    [3, "flow must be an object such as { concurrency: … }, not 3"],
    [{ concurency: 1 }, 'flow: unknown option "concurency"; did you mean "concurrency"?'],
    [{ concurrency: 0 }, "flow.concurrency must be a whole number of at least 1, not 0"],
    [{ concurrency: { max: 1, kye: 1 } }, 'flow.concurrency: unknown option "kye"; did you mean "key"?'],
    [{ concurrency: [{ max: 1 }, { max: 1.5 }] }, "flow.concurrency[1].max must be a whole number"],
    [{ concurrency: { max: 1, key: "tenant" } }, "flow.concurrency.key must be a function of the input"],
    [{ rateLimit: { max: 1 } }, "flow.rateLimit.period must be milliseconds, more than 0, not undefined"],
    [{ rateLimit: { max: 1, period: 1, burst: 0 } }, "flow.rateLimit.burst must be a whole number"],
    [{ throttle: {} }, "flow.throttle.period must be milliseconds"],
    [{ debounce: { period: 1, timeout: -1 } }, "flow.debounce.timeout must be milliseconds"],
    [{ batch: { maxSize: 20_000, timeout: 1 } }, "flow.batch.maxSize must be at most 10000, not 20000"],
    [
      { batch: { maxSize: 2, timeout: 1 }, throttle: { period: 1 } },
      "flow.throttle and flow.batch exclude each other",
    ],
    [{ priority: "high" }, 'flow.priority must be a number or a function of the input, not "high"'],
    [{ tenant: "acme" }, 'flow.tenant must be a function of the input, not "acme"'],
  ])("are checked: %j", (flow, message) => {
    expect(() => build(flow)).toThrow(`Workflow "w": ${message}`)
  })

  test("become lanes and limits, named after the workflow and the option", () => {
    const { program } = build({ concurrency: 2, rateLimit: { max: 4, period: 1_000 }, priority: 3 })
    expect(program.flow).toEqual({
      priority: 3,
      limits: [
        { name: "w/concurrency", max: 2 },
        { name: "w/rateLimit", rate: { every: 250, burst: 1 } },
      ],
      lanes: [
        { limit: "w/concurrency", option: "concurrency.key", key: undefined },
        { limit: "w/rateLimit", option: "rateLimit.key", key: undefined },
      ],
    })
    expect(build(undefined).program.flow).toBeUndefined()
  })
})
