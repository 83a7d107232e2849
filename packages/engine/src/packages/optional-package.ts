/**
 * Loads packages that are optional. A missing one is reported with what needs it and the command that installs it.
 *
 * Their names never appear in an `import` or `require` that a bundler follows: it would fail where they are not installed.
 */
import { existsSync } from "node:fs"
import { isAbsolute } from "node:path"
import { fileURLToPath } from "node:url"
import type { SuperstepError } from "../core/index.ts"
import { terminalError } from "../core/internal.ts"

export interface OptionalPackage {
  /** The name of the package, or of one of its entries: `@scope/name/entry`. */
  readonly name: string
  /** What needs it, as the subject of a sentence: `A PostgreSQL database`. */
  readonly neededBy: string
  /** Default `PACKAGE_MISSING`. */
  readonly code?: string | undefined
}

/**
 * `load` imports a package by its name. The caller passes it, because a name is resolved from the module that imports it:
 * `(name) => import(name)`, with the comments that make bundlers leave it alone.
 */
export async function importOptional<Module>(
  wanted: OptionalPackage,
  load: (name: string) => Promise<unknown>,
): Promise<Module> {
  try {
    return (await load(wanted.name)) as Module
  } catch (error) {
    throw unavailable(wanted, error)
  }
}

/** For packages with a CommonJS build that are needed at once. `require` is `requireFrom(import.meta.url)`. */
export function requireOptional<Module>(wanted: OptionalPackage, require: NodeJS.Require): Module {
  try {
    return require(wanted.name) as Module
  } catch (error) {
    throw unavailable(wanted, error)
  }
}

/** The path of its CommonJS entry, for another thread or process to load. `require` is `requireFrom(import.meta.url)`. */
export function resolveOptional(wanted: OptionalPackage, require: NodeJS.Require): string {
  try {
    return require.resolve(wanted.name)
  } catch (error) {
    throw unavailable(wanted, error)
  }
}

function unavailable({ name, neededBy, code }: OptionalPackage, cause: unknown): SuperstepError {
  const [whole] = /^(?:@[^/]+\/)?[^/]+/.exec(name) ?? [name]
  const state =
    isMissing(name, cause) || isMissing(whole, cause)
      ? `is not installed: npm install ${whole}`
      : `is installed but does not load: ${reasonOf(cause)}. Check its version: npm ls ${whole}`
  const message = `${neededBy} needs the package ${whole}, which ${state}`
  return terminalError(code ?? "PACKAGE_MISSING", message, cause)
}

/** The package itself, and not one that it needs or a file of its own: `Cannot find package 'pg' imported from …`. */
function isMissing(name: string, error: unknown): boolean {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown }
  const isNotFound =
    /MODULE_NOT_FOUND/.test(String(code)) || /^cannot find (?:package|module)\b/i.test(String(message))
  return isNotFound && [`'${name}'`, `"${name}"`].some((quoted) => String(message).includes(quoted))
}

function reasonOf(error: unknown): string {
  const [line = ""] = (error instanceof Error ? error.message : String(error)).split("\n")
  return line.replace(/\.$/, "")
}

/**
 * A `require` that resolves like the module at this address. A bundle in CommonJS has no `import.meta.url`, and one that was
 * built on another machine has that machine's: there it resolves like the bundle or the running program. It never resolves
 * like the current folder, whose contents are untrusted.
 */
export function requireFrom(url: string | undefined): NodeJS.Require {
  const module = url?.startsWith("file:") ? fileURLToPath(url) : undefined
  const paths = [module, commonJsFile(), process.argv[1]]
  const found = paths.find((path) => path !== undefined && isAbsolute(path) && existsSync(path))
  return requireAt(found ?? process.execPath)
}

/**
 * Resolves like the file at this path, whether it exists or not. `createRequire` is not imported: webpack replaces an
 * imported one by `undefined`, or by a search for the package at build time.
 */
export function requireAt(path: string): NodeJS.Require {
  return process.getBuiltinModule("node:module").createRequire(path)
}

/** Accessed instead of tested with `typeof`, which webpack answers with "string" in its ES modules too. */
function commonJsFile(): string | undefined {
  try {
    return __filename
  } catch {
    return undefined
  }
}
