/** A server with the studio on a file of runs, for tests that kill it. */
import { createServer, listen } from "@superstep/server"
import { loadStudio } from "@superstep/studio"
import { node, Runtime, workflow } from "superstep"
import { sqliteStore } from "superstep/sqlite"
import { z } from "zod"

const [folder = "", file = "", port = "0"] = process.argv.slice(2)
const ask = node({
  id: "ask",
  input: z.string(),
  run: async (topic, ctx) =>
    `${topic}: ${await ctx.ask({ prompt: `Is ${topic} good?`, schema: z.enum(["yes", "no"]) })}`,
})
const question = workflow("question").start(ask).build()
const runtime = new Runtime({ store: sqliteStore({ path: file }), workflows: [question], lease: 2_000 })
const server = createServer({ runtime, workflows: [question as never], studio: loadStudio(folder) })
const { url } = await listen(server, { port: Number(port) })
process.stdin.once("end", () => process.exit(1)).resume()
console.log(url)
await runtime.recover()
