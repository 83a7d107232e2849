/**
 * `crashTest` for the tests of this package. The proof kills the process in all three ways at every write, and adds ten days
 * whose faults the seed chooses. The check kills it at every write in one of the ways, each in turn, and adds two days. A proof
 * of a run with many writes passes a `stride`: the check kills the process at every `stride`th write only.
 */
import { inject } from "vitest"

import { type CrashReport, type CrashTestOptions, crashPoints, testCrashes } from "./explore.ts"
import type { WorkflowSource } from "./simulate-options.ts"

const isProof = inject("isProof")

export function crashTest<In, Out>(
  workflow: WorkflowSource<In, Out>,
  input: In,
  { stride = 1, ...options }: Omit<CrashTestOptions, "seeds"> & { readonly stride?: number } = {},
): Promise<CrashReport> {
  return testCrashes(workflow, input, { ...options, seeds: isProof ? 10 : 2 }, (writes) => {
    if (isProof) return crashPoints(writes)
    const chosen = writes.filter((_, i) => i % stride === 0)
    return crashPoints(chosen).filter((_, i) => i % 3 === Math.floor(i / 3) % 3)
  })
}
