import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { defineConfig, type Rolldown, type UserConfig } from "tsdown"
import { licensesAs } from "./scripts/licenses.mjs"

const MODULES: Readonly<Record<string, string>> = {
  yaml: "browser/index.js",
  "jsonc-parser": "lib/esm/main.js",
}
const CEL_ON_USE = "\0cel-on-use"
const parsersAsModules = {
  name: "parsers-as-modules",
  resolveId(id: string) {
    const path = MODULES[id]
    if (path === undefined) return null
    return join(dirname(createRequire(import.meta.url).resolve(`${id}/package.json`)), path)
  },
} satisfies Rolldown.Plugin

/** Commander loads the module for programs that are commands of their own. The command has none of these. */
const commanderWithoutPrograms = {
  name: "commander-without-programs",
  transform(code: string, id: string) {
    if (!/[\\/]commander[\\/]lib[\\/]command\.js$/.test(id)) return null
    const load = "require('node:child_process')"
    return code.replace(`const childProcess = ${load};`, "").replaceAll("childProcess.", `${load}.`)
  },
} satisfies Rolldown.Plugin

/** The parser of conditions fills its tables when it is loaded, and most definitions have no condition. */
const celOnUse = {
  name: "cel-on-use",
  resolveId(id: string, importer: string | undefined) {
    return id === "@marcbachmann/cel-js" && importer !== CEL_ON_USE ? CEL_ON_USE : null
  },
  load(id: string) {
    if (id !== CEL_ON_USE) return null
    return `let cel; export const parse = (text) => (cel ??= require("@marcbachmann/cel-js")).parse(text)`
  },
} satisfies Rolldown.Plugin

/** TypeScript 7 itself, which writes the declarations in a fraction of the time. `npm run types` has checked them. */
const compiler = join(
  dirname(
    createRequire(import.meta.url).resolve(
      `@typescript/typescript-${process.platform}-${process.arch}/package.json`,
    ),
  ),
  "lib",
  process.platform === "win32" ? "tsc.exe" : "tsc",
)

const built = {
  tsconfig: "tsconfig.build.json",
  platform: "node",
  target: "node20",
  // The packages are ES modules, so plain .js and .d.ts say enough.
  fixedExtension: false,
} satisfies UserConfig

/** Those that tools read. The others take time at every start. */
const comments = { legal: true, annotation: true, jsdoc: false }

/** Programs that a package runs itself: built as entries, and not among its exports. */
const PROGRAMS: Readonly<Record<string, Record<string, string>>> = {
  "packages/retrieval": {
    "duckdb-process": "src/sql/duckdb-process.ts",
    "ladybug-process": "src/graph/ladybug-process.ts",
    "sqlite-process": "src/sql/sqlite-process.ts",
  },
  "packages/superstep": { start: "src/command/start.ts" },
}

// Each package is built alike: what its exports name as a source is an entry, what entries share becomes a chunk. The
// command's program is an entry too, and nothing to import. Nothing is minified, so that frames of a stack can be read.
// Comments stay in the declarations only, and the code is ASCII: both take time at every start. Dependencies stay imports, so
// that a process has one copy of each. Only three are bundled: yaml and jsonc-parser, whose builds for Node are CommonJS that a
// bundle in ES modules cannot use (one requires Node's modules, the other its own files by a `require` that bundlers do not
// see), and uuidv7, which `import "superstep"` would load as one more file.
const packages = [
  "packages/client",
  "packages/engine",
  "packages/mcp",
  "packages/restate",
  "packages/retrieval",
  "packages/server",
  "packages/store-postgres",
  "packages/store-sqlite",
  "packages/studio",
  "packages/superstep",
].map((cwd) => ({
  ...built,
  cwd,
  entry: { ...entriesOf(cwd), ...PROGRAMS[cwd] },
  format: "esm" as const,
  dts: { sourcemap: false, tsgo: { path: compiler } },
  sourcemap: true,
  outputOptions: {
    // The sources are in the package, once.
    sourcemapExcludeSources: true,
    charset: "ascii" as const,
    comments,
    codeSplitting: {
      groups: [
        // Every file and every line takes time at the start: `import "superstep"` loads these two files and little more, and
        // they have little that it does not need. The first one has nothing of Node's in it.
        {
          name: "core",
          test: sources(
            "core",
            "protocol/(?:event-filter|fold-event|fold-workflow|internal|outline|run-view)",
            "runtime/ports(?!/private-file)",
            "text/(?:cells|nearest)",
          ),
          priority: 2,
        },
        {
          name: "engine",
          test: sources(
            "builder",
            "diagrams/(?:author-nodes|diagram|languages)",
            "history/(?:excerpts|fork-options|loaded-on-use|print-replay|run-past)",
            "runtime(?!/ports)",
            "schedules/(?:schedule|spec)",
            "service(?!/(?:enqueue|served-consumer))",
            "stores/memory[a-z-]*",
          ),
          priority: 1,
        },
        // What looks at the past is loaded at once.
        { name: "history", test: sources("history") },
        // A chunk of its own, because reports, which are loaded on use, need it. If they imported the definitions for it,
        // esbuild would put off loading zod with them, and run other users of zod before it
        // (tests/packages/imported.long.test.ts).
        {
          name: "for-reports",
          test: sources("patterns/(?:failures|research/search-key)"),
        },
      ],
    },
  },
  deps: {
    alwaysBundle: [/^yaml$/, /^jsonc-parser$/, /^uuidv7$/],
    onlyBundle: ["yaml", "jsonc-parser", "uuidv7"],
  },
  plugins: [
    parsersAsModules,
    licensesAs("licenses.txt"),
    { name: "declarations", generateBundle: completeDeclarations },
  ],
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
      /^(@ai-sdk|@clack|@opentelemetry|libsql|ollama-ai-provider-v2|@superstep\/(mcp|restate|retrieval|server|store-postgres|studio))(\/|$)/,
    ],
    onlyBundle: false,
  },
  inputOptions: { resolve: { conditionNames: ["@superstep/source", "node", "import", "default"] } },
  outputOptions: { codeSplitting: false, comments },
  plugins: [
    parsersAsModules,
    commanderWithoutPrograms,
    celOnUse,
    licensesAs("whole.licenses.txt"),
    { name: "for-code-cache", generateBundle: forCodeCache },
  ],
} satisfies UserConfig

