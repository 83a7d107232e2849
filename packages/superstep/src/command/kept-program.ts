/**
 * A program in one file whose compilation is kept: the first start writes it beside the file, all later ones compile
 * nothing. Whoever may write there may change the program itself, so nobody else is let in.
 *
 * The file is a function of `exports`, `require`, `__filename` and `$import`, in ASCII. Its first line is a comment that
 * changes with its text: V8 itself only compares lengths. It imports by `$import`, as V8 forgets what an `import()` belongs
 * to where a compilation is kept.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { Script } from "node:vm"

export interface KeptProgram<Exports> {
  readonly exports: Exports
  /** Keeps what has been compiled until now, if none is kept. What was not used until then is compiled when it is. */
  keep(): void
}

/** What is kept is told apart by `use`, as each compiles another part of the program. Undefined if there is no such file. */
export function keptProgram<Exports>(file: string, use: string): KeptProgram<Exports> | undefined {
  const text = contentOf(file)?.toString("latin1")
  if (text === undefined) return undefined
  const id = text.slice(0, text.indexOf("\n")).replace(/\W/g, "")
  const kept = join(dirname(file), "compiled", `${use}-${process.version}-${process.arch}-${id}`)
  const cachedData = contentOf(kept)
  const script = new Script(text, { filename: file, ...(cachedData !== undefined && { cachedData }) })
  const run = script.runInThisContext() as (...parts: unknown[]) => void
  const exports = {} as Exports
  run(exports, createRequire(file), file, (name: string) => import(name))
  return {
    exports,
    keep() {
      if (cachedData !== undefined && script.cachedDataRejected !== true) return
      try {
        mkdirSync(dirname(kept), { recursive: true })
        // Others may start at this moment: they see all of it or nothing.
        writeFileSync(`${kept}.${process.pid}`, script.createCachedData())
        renameSync(`${kept}.${process.pid}`, kept)
      } catch {
        // Not a folder to write to: it is compiled each time.
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
