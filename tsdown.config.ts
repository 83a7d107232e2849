import { readFileSync } from "node:fs"
import { defineConfig } from "tsdown"

// Each package is built alike: what its exports name as a source is an entry, what entries share becomes a chunk.
export default defineConfig(
  ["packages/engine", "packages/mcp", "packages/store-sqlite", "packages/superstep"].map((cwd) => ({
    cwd,
    entry: entriesOf(cwd),
    tsconfig: "tsconfig.build.json",
    format: "esm" as const,
    platform: "node" as const,
    target: "node20",
    // The packages are ES modules, so plain .js and .d.ts say enough.
    fixedExtension: false,
    dts: { sourcemap: false },
    sourcemap: true,
  })),
)

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
