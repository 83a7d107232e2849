/** The keeper of runs that were started without a runtime. */
import { systemClock } from "../ports/clock.ts"
import type { Store } from "../ports/store.ts"
import { TICK } from "./holders.ts"
import { Keeper } from "./keeper.ts"

/** One per store, for as long as the store is used. */
const keepers = new WeakMap<Store, Keeper>()

export function keeperOf(store: Store): Keeper {
  let keeper = keepers.get(store)
  if (keeper === undefined) {
    keeper = new Keeper(store, { clock: systemClock, whileHolding: keepAlive })
    keepers.set(store, keeper)
  }
  return keeper
}

/** It keeps neither the process nor the store alive. */
function keepAlive(keeper: Keeper): () => void {
  const reference = new WeakRef(keeper)
  const timer = setInterval(() => {
    const found = reference.deref()
    if (found === undefined) clearInterval(timer)
    else found.tick().catch(() => undefined)
  }, TICK)
  timer.unref()
  return () => clearInterval(timer)
}
