/**
 * A reference implementation of steps: it runs one list after another, and copies everything that a step sees. It is slow
 * and has no joins, records or tokens, so its result is independent of the engine.
 */
import type { Json } from "../../core/index.ts"
import { parseDocument, Report } from "../../document/index.ts"
import { condition, expression, template } from "../../expressions/index.ts"
import { DocumentReport } from "../dialect-input.ts"
import { orderSteps } from "./plan-steps.ts"
import { readSteps } from "./read-steps.ts"
import { everyStep, type Step, type StepData } from "./step-shape.ts"

interface Left {
  readonly path: string
  readonly agent?: string
  /** The output of a step; a block has none. */
  readonly output?: string
  /** The items of a map. */
  readonly items?: number
  /** The path whose output an item has. */
  readonly last?: string | undefined
}

/** The outputs, by path. */
type Seen = Map<string, Left>

export class LoopLimit extends Error {}

export interface Played {
  readonly outputs: ReadonlyMap<string, string>
}

type Say = (prompt: string, agent: string) => string

export function playPlainly(text: string, input: string, say: Say): Played {
  const { document } = parseDocument(text, "oracle.yaml")
  if (document === undefined) throw new Error("not a document")
  const { agents, workflow } = document.data as unknown as {
    agents: Record<string, unknown>
    workflow: { steps: StepData[]; max_loop_iterations: number }
  }
  const report = new DocumentReport(document, new Report())
  const written = readSteps(report, Object.keys(agents), workflow.steps, ["workflow", "steps"])
  const steps = orderSteps(written, report)
  const seen: Seen = new Map()
  new Oracle(steps, input, say, workflow.max_loop_iterations).region(steps, seen, [])
  const leaves = [...seen.values()].filter(({ output }) => output !== undefined)
  return { outputs: new Map(leaves.map(({ path, output }) => [path, output as string])) }
}

type Op =
  | { readonly do: "step"; readonly step: Step }
  | { readonly do: "unless"; readonly text: string; readonly step: Step; readonly to: string }
  | { readonly do: "jump"; readonly to: string; readonly isBack?: boolean }
  | { readonly do: "label"; readonly name: string; readonly step?: Step }

class Oracle {
  readonly #order: ReadonlyMap<string, number>
  readonly #all: readonly Step[]
  readonly #input: string
  readonly #say: Say
  readonly #limit: number

  constructor(steps: readonly Step[], input: string, say: Say, limit: number) {
    this.#all = [...everyStep(steps)]
    this.#order = new Map(this.#all.map(({ path }, i) => [path, i]))
    this.#input = input
    this.#say = say
    this.#limit = limit
  }

