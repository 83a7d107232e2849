import type { EncryptionKey } from "@superstep/engine/stores"
import { registrySuite, storeSuite } from "@superstep/engine/testing"
import type pg from "pg"
import { afterAll, inject, test } from "vitest"
import type { PostgresPool } from "./database.ts"
import { postgresStore } from "./open-store.ts"
import type { PostgresStore } from "./postgres-store.ts"
import { pool, Schemas } from "./stores.test-support.ts"

const schemas = new Schemas()
afterAll(() => schemas.drop())

interface Life {
  readonly schema: string
  readonly keys?: readonly EncryptionKey[] | undefined
  /** How many more statements reach the server. */
  left: number
}

const lives = new WeakMap<PostgresStore, Life>()

function open(life: Life): PostgresStore {
  const store = postgresStore({ pool: mortal(life), schema: life.schema, keys: life.keys })
  lives.set(store, life)
  return store
}

/** A pool whose process dies after so many statements that write. */
function mortal(life: Life): PostgresPool {
  return {
    async query(query) {
      if (!/^\s*SELECT (?!\* FROM \S+append)/.test(query.text)) {
        if (life.left <= 0) throw new Error("The process of this test is dead.")
        life.left--
      }
      return pool.query(query as pg.QueryConfig)
    },
    connect: () => pool.connect(),
    end: async () => undefined,
    on: () => undefined,
  }
}

const lifeOf = (store: PostgresStore) => lives.get(store) as Life
const reopen = (store: PostgresStore) => open({ ...lifeOf(store), left: Number.POSITIVE_INFINITY })
const make = () => open({ schema: schemas.take(), left: Number.POSITIVE_INFINITY })
async function dispose(store: PostgresStore): Promise<void> {
  await store.close()
  await schemas.giveBack(lifeOf(store).schema)
}

const interrupt = {
  after(store: PostgresStore, writes: number): void {
    lifeOf(store).left = writes
  },
  reopen,
}

for (const { name, run } of storeSuite("PostgreSQL", make, { dispose, reopen, interrupt })) test(name, run)

const keys = [{ id: "k", key: new Uint8Array(32).fill(7) }]
const makeEncrypted = () => open({ schema: schemas.take(), keys, left: Number.POSITIVE_INFINITY })
const encrypted = storeSuite("PostgreSQL, encrypted", makeEncrypted, { dispose, reopen, interrupt })
// The check has encryption.test.ts.
if (inject("isProof")) for (const { name, run } of encrypted) test(name, run)

const stores = new WeakMap<object, PostgresStore>()
const registries = registrySuite(
  "PostgreSQL",
  () => {
    const store = make()
    stores.set(store.registry, store)
    return store.registry
  },
  { dispose: (registry) => dispose(stores.get(registry) as PostgresStore) },
)
for (const { name, run } of registries) test(name, run)
