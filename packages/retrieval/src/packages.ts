/** Loads optional packages, and finds the programs of this package that run in separate processes. */
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { importOptional, requireFrom, resolveOptional } from "@superstep/engine/packages"

/** `neededBy` is the subject of the error message. */
export function optionalPackage<Module>(name: string, neededBy: string): Promise<Module> {
  return importOptional<Module>(
    { name, neededBy },
    (one) => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ one),
  )
}

/** The program beside a module, as source or built. For a user's bundle, it is in the installed package. */
export function programBeside(module: string | undefined, name: string): URL {
  const beside = module && new URL(`./${name}.${module.endsWith(".ts") ? "ts" : "js"}`, module)
  if (beside && existsSync(beside)) return beside
  const manifest = { name: "@superstep/retrieval/package.json", neededBy: "This database" }
  const root = dirname(resolveOptional(manifest, requireFrom(module)))
  return pathToFileURL(join(root, "dist", `${name}.js`))
}
