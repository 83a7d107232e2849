/**
 * Agents of a fork with other instructions, another model or other settings. The change is in the fork's journal, so every
 * process that continues the fork makes the same agent of it. Tools, limits and the output stay.
 */
import type { AgentChange } from "../core/index.ts"
import { agentChange, type Context } from "../runtime/index.ts"
import type { AgentCore } from "./agent-core.ts"
import { loadModels } from "./step-plan.ts"

/** The last change of each agent: a model is loaded once. */
const changedCores = new WeakMap<AgentCore, { readonly change: string; readonly core: AgentCore }>()

export function changedCore(core: AgentCore, ctx: Context): AgentCore {
  const change = agentChange(ctx, core.name)
  if (change === undefined) return core
  const key = JSON.stringify(change)
  const known = changedCores.get(core)
  if (known?.change === key) return known.core
  const made = withChange(core, change)
  changedCores.set(core, { change: key, core: made })
  return made
}

function withChange(core: AgentCore, { instructions, model, settings }: AgentChange): AgentCore {
  return {
    ...core,
    options: {
      ...core.options,
      ...(instructions === undefined ? {} : { instructions }),
      ...(model === undefined ? {} : { model }),
      ...(settings === undefined ? {} : { settings: { ...core.options.settings, ...settings } }),
    },
    ...(model === undefined ? {} : { models: loadModels(model) }),
  }
}
