/**
 * Runs the cashier, or resumes its run. Its tools leave their idempotency key in a file and kill the process, a number of times:
 * after their effect, before its record.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { createOpenAI } from "@ai-sdk/openai"
import { agent } from "superstep/agents"
import { sqliteStore } from "superstep/sqlite"
import { tool } from "superstep/tools"
import { z } from "zod"

const [path = "", trail = "", url = "", budget = "{}", kills = "0"] = process.argv.slice(2)

function pay(key: string): string {
  appendFileSync(trail, `${key}\n`)
  const effects = readFileSync(trail, "utf8").trim().split("\n").length
  if (effects <= Number(kills)) process.kill(process.pid, "SIGKILL")
  return "paid"
}

const shared = { description: "Pays.", input: z.object({ to: z.string(), pin: z.string() }) }
const cashier = agent({
  name: "cashier",
  model: createOpenAI({ baseURL: url, apiKey: "sk-test" }).chat("m1"),
  calling: { retry: { attempts: 1 } },
  // The server of this test does not stream.
  stream: false,
  tools: [
    tool({ ...shared, name: "pay", run: (_, { idempotencyKey }) => pay(idempotencyKey) }),
    tool({
      ...shared,
      name: "pay_secretly",
      secret: ["pin"],
      run: (_, { idempotencyKey }) => pay(idempotencyKey),
    }),
  ],
})
if (!existsSync(trail)) appendFileSync(trail, "")
const store = sqliteStore({ path })
const known = (await store.run("r")) !== undefined
const run = known
  ? cashier.resume("r", { store, takeOver: true })
  : cashier.run("Pay bob.", { runId: "r", store, budget: JSON.parse(budget) })
const { status, error, outputs, usage } = await run.result
console.log(JSON.stringify({ status, code: error?.code, outputs, usage }))
await store.close()
