import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { defineConfig, type Rolldown, type UserConfig } from "tsdown"

const BUNDLED = /^(zod|yaml|commander|@marcbachmann\/cel-js)(\/|$)/

// Names stay, for stacks; comments and spaces only cost time at every start.
const minify = { compress: { keepNames: { function: true, class: true } }, mangle: { keepNames: true } }
const built = {
  tsconfig: "tsconfig.build.json",
  platform: "node",
  target: "node20",
  // The packages are ES modules, so plain .js and .d.ts say enough.
  fixedExtension: false,
  minify,
} satisfies UserConfig

// Each package is built alike: what its exports name as a source is an entry, what entries share becomes a chunk.
// The command's program is an entry too, and nothing to import. What definitions are read with goes into the bundle: the command
// starts with a few files instead of two hundred. The protocol's schemas are zod's own, for those who use them.
const packages = [
  "packages/engine",
  "packages/mcp",
  "packages/retrieval",
  "packages/store-sqlite",
  "packages/superstep",
].map((cwd) => ({
  ...built,
  cwd,
  entry: { ...entriesOf(cwd), ...(cwd === "packages/superstep" && { start: "src/command/start.ts" }) },
  format: "esm" as const,
  dts: { sourcemap: false },
  deps: { alwaysBundle: isBundled },
  sourcemap: true,
  plugins: [licensesAs("licenses.txt")],
}))

// The command is CommonJS, which starts sooner, and has its program twice: in modules, and in one file with the engine.
const command = {
  ...built,
  cwd: "packages/superstep",
  format: "cjs",
  dts: false,
  clean: false,
  outExtensions: () => ({ js: ".cjs" }),
} satisfies UserConfig
const first = {
  ...command,
  entry: { command: "src/command/main.ts" },
  plugins: [{ name: "program-in-modules", resolveId: programInModules }],
} satisfies UserConfig
const whole = {
  ...command,
  entry: { whole: "src/command/start.ts" },
  deps: {
    alwaysBundle: [/./],
    // What is loaded on use: peers, and what asks people.
    neverBundle: [
      /^(@ai-sdk|@clack|@opentelemetry|libsql|ollama-ai-provider-v2|@superstep\/(mcp|retrieval))(\/|$)/,
    ],
    onlyBundle: false,
  },
  inputOptions: { resolve: { conditionNames: ["@superstep/source", "node", "import", "default"] } },
  outputOptions: { codeSplitting: false },
  plugins: [licensesAs("whole.licenses.txt"), { name: "for-kept-program", generateBundle: forKeptProgram }],
} satisfies UserConfig

export default defineConfig([...packages, first, whole])

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

/** Whose code is in the bundle, and on what terms: a file beside it. */
function licensesAs(fileName: string): Rolldown.Plugin {
  return {
    name: "licenses",
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((chunk) =>
        chunk.type === "chunk" ? chunk.moduleIds : [],
      )
      const folders = modules.flatMap(
        (id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id) ?? [],
      )
      const texts = [...new Set(folders)].sort().map(licenseIn)
      if (texts.length > 0) this.emitFile({ type: "asset", fileName, source: texts.join("\n") })
    },
  }
}

function licenseIn(folder: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
  if (file === undefined) throw new Error(`${name} is bundled, and has no licence to go with it.`)
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`
}

function programInModules(id: string) {
  return id === "./start.ts" ? { id: "./start.js", external: true } : null
}

/** As kept-program.ts wants it: a first line that changes with the text, ASCII only, and imports by `$import`. */
function forKeptProgram(
  this: Rolldown.PluginContext,
  _: Rolldown.NormalizedOutputOptions,
  bundle: Rolldown.OutputBundle,
): void {
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== "chunk") continue
    let code = ""
    let end = 0
    for (const at of importsIn(this.parse(chunk.code)).sort((a, b) => a - b)) {
      code += `${chunk.code.slice(end, at)}$`
      end = at
    }
    code = inAscii(code + chunk.code.slice(end))
    const id = createHash("sha256").update(code).digest("hex").slice(0, 16)
    chunk.code = `// ${id}\n(function(exports,require,__filename,$import){${code}\n})\n`
  }
}

/** Where `import(…)` starts, at any depth of a syntax tree. */
function importsIn(node: unknown): number[] {
  if (typeof node !== "object" || node === null) return []
  const own =
    "type" in node && node.type === "ImportExpression" && "start" in node ? [Number(node.start)] : []
  return [...own, ...Object.values(node).flatMap(importsIn)]
}

/** All that is not is in texts and patterns, where it can be written as an escape. */
function inAscii(code: string): string {
  if (/\\[^\0-\x7f]/.test(code)) throw new Error("A sign that is not ASCII stands behind a backslash.")
  return code.replace(/[^\0-\x7f]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)
}
