/** What the screens of a definition show, from what the server sends. Pure. */
import type { Definition, DefinitionDiff, Diagnostic, ReplayResult } from "@superstep/client"

/** Why somebody cannot change a definition, in words; undefined: they can. */
export function whyReadOnly(
  { source, readOnly }: Pick<Definition, "source" | "readOnly">,
  mayChange: boolean,
): string | undefined {
  if (readOnly && source === "code") {
    return "This workflow is written in code. Change the code and start the server again."
  }
  if (readOnly) {
    return "The server loads this workflow from a file. Change the file, or use superstep dev to publish from here."
  }
  return mayChange ? undefined : "Your key may look, not change definitions. That needs the role author."
}

/** The version that the editor starts from: a draft that nobody published, if there is one. Undefined: the current text. */
export function draftOf({ latest, published }: Pick<Definition, "latest" | "published">): number | undefined {
  return latest !== undefined && latest !== published ? latest : undefined
}

/** A definition that nobody has saved yet: the editor starts from a small one that runs. */
export function newDefinition(name: string, dialect: string | null): Definition {
  return {
    name,
    source: "store",
    readOnly: false,
    aliases: {},
    log: [],
    text: dialect === "graph" ? graphText(name) : stepsText(name),
  }
}

function stepsText(name: string): string {
  return `# Steps run one after another. Add some here, or on the graph.
name: ${name}

agents:
  writer:
    model: offline
    instruction: Answer in one sentence.

workflow:
  - id: answer
    type: agent
    name: writer
`
}

function graphText(name: string): string {
  return `# Nodes, and edges between them. Add some here, or on the graph.
id: ${name}
entry: answer
exits: [answer]

nodes:
  - id: answer
    type: agent
    agent_id: writer

edges: []

agents:
  writer:
    model: offline
    instruction: Answer in one sentence.
`
}

/** What the server accepts as the name of a definition. */
export function nameProblem(name: string, taken: readonly string[]): string | undefined {
  if (!/^[A-Za-z0-9][\w-]{0,99}$/.test(name)) return "Use letters, digits, - and _, at most 100."
  return taken.includes(name) ? "There is a workflow with this name." : undefined
}

export function languageOf(text: string): "json" | "yaml" {
  return text.trimStart().startsWith("{") ? "json" : "yaml"
}

/** Where a problem is, as offsets. One without a place is at the start of the text; one without a length is a word. */
export function rangeOf(
  text: string,
  { line, column, length }: Pick<Diagnostic, "line" | "column" | "length">,
): { readonly from: number; readonly to: number } {
  const lines = text.split("\n")
  const at = Math.min(Math.max(line ?? 1, 1), lines.length) - 1
  const before = lines.slice(0, at).reduce((sum, one) => sum + one.length + 1, 0)
  const here = lines[at] ?? ""
  const start = Math.min(Math.max(column ?? 1, 1) - 1, here.length)
  const word = /^[^\s,:{}[\]]*/.exec(here.slice(start))?.[0].length ?? 0
  const end = Math.min(here.length, start + Math.max(1, length ?? word))
  return { from: before + start, to: before + end }
}

export interface CheckedRun {
  readonly run: string
  readonly outcome: "same" | "diverges" | "fails"
  /** In words, what differs. */
  readonly what: string
}

/** What a replay found, run by run; those that differ come first. */
export function checkedRuns({ results }: Pick<ReplayResult, "results">): readonly CheckedRun[] {
  const rank = { fails: 0, diverges: 1, same: 2 }
  return results
    .map(({ run, report, problem }): CheckedRun => {
      if (problem !== undefined) return { run, outcome: "fails", what: problem.detail ?? problem.title }
      const { same, divergence, status, error } = report as Report
      if (same) return { run, outcome: "same", what: "Every step as recorded." }
      const hasFailed = status?.after === "failed" && status.before !== "failed"
      if (hasFailed && error?.after?.startsWith("REPLAY_DIVERGED") !== true) {
        return { run, outcome: "fails", what: error?.after ?? divergence?.what ?? "It would fail." }
      }
      const at = divergence === undefined ? "" : `Step ${divergence.index + 1}: `
      return { run, outcome: "diverges", what: `${at}${divergence?.what ?? "The result is another one."}` }
    })
    .sort((a, b) => rank[a.outcome] - rank[b.outcome])
}

