import { availableParallelism } from "node:os"
import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { bundledPrograms, modulesOfThisRun } from "./tests/bundled.ts"
import { LongestFirst } from "./tests/longest-first.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Whether this is `npm run proof`: thousands of cases where the check runs tens. */
    readonly isProof: boolean
    /** Whether it is the proof of CI (PROOF=short), which may take minutes only: it kills processes half as often. */
    readonly isShortProof: boolean
    /** Where every random choice of the tests begins. SEED=… repeats a run. */
    readonly seed: number
    /** Of the PostgreSQL server that the test files of the project "postgres" share: the address of an empty database. */
    readonly postgres: string
    /** Of the Restate server that the test files of the project "restate" share: its addresses. */
    readonly restate: { readonly ingress: string; readonly admin: string }
  }
}

/** Replaces a module of Node for its own imports, which only works where no other file has loaded them. */
const MOCKING = "packages/retrieval/src/index/document-index.test.ts"

/** These test files share modules within a worker: loading them for each file takes longer than most of the files run. */
const shared = {
  extends: true as const,
  test: {
    name: "shared",
    include: ["packages/!(store-postgres)/src/**/*.test.ts", "tests/models/**/*.test.ts"],
    exclude: [MOCKING],
    isolate: false,
    setupFiles: ["tests/leaves-nothing.ts"],
  },
}
/** Mostly tests that start processes, or read what others have changed. */
const others = {
  extends: true as const,
  test: {
    name: "others",
    include: [
      "tests/!(postgres|models|restate)/**/*.test.ts",
      "tests/*.test.ts",
      "examples/**/*.test.ts",
      MOCKING,
    ],
  },
}
/** One server for all of them, started when one of them runs. */
const globalSetup = ["tests/postgres/server.ts"]
const restateSetup = [...globalSetup, "tests/restate/server.ts"]
const postgres = {
  extends: true as const,
  test: {
    name: "postgres",
    include: ["packages/store-postgres/src/**/*.test.ts", "tests/postgres/**/*.test.ts"],
    globalSetup,
  },
}

const restate = {
  extends: true as const,
  test: { name: "restate", include: ["tests/restate/**/*.test.ts"], globalSetup: restateSetup },
}

export default defineConfig(({ mode }) => {
  const isProof = mode === "proof"
  const isShortProof = isProof && process.env.PROOF === "short"
  const seed = Number(process.env.SEED ?? (isProof ? Date.now() % 1_000_000 : 1))
  const settings = `${isShortProof ? "PROOF=short " : ""}SEED=${seed}`
  if (isProof) console.log(`Repeat this proof with ${settings} npm run proof`)
  return {
    plugins: [bundledPrograms],
    // Packages resolve to each other's sources, so that tests need no build. Not "module": what Vitest leaves
    // to Node must be what Node itself would load.
    ssr: { resolve: { conditions: ["@superstep/source", "node", "development|production"] } },
    test: {
      // For a test that hangs, not for one that is slow: nothing here waits for time to pass.
      testTimeout: isProof ? 600_000 : 180_000,
      hookTimeout: 180_000,
      // For the same reason: one second, the default, is what a loaded machine takes.
      expect: { poll: { timeout: 50_000 } },
      // One more than there are cores: many tests wait for processes that they start.
      maxWorkers: availableParallelism() + 1,
      provide: { isProof, isShortProof, seed },
      sequence: { sequencer: LongestFirst },
      // The projects load much the same sources: each is transformed once.
      experimental: { fsModuleCache: true, fsModuleCachePath: modulesOfThisRun },
      alias: { "fast-check": join(import.meta.dirname, "tests/seeded-fast-check.ts") },
      // A long test runs with the proofs only; a proof runs in the check too, with tens of cases.
      ...(isProof
        ? {
            include: ["packages/*/src", "tests", "examples"].map(
              (folder) => `${folder}/**/*.{proof,long}.test.ts`,
            ),
            globalSetup: restateSetup,
          }
        : { projects: [shared, others, postgres, restate] }),
      exclude: ["**/node_modules/**", ...(isProof ? [] : ["**/*.long.test.ts"])],
    },
  }
})
