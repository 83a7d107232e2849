/**
 * Makes an agent independent of its file: the models and providers that it uses, and the permissions of the file, become
 * fields of the agent. The store holds agents without their file, and several graphs use the same agent.
 */
import type { Json } from "../../core/index.ts"
import { isRecord } from "../../core/internal.ts"
import type { JsonRecord } from "./document-rows.ts"

/** `file`: the `models`, `providers` and `permissions` around the agent. Fields of the agent take precedence. */
export function withFileModels(agent: JsonRecord, file: JsonRecord): JsonRecord {
  const own = (name: "models" | "providers") => ({ ...recordIn(file[name]), ...recordIn(agent[name]) })
  const [models, providers] = [own("models"), own("providers")]
  const [usedModels, usedProviders]: [Record<string, Json>, Record<string, Json>] = [{}, {}]
  const useProvider = (name: Json | undefined) => {
    if (typeof name === "string" && Object.hasOwn(providers, name))
      usedProviders[name] = providers[name] ?? null
  }
  const useModel = (written: Json | undefined) => {
    for (const name of typeof written === "string" ? written.split(",").map((one) => one.trim()) : []) {
      const model = Object.hasOwn(models, name) ? models[name] : undefined
      if (!isRecord(model)) useProvider(name.split("/", 1)[0])
      else if (!Object.hasOwn(usedModels, name)) {
        usedModels[name] = model
        useProvider(model.provider)
        for (const route of listIn(model.routing)) useModel(recordIn(route).model)
      }
    }
  }
  useModel(agent.model)
  for (const name of listIn(recordIn(agent.fallback).models)) useModel(name)
  for (const toolset of listIn(agent.toolsets ?? agent.tools)) {
    const { model, models: picked } = recordIn(toolset)
    useModel(model)
    for (const name of listIn(picked)) useModel(name)
  }
  const permissions = bothPermissions(recordIn(file.permissions), recordIn(agent.permissions))
  const { models: _, providers: __, ...rest } = agent
  return {
    ...rest,
    ...(permissions !== undefined && { permissions }),
    ...(Object.keys(usedModels).length > 0 && { models: usedModels }),
    ...(Object.keys(usedProviders).length > 0 && { providers: usedProviders }),
  }
}

/** In the order in which the loader combines them: the file's first. */
function bothPermissions(file: Fields, agent: Fields): { readonly [kind: string]: Json } | undefined {
  const kinds = new Set([...Object.keys(file), ...Object.keys(agent)])
  if (kinds.size === 0) return undefined
  return Object.fromEntries([...kinds].map((kind) => [kind, [...listIn(file[kind]), ...listIn(agent[kind])]]))
}

type Fields = { readonly [name: string]: Json }

function recordIn(value: Json | undefined): Fields {
  return isRecord(value) ? (value as Fields) : {}
}

function listIn(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}
