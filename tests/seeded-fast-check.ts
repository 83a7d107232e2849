/** fast-check for all tests (vitest.config.ts puts it in its place): properties begin at the seed of the run. */

import { inject } from "vitest"
import * as fc from "../node_modules/fast-check/lib/fast-check.js"

fc.configureGlobal({ seed: inject("seed") })

// biome-ignore lint/performance/noReExportAll: it stands for the whole package
export * from "../node_modules/fast-check/lib/fast-check.js"
export default fc
