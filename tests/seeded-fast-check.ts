/** fast-check for all tests (vitest.config.ts puts it in its place): properties begin at the seed of the run. */

import { inject } from "vitest"
import * as fc from "../node_modules/fast-check/lib/fast-check.js"

// From a fixed seed, later runs of the check add nothing to its first one.
fc.configureGlobal({ seed: inject("seed"), numRuns: inject("isProof") ? 100 : 50 })

// biome-ignore lint/performance/noReExportAll: it stands for the whole package
export * from "../node_modules/fast-check/lib/fast-check.js"
export default fc
