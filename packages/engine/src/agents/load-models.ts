/** The models of an agent: given as objects, or loaded by their names. */
import { type Model, type ModelRef, resolveModel } from "../models/index.ts"
import { checkVersion } from "../models/internal.ts"

export type LoadModels = () => readonly Model[] | Promise<readonly Model[]>

/** Models by name are loaded once, on first use; objects are checked here. */
export function loadModels(model: ModelRef | readonly ModelRef[]): LoadModels {
  const refs = Array.isArray(model) ? (model as readonly ModelRef[]) : [model as ModelRef]
  for (const ref of refs) if (isModel(ref)) checkVersion(ref)
  if (refs.every(isModel)) return () => refs
  let loading: Promise<readonly Model[]> | undefined
  return () => {
    loading ??= Promise.all(refs.map((ref) => resolveModel(ref))).catch((error: unknown) => {
      loading = undefined
      throw error
    })
    return loading
  }
}

function isModel(ref: ModelRef): ref is Model {
  return typeof ref === "object" && "doGenerate" in ref
}
