/** Programs for tests that start processes: a bundle starts several times faster than the sources do. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { type BuildOptions, buildSync } from "esbuild"

const root = resolve(import.meta.dirname, "..")
const programs = join(root, ".build", "programs")
const isWorker = process.env.VITEST_WORKER_ID !== undefined
/** Of this run of the tests, which Vitest's process and its workers share. The next run bundles again: sources may have changed. */
const folder = join(programs, String(isWorker ? process.ppid : process.pid))
if (!isWorker) removeOldRuns()
/** Where Vitest's projects share the modules that one of them has transformed. They name this run's programs, so no other run reads them. */
export const modulesOfThisRun = join(folder, "modules")

/** Bundles a TypeScript file and returns the path of the program. */
export function bundled(file: string): string {
  const path = join(folder, `${nameOf(file)}.mjs`)
  make(path, (own) => buildSync({ ...settings(), entryPoints: [file], outfile: own }))
  return path
}

/**
 * Bundles TypeScript files that share their modules, such as the CLI and the workflows that it loads. Returns the path
 * of each program.
 */
export function bundledTogether(files: readonly string[]): (file: string) => string {
  const all = join(folder, nameOf(files.join(" ")).slice(0, 100))
  const entryPoints = Object.fromEntries(files.map((file) => [nameOf(file), file]))
  make(all, (own) =>
    buildSync({
      ...settings(),
      entryPoints,
      outdir: own,
      outExtension: { ".js": ".mjs" },
      splitting: true,
    }),
  )
  return (file) => join(all, `${nameOf(file)}.mjs`)
}

function nameOf(file: string): string {
  return relative(root, file).replace(/\W+/g, "-")
}

function settings(): BuildOptions {
  return {
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@superstep/source"],
    external: installed(),
    logLevel: "error",
  }
}

function make(path: string, build: (own: string) => void): void {
  if (existsSync(path)) return
  mkdirSync(folder, { recursive: true })
  // Another worker may bundle the same program at the same time: both are complete when they get its name.
  const own = `${path}.${process.pid}`
  build(own)
  try {
    renameSync(own, path)
  } catch (error) {
    // A folder cannot replace one that another worker made.
    if (!existsSync(path)) throw error
    rmSync(own, { recursive: true })
  }
}

/** Packages that programs load from node_modules. zod is bundled: it has many files. */
function installed(): string[] {
  const folders = readdirSync(join(root, "packages")).map((name) => join("packages", name))
  const names = ["", ...folders].flatMap((one) => {
    const manifest = JSON.parse(readFileSync(join(root, one, "package.json"), "utf8"))
    return Object.keys({
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.peerDependencies,
    })
  })
  return [...new Set(names)]
    .filter((name) => name !== "zod" && !/^@?superstep\b/.test(name))
    .flatMap((name) => [name, `${name}/*`])
}

function removeOldRuns(): void {
  for (const name of existsSync(programs) ? readdirSync(programs) : []) {
    if (!isAlive(Number(name))) rmSync(join(programs, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** For Vitest's configuration: packages start their own programs from bundles too. */
export const bundledPrograms = {
  name: "bundled-programs",
  enforce: "pre",
  transform(code: string, id: string) {
    if (!id.startsWith(join(root, "packages"))) return undefined
    return code.replace(/\bprogramBeside\(import\.meta\.url, "([\w-]+)"\)/g, (_, name: string) => {
      const program = bundled(join(dirname(id), `${name}.ts`))
      return `new URL(${JSON.stringify(pathToFileURL(program).href)})`
    })
  },
} as const
