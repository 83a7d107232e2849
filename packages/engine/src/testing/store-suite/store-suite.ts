/**
 * The conformance suite of stores, as a list of cases for any test runner:
 *
 *     for (const { name, run } of storeSuite("my store", () => myStore())) test(name, run)
 */

import type { Store } from "../../runtime/index.ts"
import { atomicCases, type Interruption, interruptedCases, reopenedCases } from "./atomic.ts"
import { forkCases, journalCases, snapshotCases } from "./journals.ts"
import { freeCases, leaseCases } from "./leases.ts"
import { queueCases } from "./queue.ts"
import { recordCases } from "./records.ts"
import { mailCases, requestCases } from "./requests.ts"
import { retentionCases } from "./retention.ts"
import { queryCases, runCases } from "./runs.ts"
import { scheduleCases } from "./schedules.ts"
import { slotCases } from "./slots.ts"
import { type StoreCases, withMade } from "./steps.ts"
import { subscriptionCases } from "./subscriptions.ts"
import { threadCases } from "./threads.ts"
import { ownedCases, valueCases } from "./values.ts"

export interface StoreCase {
  readonly name: string
  readonly run: () => Promise<void>
}

export interface StoreSuiteOptions<S extends Store> {
  /** Called after each case with its store; one case has closed it. */
  dispose?(store: S): unknown
  /**
   * Opens the same data once more, as another process would, while the first store is open. Adds cases in which one reads
   * while the other writes. The suite closes the stores that it opens.
   */
  reopen?(store: S): S | Promise<S>
  /**
   * Simulates the death of the store's process during an append. Adds cases that detect a non-atomic append even if the
   * store makes all its writes in one turn of the event loop, where no reader could see it.
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
  "queued runs": queueCases,
  records: recordCases,
  slots: slotCases,
  schedules: scheduleCases,
  mail: mailCases,
  questions: requestCases,
  queries: queryCases,
  forks: forkCases,
  snapshots: snapshotCases,
  threads: threadCases,
  retention: retentionCases,
  subscriptions: subscriptionCases,
}

/** `store` is the prefix of every case name; `make` creates an empty store for each case. */
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
