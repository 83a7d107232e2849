/** Checks that the expressions of a steps file refer to steps, variables and fields that exist. */
import { groupBy } from "../../core/internal.ts"
import { nearest, type Path } from "../../document/index.ts"
import { ExpressionError, type Reference } from "../../expressions/index.ts"
import { isSecretName } from "../../text/index.ts"
import type { AgentData } from "../agents/index.ts"
import { type DocumentReport, tryRead } from "../dialect-input.ts"
import type { Layout } from "./nodes/step-list.ts"
import { ROOTS } from "./nodes/step-node.ts"
import {
  asTemplate,
  everyStep,
  hasOutput,
  hasTemplate,
  type Step,
  type StepData,
  type StepText,
  stepTexts,
} from "./step-shape.ts"

interface Checking {
  readonly report: DocumentReport
  readonly steps: readonly Step[]
  readonly layout: Layout
  readonly agents: Readonly<Record<string, AgentData>>
  readonly vars: Readonly<Record<string, unknown>>
  /** Names of variables whose values are not shown. */
  readonly secrets: readonly string[]
  readonly priorOutputs?: StepData["prior_outputs"]
  /** Two steps have the same id, which is reported: a reference without a step may mean one of them. */
  readonly hasDuplicates: boolean
}

interface Indexed extends Checking {
  readonly byPath: ReadonlyMap<string, Step>
  /** Inside of blocks, the first step of each id. */
  readonly inside: ReadonlyMap<string, Step>
  /** Ids outside of blocks. */
  readonly ids: readonly string[]
  /** Some step may run again, so steps later in the file may already have an output. */
  readonly canRepeat: boolean
}

export function checkReferences(input: Checking): void {
  const all = [...everyStep(input.steps)]
  const inside = all.filter(isInside)
  const checking: Indexed = {
    ...input,
    byPath: new Map(all.map((step) => [step.path, step])),
    inside: new Map(inside.reverse().map((step) => [step.id, step])),
    ids: all.filter((step) => !isInside(step)).map(({ id }) => id),
    canRepeat: all.some(({ type }) => type === "goto"),
  }
  checkPrior(checking, input.priorOutputs, ["workflow", "prior_outputs"])
  for (const step of all) {
    const { at, path, data } = step
    if (data.prior_outputs) checkPrior(checking, data.prior_outputs, [...at, "prior_outputs"], path)
    for (const text of stepTexts(step)) checkText(checking, text, [path])
  }
  const users = groupBy(
    all.flatMap((step) => (step.type === "agent" ? [[step.agent, step.path] as const] : [])),
  )
  for (const [name, { instruction }] of Object.entries(input.agents)) {
    if (instruction === undefined || !hasTemplate(instruction)) continue
    const read = tryRead(instruction, asTemplate)
    checkText(checking, { at: ["agents", name, "instruction"], read }, users.get(name) ?? [""])
  }
}

/** Ids of the whole workflow may name steps of any block. */
function checkPrior(checking: Indexed, prior: StepData["prior_outputs"], at: Path, from?: string): void {
  if (!Array.isArray(prior)) return
  const { report, layout, inside, ids } = checking
  for (const [i, id] of prior.entries()) {
    const isKnown = from === undefined ? ids.includes(id) || inside.has(id) : layout.resolve(id, from)
    if (isKnown) continue
    const known = from === undefined ? [...ids, ...inside.keys()] : ids
    report.error("UNKNOWN_STEP", `There is no step "${id}" here.`, [...at, i], nearest(id, known))
  }
}

/** A string that several steps share must be valid in at least one of them. */
function checkText(
  checking: Indexed,
  { at, read }: Pick<StepText, "at" | "read">,
  paths: readonly string[],
): void {
  const { report } = checking
  if (read instanceof ExpressionError) return report.invalidExpression(read, at)
  for (const reference of read.references) {
    warnOfSecret(checking, at, reference)
    const problems = paths.map((path) => problemOf(checking, reference, path))
    const [problem] = problems
    if (problem === undefined || problems.includes(undefined)) continue
    const { severity = "error", code, message, suggestion } = problem
    report[severity](code, message, at, suggestion, { from: reference.start, to: reference.end })
  }
}

function warnOfSecret({ report, secrets }: Indexed, at: Path, reference: Reference): void {
  const { root, path } = reference
  const [name = ""] = path.map(String)
  const isSecret = root === "vars" ? secrets.includes(name) : root === "env" && isSecretName(name)
  if (isSecret) report.secretShown(`$${root}.${name}`, root === "env" ? `env.${name}` : name, at, reference)
}

interface Problem {
  readonly code: string
  readonly message: string
  readonly suggestion?: string | undefined
  readonly severity?: "warning" | undefined
}

function problemOf(checking: Indexed, reference: Reference, from: string): Problem | undefined {
  const { root, path } = reference
  const [name] = path
  const unknown = (message: string, suggestion?: string) => ({ code: "UNKNOWN_NAME", message, suggestion })
  switch (root) {
    case "steps":
      return name === undefined ? undefined : stepProblem(checking, path, from)
    case "env":
      return name === undefined ? unknown("Name the variable: $env.NAME.") : undefined
    case "vars": {
      const known = [...Object.keys(checking.vars), ...checking.secrets]
      if (name === undefined || known.includes(String(name))) return undefined
      const message = `There is no variable "${name}". Set it: --set ${name}=…`
      return { code: "UNKNOWN_VARIABLE", message, suggestion: nearest(String(name), known) }
    }
    case "run":
      if (name === undefined || name === "id") return undefined
      return unknown(`$run has no "${name}"; it has id.`, "id")
    case "item":
    case "index":
      return from.includes("*") ? undefined : unknown(`$${root} exists only in the steps of a map.`)
    default: {
      if (ROOTS.some((one) => one === root)) return undefined
      const names = ROOTS.map((one) => `$${one}`)
      return unknown(`There is no $${root}; use one of ${names.join(", ")}.`, nearest(`$${root}`, names))
    }
  }
}

