/** Looks at a whole store, and recovers what is readable of a damaged one: for the command line. */
import { type CheckedStore, type CheckProgress, checkStore, type Damage } from "./check-store.ts"
import { openDatabase } from "./open-database.ts"
import { storeOn } from "./sqlite-store.ts"
import { Transactions } from "./transactions.ts"

export type { CheckedStore, CheckProgress, Damage } from "./check-store.ts"
export { type Salvaged, type SalvagedRun, type SalvageOptions, salvageStore } from "./salvage.ts"

/** Gives each damage as it is found, then how much was looked at. Throws STORE_UNUSABLE for what is no store. */
export async function* checkStoreFile(
  path: string,
  onProgress?: (progress: CheckProgress) => void,
): AsyncGenerator<Damage, CheckedStore> {
  const { database, path: file, isGone } = openDatabase({ path, durability: "normal", lookAgain: 0 })
  const store = storeOn(file, database, new Transactions(database, { mayWrite: isGone, busyTimeout: 0 }))
  try {
    return yield* checkStore(database, store, onProgress)
  } finally {
    await store.close()
  }
}
