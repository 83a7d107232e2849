/**
 * What a fork or a rerun from a point would do again: steps, calls of models and tools, and questions that are recorded after it.
 * A pure function of the journal.
 */
import { addUsage, type NodeId, type RunId, type TaskId, type Usage } from "../core/index.ts"
import type { Store } from "../runtime/index.ts"
import { seqOfPoint } from "./fork.ts"
import type { Point } from "./fork-options.ts"
import { JournalWalk, readJournal } from "./journal-walk.ts"

export interface Ledger {
  readonly runId: RunId
  /** The last record that the fork shares. */
  readonly seq: number
  /** In the order in which they happened, those of sub-workflows included. */
  readonly effects: readonly LedgerEffect[]
  /** What these have used. */
  readonly usage: Usage
}

export interface LedgerEffect {
  readonly seq: number
  readonly at: number
  /** `question`: a person was asked. `step`: any other recorded step. */
  readonly kind: "model" | "tool" | "step" | "question"
  /** The tool, the model, the step, or the text of the question. */
  readonly name: string
  readonly node: NodeId
  readonly task: TaskId
  /** The sub-workflow; empty for the run itself. */
  readonly path: readonly string[]
  /** It was started, and no result is recorded: it may have happened. */
  readonly isUncertain?: true | undefined
  readonly usage?: Usage | undefined
}

export async function ledger(store: Store, runId: RunId, at: Point): Promise<Ledger> {
  const journal = await readJournal(store, runId)
  const seq = seqOfPoint(journal, at)
  const effects: LedgerEffect[] = []
  /** Started steps without a result, by frame, task and key. */
  const open = new Map<string, LedgerEffect>()
  let usage: Usage = {}
  for (const { record, frame, task } of new JournalWalk(journal)) {
    const { entry, seq: number } = record
    if (number <= seq || task === undefined) continue
    const about = { seq: number, at: entry.at, node: task.node.id, task: task.id, path: frame.path }
    const key = "key" in entry ? `${frame.key} ${task.id} ${entry.key}` : ""
    if (entry.type === "step.started") {
      open.set(key, {
        ...about,
        ...named(entry.key, entry.source?.model),
        isUncertain: true,
        usage: entry.usage,
      })
    } else if (entry.type === "step.recorded") {
      open.delete(key)
      const used = [entry, ...(entry.also ?? [])].reduce<Usage>(
        (sum, one) => addUsage(sum, one.usage ?? {}),
        {},
      )
      const counted = Object.keys(used).length === 0 ? {} : { usage: used }
      effects.push({ ...about, ...named(entry.key, entry.source?.model), ...counted })
      usage = addUsage(usage, used)
    } else if (entry.type === "request.opened") {
      effects.push({ ...about, kind: "question", name: entry.request.prompt })
    } else if (entry.type === "task.finished") {
      for (const { prompt } of entry.requests ?? [])
        effects.push({ ...about, kind: "question", name: prompt })
    }
  }
  for (const effect of open.values()) usage = addUsage(usage, effect.usage ?? {})
  const all = [...effects, ...open.values()].sort((a, b) => a.seq - b.seq)
  return { runId, seq, effects: all, usage }
}

/** The keys of steps are in handler-keys.ts: `step#2:scope/name`. Tools are named by the agent that calls them. */
function named(key: string, model: string | undefined): Pick<LedgerEffect, "kind" | "name"> {
  if (model !== undefined) return { kind: "model", name: model }
  const name = key.slice(key.indexOf(":") + 1)
  const tool = /(?:^|\/)tool:([^:/]+)/.exec(name)?.[1]
  return tool === undefined ? { kind: "step", name } : { kind: "tool", name: tool }
}
