/**
 * Functions of the user's own modules that steps and nodes call. Loading a definition only checks that the module exists:
 * importing it runs its code, which an untrusted file must not.
 */
import { existsSync } from "node:fs"
import { relative, sep } from "node:path"
import { pathToFileURL } from "node:url"
import { SuperstepError } from "../core/index.ts"
import type { Path } from "../document/index.ts"
import type { LoadOptions } from "./definition.ts"
import type { DialectInput } from "./dialect-input.ts"
import type { Plan, PlannedImport, Ref } from "./plan/index.ts"

/** Plans the function that `./score.ts#score` names. Problems are reported; `where` begins their messages. */
export function functionRef(
  module: string | undefined,
  { where, at }: { readonly where: string; readonly at: Path },
  { report, writer, paths }: Pick<DialectInput, "report" | "writer" | "paths">,
): Ref | undefined {
  if (module === undefined) return undefined
  const [, path = "", exported = ""] = /^([^#]+\.[cm]?[jt]s)#([A-Za-z_$][\w$]*)$/.exec(module) ?? []
  if (path === "") {
    const message = `${where}: module must be a module and the name of its export, such as ./score.ts#score`
    report.error("MODULE_INVALID", message, at)
    return undefined
  }
  const { file } = report.document
  const found = paths.from(file, path, report.at(at))
  // An untrusted definition is refused for naming a module, and must not learn which files exist.
  if (paths.isTrusted && !existsSync(found)) {
    report.error("FILE_UNREADABLE", `${where}: cannot read ${path}: no such file`, at)
    return undefined
  }
  // Ejected code is beside the definition.
  const shown = relative(paths.rootOf(file), found).split(sep).join("/")
  return writer.import(found, `./${shown}`, exported)
}

type ImportOptions = Pick<LoadOptions, "importModule" | "trust">
type SomeFunction = (...args: readonly unknown[]) => unknown

/** Imports the module on the first call. */
export function lazyFunction(imported: PlannedImport, options: ImportOptions): SomeFunction {
  let found: Promise<SomeFunction> | undefined
  return async (...args) => {
    found ??= functionOf(imported, options)
    return await (await found)(...args)
  }
}

export async function importFunctions({ values }: Plan, options: ImportOptions): Promise<void> {
  for (const value of values) if ("exported" in value) await functionOf(value, options)
}

async function functionOf(
  { file, specifier, exported }: PlannedImport,
  { importModule = importFile, trust }: ImportOptions,
): Promise<SomeFunction> {
  if (trust === "none") {
    throw new SuperstepError("UNTRUSTED", `${specifier} is not imported: the definition is untrusted.`)
  }
  const found = (await importModule(file)) as Readonly<Record<string, unknown>>
  // A CommonJS module has its exports under `default`.
  const module = { ...(found.default as object | undefined), ...found }
  const value = Object.hasOwn(module, exported) ? module[exported] : undefined
  if (typeof value === "function") return value as SomeFunction
  const names = Object.keys(module)
    .filter((name) => typeof module[name] === "function")
    .sort()
  const has = names.length === 0 ? "It exports no functions." : `It exports ${names.join(", ")}.`
  const text = `${specifier} does not export a function "${exported}". ${has}`
  throw new SuperstepError("FUNCTION_MISSING", text)
}

async function importFile(file: string): Promise<object> {
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as object
}