export default defineConfig([...packages, first, whole])

/**
 * Declarations have no maps, so the comment that names one goes. A declaration of something disposable brings the library
 * for it, because the `lib` of most projects does not have it.
 */
function completeDeclarations(_: Rolldown.NormalizedOutputOptions, bundle: Rolldown.OutputBundle): void {
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== "chunk" || !chunk.fileName.endsWith(".d.ts")) continue
    const code = chunk.code.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, "\n")
    const isDisposable = /\[Symbol\.(?:asyncD|d)ispose\]/.test(code)
    chunk.code = isDisposable ? `/// <reference lib="esnext.disposable" />\n${code}` : code
  }
}

/** Matches source files by their paths below `src`, without `.ts`, and those in folders. Declarations stay where they are. */
function sources(...paths: readonly string[]): RegExp {
  const separated = paths.join("|").replaceAll("/", "[\\\\/]")
  return new RegExp(`[\\\\/]src[\\\\/](?:${separated})(?:[\\\\/].+)?(?<!\\.d)\\.ts$`)
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

function programInModules(id: string) {
  return id === "./start.ts" ? { id: "./start.js", external: true } : null
}

/**
 * As `loadWithCodeCache` expects it: a first line that changes with the text, ASCII only, and imports by `$import`. Modules of
 * Node are loaded on use, because most commands need few of them: `node_http.get` becomes `$node.node_http.get`.
 */
function forCodeCache(
  this: Rolldown.PluginContext,
  _: Rolldown.NormalizedOutputOptions,
  bundle: Rolldown.OutputBundle,
): void {
  for (const chunk of Object.values(bundle)) {
    if (chunk.type !== "chunk") continue
    const program = this.parse(chunk.code)
    let code = LAZY
    let end = 0
    const insertions = [...importsIn(program), ...lazyBuiltins(program)]
    for (const { at, text } of insertions.sort((one, other) => one.at - other.at)) {
      code += `${chunk.code.slice(end, at)}${text}`
      end = at
    }
    code = inAscii(code + chunk.code.slice(end))
    const id = createHash("sha256").update(code).digest("hex").slice(0, 16)
    chunk.code = `// ${id}\n(function(exports,require,__filename,$import){${code}\n})\n`
  }
}

const LAZY =
  "const $node={},$lazy=(name,load)=>{Object.defineProperty($node,name,{configurable:true," +
  "get(){const value=load();Object.defineProperty($node,name,{value});return value}})};"

interface Insertion {
  readonly at: number
  readonly text: string
}

/** What is read of the nodes of a syntax tree. */
interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly name?: string
}

/** All nodes of a syntax tree, at any depth, but names of properties. */
function* nodesIn(tree: unknown): Generator<SyntaxNode> {
  if (typeof tree !== "object" || tree === null) return
  if ("type" in tree) yield tree as SyntaxNode
  const isPlain = "computed" in tree && !tree.computed
  for (const [key, value] of Object.entries(tree)) {
    if (!(isPlain && (key === "property" || key === "key"))) yield* nodesIn(value)
  }
}

function importsIn(program: unknown): Insertion[] {
  const found: Insertion[] = []
  for (const { type, start } of nodesIn(program))
    if (type === "ImportExpression") found.push({ at: start, text: "$" })
  return found
}

function lazyBuiltins(program: ReturnType<Rolldown.PluginContext["parse"]>): Insertion[] {
  const declared = new Set<SyntaxNode>()
  const found: Insertion[] = []
  for (const statement of program.body) {
    if (statement.type !== "VariableDeclaration") continue
    for (const { id, init } of statement.declarations) {
      const isRequired =
        init?.type === "CallExpression" && init.callee.type === "Identifier" && init.callee.name === "require"
      if (!isRequired || id.type !== "Identifier") continue
      declared.add(id)
      found.push({ at: init.start, text: `$lazy("${id.name}",()=>` }, { at: init.end, text: ")" })
    }
  }
  const names = new Set([...declared].map(({ name }) => name))
  for (const node of nodesIn(program)) {
    if (node.type !== "Identifier" || !names.has(node.name) || declared.has(node)) continue
    found.push({ at: node.start, text: "$node." })
  }
  return found
}

/** All that is not is in texts and patterns, where it can be written as an escape. */
function inAscii(code: string): string {
  if (/\\[^\0-\x7f]/.test(code)) throw new Error("A sign that is not ASCII stands behind a backslash.")
  return code.replace(/[^\0-\x7f]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`)
}
