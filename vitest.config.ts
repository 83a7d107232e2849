import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig } from "vitest/config"

declare module "vitest" {
  interface ProvidedContext {
    /** Whether this is `npm run proof`: thousands of cases where the check runs tens. */
    readonly isProof: boolean
    /** Where every random choice of the tests begins. SEED=… repeats a run. */
    readonly seed: number
    /** Of the PostgreSQL server that the test files of the project "postgres" share: the address of an empty database. */
    readonly postgres: string
  }
}

/** Their test files share modules: loading those for each file takes longer than most of the files run. */
const sharing = (name: string) => ({
  extends: true as const,
  test: { name, include: [`packages/${name}/src/**/*.test.ts`], isolate: false },
})
const others = {
  extends: true as const,
  test: {
    name: "others",
    include: [
      "packages/!(engine|superstep|store-postgres)/src/**/*.test.ts",
      "tests/!(postgres)/**/*.test.ts",
      "tests/*.test.ts",
      "examples/**/*.test.ts",
    ],
  },
}
/** One server for all of them, started when one of them runs. */
const globalSetup = ["tests/postgres/server.ts"]
const postgres = {
  extends: true as const,
  test: {
    name: "postgres",
    include: ["packages/store-postgres/src/**/*.test.ts", "tests/postgres/**/*.test.ts"],
    globalSetup,
  },
}

export default defineConfig(({ mode }) => {
  const isProof = mode === "proof"
  const seed = Number(process.env.SEED ?? (isProof ? Date.now() % 1_000_000 : 1))
  if (isProof) console.log(`Repeat this proof with SEED=${seed} npm run proof`)
  return {
    // Packages resolve to each other's sources, so that tests need no build. Not "module": what Vitest leaves
    // to Node must be what Node itself would load.
    ssr: { resolve: { conditions: ["@superstep/source", "node", "development|production"] } },
    test: {
      // For a test that hangs, not for one that is slow: nothing here waits for time to pass.
      testTimeout: isProof ? 600_000 : 60_000,
      hookTimeout: 60_000,
      // One more than there are cores: many tests wait for processes that they start.
      maxWorkers: availableParallelism() + 1,
      provide: { isProof, seed },
      alias: { "fast-check": join(import.meta.dirname, "tests/seeded-fast-check.ts") },
      // A long test runs with the proofs only; a proof runs in the check too, with tens of cases.
      ...(isProof
        ? {
            include: ["packages/*/src/**/*.{proof,long}.test.ts", "tests/**/*.{proof,long}.test.ts"],
            globalSetup,
          }
        : { projects: [sharing("engine"), sharing("superstep"), others, postgres] }),
      exclude: ["**/node_modules/**", ...(isProof ? [] : ["**/*.long.test.ts"])],
    },
  }
})
