/** A process that opens a store and makes a run in it. */
import { postgresStore } from "./index.ts"

const [url = "", schema = "", runId = ""] = process.argv.slice(2)
const store = postgresStore({ url, schema })
await store.append({ runId, holder: "holder", token: 1 }, 0, [], { created: { workflow: "w", graph: "g" } })
await store.close()
