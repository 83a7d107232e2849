/**
 * What every store has to do, as a list of cases for any test runner:
 *
 *     for (const { name, run } of storeSuite("my store", () => myStore())) test(name, run)
 */
import type { Store } from "../runtime/index.ts"
import { forkCases } from "./store-suite-forks.ts"
import { freeCases } from "./store-suite-free.ts"
import { journalCases } from "./store-suite-journals.ts"
import { leaseCases } from "./store-suite-leases.ts"
import { mailCases } from "./store-suite-mail.ts"
import { queryCases } from "./store-suite-queries.ts"
import { requestCases } from "./store-suite-requests.ts"
import { retentionCases } from "./store-suite-retention.ts"
import { runCases } from "./store-suite-runs.ts"
import { snapshotCases } from "./store-suite-snapshots.ts"
import type { StoreCases } from "./store-suite-steps.ts"
import { threadCases } from "./store-suite-threads.ts"
import { valueCases } from "./store-suite-values.ts"

export interface StoreCase {
  readonly name: string
  readonly run: () => Promise<void>
}

export interface StoreSuiteOptions<S extends Store> {
  /** Called when a case is over, with the store that it had; one case has closed it. */
  dispose?(store: S): unknown
}

const CASES: { readonly [concept: string]: StoreCases } = {
  journals: journalCases,
  values: valueCases,
  runs: runCases,
  leases: leaseCases,
  "free runs": freeCases,
  mail: mailCases,
  questions: requestCases,
  queries: queryCases,
  forks: forkCases,
  snapshots: snapshotCases,
  threads: threadCases,
  retention: retentionCases,
}

/** `store` is its name, which begins that of every case; `make` gives an empty store, a new one for each. */
export function storeSuite<S extends Store>(
  store: string,
  make: () => S | Promise<S>,
  options: StoreSuiteOptions<S> = {},
): readonly StoreCase[] {
  return Object.entries(CASES).flatMap(([concept, cases]) =>
    Object.entries(cases).map(([name, check]) => ({
      name: `${store}: ${concept}: ${name}`,
      async run() {
        const made = await make()
        try {
          await check(made)
        } finally {
          await options.dispose?.(made)
        }
      },
    })),
  )
}
