/**
 * What every store has to do, as a list of cases for any test runner:
 *
 *     for (const { name, run } of storeSuite("my store", () => myStore())) test(name, run)
 */

import type { Store } from "../../runtime/index.ts"
import { atomicCases, type Interruption, interruptedCases, reopenedCases } from "./atomic.ts"
import { forkCases, journalCases, snapshotCases } from "./journals.ts"
import { freeCases, leaseCases } from "./leases.ts"
import { mailCases, requestCases } from "./requests.ts"
import { retentionCases } from "./retention.ts"
import { queryCases, runCases } from "./runs.ts"
import { type StoreCases, withMade } from "./steps.ts"
import { threadCases } from "./threads.ts"
import { ownedCases, valueCases } from "./values.ts"

export interface StoreCase {
  readonly name: string
  readonly run: () => Promise<void>
}

export interface StoreSuiteOptions<S extends Store> {
  /** Called when a case has ended, with the store that it had; one case has closed it. */
  dispose?(store: S): unknown
  /**
   * Opens the same data once more, as another process would, while the first store is open. Adds cases in which one
   * looks on while the other writes. The suite closes what it opens.
   */
  reopen?(store: S): S | Promise<S>
  /**
   * Lets the store's process die in the middle of an append. Adds cases that find an append in several writes even if
   * the store makes them all in one turn of the event loop, where nobody can look on.
   */
  readonly interrupt?: Interruption<S> | undefined
}

const CASES: { readonly [concept: string]: StoreCases } = {
  journals: journalCases,
  "whole appends": atomicCases,
  ownership: ownedCases,
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
  const { dispose, reopen, interrupt } = options
  const withStore = (check: (made: S) => Promise<void>) => withMade(make, dispose, check)
  const all: { readonly [concept: string]: { readonly [name: string]: () => Promise<void> } } = {
    ...mapped(CASES, (cases) => mapped(cases, (check) => () => withStore(check))),
    ...(reopen && {
      "two at once": mapped(
        reopenedCases,
        (check) => () => withStore(async (made) => check(made, await reopen(made))),
      ),
    }),
    ...(interrupt && {
      interruptions: mapped(interruptedCases, (check) => () => check(withStore, interrupt)),
    }),
  }
  return Object.entries(all).flatMap(([concept, cases]) =>
    Object.entries(cases).map(([name, run]) => ({ name: `${store}: ${concept}: ${name}`, run })),
  )
}

function mapped<T, R>(values: { readonly [key: string]: T }, to: (value: T) => R): { [key: string]: R } {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, to(value)]))
}
