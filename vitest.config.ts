import { defineConfig } from "vitest/config"

export default defineConfig({
  // Packages resolve to each other's sources, so that tests need no build. Not "module": what Vitest leaves
  // to Node must be what Node itself would load.
  ssr: { resolve: { conditions: ["@superstep/source", "node", "development|production"] } },
  test: {
    // For a test that hangs, not for one that is slow: nothing here waits for time to pass.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    include: ["packages/*/src/**/*.test.ts", "tests/**/*.test.ts", "examples/**/*.test.ts"],
  },
})
