// A worker on Restate: ours, and the same work in plain Restate code, as services of one endpoint each.
import { createServer } from "node:http2"
import { restateEndpoint } from "@superstep/restate"
import pg from "pg"
import { flows, openStore, work } from "./flows.mjs"

const [address, restate, service] = process.argv.slice(2)
const store = await openStore(address)
const endpoint = restateEndpoint({ store, workflows: Object.values(flows), restate, service })
const ours = await endpoint.listen({ host: "127.0.0.1" })

// After the first endpoint, which gives Node 20 what the SDK needs.
const sdk = await import("@restatedev/restate-sdk")
const { createEndpointHandler } = await import("@restatedev/restate-sdk/node")
const [url, schema] = address.split("#")
const pool = new pg.Pool({ connectionString: url, max: 4 })
await pool.query(`CREATE SCHEMA IF NOT EXISTS ${schema}_plain`)
await pool.query(
  `CREATE TABLE IF NOT EXISTS ${schema}_plain.journal (run text, seq int, body json, PRIMARY KEY (run, seq))`,
)
/** As many steps in one invocation as a mapping of steps to invocations chains. */
const CHAIN = 50
const plain = sdk.service({
  name: `${service}-plain`,
  handlers: {
    steps: async (ctx, count) => {
      for (let i = 0; i < count; i++) await ctx.run("step", () => i)
      return count
    },
    one: async (ctx, n) => await ctx.run("one", () => n),
    chunk: async (ctx, items) =>
      await sdk.RestatePromise.all(items.map((n) => ctx.run("task", () => work(n)))),
    fanOut: async (ctx, { count, size }) => {
      const self = ctx.serviceClient({ name: `${service}-plain` })
      const chunks = Array.from({ length: Math.ceil(count / size) }, (_, i) =>
        self.chunk(Array.from({ length: Math.min(size, count - i * size) }, (_, j) => i * size + j)),
      )
      return (await sdk.RestatePromise.all(chunks)).flat().length
    },
    asks: async (ctx) => {
      const { id, promise } = ctx.awakeable()
      process.send({ awakeable: id })
      return await promise
    },
    // The mapping of steps to invocations: PostgreSQL orders the journal, each invocation does a chain of steps.
    chained: async (ctx, { run, from, count }) => {
      for (let i = from; i < Math.min(count, from + CHAIN); i++) {
        const insert = `INSERT INTO ${schema}_plain.journal VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
        await ctx.run("step", async () => {
          await pool.query(insert, [run, i, { value: i }])
        })
      }
      if (from + CHAIN >= count) process.send({ chained: run })
      else ctx.serviceSendClient({ name: `${service}-plain` }).chained({ run, from: from + CHAIN, count })
    },
  },
  options: { journalRetention: 0 },
})
const server = createServer(
  { maxSessionMemory: 2_048 },
  createEndpointHandler({ services: [plain], logger: () => undefined }),
)
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
process.on("disconnect", () => process.exit())
process.send({ ours, plain: server.address().port })
