import { defineConfig } from "tsdown"

// Every package is built alike: each file directly under src/ is an entry, what entries share becomes a chunk.
export default defineConfig({
  workspace: "packages/*",
  entry: ["src/*.ts", "!src/*.test*.ts"],
  tsconfig: "tsconfig.build.json",
  format: "esm",
  platform: "node",
  target: "node20",
  // The packages are ES modules, so plain .js and .d.ts say enough.
  fixedExtension: false,
  dts: { sourcemap: false },
  sourcemap: true,
})
