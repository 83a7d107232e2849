/** What a file that is not trusted may not use: all of it at once, each with its place. */
import { resolve } from "node:path"
import type { Json } from "../../core/index.ts"
import { api, openapi } from "../../tools/index.ts"
import { isObject } from "../data-in-text.ts"
import type { DefinitionPaths } from "../definition-paths.ts"
import type { Document, Report } from "../document/index.ts"
import type { PlanFunction, PlanFunctions } from "../plan/index.ts"
import { CAPABILITIES, type TrustContext } from "./capabilities.ts"
import { sitesIn } from "./sites.ts"

export function checkTrust(document: Document, paths: DefinitionPaths, report: Report, cwd = ""): void {
  const { data, file } = document
  const context: TrustContext = {
    providerOf: (name) => providerOf(data, name),
    isInside: (path) => paths.isInside(file, path),
    isInsideFromHere: (path) => paths.isInside(file, resolve(cwd, path)),
  }
  for (const { kind, value, path } of sitesIn(data)) {
    for (const { at, name, does, find } of CAPABILITIES) {
      const found = at === kind ? find(value, context) : undefined
      if (found === undefined) continue
      const message = `${does}: refused, as the file is not trusted (${name}). Review the file, and load it as trusted if you want this.`
      report.error("UNTRUSTED", message, document.place([...path, ...found]))
    }
  }
}

function providerOf(data: Json, name: Json | undefined): string {
  const own = isObject(data) && isObject(data.providers) ? data.providers[String(name)] : undefined
  return isObject(own) ? String(own.provider ?? "openai-compatible") : String(name)
}

/** Functions of a plan that make something that reaches outside, and are safe once the table has let them through. */
const SAFE_TOOLS: ReadonlySet<string> = new Set([
  "agent",
  "agentText",
  "api",
  "conversation",
  "filesystem",
  "jsonSchema",
  "lastItems",
  "mcpToolset",
  "memory",
  "openapi",
  "think",
  "todo",
  "toolsetWith",
  "webFetch",
])

/**
 * The second line: a plan is linked with these functions alone, so what the table has missed cannot be made. `control` are
 * those of the dialects, which wire and ask; `others` are tools, and what the caller has brought.
 */
export function trustedFunctions(control: PlanFunctions, others: PlanFunctions): PlanFunctions {
  const safe = Object.entries(others).filter(([name]) => SAFE_TOOLS.has(name))
  const withoutEnv = <Options extends object>(from: string, make: (options: Options) => unknown) =>
    ({ from, make: (options: Options) => make({ ...options, env: {} }) }) as PlanFunction
  return {
    ...control,
    ...Object.fromEntries(safe),
    api: withoutEnv("superstep/tools", api),
    openapi: withoutEnv("superstep/tools", openapi),
  }
}
