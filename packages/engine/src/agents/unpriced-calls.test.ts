/** A budget in US dollars with a model of unknown price: rejected before the first call. */
import { afterEach, describe, expect, test } from "vitest"
import { type Model, priceTable, registerPrices, scriptedModel } from "../models/index.ts"
import { agent } from "./index.ts"

let calls = 0
afterEach(() => {
  calls = 0
})

/** A model without a price. */
function unpriced(): Model {
  const inner = scriptedModel(["Done."])
  const counted: Model["doGenerate"] = (options) => {
    calls++
    return inner.doGenerate(options)
  }
  return {
    ...inner,
    provider: "azure",
    modelId: "my-deployment",
    doGenerate: counted,
    doStream: inner.doStream,
  }
}

const clerk = (more: object = {}) => agent({ name: "clerk", model: unpriced(), ...more })

describe("a budget in US dollars", () => {
  test("is rejected before the first call, with the model and how to fix it", async () => {
    const result = await clerk().stream("x", { budget: { usd: 1 } }).result
    expect(result.status).toBe("failed")
    expect(result.error).toMatchObject({ code: "BUDGET_UNPRICED" })
    expect(result.error?.message).toContain("azure/my-deployment")
    for (const remedy of ["calling.prices", "--price", "allowUnpriced"])
      expect(result.error?.message).toContain(remedy)
    expect(calls).toBe(0)
  })

  test("of one agent is rejected too", async () => {
    const { error } = await clerk({ limits: { usd: 1 } }).stream("x").result
    expect(error?.code).toBe("BUDGET_UNPRICED")
    expect(calls).toBe(0)
  })

  test("is rejected if only a fallback has an unknown price", async () => {
    const model = [scriptedModel(["Done."]), unpriced()]
    const { error } = await agent({ name: "clerk", model }).stream("x", { budget: { usd: 1 } }).result
    expect(error?.code).toBe("BUDGET_UNPRICED")
  })

  test("is enforced with a price, of the agent or of the process", async () => {
    const prices = { "azure/my-deployment": { input: 1, output: 2 } }
    const own = clerk({ calling: { prices: priceTable(prices) } })
    expect((await own.stream("x", { budget: { usd: 1 } }).result).status).toBe("completed")
    const remove = registerPrices(prices)
    try {
      expect((await clerk().stream("x", { budget: { usd: 1 } }).result).status).toBe("completed")
    } finally {
      remove()
    }
    expect((await clerk().stream("x", { budget: { usd: 1 } }).result).status).toBe("failed")
  })

  test("with allowUnpriced counts such calls as free", async () => {
    const budget = { usd: 1, allowUnpriced: true }
    expect((await clerk().stream("x", { budget }).result).status).toBe("completed")
    expect((await clerk({ limits: budget }).stream("x").result).status).toBe("completed")
  })
})