function stepProblem(checking: Indexed, path: Reference["path"], from: string): Problem | undefined {
  const [name = "", ...rest] = path.map(String)
  const found = checking.layout.resolve(name, from)
  if (found !== undefined) return insideProblem(checking, found, rest) ?? orderProblem(checking, found, from)
  if (checking.hasDuplicates) return undefined
  const inside = checking.inside.get(name)
  const suggestion = inside === undefined ? nearest(name, checking.ids) : pathFromOutside(inside.path)
  return { code: "UNKNOWN_STEP", message: `There is no step "${name}".`, suggestion }
}

/** Reports a reference to an output that cannot exist yet, because its step runs at the same time or later. */
function orderProblem(checking: Indexed, path: string, from: string): Problem | undefined {
  const { layout, byPath, canRepeat } = checking
  // The text is the instructions of an agent that no step runs.
  if (from === "" || !byPath.has(from)) return undefined
  const problem = (message: string): Problem => ({ code: "STEP_NOT_BEFORE", message, severity: "warning" })
  const [own, other] = [layout.lineage(from), layout.lineage(path)]
  const depth = other.findIndex((branch, i) => own[i] !== undefined && own[i] !== branch)
  const block = blockOf(other[depth])
  if (depth >= 0 && blockOf(own[depth]) === block) {
    return problem(
      `Step "${path}" runs at the same time as this one, in another branch of "${block}", so this step never sees its output.`,
    )
  }
  if (from.startsWith(`${path}/`))
    return problem(`This step is part of "${path}", which has an output only after all its steps.`)
  if (canRepeat || layout.compare(path, from) < 0) return undefined
  return problem(
    path === from
      ? `Step "${path}" refers to its own output, which does not exist while it runs.`
      : `Step "${path}" runs after this one, so it has no output yet.`,
  )
}

function blockOf(branch: string | undefined): string | undefined {
  return branch?.slice(0, branch.lastIndexOf(":"))
}

/** `par/inner/x` as templates outside refer to it. Of a map, only the items are visible from there. */
function pathFromOutside(path: string): string {
  const [visible = ""] = path.split("/*")
  return `$steps.${visible.split("/").join(".outputs.")}`
}

function insideProblem(checking: Indexed, path: string, rest: readonly string[]): Problem | undefined {
  const [field, key, ...more] = rest
  if (field === undefined) return undefined
  const part = checking.layout.at(path)
  const isBlock = part?.kind === "block" || part?.kind === "map"
  const fields = isBlock ? ["output", "outputs", "order"] : ["output", "agent"]
  if (!fields.includes(field)) {
    const message = `Step "${path}" has no "${field}"; it has ${fields.join(", ")}.`
    return { code: "UNKNOWN_NAME", message, suggestion: nearest(field, fields) }
  }
  if (field === "output") return key === undefined ? undefined : outputProblem(checking, path, key)
  if (field !== "outputs" || key === undefined || part?.kind !== "block") return undefined
  if (part.children.includes(key)) return insideProblem(checking, `${path}/${key}`, more)
  if (/^-?[0-9]+$/.test(key)) return numberProblem(checking, path, part.children, Number(key), more)
  const message = `There is no step "${key}" in "${path}".`
  return { code: "UNKNOWN_STEP", message, suggestion: nearest(key, part.children) }
}

/** Outputs by number: which steps have run is not known yet, so the reference has to be valid for one of them. */
function numberProblem(
  checking: Indexed,
  path: string,
  children: readonly string[],
  key: number,
  more: readonly string[],
): Problem | undefined {
  const steps = children.flatMap((id) => checking.byPath.get(`${path}/${id}`) ?? []).filter(hasOutput)
  if (key >= steps.length || key < -steps.length) {
    const message = `There is no output ${key} in "${path}"; it has ${steps.length}, numbered from 0.`
    return { code: "UNKNOWN_STEP", message }
  }
  const problems = steps.map((step) => insideProblem(checking, step.path, more))
  return problems.includes(undefined) ? undefined : problems.at(key)
}

/** A path into the output should be in the agent's schema. */
function outputProblem({ byPath, agents }: Indexed, path: string, key: string): Problem | undefined {
  const step = byPath.get(path)
  if (step?.type === "condition") {
    const message = `Step "${path}" is a condition, which has no output.`
    return { code: "STEP_WITHOUT_OUTPUT", message, severity: "warning" }
  }
  const data = step?.type === "agent" ? agents[step.agent] : undefined
  if (data === undefined) return undefined
  const { structured_output } = data
  if (structured_output === undefined) {
    const message = `The agent of step "${path}" has no structured_output: "${key}" exists only if its answer happens to be JSON.`
    return { code: "OUTPUT_NOT_STRUCTURED", message, severity: "warning" }
  }
  const { properties } = structured_output.schema
  if (typeof properties !== "object" || properties === null || Object.hasOwn(properties, key))
    return undefined
  const names = Object.keys(properties)
  const message = `The structured_output of step "${path}" has no "${key}"; it has ${names.join(", ")}.`
  return { code: "OUTPUT_UNKNOWN", message, suggestion: nearest(key, names), severity: "warning" }
}

function isInside({ path }: Step): boolean {
  return path.includes("/")
}
