/** Faults of a PostgreSQL server, as runs see them. */

import { postgresStore } from "@superstep/store-postgres"
import pg from "pg"
import { breakingProxy } from "../../packages/store-postgres/src/proxy.test-support.ts"
import { faultTests } from "../crash/faults-suite.ts"
import { openStore } from "../stores.ts"
import { newAddress } from "./schemas.test-support.ts"

/** In the schema of the address. */
async function sql(address: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: address.replace(/#.*/, "") })
  await client.connect()
  await client.query(`SET search_path = "${new URL(address).hash.slice(1)}"; ${text}`)
  await client.end()
}

/** What the server does when it has no space left for the row. */
const FULL = `
  CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
  CREATE TRIGGER full_disk BEFORE INSERT ON journal EXECUTE FUNCTION full_disk()`

faultTests({
  newAddress,
  sql,
  faults: {
    "a full disk": {
      code: "STORE_WRITE_FAILED",
      message: /journal of run "r" was not written.*No space left/,
      make() {
        const address = newAddress()
        const repair = () => sql(address, "DROP TRIGGER full_disk ON journal")
        return { address, store: openStore(address), fault: () => sql(address, FULL), repair }
      },
    },
    "a server that is away for longer than the store retries": {
      code: "STORE_UNUSABLE",
      message: /could not be reached/,
      async make() {
        const address = newAddress()
        const { url, shut, open } = await breakingProxy(address)
        const schema = new URL(address).hash.slice(1)
        const store = postgresStore({ url: url.replace(/#.*/, ""), schema, retryTimeout: 500 })
        return { address, store, fault: shut, repair: open }
      },
    },
  },
})
