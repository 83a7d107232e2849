#!/usr/bin/env node
/**
 * The `superstep` executable. If no user module is loaded, it starts from one bundled file that includes the engine and
 * that exists after a build. Otherwise it starts from modules, so that a user's module shares the engine with the CLI.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import module, { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Script } from "node:vm"
import type * as Program from "./start.ts"

/** Commands that read no workflow, or only definitions. */
const WITHOUT_MODULES = /^(?:ask|inbox|models|runs-(?:events|list|show|state)|schema|sources|storage)$/

void run(process.argv.slice(2))

async function run(argv: readonly string[]): Promise<void> {
  const command = commandOf(argv)
  const bundle = loadsNoModule(command, argv)
    ? loadWithCodeCache<typeof Program>(join(import.meta.dirname, "whole.cjs"), command)
    : undefined
  const { start } = bundle?.exports ?? (await modules())
  const code = await start(argv)
  // A command that failed has compiled too little to be worth caching.
  if (code === 0) bundle?.saveCache()
  process.exit(code)
}

/** `run`, `runs-show`: the words that select the command. */
function commandOf([command = "", below = ""]: readonly string[]): string {
  if (command !== "runs") return command
  return /^[a-z]+$/.test(below) ? `runs-${below}` : "runs-list"
}

/** Whether the command loads no user module, which would have to share the engine. */
function loadsNoModule(command: string, words: readonly string[]): boolean {
  return (
    /^[a-z-]+$/.test(command) &&
    // The folders of a worker or a server may contain modules.
    !/^(?:dev|serve|worker)$/.test(command) &&
    (WITHOUT_MODULES.test(command) || words.some((word) => /\.(ya?ml|json)$/i.test(word))) &&
    !words.some((word) => /\.[cm]?[jt]sx?$/i.test(word))
  )
}

function modules(): Promise<typeof Program> {
  // Node 22 and later cache compiled code themselves; the types are those of Node 20.
  const { enableCompileCache } = module as { enableCompileCache?: () => void }
  enableCompileCache?.()
  return import("./start.ts")
}

interface LoadedBundle<Exports> {
  readonly exports: Exports
  /** Stores the code that has been compiled so far, unless a cache exists. The rest is compiled on use. */
  saveCache(): void
}

/**
 * Loads a bundle with V8's code cache: the first start writes the cache beside the file, and later starts compile
 * nothing. A user who may write there may also change the bundle, so the cache grants no new rights.
 *
 * The file is a function of `exports`, `require`, `__filename` and `$import`, in ASCII. Its first line is a comment that
 * changes with its text, because V8 itself only compares lengths. It imports through `$import`, because V8 loses the
 * referrer of an `import()` in cached code. Each command has its own cache, because each compiles another part of the
 * bundle.
 *
 * Returns undefined if the file does not exist.
 */
function loadWithCodeCache<Exports>(file: string, command: string): LoadedBundle<Exports> | undefined {
  const text = contentOf(file)?.toString("latin1")
  if (text === undefined) return undefined
  const id = text.slice(0, text.indexOf("\n")).replace(/\W/g, "")
  const cache = join(dirname(file), "compiled", `${command}-${process.version}-${process.arch}-${id}`)
  const cachedData = contentOf(cache)
  const script = new Script(text, { filename: file, ...(cachedData !== undefined && { cachedData }) })
  const load = script.runInThisContext() as (...parts: unknown[]) => void
  const exports = {} as Exports
  load(exports, createRequire(file), file, (name: string) => import(name))
  return {
    exports,
    saveCache() {
      if (cachedData !== undefined && script.cachedDataRejected !== true) return
      try {
        mkdirSync(dirname(cache), { recursive: true })
        // Another process may start at this moment: it sees the complete cache or none.
        writeFileSync(`${cache}.${process.pid}`, script.createCachedData())
        renameSync(`${cache}.${process.pid}`, cache)
      } catch {
        // The folder is read-only: every start compiles.
      }
    },
  }
}

function contentOf(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}