interface Report {
  readonly same: boolean
  readonly divergence?: { readonly index: number; readonly what: string }
  readonly status?: { readonly before: string; readonly after: string }
  readonly error?: { readonly after?: string }
}

export interface DiffRow {
  readonly kind: "same" | "removed" | "added" | "fold"
  /** Line numbers, where the line is in that text. */
  readonly before?: number
  readonly after?: number
  readonly text: string
}

/** Lines that are shown around a change. */
const CONTEXT = 3

/** A diff as rows with line numbers; long parts that are the same are folded. */
export function diffRows(parts: DefinitionDiff["text"]): readonly DiffRow[] {
  const rows: DiffRow[] = []
  let [before, after] = [0, 0]
  for (const [i, { kind, lines }] of parts.entries()) {
    const made = lines.map((text): DiffRow => {
      if (kind === "removed") return { kind, before: ++before, text }
      if (kind === "added") return { kind, after: ++after, text }
      return { kind, before: ++before, after: ++after, text }
    })
    const head = i === 0 ? 0 : CONTEXT
    const tail = i === parts.length - 1 ? 0 : CONTEXT
    const hidden = made.length - head - tail
    if (kind !== "same" || hidden < 2) rows.push(...made)
    else {
      const text = `${hidden} lines are the same`
      rows.push(...made.slice(0, head), { kind: "fold", text }, ...made.slice(made.length - tail))
    }
  }
  return rows
}

/** A line of what changed in a graph; edges, which the server sends as data, by the names of their nodes. */
export function graphChange(line: string): { readonly sign: string; readonly text: string } {
  const [, sign = "~", rest = line] = /^([-+~]) (.*)$/.exec(line) ?? []
  const data = /^edge (\{.*\})$/.exec(rest)?.[1]
  if (data === undefined) return { sign, text: rest }
  try {
    const { kind, from, to } = JSON.parse(data) as { kind?: unknown; from?: unknown; to?: unknown }
    const names = (value: unknown) => [value ?? []].flat().map(String).join(", ")
    if (from === undefined || to === undefined) return { sign, text: `${kind} of ${names(from)}` }
    return { sign, text: `edge ${names(from)} → ${names(to)}` }
  } catch {
    return { sign, text: rest }
  }
}

/** What a version is now: published, named by aliases, an earlier one, or a draft. */
export function marksOf(
  { published, aliases, log }: Pick<Definition, "published" | "aliases" | "log">,
  version: number,
): { readonly state: "published" | "earlier" | "draft"; readonly aliases: readonly string[] } {
  const wasPublished = log.some(
    (entry) => entry.version === version && (entry.action === "publish" || entry.action === "rollback"),
  )
  return {
    state: version === published ? "published" : wasPublished ? "earlier" : "draft",
    aliases: Object.entries(aliases).flatMap(([alias, of]) => (of === version ? [alias] : [])),
  }
}

/** An entry of the log as a sentence. */
export function logWords({ action, version, alias }: Definition["log"][number]): string {
  switch (action) {
    case "publish":
      return `published version ${version}`
    case "rollback":
      return `went back to version ${version}`
    case "alias":
      return `named version ${version} ${alias}`
    case "alias removed":
      return `removed the name ${alias} of version ${version}`
  }
}

export interface VersionChoice {
  /** As a start names it. */
  readonly value: string
  readonly label: string
  readonly version: number
  readonly isPublished: boolean
}

/** The versions that a run can be started with: the published one first, then drafts and aliases. */
export function versionChoices({
  published,
  latest,
  aliases,
}: Pick<Definition, "published" | "latest" | "aliases">): readonly VersionChoice[] {
  const draft = draftOf({ published, latest })
  const choice = (value: string, label: string, version: number) => ({
    value,
    label,
    version,
    isPublished: version === published,
  })
  return [
    ...(published === undefined ? [] : [choice("published", `Version ${published}, published`, published)]),
    ...(draft === undefined ? [] : [choice(String(draft), `Version ${draft}, the latest`, draft)]),
    ...Object.entries(aliases).map(([alias, version]) =>
      choice(alias, `${alias}: version ${version}`, version),
    ),
  ]
}
