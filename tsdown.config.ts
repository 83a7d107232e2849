import { readFileSync } from "node:fs"
import { defineConfig } from "tsdown"

// Each package is built alike: what its exports name as a source is an entry, what entries share becomes a chunk.
// The command is an entry too, and nothing to import. What definitions are read with goes into the bundle: the command
// starts with a few files instead of two hundred. The protocol's schemas are zod's own, for those who use them.
export default defineConfig(
  [
    "packages/engine",
    "packages/mcp",
    "packages/retrieval",
    "packages/store-sqlite",
    "packages/superstep",
  ].map((cwd) => ({
    cwd,
    entry: { ...entriesOf(cwd), ...(cwd === "packages/superstep" && { command: "src/command/main.ts" }) },
    tsconfig: "tsconfig.build.json",
    format: "esm" as const,
    platform: "node" as const,
    target: "node20",
    // The packages are ES modules, so plain .js and .d.ts say enough.
    fixedExtension: false,
    dts: { sourcemap: false },
    deps: { alwaysBundle: isBundled },
    // Names stay, for stacks; comments and spaces only cost time at every start.
    minify: { compress: { keepNames: { function: true, class: true } }, mangle: { keepNames: true } },
    sourcemap: true,
  })),
)

const BUNDLED = /^(zod|yaml|commander|@marcbachmann\/cel-js)(\/|$)/

function isBundled(id: string, importer: string | undefined): boolean {
  return BUNDLED.test(id) && importer !== undefined && !/[\\/](protocol|models)[\\/]/.test(importer)
}

function entriesOf(directory: string): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(`${directory}/package.json`, "utf8")) as {
    exports: Record<string, { "@superstep/source"?: string }>
  }
  return Object.fromEntries(
    Object.entries(exports).flatMap(([name, { "@superstep/source": source }]) =>
      source === undefined ? [] : [[name === "." ? "index" : name.slice(2), source]],
    ),
  )
}
