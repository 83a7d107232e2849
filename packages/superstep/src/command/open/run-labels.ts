/** Labels that record how a run's workflow was opened, so that `runs resume` and `runs replay` can open it again. */
import { resolve } from "node:path"
import type { Labels, StoredRun } from "@superstep/engine"
import type { DefinitionFlags, ModelChoices } from "../flags.ts"
import { usageError } from "../print/errors.ts"
import { type SecretSources, splitSecrets } from "./secret-flags.ts"

/** The store's limit for a label. Longer values cannot be recorded. */
const MAX_LENGTH = 1_000

export function labelsOf(file: string, flags: DefinitionFlags, cwd: string): Labels {
  const { model, agents, agent, chat, lenient, maxSteps, untrusted } = flags
  const { variables, sources } = splitSecrets(flags)
  const labels: Record<string, string | undefined> = {
    file,
    model: model && JSON.stringify(absolute(model, cwd)),
    agents: agents && resolve(cwd, agents),
    agent,
    set: variables && JSON.stringify(variables),
    secrets: Object.keys(sources).length === 0 ? undefined : JSON.stringify(sources),
    trust: untrusted && "none",
    chat: chat && "true",
    lenient: lenient && "true",
    maxSteps: maxSteps === undefined ? undefined : String(maxSteps),
  }
  for (const name of Object.keys(flags.label ?? {})) {
    if (!Object.hasOwn(labels, name) && !/^(?:definition|research(?: \d+)?)$/.test(name)) continue
    throw usageError(`--label ${name}: this name is reserved. Use another.`)
  }
  const kept = Object.entries(labels).filter(([, text]) => text !== undefined && text.length <= MAX_LENGTH)
  return { ...flags.label, ...Object.fromEntries(kept) } as Labels
}

/** Maximum labels for the settings of one run. */
const MAX_PIECES = 20

/** Settings of a run without a file. The store limits the length of a label, so long settings use several labels. */
export function settingsLabels(name: string, settings: object): Labels {
  const pieces = JSON.stringify(settings).match(/.{1,500}/gsu) ?? []
  // A run with more pieces cannot be opened without its settings.
  if (pieces.length > MAX_PIECES) return {}
  return Object.fromEntries(pieces.map((piece, i) => [pieceName(name, i), piece]))
}

/** What `settingsLabels` wrote; undefined for any other run. */
export function settingsIn(name: string, labels: Labels): unknown {
  if (labels[name] === undefined) return undefined
  const pieces = Array.from({ length: MAX_PIECES }, (_, i) => labels[pieceName(name, i)] ?? "")
  return JSON.parse(pieces.join(""))
}

function pieceName(name: string, index: number): string {
  return index === 0 ? name : `${name} ${index + 1}`
}

/** The labels of a fork. */
export function withMaxSteps(
  { labels = {} }: Pick<StoredRun, "labels">,
  { maxSteps }: Pick<DefinitionFlags, "maxSteps">,
): Labels {
  return maxSteps === undefined ? labels : { ...labels, maxSteps: String(maxSteps) }
}

/** The file and the flags of the run. Flags of this command take precedence. */
export function fromLabels(
  labels: Labels,
  flags: DefinitionFlags,
): { readonly source: string | undefined; readonly flags: DefinitionFlags } {
  const { file, definition, model, agents, agent, set, trust, chat, lenient, maxSteps } = labels
  return {
    source: definition ?? file,
    flags: {
      ...(model !== undefined && { model: JSON.parse(model) as ModelChoices }),
      ...(agents !== undefined && { agents }),
      ...(agent !== undefined && { agent }),
      ...(set !== undefined && { set: JSON.parse(set) as Record<string, string> }),
      ...(trust === "none" && { untrusted: true as const }),
      ...(chat !== undefined && { chat: true as const }),
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

/** Scripts are files, and the next command may run in another folder. */
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
