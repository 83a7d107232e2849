/** Programs for tests that start many processes: a bundle starts several times faster than the sources do. */
import { basename, join, relative, resolve } from "node:path"
import { build } from "tsdown"

const root = resolve(import.meta.dirname, "..")
// Test files that run at the same time may start the same program, and a build empties its folder: each of Vitest's
// workers has a folder of its own.
const programs = join(root, ".build", "programs", process.env.VITEST_POOL_ID as string)

/** Bundles a TypeScript file and returns the path of the program. */
export async function bundled(file: string): Promise<string> {
  const name = basename(file, ".ts")
  const outDir = join(programs, relative(root, file).replace(/\.ts$/, ""))
  await build({
    cwd: root,
    config: false,
    entry: { [name]: file },
    outDir,
    format: "esm",
    platform: "node",
    target: "node20",
    dts: false,
    logLevel: "error",
    noExternal: [/^@?superstep/, "zod"],
    external: ["pg"],
    inputOptions: { resolve: { conditionNames: ["@superstep/source", "node", "import"] } },
  })
  return join(outDir, `${name}.mjs`)
}
