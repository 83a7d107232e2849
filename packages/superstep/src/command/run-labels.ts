/** What a run carries of how its workflow was opened, so that it can be opened again: `runs resume`, `runs replay`. */
import { resolve } from "node:path"
import type { Labels, StoredRun } from "@superstep/engine"
import type { DefinitionFlags, ModelChoices } from "./common-flags.ts"
import { type SecretSources, toldApart } from "./secret-flags.ts"

/** The longest that a store takes; what is longer has to be given again. */
const LONGEST = 1_000

export function labelsOf(file: string, flags: DefinitionFlags, cwd: string): Labels {
  const { model, agents, lenient, maxSteps, untrusted } = flags
  const { variables, sources } = toldApart(flags)
  const labels: Record<string, string | undefined> = {
    file,
    model: model && JSON.stringify(absolute(model, cwd)),
    agents: agents && resolve(cwd, agents),
    set: variables && JSON.stringify(variables),
    secrets: Object.keys(sources).length === 0 ? undefined : JSON.stringify(sources),
    trust: untrusted && "none",
    lenient: lenient && "true",
    maxSteps: maxSteps === undefined ? undefined : String(maxSteps),
  }
  const kept = Object.entries(labels).filter(([, text]) => text !== undefined && text.length <= LONGEST)
  return Object.fromEntries(kept) as Labels
}

/** Of a new run with the past of another one. */
export function withMaxSteps(
  { labels = {} }: Pick<StoredRun, "labels">,
  { maxSteps }: Pick<DefinitionFlags, "maxSteps">,
): Labels {
  return maxSteps === undefined ? labels : { ...labels, maxSteps: String(maxSteps) }
}

/** FILE and flags as they were given; flags that are given now come first. */
export function fromLabels(
  labels: Labels,
  flags: DefinitionFlags,
): { readonly source: string | undefined; readonly flags: DefinitionFlags } {
  const { file, definition, model, agents, set, trust, lenient, maxSteps } = labels
  return {
    source: definition ?? file,
    flags: {
      ...(model !== undefined && { model: JSON.parse(model) as ModelChoices }),
      ...(agents !== undefined && { agents }),
      ...(set !== undefined && { set: JSON.parse(set) as Record<string, string> }),
      ...(trust === "none" && { untrusted: true as const }),
      ...(lenient !== undefined && { lenient: true as const }),
      ...(maxSteps !== undefined && { maxSteps: Number(maxSteps) }),
      ...flags,
    },
  }
}

/** The secrets that a run was started with, by name. */
export function secretSources({ secrets }: Labels): SecretSources {
  return secrets === undefined ? {} : (JSON.parse(secrets) as SecretSources)
}

/** Scripts are named by their files, and the next command may be called from elsewhere. */
function absolute({ all, byAgent }: ModelChoices, cwd: string): ModelChoices {
  const one = (name: string) => {
    const file = /^scripted:(.+)$/s.exec(name)?.[1]
    return file === undefined ? name : `scripted:${resolve(cwd, file)}`
  }
  return {
    ...(all !== undefined && { all: one(all) }),
    byAgent: Object.fromEntries(Object.entries(byAgent).map(([agent, name]) => [agent, one(name)])),
  }
}