  /** Runs a list and the lists of its conditions; gotos stay inside. Returns the path of the last output. */
  region(list: readonly Step[], seen: Seen, items: readonly (readonly [number, Json])[]): string | undefined {
    const ops = this.#flat(list)
    const labels = new Map(ops.flatMap((op, i) => (op.do === "label" ? [[op.name, i] as const] : [])))
    const runs = new Map<string, number>()
    let isBack = false
    let last: string | undefined
    for (let at = 0; at < ops.length; at++) {
      const op = ops[at] as Op
      if (op.do === "label") {
        const count = isBack ? (runs.get(op.name) ?? 1) + 1 : 1
        if (op.step !== undefined && op.step.type !== "goto") {
          if (count > this.#limit) throw new LoopLimit(op.name)
          runs.set(op.name, count)
          isBack = false
        } else if (op.step?.data.when !== undefined) {
          if (count > this.#limit) throw new LoopLimit(op.name)
          runs.set(op.name, count)
          isBack = false
        }
      } else if (op.do === "jump") {
        isBack ||= op.isBack === true
        at = (labels.get(op.to) as number) - 1
      } else if (op.do === "unless") {
        const read = condition(op.text, "steps")
        if (!read.holds(this.#scope(op.step.path, seen, items))) at = (labels.get(op.to) as number) - 1
      } else last = this.#run(op.step, seen, items) ?? last
    }
    return last
  }

  #flat(list: readonly Step[]): Op[] {
    return list.flatMap((step): Op[] => {
      const { path, data } = step
      const after = `after ${path}`
      const start: Op[] = [{ do: "label", name: path, step }]
      if (data.when !== undefined) start.push({ do: "unless", text: String(data.when), step, to: after })
      const end: Op = { do: "label", name: after }
      if (step.type === "goto") {
        const target = this.#all.find((one) => one.id === step.target && one.region === step.region) as Step
        const to = target.enteredAt ?? target.path
        const isBack = (this.#order.get(to) as number) <= (this.#order.get(path) as number)
        return [...start, { do: "jump", to, isBack }, end]
      }
      if (step.type !== "condition") return [...start, { do: "step", step }, end]
      const no = `no ${path}`
      return [
        ...start,
        { do: "unless", text: step.condition, step, to: no },
        ...this.#flat(step.yes),
        { do: "jump", to: after },
        { do: "label", name: no },
        ...this.#flat(step.no),
        end,
      ]
    })
  }

  #run(step: Step, seen: Seen, items: readonly (readonly [number, Json])[]): string | undefined {
    const path = filled(step.path, items)
    if (step.type === "agent") {
      const scope = this.#scope(step.path, seen, items)
      const own =
        step.data.prompt === undefined ? this.#input : template(step.data.prompt, "steps").render(scope)
      const output = this.#say(`${this.#block(seen)}${own}`, step.agent)
      seen.set(path, { path, agent: step.agent, output })
      return path
    }
    if (step.type === "parallel") {
      const branches = step.branches.map((branch) => ({ body: [branch], items }))
      this.#together(branches, seen, step.data.on_error === "continue")
      seen.set(path, { path })
      return path
    }
    if (step.type !== "map") throw new Error(step.type)
    const list = expression(step.over, "steps").evaluate(this.#scope(step.path, seen, items))
    if (!Array.isArray(list)) throw new Error("no list")
    const each = list.map((value, i) => ({
      body: step.body,
      items: [...items, [i, value] as const],
      item: `${path}/${i}`,
    }))
    this.#together(each, seen, step.data.on_error === "continue")
    seen.set(path, { path, items: list.length })
    return path
  }

  #together(
    branches: readonly {
      body: readonly Step[]
      items: readonly (readonly [number, Json])[]
      item?: string
    }[],
    seen: Seen,
    goesOn: boolean,
  ): void {
    const before = new Map(seen)
    for (const { body, items, item } of branches) {
      const own = new Map(before)
      try {
        const last = this.region(body, own, items)
        if (item !== undefined && last !== undefined) own.set(item, { path: item, last })
      } catch (error) {
        if (!goesOn || error instanceof LoopLimit) throw error
        continue
      }
      for (const [path, left] of own) if (before.get(path) !== left) seen.set(path, left)
    }
  }

  #block(seen: Seen): string {
    const parts = [...seen.values()]
      .filter(({ output }) => output !== undefined && output !== "")
      .sort((a, b) => compare(this.#key(a.path), this.#key(b.path)))
      .map(({ path, agent, output }) => `[${path} (agent: ${agent})]:\n${output}\n\n`)
    if (parts.length === 0) return ""
    return `--- Prior Step Outputs ---\n\n${parts.join("")}--- End Prior Step Outputs ---\n\n`
  }

  #key(path: string): number[] {
    let pattern = ""
    return path.split("/").map((name) => {
      const isItem = this.#all.some((step) => step.path === pattern && step.type === "map")
      pattern += `${pattern === "" ? "" : "/"}${isItem ? "*" : name}`
      return isItem ? Number(name) : (this.#order.get(pattern) ?? 0)
    })
  }

  #scope(pattern: string, seen: Seen, items: readonly (readonly [number, Json])[]) {
    const around = pattern.split("/").slice(0, -1)
    const steps: Record<string, Json> = {}
    for (let depth = 0; depth <= around.length; depth++) {
      const prefix = around
        .slice(0, depth)
        .map((name) => `${name}/`)
        .join("")
      for (const step of this.#all) {
        if (step.path !== prefix + step.id || step.type === "goto") continue
        const value = this.#value(step, filled(step.path, items), seen)
        if (value !== undefined) steps[step.id] = value
        else delete steps[step.id]
      }
    }
    for (const step of this.#all) {
      if (step.type === "goto" && step.isAlias && steps[step.target] !== undefined)
        steps[step.id] = steps[step.target] as Json
    }
    return (root: string): Json | undefined =>
      root === "steps" ? steps : root === "input" ? this.#input : { id: "?" }
  }

  #value(step: Step, path: string, seen: Seen): Json | undefined {
    const left = seen.get(path)
    if (step.type === "parallel") {
      const found = this.#children(step.path).flatMap((child): [string, Json][] => {
        const value = this.#value(child, `${path}/${child.id}`, seen)
        return value === undefined ? [] : [[child.id, value]]
      })
      if (found.length === 0 && left === undefined) return undefined
      const order = found.map(([id]) => id)
      const results = found.map(([id, value]) => {
        const { output, agent } = value as { output: Json; agent?: Json }
        return [id, agent === undefined ? { output } : { output, agent }] as const
      })
      return { output: { steps: Object.fromEntries(results), order } as Json, order }
    }
    if (step.type === "map") {
      const count = left?.items
      if (count === undefined) return undefined
      return { output: Array.from({ length: count }, (_, i) => this.#item(`${path}/${i}`, seen)) }
    }
    return left?.output === undefined ? undefined : { output: left.output, agent: left.agent as string }
  }

  #item(path: string, seen: Seen): Json {
    const last = seen.get(path)?.last
    const step = this.#all.find((one) => one.path === starred(this.#all, last ?? ""))
    const value = step === undefined || last === undefined ? undefined : this.#value(step, last, seen)
    return (value as { output?: Json } | undefined)?.output ?? null
  }

  #children(path: string): Step[] {
    return this.#all.filter((step) => step.path === `${path}/${step.id}` && step.type !== "goto")
  }
}

function filled(pattern: string, items: readonly (readonly [number, Json])[]): string {
  let depth = 0
  return pattern
    .split("/")
    .map((name) => (name === "*" ? String(items[depth++]?.[0]) : name))
    .join("/")
}

/** The pattern that matches a path. */
function starred(steps: readonly Step[], path: string): string | undefined {
  const parts = path.split("/")
  return steps.find((step) => {
    const names = step.path.split("/")
    return names.length === parts.length && names.every((name, i) => name === "*" || name === parts[i])
  })?.path
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? -1) - (b[i] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}
